#!/usr/bin/env python3
"""The gate as CI servers use it: every verdict with its exit code, every output against its schema or grammar, the
files of configs/ci by running their commands, and histories.

    FARSCALE=build/dev/bin/farscale tests/gate_test.py
"""

import base64
import hashlib
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from schema_test import validate  # noqa: E402

PROGRAM = pathlib.Path(os.environ["FARSCALE"]).resolve()
CI_VARIABLES = ("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "CI_COMMIT_TIMESTAMP", "SOURCE_DATE_EPOCH")


def table(transfer=0.95, balance=0.9, cores=(16, 32, 64, 128), phase="solve", slower=1.0, repeats=1, noise=0.0):
    """A factor table as CSV, the same on every call; `noise` makes repeats differ by this share."""
    lines = ["phase,cores,repeat,runtime,loadBalance,serializationEfficiency,transferEfficiency"]
    for count in cores:
        for repeat in range(repeats):
            bump = 1 + noise * math.sin(7.1 * repeat + count)
            time = 100 / count * slower / (balance * transfer) * bump
            lines.append(f"{phase},{count},{repeat},{time:.9f},{balance},0.97,{transfer / bump:.9f}")
    return "\n".join(lines) + "\n"


class GateCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {key: value for key, value in os.environ.items() if key not in CI_VARIABLES}

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def farscale(self, *arguments, code=0, **environment):
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=self.folder,
                              env={**self.environment, **environment})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def fails(self, code, sentence, *arguments, **environment):
        """One clear sentence on stderr and nothing on stdout."""
        done = self.farscale(*arguments, code=code, **environment)
        self.assertIn(sentence, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(re.findall("^farscale: ", done.stderr, re.MULTILINE)), 1, done.stderr)

    def gate(self, rules, code, *more, results=None):
        """The verdicts as JSON, valid by their schema."""
        results = results or self.write("new.csv", table())
        arguments = ["gate", results, "--rules", self.write("gate.toml", rules), "--json", "-", *more]
        report = json.loads(self.farscale(*arguments, code=code).stdout)
        validate(report)
        self.assertEqual(report["exitCode"], code)
        return report

    def history(self, commits=10, **more):
        for i in range(commits):
            self.farscale("history", "add", self.write("old.csv", table(**{"repeats": 3, "noise": 0.01, **more})),
                          "--into", "history", "--commit", f"commit{i}", "--date", f"2026-11-{i + 1:02}")
        return self.folder / "history"


MIN = '[[rule]]\nfactor = "parallelEfficiency"\nphase = "solve"\ncores = 64\n'


class Verdicts(GateCase):
    def verdict(self, rules, code, *more, **options):
        report = self.gate(rules, code, *more, **options)
        self.assertEqual(len(report["judgements"]), 1)
        return report["judgements"][0]

    def test_pass(self):
        """0.9 · 0.97 · 0.95 = 0.829; the interval of one run is ±2.8 %."""
        judged = self.verdict(MIN + "min = 0.75\n", 0)
        self.assertEqual(judged["verdict"], "pass")
        self.assertAlmostEqual(judged["value"], 0.829350)
        self.assertEqual(judged["phase"], "solve")
        self.assertEqual(judged["where"], f"{self.folder}/gate.toml:1")
        self.assertNotIn("blame", judged)

    def test_warn(self):
        self.assertEqual(self.verdict(MIN + "min = 0.83\n", 0)["verdict"], "warn")
        self.assertEqual(self.verdict(MIN + "min = 0.7\nwarn = 0.85\n", 0)["verdict"], "warn")

    def test_fail(self):
        judged = self.verdict(MIN + "min = 0.9\n", 1)
        self.assertEqual(judged["verdict"], "fail")
        self.assertEqual(judged["blame"]["factor"], "loadBalance")
        self.assertIn("phase solve", judged["sentence"])
        self.assertIn("Load balance explains", judged["sentence"])

    def test_not_enough_data(self):
        for more in ('min = 0.75\nmin_runs = 3\n', 'max_drop = 0.03\n'):
            self.assertEqual(self.verdict(MIN + more, 4)["verdict"], "notEnoughEvidence")
        rules = '[[rule]]\nfactor = "parallelEfficiency"\nmin = 0.5\n'
        self.assertIn("slove", self.verdict(rules + 'phase = "slove"', 4)["sentence"])
        self.assertIn("begin at 16", self.verdict(rules + "cores = 8", 4)["sentence"])
        self.assertIn("beyond the reliable range", self.verdict(rules + "cores = 1000000", 4)["sentence"])
        self.assertEqual(self.verdict(rules + 'phase = "slove"\nseverity = "warn"', 0)["verdict"], "notEnoughEvidence")

    def test_every_rule_off(self):
        """Nothing was asked for: that passes, and says so everywhere."""
        rules = self.write("gate.toml", MIN + 'min = 0.99\nseverity = "off"\n')
        done = self.farscale("gate", self.write("new.csv", table()), "--rules", rules, "--json", "gate.json", "--badge",
                             "gate.svg", "--junit", "gate.xml", "--annotations", "github")
        summary = "Gate passed with warnings: nothing judged, every rule is off."
        self.assertIn(summary + "\n", done.stdout)
        self.assertIn("::warning title=farscale gate::" + summary, done.stdout)
        report = json.loads((self.folder / "gate.json").read_text())
        validate(report)
        self.assertEqual([report[key] for key in ("verdict", "exitCode", "rulesOff", "judgements")], ["warn", 0, 1, []])
        self.assertIn("nothing judged", (self.folder / "gate.svg").read_text())
        ElementTree.parse(self.folder / "gate.xml")
        some = self.gate(MIN + 'min = 0.5\n' + MIN + 'min = 0.99\nseverity = "off"\n', 0)
        self.assertEqual(some["summary"], "Gate passed: 1 passed, 1 rule off.")

    def test_projected(self):
        judged = self.verdict('rules = ["parallelEfficiency of phase solve at 256 >= 0.5"]', 0)
        self.assertTrue(judged["isProjected"])
        self.assertEqual(judged["verdict"], "pass")
        self.assertEqual(judged["confidence"], 0.8)
        self.assertEqual(self.verdict('rules = ["parallelEfficiency of phase solve at 256 >= 0.95"]', 1)["verdict"],
                         "fail")

    def test_change(self):
        old = self.write("old.csv", table())
        drop = '[[rule]]\nfactor = "parallelEfficiency"\nmax_drop = 0.03\n'
        same = self.verdict(drop, 0, "--baseline", old)
        self.assertEqual(same["verdict"], "pass")
        self.assertIn("parallelEfficiency of phase solve is unchanged, from 0.829 to 0.829 at ", same["sentence"])
        worse = self.write("worse.csv", table(transfer=0.8))
        judged = self.verdict(drop, 1, "--baseline", old, results=worse)
        self.assertEqual(judged["blame"]["factor"], "transferEfficiency")
        self.assertAlmostEqual(judged["change"], 0.8 / 0.95 - 1)
        self.assertIn("dropped by 15.8 % from 0.829 to 0.698 at", judged["sentence"])
        self.assertEqual(judged["cores"], [16, 32, 64, 128])
        self.assertEqual(self.verdict(drop + 'severity = "warn"', 0, "--baseline", old, results=worse)["verdict"],
                         "warn")

    def test_the_interval_shown_is_the_one_that_decided(self):
        """Four counts and their mean share 0.001: 99.98 %. What fails excludes 0, what may be noise contains it."""
        drop = '[[rule]]\nfactor = "parallelEfficiency"\nmax_drop = 0.03\n'
        for cores, code, verdict, confidence in (((16, 32, 64, 128), 1, "fail", 99.98), ((64,), 0, "warn", 99.9)):
            judged = self.verdict(drop, code, "--baseline", self.write("old.csv", table(cores=cores)),
                                  results=self.write("new.csv", table(transfer=0.91, cores=cores)))
            low, high = judged["interval"]
            self.assertEqual(judged["verdict"], verdict)
            self.assertAlmostEqual(judged["confidence"], confidence / 100)
            self.assertEqual(low < 0 < high, verdict == "warn")
            self.assertIn(f"({confidence} % interval of the change {100 * low:+.1f} to {100 * high:+.1f} %)",
                          judged["sentence"])
        judged = self.verdict(drop + "confidence = 0.9\n", 1, "--baseline", self.write("old.csv", table()),
                              results=self.write("new.csv", table(transfer=0.8)))
        self.assertAlmostEqual(judged["confidence"], 0.98)
        self.assertIn("(98 % interval of the change", judged["sentence"])

    def test_repeats_and_history_see_what_single_runs_cannot(self):
        drop = '[[rule]]\nfactor = "parallelEfficiency"\nmax_drop = 0.03\n'
        history = self.history()
        same = self.write("same.csv", table(repeats=3, noise=0.011))
        self.assertEqual(self.verdict(drop, 0, "--baseline", history, results=same)["verdict"], "pass")
        worse = self.write("worse.csv", table(transfer=0.95 * 0.95, repeats=3, noise=0.01))
        self.assertEqual(self.verdict(drop, 1, "--baseline", history, results=worse)["verdict"], "fail")

    def test_a_step_and_an_accepted_level_begin_a_new_baseline(self):
        drop = '[[rule]]\nfactor = "parallelEfficiency"\nmax_drop = 0.03\n'
        self.history()
        new = self.write("new.csv", table(transfer=0.8, repeats=3, noise=0.01))
        self.gate(drop, 1, "--baseline", "history", results=new)
        self.farscale("history", "add", new, "--into", "history", "--commit", "wanted", "--date", "2026-12-01",
                      "--accept", "twice the physics")
        self.gate(drop, 0, "--baseline", "history", results=new)

    def test_several_results_are_repeats(self):
        first = self.write("a.csv", table())
        other = self.write("b.csv", table(transfer=0.951))
        report = self.gate(MIN + "min = 0.5\nmin_runs = 2\n", 0, other, results=first)
        self.assertEqual(report["judgements"][0]["runs"], 2)

    def test_the_same_results_are_no_repeat(self):
        """A path twice is a mistake; a copy counts once, whatever it is called."""
        first = self.write("a.csv", table())
        copy = self.write("copy.csv", first.read_text())
        (self.folder / "link.csv").symlink_to("a.csv")
        self.fails(2, "is given twice", "gate", first, first)
        self.fails(2, "is given twice", "gate", "a.csv", self.folder / "." / "a.csv")
        self.fails(2, "link.csv: is given twice", "gate", first, "link.csv")
        self.fails(2, "is given twice", "history", "add", first, first, "--into", "h", "--commit", "a", "--date", "now")
        report = self.gate(MIN + "min = 0.5\n", 0, copy, results=first)
        self.assertEqual(report["judgements"][0]["runs"], 1)
        rules = self.folder / "gate.toml"
        done = self.farscale("gate", "a.csv", "copy.csv", self.write("b.csv", table(transfer=0.951)), "--rules", rules)
        self.assertEqual(done.stderr.count("warning: "), 1)
        self.assertIn("sameResultsTwice: ", done.stderr)
        self.assertIn("(copy.csv is the same as a.csv)", done.stderr)
        for _ in range(2):
            self.farscale("history", "add", first, "--into", "h", "--commit", "a", "--date", "2026-11-20")
        shown = self.farscale("history", "h")
        self.assertIn("sameResultsTwice", shown.stderr)
        self.assertIn("History: 1 commit,", shown.stdout)

    def test_scaling_of_tables(self):
        """Rules on what compares with the reference need to know how the runs scale. The time at 16 cores over that at
        64 is 4: a speedup of 4 with strong scaling. Weak scaling cannot be: the time falls and the work does not grow."""
        rules = 'rules = ["speedup of phase solve at 64 >= 2"]'
        self.assertIn("give --scaling strong or weak", self.verdict(rules, 4)["sentence"])
        self.assertAlmostEqual(self.verdict(rules, 0, "--scaling", "strong")["value"], 4)
        self.fails(2, "new.csv: --scaling weak: the problem does not grow with the cores: from 16 to 128 cores an "
                      "iteration falls from 7.31 to 0.914 s", "gate", "new.csv", "--scaling", "weak")
        for command in (["history", "add", "new.csv", "--into", "h", "--commit", "a", "--date", "2026-11-20"],
                        ["compare", "new.csv", "new.csv"], ["report", "new.csv", "--form", "allocation"]):
            self.fails(2, "--scaling weak: the problem does not grow", *command, "--scaling", "weak")
        # 100 / 16 and 400 / 64 s with the same efficiency.
        grown = self.write("weak.csv", "cores,runtime,parallelEfficiency\n16,6.25,0.9\n64,6.25,0.9\n")
        self.assertAlmostEqual(self.verdict('rules = ["speedup at 64 >= 2"]', 0, "--scaling", "weak", results=grown)
                               ["value"], 4)
        projected = self.verdict('rules = ["timePerIteration at 256 <= 5"]', 0, "--scaling", "strong")
        self.assertAlmostEqual(projected["value"], 100 / 256 / 0.9 / 0.95, delta=0.01)
        worse = self.write("worse.csv", table(slower=1.5))
        drop = '[[rule]]\nfactor = "speedup"\ncores = 64\nmax_drop = 0.03\n'
        self.assertAlmostEqual(self.verdict(drop, 0, "--scaling", "strong", "--baseline", worse)["change"], 0)
        # Speedups in the table tell it.
        lines = [f"{cores},{80 / cores},{cores / 16},0.9" for cores in (16, 32, 64)]
        told = self.write("told.csv", "cores,runtime,speedup,parallelEfficiency\n" + "\n".join(lines))
        self.assertEqual(self.verdict('rules = ["computationScalability at 64 >= 0.5"]', 0, results=told)["value"], 1)
        self.fails(2, "--scaling", "gate", told, "--scaling", "sideways")
        self.fails(2, "told.csv: --scaling weak: times and efficiencies of the table show strong", "gate", told, "--scaling", "weak")
        self.farscale("run", ROOT / "sample-runs/npb-lu/study.toml", "-o", "r", "--quiet")
        self.fails(2, "says how its runs scale", "gate", "r/results.json", "--scaling", "weak")

    def test_targets_and_models_of_projections(self):
        """cores = "targets" means what --targets says, also beside rules that list others; models as in predict."""
        rules = ('[[rule]]\nfactor = "parallelEfficiency"\ncores = "targets"\nmin = 0.3\n'
                 '[[rule]]\nfactor = "parallelEfficiency"\ncores = 200\nmin = 0.3\n')
        cores = lambda report: [judged["cores"] for judged in report["judgements"]]
        self.assertEqual(cores(self.gate(rules, 0, "--targets", "160,170")), [[160], [170], [200]])
        usual = cores(self.gate(rules, 0))  # up to 64 times the 128 cores of the largest run
        self.assertEqual(usual, [[256], [512], [1024], [2048], [4096], [8192], [200]])
        value = lambda *options: self.gate(rules, 0, "--targets", "160", *options)["judgements"][0]["value"]
        fixed = ("--model", "loadBalance=amdahl:1", "--model", "transferEfficiency=amdahl:1")
        new, projection = self.folder / "new.csv", self.folder / "projection.json"
        self.farscale("predict", new, *fixed, "--targets", "160", "-o", projection)
        factors = json.loads(projection.read_text())["phases"][0]["factors"]
        expected = next(one for one in factors if one["factor"] == "parallelEfficiency")["targets"][0]["value"]
        self.assertAlmostEqual(value(*fixed), expected)
        value("--preset", "rosas14")
        self.fails(2, "no preset 'rosas15'", "gate", new, "--preset", "rosas15")
        self.fails(2, "unknown factor 'loadBalanse'", "gate", new, "--model", "loadBalanse=amdahl")

    def test_json_that_is_no_results(self):
        for text, sentence in (("[1, 2]", "holds JSON, but a list and no results of farscale"), ("", "is empty"),
                               ("7", "holds JSON, but a single value"), ('{"a": 1}', 'it has no "format"'),
                               ('{"format"', "is not valid JSON"),
                               ('{"format": "farscale-gate"}', "its format is farscale-gate")):
            add = ("history", "add", "--into", "h", "--commit", "a", "--date", "now")
            for command in (("gate",), ("predict",), add):
                self.fails(3, sentence, *command, self.write("bad.json", text))
        self.assertFalse((self.folder / "h").exists())

    def test_stray_files_in_a_history(self):
        """What is no entry is skipped and named; a damaged entry is an error, since the baseline would be another."""
        history = self.history(3)
        for name, text in (("notes.csv", "day,weather\n1,rain\n"), ("list.json", "[]"), ("factors.csv", table())):
            (history / name).write_text(text)
        drop = '[[rule]]\nfactor = "parallelEfficiency"\nmax_drop = 0.03\n'
        for done in (self.farscale("gate", self.write("new.csv", table()), "--baseline", "history"),
                     self.farscale("history", "history")):
            self.assertIn("3 commits", done.stdout)
            self.assertIn("warning: history: historyFileSkipped: ", done.stderr)
            self.assertIn("3 files of the history", done.stderr)
        report = self.gate(drop, 0, "--baseline", history)
        self.assertEqual([(one["id"], one["count"]) for one in report["diagnostics"]], [("historyFileSkipped", 3)])
        entry = next(history.glob("2026*.json"))
        entry.write_text(entry.read_text()[:-50])
        self.fails(3, f"{entry.name}: is not valid JSON", "gate", "new.csv", "--baseline", "history")

    def test_results_of_a_run(self):
        self.farscale("run", ROOT / "sample-runs/npb-lu/study.toml", "-o", "r", "--quiet")
        report = self.gate('rules = ["parallelEfficiency of phase iteration at targets >= 0.3"]', 4,
                           results=self.folder / "r/results.json")
        targets = json.loads((self.folder / "r/results.json").read_text())["projections"][0]["factors"][0]["targets"]
        self.assertEqual([one["cores"] for one in report["judgements"]], [[one["cores"]] for one in targets])

    def test_presets(self):
        old = self.write("old.csv", table(repeats=3))
        for name in ("default", "strict"):
            done = self.farscale("gate", old, "--rules", name, "--baseline", old)
            self.assertIn("Gate passed", done.stdout)
        self.farscale("gate", old, "--rules", "targets", "--baseline", old)
        self.fails(2, "did you mean 'strict'", "gate", old, "--rules", "strit")

    def test_bad_input(self):
        new = self.write("new.csv", table())
        self.fails(2, "gate.toml:2: unknown factor 'loadBalanse'", "gate", new, "--rules",
                   self.write("gate.toml", '[[rule]]\nfactor = "loadBalanse"\nmin = 1\n'))
        self.fails(3, "nowhere.csv", "gate", "nowhere.csv")
        self.fails(3, "nowhere", "gate", new, "--baseline", "nowhere")
        self.assertIn("holds no results yet", self.farscale("gate", new, "--baseline", self.folder, code=4).stdout)
        self.fails(2, "several outputs go to standard output", "gate", new, "--json", "-", "--junit", "-")
        self.fails(2, "overwrite", "gate", new, "--json", new)
        self.fails(5, "cannot", "gate", new, "--baseline", new, "--json", new / "gate.json", "-q")


class Outputs(GateCase):
    """All forms of one gate with every verdict in it, on a phase whose name tries to break out."""

    NAME = 'a<b>&"\'|`\\%'

    def setUp(self):
        super().setUp()
        name = '"' + self.NAME.replace('"', '""') + '"'
        self.new = self.write("new.csv", table(phase=name))
        rules = "".join(f'[[rule]]\nfactor = "parallelEfficiency"\n{more}\n' for more in
                        ("cores = 64\nmin = 0.5", "cores = 64\nmin = 0.83", "cores = 64\nmin = 0.95", "max_drop = 0.1",
                         "cores = 8\nmin = 0.2\nseverity = 'warn'"))
        self.rules = self.write("gate.toml", rules)

    def output(self, *options, code=1):
        return self.farscale("gate", self.new, "--rules", self.rules, *options, code=code).stdout

    def test_table(self):
        text = self.output()
        for word in ("pass ", "warn ", "fail ", "undecided ", "Gate failed: 1 failed, 1 warning, 2 without enough"):
            self.assertIn(word, text)
        self.assertEqual(self.output("--quiet"), "")

    def test_junit(self):
        path = self.folder / "gate.xml"
        self.output("--junit", path)
        checked = subprocess.run(["xmllint", "--noout", "--nonet", "--schema", ROOT / "docs/schema/junit.xsd", path],
                                 capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        root = ElementTree.parse(path).getroot()
        self.assertEqual((root.get("tests"), root.get("failures"), root.get("errors")), ("5", "1", "1"))
        kinds = [[child.tag for child in case if child.tag != "system-out"] for case in root.iter("testcase")]
        self.assertEqual(kinds, [[], [], ["failure"], ["error"], ["skipped"]])
        self.assertIn(self.NAME, root.find(".//failure").get("message"))

    def test_junit_schema_refuses(self):
        """A schema that takes everything would show nothing."""
        for wrong in ('<testsuites><testcase name="x" classname="y"/></testsuites>',
                      '<testsuites><testsuite name="x"/></testsuites>',
                      '<testsuites><testsuite name="x" tests="1"><testcase name="x"/></testsuite></testsuites>'):
            checked = subprocess.run(["xmllint", "--noout", "--schema", ROOT / "docs/schema/junit.xsd",
                                      self.write("wrong.xml", wrong)], capture_output=True)
            self.assertNotEqual(checked.returncode, 0, wrong)

    def test_markdown(self):
        text = self.output("--markdown", "-")
        self.assertTrue(text.startswith("<!-- farscale gate -->\n## Gate failed"))
        self.assertNotIn("<b>", text)
        self.assertLessEqual(len(text.splitlines()), 15)
        self.assertNotIn("](", text)
        self.assertIn("](<https://ci.example/1>)", self.output("--markdown", "-", "--link", "https://ci.example/1"))

    def test_github(self):
        text = self.output("--annotations", "github")
        commands = [line for line in text.splitlines() if line.startswith("::")]
        pattern = re.compile(r"::(error|warning|notice) ((?:\w+=[^,:\r\n]*)(?:,\w+=[^,:\r\n]*)*)::(.+)$")
        kinds = []
        for command in commands:
            match = pattern.match(command)
            self.assertTrue(match, command)
            self.assertFalse(re.search("%(?![0-9A-F]{2})", match.group(2) + match.group(3)), command)
            kinds.append(match.group(1))
        self.assertEqual(kinds, ["warning", "error", "error", "warning", "notice"])
        self.assertIn("file=" + str(self.rules) + ",line=9,", text)
        self.assertIn("verdict", text)

    def test_gitlab(self):
        found = json.loads(self.output("--annotations", "gitlab"))
        self.assertEqual([one["severity"] for one in found], ["major", "critical", "minor", "minor"])
        for one in found:
            self.assertEqual(set(one), {"description", "check_name", "fingerprint", "severity", "location"})
            self.assertRegex(one["fingerprint"], "^[0-9a-f]{32}$")
            self.assertGreater(one["location"]["lines"]["begin"], 0)
        self.assertEqual(len({one["fingerprint"] for one in found}), len(found))

    def test_built_in_rules_stand_in_no_file_of_the_user(self):
        github = self.farscale("gate", self.new, "--annotations", "github", code=4).stdout
        self.assertRegex(github, r"::error title=[^,]+::parallelEfficiency of phase")
        found = json.loads(self.farscale("gate", self.new, "--annotations", "gitlab", code=4).stdout)
        self.assertEqual({one["location"]["path"] for one in found}, {str(self.new)})
        self.assertIn("Rules     default (built in)\n", github)
        self.assertNotIn("configs/gate", github)

    def test_badge(self):
        self.output("--badge", self.folder / "gate.svg")
        root = ElementTree.parse(self.folder / "gate.svg").getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        self.assertIn("failed", root.get("aria-label"))
        self.assertNotIn("href", (self.folder / "gate.svg").read_text())

    def test_openmetrics(self):
        self.output("--openmetrics", self.folder / "gate.prom")
        families = parse_openmetrics((self.folder / "gate.prom").read_text())
        self.assertEqual(families["farscale_gate_verdict"]["type"], "stateset")
        values = {(one["factor"], one["cores"]): value for one, value in families["farscale_factor"]["samples"]}
        self.assertAlmostEqual(values["loadBalance", "64"], 0.9)
        self.assertEqual(families["farscale_factor"]["samples"][0][0]["phase"], self.NAME)
        counts = {one["verdict"]: value for one, value in families["farscale_gate_judgements"]["samples"]}
        self.assertEqual(counts, {"pass": 1, "warn": 1, "fail": 1, "notEnoughEvidence": 2})

    def test_same_bytes(self):
        forms = ("--json", "--junit", "--markdown", "--openmetrics", "--badge")
        for form in forms:
            self.assertEqual(self.output(form, "-", "-j", 1), self.output(form, "-", "-j", 4))


METRIC = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({METRIC})(?:\{{((?:{LABEL})(?:,{LABEL})*)?\}})? ([-+]?(?:[0-9]+\.?[0-9]*(?:e[-+]?[0-9]+)?|NaN|\+Inf))$")
DESCRIPTOR = re.compile(rf"# (TYPE|UNIT|HELP) ({METRIC}) (.*)$")
TYPES = ("counter", "gauge", "histogram", "gaugehistogram", "stateset", "info", "summary", "unknown")


def parse_openmetrics(text):
    """Families of an exposition by the ABNF of OpenMetrics 1.0, for gauges and state sets without time stamps."""
    assert text.endswith("# EOF\n") and text.count("# EOF") == 1
    families, current, seen = {}, None, set()
    for line in text[:-len("# EOF\n")].splitlines():
        descriptor = DESCRIPTOR.match(line)
        if descriptor:
            kind, name, rest = descriptor.groups()
            if name != current:
                assert name not in families, f"{name} is interleaved"
                families[name], current = {"samples": []}, name
            assert kind.lower() not in families[name] and not families[name]["samples"], line
            families[name][kind.lower()] = rest
            assert kind != "TYPE" or rest in TYPES, line
            assert kind != "UNIT" or name.endswith("_" + rest), line
            continue
        sample = SAMPLE.match(line)
        assert sample, line
        name, labels, value = sample.groups()
        assert name == current and line.rsplit(" ", 1)[0] not in seen, line
        seen.add(line.rsplit(" ", 1)[0])
        unescape = lambda value: re.sub(r"\\(.)", lambda match: {"n": "\n"}.get(match[1], match[1]), value)
        pairs = [one.split("=", 1) for one in re.findall(LABEL, labels or "")]
        assert len({key for key, _ in pairs}) == len(pairs), line
        families[name]["samples"].append(({key: unescape(value[1:-1]) for key, value in pairs}, float(value)))
    for name, family in families.items():
        if family["type"] == "stateset":
            assert all(name in labels and value in (0, 1) for labels, value in family["samples"]), name
    return families


class History(GateCase):
    def test_add_takes_commit_and_date_from_the_server(self):
        new = self.write("new.csv", table())
        servers = ({"GITHUB_SHA": "a1", "SOURCE_DATE_EPOCH": "1795176000"},
                   {"CI_COMMIT_SHA": "b2", "CI_COMMIT_TIMESTAMP": "2026-11-20T13:00:00+01:00"})
        for environment in servers:
            self.farscale("history", "add", new, "--into", "h", **environment)
        self.farscale("history", "add", new, "--into", "h", "--date", "2026-11-20T12:00:00Z", GIT_COMMIT="c3")
        self.assertEqual(sorted(path.name for path in (self.folder / "h").iterdir()),
                         [f"2026-11-20T12-00-00Z-{name}.json" for name in ("a1", "b2", "c3")])
        for path in (self.folder / "h").iterdir():
            validate(json.loads(path.read_text()))
        self.farscale("history", "add", new, "--into", "h", "--commit", "a1", "--date", "2026-11-20T12:00:00Z")
        self.assertEqual(len(list((self.folder / "h").iterdir())), 4)
        self.assertIn("3 commits", self.farscale("history", "h").stdout)

    def test_bad_input(self):
        new = self.write("new.csv", table())
        self.fails(2, "--commit", "history", "add", new, "--into", "h", "--date", "now")
        self.fails(2, "--date", "history", "add", new, "--into", "h", "--commit", "a")
        self.fails(2, "is no date", "history", "add", new, "--into", "h", "--commit", "a", "--date", "yesterday")
        self.fails(3, "cannot be read", "history", "nowhere")
        self.fails(2, "no folder is given", "history")
        (self.folder / "empty").mkdir()
        self.fails(4, "holds no results yet", "history", "empty")
        self.fails(3, "version is missing", "history", self.write("bad.json", '{"format": "farscale-history"}').parent)

    def test_draws_every_factor_and_marks_steps(self):
        self.history(8)
        for i in range(3):
            self.farscale("history", "add", self.write("old.csv", table(transfer=0.85, repeats=3, noise=0.01)), "--into",
                          "history", "--commit", f"<slow>{i}", "--date", f"2026-11-{i + 20:02}")
        text = self.farscale("history", "history", "--html", "h.html", "--markdown", "h.md").stdout
        self.assertRegex(text, r"transferEfficiency .*<slow>0")
        self.assertRegex(text, r"loadBalance .*none")
        page = (self.folder / "h.html").read_text()
        self.assertTrue("default-src 'none'" in page)
        self.assertFalse("<script" in page)
        self.assertFalse("<slow>" in page)
        self.assertFalse(re.search(r"(src|href)=\"(?!#)", page))
        self.assertEqual(page.count("<svg "), page.count("<summary>Values</summary>"))
        self.assertTrue("step at &lt;slow&gt;0" in page)
        for name in ("Load balance", "Transfer", "Time of an iteration"):
            self.assertTrue(f"<h3>{name}</h3>" in page, name)
        for svg in re.findall("<svg .*?</svg>", page, re.DOTALL):
            drawn = ElementTree.fromstring(svg)
            self.assertTrue(drawn.find("title").text and drawn.find("desc").text)
        self.assertNotIn("<slow>", (self.folder / "h.md").read_text())
        self.assertTrue(page == self.farscale("history", "history", "--html", "-", "-j", 1).stdout)


    def test_json(self):
        """What the page draws, as numbers: a step at the first slow commit, and what was skipped."""
        self.history(8)
        for i in range(3):
            slow = self.write("old.csv", table(transfer=0.85, repeats=3, noise=0.01))
            self.farscale("history", "add", slow, "--into", "history", "--commit", f"slow{i}",
                          "--date", f"2026-11-{i + 20}")
        self.write("history/notes.csv", "day\n1\n")
        history = json.loads(self.farscale("history", "history", "--json", "-", "--title", "LU").stdout)
        validate(history)
        self.assertEqual(history["title"], "LU")
        self.assertEqual([one["commit"] for one in history["commits"]][-4:], ["commit7", "slow0", "slow1", "slow2"])
        tracks = {one["factor"]: one for one in history["tracks"]}
        self.assertEqual((tracks["transferEfficiency"]["steps"], tracks["loadBalance"]["steps"]), ([8], []))
        self.assertEqual(tracks["loadBalance"]["cores"], [16, 32, 64, 128])
        self.assertAlmostEqual(tracks["loadBalance"]["values"][10][2], 0.9)
        self.assertEqual(tracks["loadBalance"]["lastChange"]["confidence"], 0.999)
        self.assertEqual([one["id"] for one in history["diagnostics"]], ["historyFileSkipped"])
        self.farscale("history", "history", "--json", "h.json", "--html", "h.html")
        self.fails(2, "several outputs", "history", "history", "--json", "-", "--html", "-")

    def test_page_allows_its_style_sheet_alone(self):
        self.history(2)
        page = self.farscale("history", "history", "--html", "-", "--title", "<b>{{x}}").stdout
        style = re.search("<style>(.*?)</style>", page, re.DOTALL).group(1)
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        self.assertIn(f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'", page)
        self.assertNotIn("unsafe-inline", page)
        self.assertNotRegex(page, r"<[^>]* style=")
        self.assertIn("<h1>&lt;b&gt;{{x}}</h1>", page)


class ContinuousIntegration(GateCase):
    """The files of configs/ci, with their commands run on a sample: the first commit, then one to compare with."""

    def setUp(self):
        super().setUp()
        shutil.copytree(ROOT / "sample-runs/npb-lu", self.folder / "sample")
        (self.folder / "bin").mkdir()
        (self.folder / "bin/farscale").symlink_to(PROGRAM)
        # git knows the date of the commit and nothing else.
        git = self.write("bin/git", '#!/bin/sh\ntest "$1" = show && echo 2026-11-20T12:00:00+01:00\n')
        git.chmod(0o755)
        self.environment.update({"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "STUDY": "sample/study.toml",
                                 "RULES": "default", "HISTORY": "history", "FARSCALE_DATA": str(ROOT)})

    def sh(self, script, code=0, **environment):
        done = subprocess.run(["bash", "-e", "-c", script], capture_output=True, text=True, cwd=self.folder,
                              env={**self.environment, **environment})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def check_files(self, *names):
        for name in names:
            self.assertGreater((self.folder / name).stat().st_size, 0, name)

    def test_github(self):
        workflow = yaml.safe_load((ROOT / "configs/ci/github-actions.yml").read_text())
        job = workflow["jobs"]["gate"]
        self.assertEqual(set(job["env"]), {"STUDY", "RULES"})
        self.assertIn(True, workflow)  # "on", as YAML 1.1 reads it
        steps = {step["name"]: step["run"] for step in job["steps"] if "run" in step}
        add = "\n".join(line for line in steps["Add to the history"].splitlines() if line.startswith("farscale"))
        for commit in ("aaa", "bbb"):
            for name in ("Measure", "Fetch the history", "Judge", "Draw the history"):
                done = self.sh(steps[name], GITHUB_SHA=commit, GITHUB_STEP_SUMMARY="summary.md")
                if name == "Judge":
                    self.assertEqual("::error" in done.stdout, commit == "aaa")
            self.sh(add, GITHUB_SHA=commit)
        self.check_files("gate.json", "gate.junit.xml", "gate.md", "gate.svg", "gate.prom", "history.html", "summary.md")
        self.assertIn("Gate passed", (self.folder / "summary.md").read_text())

    def test_gitlab(self):
        job = yaml.safe_load((ROOT / "configs/ci/gitlab-ci.yml").read_text())["scaling-gate"]
        script = "\n".join(job["script"])
        self.assertEqual(job["allow_failure"], {"exit_codes": [4]})
        for commit, code in (("aaa", 4), ("bbb", 0)):
            self.sh(script, code, CI_COMMIT_SHA=commit, CI_COMMIT_TIMESTAMP="2026-11-20T12:00:00+01:00",
                    CI_COMMIT_BRANCH="main", CI_DEFAULT_BRANCH="main")
        reports = job["artifacts"]["reports"]
        self.check_files(*job["artifacts"]["paths"], reports["junit"], reports["codequality"], reports["metrics"])
        self.assertEqual(len(list((self.folder / "history").iterdir())), 2)
        self.sh(script, 0, CI_COMMIT_SHA="ccc", CI_COMMIT_TIMESTAMP="2026-11-20T12:00:00+01:00",
                CI_COMMIT_BRANCH="feature", CI_DEFAULT_BRANCH="main")
        self.assertEqual(len(list((self.folder / "history").iterdir())), 2)

    def test_jenkins(self):
        text = (ROOT / "configs/ci/Jenkinsfile").read_text()
        self.assertEqual(text.count("{"), text.count("}"))
        judge = re.search(r"script: '''(.*?)'''", text, re.DOTALL).group(1)
        scripts = re.findall(r"^\s*sh '(.*)'$", text, re.MULTILINE)
        self.assertEqual(len(scripts), 3)
        measure, add, draw = scripts
        for commit, code in (("aaa", 4), ("bbb", 0)):
            self.sh(measure)
            self.sh(judge, code)
            self.sh(add, GIT_COMMIT=commit)
        self.sh(draw)
        self.check_files("gate.json", "gate.junit.xml", "gate.md", "gate.svg", "gate.prom", "history.html")


if __name__ == "__main__":
    unittest.main()
