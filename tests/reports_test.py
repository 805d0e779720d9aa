#!/usr/bin/env python3
"""Forms of the results that people hand in: the allocation pack and the comparison, end to end.

    FARSCALE=build/dev/bin/farscale tests/reports_test.py
"""

import csv
import html.parser
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = str(pathlib.Path(os.environ["FARSCALE"]).resolve())

# 8 iterations of 10 s on 8 cores. Load balance costs a tenth on 16 cores; E = 80 / (2 * 44.44) = 0.9, then 0.8.
TABLE = """cores,nodes,runtime,iterations,loadBalance,serializationEfficiency,transferEfficiency,computationScalability
8,1,80,8,1,1,1,1
16,2,44.4444444444,8,0.9,1,1,1
32,4,25,8,0.8,1,1,1
"""
VOID = {"meta", "br", "img", "hr", "link", "input"}


SAMPLES = tempfile.TemporaryDirectory()


def setUpModule():
    for name in ("npb-lu", "comd-noise"):
        subprocess.run([PROGRAM, "run", ROOT / f"sample-runs/{name}/study.toml", "-o", f"{SAMPLES.name}/{name}", "-q"],
                       check=True)


def tearDownModule():
    SAMPLES.cleanup()


def farscale(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120)


class Page(html.parser.HTMLParser):
    """Elements that are open at the end, and whatever would load or run something."""

    def __init__(self, text):
        super().__init__()
        self.open, self.loads, self.policies, self.text = [], [], [], ""
        self.feed(text)

    def end(self, *tags):
        """Cells and rows end where others begin or what they are in ends."""
        while self.open and self.open[-1] in tags:
            self.open.pop()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag in ("td", "th"):
            self.end("td", "th")
        if tag == "tr":
            self.end("td", "th", "tr")
        if tag == "tbody":
            self.end("td", "th", "tr", "thead", "tbody")
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("script", "img", "link", "iframe", "object") or any(name in attributes for name in ("src", "onload")):
            self.loads.append(tag)
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policies.append(attributes["content"])

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if tag == "tr":
            self.end("td", "th")
        if tag in ("thead", "tbody"):
            self.end("td", "th", "tr")
        if tag == "table":
            self.end("td", "th", "tr", "thead", "tbody")
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data


class ReportsTest(unittest.TestCase):
    @property
    def samples(self):
        return pathlib.Path(SAMPLES.name)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_ok(self, *arguments):
        result = farscale(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def fails(self, code, sentence, *arguments):
        result = farscale(*arguments)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertIn(sentence, result.stderr)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def check_page(self, path):
        """Closed elements, nothing loaded, nothing allowed to load."""
        page = Page(path.read_text())
        self.assertEqual(page.open, [])
        self.assertEqual(page.loads, [])
        self.assertEqual(len(page.policies), 1)
        self.assertRegex(page.policies[0], r"^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; ")
        self.assertNotRegex(path.read_text(), r"https?://(?!www\.w3\.org/2000/svg)")
        return page

    def check_markdown_tables(self, path):
        """Rows of a table have as many cells as its header."""
        width = None
        for line in path.read_text().splitlines():
            if not line.startswith("|"):
                width = None
                continue
            cells = len(re.findall(r"(?<!\\)\|", line))
            self.assertEqual(cells, width or cells, line)
            width = cells


class Allocation(ReportsTest):
    def pack(self, results, *options):
        result = self.run_ok("report", results, "--form", "allocation", "-o", self.folder / "a", *options)
        text = (self.folder / "a/allocation.csv").read_text()
        rows = list(csv.DictReader(line for line in io.StringIO(text) if not line.startswith("#")))
        return rows, result

    def test_sample_run(self):
        rows, result = self.pack(self.samples / "npb-lu/results.json", "--iterations", 250000)
        self.assertIn("Up to 48 cores efficiency is predicted to be at least 75 %", result.stdout)
        names = sorted(path.name for path in (self.folder / "a").iterdir())
        self.assertEqual(names, ["allocation-figure.tex", "allocation-page.tex", "allocation-text.tex", "allocation.csv", "allocation.html",
                                 "allocation.md", "allocation.tex", "figures"])
        measured = [row for row in rows if row["source"] == "measured"]
        self.assertEqual([row["cores"] for row in measured], ["2", "4", "8", "16", "32"])
        base = measured[0]
        for row in measured:
            efficiency = (float(base["cores"]) * float(base["seconds"])) / (float(row["cores"]) * float(row["seconds"]))
            self.assertAlmostEqual(float(row["efficiency"]), efficiency)
            self.assertAlmostEqual(float(row["speedup"]), efficiency * float(row["ideal_speedup"]))
            self.assertAlmostEqual(float(row["core_hours"]), float(row["cores"]) * float(row["seconds"]) / 3600)
        predicted = [row for row in rows if row["source"] == "predicted"]
        levels = [row["reliability"] for row in predicted]
        self.assertEqual(list(dict.fromkeys(levels))[:2], ["reliable", "uncertain"])
        uncertain = predicted[levels.index("uncertain")]
        self.assertLess(float(predicted[0]["efficiency_low80"]), float(predicted[0]["efficiency"]))
        self.assertEqual(uncertain["efficiency"], "")  # the interval and no number
        self.assertGreater(float(uncertain["efficiency_high80"]), float(uncertain["efficiency_low80"]))
        page = self.check_page(self.folder / "a/allocation.html")
        for text in ("Recommended job size", "measured, baseline", "uncertain", "Ideal speedup", "Method",
                     "E = p₀ T₀ / (p T)", "core hours", "rules \"bsc\""):
            self.assertIn(text, page.text)
        self.assertIn("<svg", (self.folder / "a/allocation.html").read_text())
        self.check_markdown_tables(self.folder / "a/allocation.md")
        self.assertTrue((self.folder / "a/figures/allocation.svg").exists())

    def test_all_targets(self):
        rows, _ = self.pack(self.samples / "npb-lu/results.json", "--up-to", 1000000)
        self.assertEqual(rows[-1]["cores"], "2048")  # 64 times the largest run

    def test_a_bare_table_is_described_by_options(self):
        table = self.folder / "times.csv"
        table.write_text("cores,runtime\n48,1834\n96,951\n192,512\n384,301\n")
        _, result = self.pack(table, "--title", "Ocean at 1 km", "--code", "NEMO 4.2, ORCA1, machine A", "--size", 512,
                              "--unit", "million cells")
        text = (self.folder / "a/allocation.md").read_text()
        for part in ("# Ocean at 1 km: scaling and cost", "NEMO 4.2, ORCA1, machine A", "512 million cells"):
            self.assertIn(part, text)
        self.assertNotIn("problem size is unknown", result.stderr)
        self.assertNotIn("not described", result.stderr)
        self.assertIn("they are predicted to keep it up to 4", result.stdout)

    def test_stated_efficiency_and_noise(self):
        _, result = self.pack(self.samples / "comd-noise/results.json", "--efficiency", 0.9)
        self.assertIn("at least 90 % of that on 8 cores", result.stdout)
        text = (self.folder / "a/allocation.md").read_text()
        self.assertIn("weak: the problem grows with the cores", text)
        self.assertIn("the measured times include noise of the machine", text)

    def test_what_was_measured_comes_first(self):
        """4 cores have 90.6 % as measured, though the projection would stop at 3; the baseline has 100 % by definition."""
        results = self.samples / "npb-lu/results.json"
        _, result = self.pack(results, "--phase", "upper sweep", "--efficiency", 0.9)
        self.assertIn("Up to 4 cores (4 nodes) efficiency is at least 90 %", result.stdout)
        for name in ("allocation.md", "allocation.html", "allocation.csv", "allocation-text.tex"):
            self.assertIn("Measurement and projection disagree: on 4 cores", (self.folder / "a" / name).read_text())
        _, result = self.pack(results, "--phase", "upper sweep", "--efficiency", 1)
        self.assertIn("Up to 2 cores (2 nodes) efficiency is at least 100 %", result.stdout)
        self.assertIn("(by definition). On 4 cores, the next larger count, it is less (90.6 %)", result.stdout)

    def test_probability_at_the_end_of_the_reliable_range(self):
        _, result = self.pack(self.samples / "comd-noise/results.json")
        self.assertRegex(result.stdout, r"On \d+ cores it is at least 75 % with a probability of more than 90 %\.")

    def test_bare_table_with_times(self):
        rows, result = self.pack(self.write("t.csv", TABLE), "--scaling", "strong", "--iterations", 7200)
        self.assertEqual([row["efficiency"][:6] for row in rows[:3]], ["1", "0.9000", "0.8000"])
        self.assertAlmostEqual(float(rows[2]["core_hours"]), 32 * 25 / 8 * 7200 / 3600)
        self.assertIn("warning: The problem size is unknown", result.stderr)

    def test_factors_without_times(self):
        _, result = self.pack(ROOT / "tests/tables/rosas14-table5.csv")
        self.assertIn("there are no wall times and no core hours", result.stderr)
        text = (self.folder / "a/allocation.md").read_text()
        self.assertNotIn("Wall time", text)
        self.assertIn("parallel efficiency alone", text)

    def test_problem_size_from_the_study(self):
        text = (ROOT / "sample-runs/npb-lu/study.toml").read_text().replace("traces/", str(ROOT) + "/sample-runs/npb-lu/traces/")
        study = self.write("study.toml", text + '\n[case]\nsize = 35937\nunit = "grid points"\niterations = 300\n')
        self.run_ok("run", study, "-o", self.folder / "r", "--quiet")
        rows, result = self.pack(self.folder / "r/results.json")
        self.assertEqual((rows[0]["size"], rows[0]["size_per_process"]), ("35937", "17968.5"))
        self.assertEqual(rows[0]["iterations"], "300")
        self.assertNotIn("problem size", result.stderr)
        self.assertIn("35,937 grid points in total", (self.folder / "a/allocation.md").read_text())
        study.write_text(text + "\n[case]\nsize_per_process = 1\n")
        self.fails(2, "study.toml:", "run", study, "-o", self.folder / "r")
        self.fails(2, "with strong scaling the size per process falls", "run", study, "-o", self.folder / "r")

    def test_form_of_a_run(self):
        """One command from traces to the pack, the same as from the results."""
        study = ROOT / "sample-runs/npb-lu/study.toml"
        result = self.run_ok("run", study, "-o", self.folder / "r", "--form", "allocation", "--efficiency", 0.9)
        self.assertIn("at least 90 % of that on 2 cores", result.stdout)
        self.assertTrue((self.folder / "r/report.html").exists())
        self.pack(self.folder / "r/results.json", "--efficiency", 0.9)
        for path in (self.folder / "a").glob("*.*"):
            self.assertEqual(path.read_bytes(), (self.folder / "r/allocation" / path.name).read_bytes(), path.name)

    def test_contradictions(self):
        """Times of weak runs under strong scaling; times that no scaling explains; the scaling that a table shows."""
        weak = self.write("w.csv", "cores,runtime,parallelEfficiency,globalEfficiency\n8,10,1,1\n16,10.5,0.95,0.95\n"
                                   "32,11,0.91,0.91\n")
        self.fails(2, "times and efficiencies of the table show weak scaling", "report", weak, "--form", "allocation",
                   "-o", self.folder / "x", "--scaling", "strong")
        self.assertFalse((self.folder / "x").exists())
        _, result = self.pack(weak, "--scaling", "weak")
        self.assertNotIn("contradict", result.stderr)
        odd = self.write("o.csv", weak.read_text().replace("32,11,", "32,14,"))
        _, result = self.pack(odd, "--scaling", "weak")
        self.assertIn("warning: Times and factors contradict each other beyond noise: with weak scaling, efficiency is "
                      "on 32 cores 71.4 % by times and 91.0 % by factors", result.stderr)
        for name in ("allocation.md", "allocation.html", "allocation.csv", "allocation-text.tex"):
            self.assertIn("contradict each other beyond noise", (self.folder / "a" / name).read_text())

    def test_errors(self):
        results = self.samples / "npb-lu/results.json"
        target = ("--form", "allocation", "-o", self.folder / "x")
        self.fails(2, "no phase 'none' in the results; there are iteration, lower sweep, upper sweep", "report", results,
                   *target, "--phase", "none")
        self.fails(2, "there is no run on 3 cores", "report", results, *target, "--baseline", 3)
        self.fails(2, "does not lie between 0 and 1", "report", results, *target, "--efficiency", 75)
        for value in ("nan", "0", "inf", "-1", "many"):
            self.fails(2, f"--iterations: '{value}' is no number above 0", "report", results, *target,
                       f"--iterations={value}")
        self.fails(3, "missing.json", "report", self.folder / "missing.json", *target)
        self.fails(2, "says how its runs scale", "report", results, *target, "--scaling", "weak")
        self.assertFalse((self.folder / "x").exists())

    def tex(self):
        tex = shutil.which("pdflatex") or shutil.which("tectonic")
        if tex is None:
            self.skipTest("neither pdflatex nor tectonic is installed")
        return [tex, *(["-interaction=nonstopmode", "-halt-on-error"] if "pdflatex" in tex else [])]

    def compile(self, tex, name):
        """What TeX prints; a file of the pack, or one beside it."""
        done = subprocess.run([*tex, name], cwd=self.folder / "a", capture_output=True, timeout=120)
        output = (done.stdout + done.stderr).decode(errors="replace")
        if "tikz.sty' not found" in output:
            self.skipTest("TikZ is not installed")
        self.assertEqual(done.returncode, 0, output[-2000:])
        self.assertTrue((self.folder / "a" / name).with_suffix(".pdf").exists())
        self.assertNotIn("\n!", output)
        return output

    def compile_page(self, tex):
        output = self.compile(tex, "allocation-page.tex")
        self.assertIn("Output written on allocation-page.pdf (1 page,", output.replace("\n", ""))
        self.assertNotIn("Overfull", output)

    def odd_results(self):
        """Any name from a trace."""
        results = json.loads((self.samples / "npb-lu/results.json").read_text())
        results["study"]["title"] = "a_b & 50 % of $x^2 #1 {~\\} <script> [é中µ] \"q\" 'r' |"
        results["phases"][0]["description"] = "region \\input{/etc/passwd} ^^41 ``"
        return self.write("r.json", json.dumps(results))

    def test_latex_compiles(self):
        tex = self.tex()
        self.pack(self.odd_results())
        text = (self.folder / "a/allocation-text.tex").read_text()
        self.assertIn("``q''", text)
        self.assertIn("the phase ``", text)
        (self.folder / "a/document.tex").write_text(
            "\\documentclass{article}\\begin{document}\\input{allocation-text}\\end{document}\n")
        for name in ("document.tex", "allocation-figure.tex"):
            with self.subTest(name):
                self.compile(tex, name)

    def test_latex_is_one_page(self):
        tex = self.tex()
        for results, options in ((self.odd_results(), ()), (self.samples / "npb-lu/results.json", ("--iterations", 250000))):
            self.pack(results, *options)
            self.compile_page(tex)

    def test_latex_fits_the_column(self):
        """The table in an article, as wide as its text, with sizes, hours and all columns there are."""
        tex = self.tex()
        sample = ROOT / "sample-runs/comd-noise"
        study = (sample / "study.toml").read_text().replace("traces/", f"{sample}/traces/")
        study = study.replace('"network.toml"', f'"{sample}/network.toml"')
        study += '\n[case]\nsize_per_process = 4000000\nunit = "atoms"\niterations = 250000\n'
        self.run_ok("run", self.write("study.toml", study), "-o", self.folder / "r", "--quiet")
        for results in (self.folder / "r/results.json", self.samples / "npb-lu/results.json"):
            self.pack(results)
            (self.folder / "a/document.tex").write_text(
                "\\documentclass{article}\\begin{document}\\begin{table}\\centering\\input{allocation}"
                "\\caption{Scaling}\\end{table}\\end{document}\n")
            self.assertNotIn("Overfull", self.compile(tex, "document.tex"))
            self.compile_page(tex)


class Compare(ReportsTest):
    def tables(self):
        slower = TABLE.replace("32,4,25,8,0.8,", "32,4,40,8,0.5,")
        return self.write("before.csv", TABLE), self.write("after.csv", slower)

    def test_known_answer(self):
        """Load balance falls from 0.8 to 0.5 on 32 cores and nothing else changes: all of ln(40 / 25) = 0.47."""
        before, after = self.tables()
        result = self.run_ok("compare", before, after, "--scaling", "strong", "-o", self.folder / "c")
        self.assertIn("On 32 cores, an iteration takes 3.12 s in before and 5.00 s in after: +60.0 %, beyond noise",
                      result.stdout)
        self.assertIn("Mostly because of load balance: load balance +60.0 % (100 %).", result.stdout)
        document = json.loads((self.folder / "c/compare.json").read_text())
        phase = document["comparisons"][0]["phases"][0]
        self.assertEqual([count["cores"] for count in phase["counts"]], [8, 16, 32])
        largest = phase["counts"][2]
        self.assertEqual(largest["time"]["largest"], "loadBalance")
        self.assertAlmostEqual(largest["time"]["parts"]["loadBalance"], 0.47, places=3)
        for count in phase["counts"]:
            for difference in (count["efficiency"], count["time"]):
                self.assertAlmostEqual(sum(difference["parts"].values()), difference["logarithm"], places=12)
        self.assertTrue(largest["factors"]["loadBalance"]["beyondNoise"])
        self.assertFalse(phase["counts"][1]["factors"]["loadBalance"]["beyondNoise"])
        page = self.check_page(self.folder / "c/compare.html")
        self.assertIn("What explains the change", page.text)
        self.check_markdown_tables(self.folder / "c/compare.md")

    def test_the_same_twice(self):
        results = self.samples / "npb-lu/results.json"
        result = self.run_ok("compare", results, results, "--names", "a", "b")
        self.assertEqual(result.stdout.count("nothing changed beyond noise"), 3)
        self.assertNotIn("beyond noise (95", result.stdout)

    def test_two_codes(self):
        result = self.run_ok("compare", self.samples / "npb-lu/results.json", self.samples / "comd-noise/results.json",
                             "-o", self.folder / "c")
        self.assertTrue(result.stdout.startswith("comd-noise against npb-lu\n"))
        self.assertIn('"iteration" of npb-lu is compared with "time step" of comd-noise', result.stdout)
        self.assertIn("Only in npb-lu: phases lower sweep, upper sweep.", result.stdout)
        self.assertIn("One side scales strong, the other weak", result.stdout)
        self.check_page(self.folder / "c/compare.html")

    def test_results_and_their_own_table(self):
        """factors.csv does not say how its runs scale, but its times and efficiencies do: nothing is lost."""
        folder = self.samples / "npb-lu"
        result = self.run_ok("compare", folder / "results.json", folder / "factors.csv")
        self.assertIn("On 32 cores, global efficiency is 0.787 in results and 0.787 in factors: 0.0 %", result.stdout)
        self.assertIn("factors does not say how its runs scale; its times and efficiencies show strong scaling.",
                      result.stdout)

    def test_plain_tables_of_both_kinds(self):
        """Strong against weak, another reference, and a table without times, said in all forms."""
        strong = self.write("s.csv", "cores,runtime,parallelEfficiency,computationScalability\n8,10,1,1\n16,5.25,0.95,1\n"
                                     "32,2.75,0.91,1\n")
        weak = self.write("w.csv", strong.read_text().replace("5.25,", "10.5,").replace("2.75,", "11,"))
        from_16 = self.write("f.csv", "\n".join(line for line in strong.read_text().splitlines() if line[:2] != "8,"))
        bare = self.write("b.csv", "cores,parallelEfficiency\n8,1\n16,0.95\n32,0.91\n")
        for other, sentence in ((weak, "One side scales strong, the other weak"),
                                (from_16, "The reference runs differ: 8 cores in s, 16 in f."),
                                (bare, "Only s knows global efficiency, computation scalability, time of an iteration.")):
            result = self.run_ok("compare", strong, other, "-o", self.folder / "c")
            self.assertIn(sentence, result.stdout)
            for name in ("compare.md", "compare.html", "compare.json"):
                self.assertIn(sentence, (self.folder / "c" / name).read_text())

    def test_several_and_mixed(self):
        before, after = self.tables()
        result = self.run_ok("compare", before, after, before, "--scaling", "strong", "--names", "a,b,c")
        self.assertIn("b against a\n", result.stdout)
        self.assertIn("c against a\n", result.stdout)
        self.run_ok("factors", ROOT / "sample-runs/npb-lu/study.toml", "-o", self.folder / "f.json")
        self.run_ok("compare", self.samples / "npb-lu/results.json", self.folder / "f.json")

    def test_names_are_escaped(self):
        before, after = self.tables()
        self.run_ok("compare", before, after, "--names", "<script>alert(1)</script>", "a|b", "-o", self.folder / "c", "-q")
        self.check_page(self.folder / "c/compare.html")
        self.check_markdown_tables(self.folder / "c/compare.md")

    def test_errors(self):
        before, _ = self.tables()
        self.fails(2, "needs two results", "compare", before)
        self.fails(2, "there are 1 names for 2 results", "compare", before, before, "--names", "a")
        self.fails(3, "missing.json", "compare", before, self.folder / "missing.json")
        self.fails(3, "but no results of farscale", "compare", before, self.write("x.json", "{}"))


if __name__ == "__main__":
    unittest.main()
