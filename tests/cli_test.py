#!/usr/bin/env python3
"""The program as its users call it: subcommands, outputs, exit codes, and one clear sentence for bad input.

    FARSCALE=build/dev/bin/farscale tests/cli_test.py
"""

import csv
import fcntl
import functools
import gzip
import io
import hashlib
import json
import os
import pathlib
import pty
import random
import re
import resource
import shutil
import stat
import struct
import subprocess
import tempfile
import termios
import tomllib
import unittest

import nightly

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = str(pathlib.Path(os.environ["FARSCALE"]).resolve())
LU = ROOT / "sample-runs/npb-lu"
LU_TRACES = [str(LU / f"traces/{ranks}/traces.otf2") for ranks in (2, 4, 8, 16, 32)]
TABLES = ROOT / "tests/tables"


def read_csv(text):
    """Rows of CSV text or of a file, without comment lines."""
    text = text.read_text() if isinstance(text, pathlib.Path) else text
    return list(csv.DictReader(line for line in io.StringIO(text) if not line.startswith("#")))


def farscale(*arguments, cwd=None, env=None, input=None):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, timeout=120,
                          env={**os.environ, **(env or {})}, input=input)


def on_terminal(*arguments, columns, cwd=None, env=None):
    """What the program shows on a terminal of so many columns, outputs and progress together."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=its, stdout=its, stderr=its, cwd=cwd,
                               env={**{key: value for key, value in os.environ.items() if key != "NO_COLOR"}, **(env or {})})
    os.close(its)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:  # the program has closed the other end
        pass
    os.close(ours)
    process.wait(timeout=120)
    return shown.decode()


@functools.cache
def reported_lu():
    """What `farscale run` writes of the sample study of LU: for tests of what is made of it. They take a copy."""
    folder = tempfile.TemporaryDirectory()
    result = farscale("run", LU / "study.toml", "-o", pathlib.Path(folder.name) / "out", "-q")
    assert result.returncode == 0, result.stderr
    return folder


class CliTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)

    def tearDown(self):
        for path in self.folder.rglob("*"):
            if path.is_dir():
                path.chmod(0o755)
        self._folder.cleanup()

    def run_ok(self, *arguments, **more):
        result = farscale(*arguments, **more)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def fails(self, code, sentence, *arguments, **more):
        """One clear sentence on stderr, the exit code of the design, nothing on stdout."""
        result = farscale(*arguments, **more)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertIn(sentence, result.stderr)
        errors = [line for line in result.stderr.splitlines() if line.startswith("farscale: ")]
        self.assertEqual(len(errors), 1, result.stderr)
        return result

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def copy_report(self, name):
        shutil.copytree(pathlib.Path(reported_lu().name) / "out", self.folder / name)

    def copy_trace(self, ranks, name=None):
        target = self.folder / (name or str(ranks))
        shutil.copytree(LU / f"traces/{ranks}", target)
        return target / "traces.otf2"

    def study(self, traces, more="", phase='[[phases]]\nregion = "ssor_iter"\n'):
        runs = "".join(f'[[runs]]\ntrace = "{trace}"\n' for trace in traces)
        return self.write("study.toml", f'[study]\ntitle = "T"\nscaling = "strong"\n{more}\n{runs}{phase}')


# Rank 0 computes for 5 ms and rank 1 for 1 ms, then both meet in a fence until 5.02 ms, without a record of it.
FENCES = """#Paraver (20/11/26 at 10:00):5020000_ns:1(2):1:2(1:1,1:1),1
c:1:1:2:1:2
2:1:1:1:1:0:40000001:1
2:2:1:2:1:0:40000001:1
2:2:1:2:1:1000000:50000004:77
2:1:1:1:1:5000000:50000004:77
2:1:1:1:1:5020000:50000004:0
2:2:1:2:1:5020000:50000004:0
"""
FENCES_PCF = """EVENT_TYPE
9   50000004    MPI One-sided
VALUES
77   MPI_Win_fence
0   End
"""


class UnknownWaits(CliTest):
    # Rank 1 waits for 4 ms, which the trace does not say: no wait, and none of 0 s, is right.
    def test_are_not_told_as_none(self):
        self.write("fences.pcf", FENCES_PCF)
        trace = self.write("fences.prv", FENCES)
        study = self.write("study.toml", '[study]\nscaling = "strong"\n[[runs]]\ntrace = "fences.prv"\n[[phases]]\nwhole = true\n')
        self.run_ok("imbalance", trace, "-o", self.folder / "losses")
        report = farscale("run", study, "-o", self.folder / "report")
        self.assertTrue((self.folder / "report/report.md").exists(), report.stderr)
        texts = {"terminal": self.run_ok("imbalance", trace).stdout}
        for name in ("losses/imbalance.md", "losses/imbalance.html", "report/report.md", "report/report.html"):
            texts[name] = (self.folder / name).read_text()
        for name, text in texts.items():
            with self.subTest(name):
                self.assertIn("How long ranks wait is unknown", text)
                self.assertNotIn("No rank waits", text)
                self.assertNotIn("waits 0 s", text)
        losses = json.loads((self.folder / "losses/imbalance.json").read_text())["phases"][0]
        self.assertEqual(losses["waitsUnknown"], {"calls": 2, "example": "rank 0 in MPI_Win_fence at 5.00 ms"})
        for key in ("waiting", "callPaths", "byFactor"):
            self.assertNotIn(key, losses)
        again = self.run_ok("report", self.folder / "report/results.json", "-o", self.folder / "again")
        self.assertIn("How long ranks wait is unknown", (self.folder / "again/report.md").read_text(), again.stderr)


class Help(CliTest):
    def test_help_of_everything(self):
        overview = self.run_ok("--help").stdout
        for command in ("run", "inspect", "phases", "factors", "predict", "backtest", "calibrate", "whatif", "imbalance", "balance", "cut", "timeline",
                        "report", "gate", "history", "compare", "measure", "trace", "watch"):
            self.assertIn(command, overview)
            self.assertIn("Usage", self.run_ok(command, "--help").stdout)
        self.assertRegex(self.run_ok("--version").stdout,
                         r"^farscale \d+\.\d+\.\d+\n(commit [0-9a-f]{12}\+?\n)?libraries: OTF2 \d.*, ISA-L \d.*\n"
                         r"measures programs of: .+\n$")

    def test_shells_complete_commands_options_and_their_values(self):
        script = self.run_ok("completion", "bash").stdout
        for words, expected in ((["pred"], "predict"), (["predict", "--sca"], "--scaling"),
                                (["predict", "--scaling", ""], "strong weak")):
            typed = " ".join(f"'{word}'" for word in ["farscale", *words])
            done = subprocess.run(
                ["bash", "-c", f"{script}\nCOMP_WORDS=({typed}); COMP_CWORD={len(words)}; _farscale; echo ${{COMPREPLY[@]}}"],
                capture_output=True, text=True)
            self.assertEqual((done.stdout, done.stderr), (expected + "\n", ""), words)
        commands = re.findall(r"^  ([a-z]+) ", self.run_ok("--help").stdout.split("Subcommands:")[1].split("\n\n")[0], re.M)
        for shell in ("zsh", "fish"):
            script = self.run_ok("completion", shell).stdout
            for command in commands:
                self.assertIn(command, script)
        self.fails(2, "shell", "completion", "tcsh")

    def test_wrong_usage(self):
        self.fails(2, "subcommand", )
        self.fails(2, "no command 'predit'; did you mean 'predict'?", "predit", "x.csv")
        self.fails(2, "run has no option --outptu; did you mean '--output'?", "run", "x.toml", "--outptu", "y")
        self.assertEqual(self.run_ok("help", "run").stdout, self.run_ok("run", "--help").stdout)
        self.assertEqual(self.run_ok("help").stdout, self.run_ok("--help").stdout)
        self.fails(2, "--colour", "run", "x.toml", "--colour")
        self.fails(2, "--rules", "factors", "x", "--rules", "mine")
        self.fails(2, "must end in .json or .csv", "factors", LU_TRACES[0], "-o", "x.txt")


def paraver_trace(ranks, steps=4, applications=1, work_of_step=100_000):
    """A loop of computation, a sendrecv to the right and an allreduce, with two counters; rank 0 computes longer."""
    length = work_of_step // ranks
    duration = steps * (length + 1500) + 2000
    tasks = f"{ranks}(" + ",".join("1:1" for _ in range(ranks)) + "),1"
    lines = [f"#Paraver (20/11/26 at 10:00):{duration}_ns:1({ranks}):{applications}:" + ":".join([tasks] * applications)]
    for application in range(1, applications + 1):
        lines.append(f"c:{application}:1:{ranks}:" + ":".join(str(rank + 1) for rank in range(ranks)))
    for application in range(1, applications + 1):
        for rank in range(ranks):
            who = f"{rank + 1}:{application}:{rank + 1}:1"
            lines.append(f"2:{who}:0:40000001:1:42000050:0:42000059:0")
            for step in range(steps):
                t = step * (length + 1500)
                work = length if rank == 0 else length * 8 // 10
                exchange, reduce, end = t + work, t + length + 1000, t + length + 1400
                right = (rank + 1) % ranks
                lines += [
                    f"1:{who}:{t}:{exchange}:1",
                    f"2:{who}:{t}:60000019:1:42000050:100:42000059:100",
                    f"1:{who}:{exchange}:{t + length + 500}:16",
                    f"2:{who}:{exchange}:50000001:41:42000050:{2 * work}:42000059:{work}",
                    f"3:{who}:{exchange}:{exchange}:{right + 1}:{application}:{right + 1}:1:"
                    f"{t + (length if right == 0 else length * 8 // 10)}:{t + length + 500}:4096:7",
                    f"2:{who}:{t + length + 500}:50000001:0:42000050:10:42000059:10",
                    f"1:{who}:{t + length + 500}:{reduce}:1",
                    f"2:{who}:{reduce}:50000002:10:50100001:8:50100002:8:50100004:1:42000050:50:42000059:50",
                    f"1:{who}:{reduce}:{end}:13",
                    f"2:{who}:{end}:50000002:0:42000050:10:42000059:10",
                    f"1:{who}:{end}:{end + 100}:1",
                    f"2:{who}:{end + 100}:60000019:0:42000050:10:42000059:10",
                ]
            lines += [f"1:{who}:{duration - 2000}:{duration - 1000}:12", f"1:{who}:{duration - 1000}:{duration}:1",
                      f"2:{who}:{duration}:40000001:0"]
    head = applications + 1
    records = sorted(lines[head:], key=lambda line: int(line.split(":")[5]))  # by time, as tracers write them
    return "\n".join(lines[:head] + records) + "\n"


PCF = """EVENT_TYPE
9   60000019    User function
VALUES
0   End
1   step [step]

EVENT_TYPE
7  42000050 PAPI_TOT_INS [Instr completed]
7  42000059 PAPI_TOT_CYC [Total cycles]
"""


class Paraver(CliTest):
    def trace(self, ranks, name=None, **more):
        self.write(f"p{ranks}.pcf", PCF)
        return self.write(name or f"p{ranks}.prv", paraver_trace(ranks, **more))

    def compressed(self, ranks):
        path = self.folder / f"p{ranks}.prv.gz"
        path.write_bytes(gzip.compress(self.trace(ranks).read_bytes()))
        return path

    def test_inspect(self):
        text = self.run_ok("inspect", self.trace(4)).stdout
        for expected in ("Format     Paraver", "Ranks      4 on 1 node", "MPI_Sendrecv", "MPI_Allreduce", "PAPI_TOT_INS",
                         "Instr completed", "Loops to analyse as phases: step (4 iterations"):
            self.assertIn(expected, text)
        found = json.loads(self.run_ok("inspect", self.compressed(4), "--json").stdout)
        self.assertEqual(found["traceFormat"], "Paraver")
        self.assertEqual(found["messages"], 16)

    def test_factors_are_those_of_the_cut(self):
        whole = read_csv(self.run_ok("factors", self.compressed(4), "-o", "-").stdout)[0]
        self.run_ok("cut", self.folder / "p4.prv.gz", "-o", self.folder / "cut.otf2")
        self.assertEqual(read_csv(self.run_ok("factors", self.folder / "cut.otf2", "-o", "-").stdout)[0], whole)
        # Input and output at the end are computation for the replay only.
        self.assertIn("notRunning", self.run_ok("factors", self.folder / "p4.prv.gz", "-v").stderr)

    def test_formats_mix_in_a_study(self):
        self.run_ok("cut", self.trace(2), "-o", self.folder / "two.otf2")
        study = self.study([self.folder / "two.otf2", self.trace(4), self.compressed(8)], phase='[[phases]]\nregion = "step"\n')
        self.run_ok("run", study, "-o", self.folder / "out")
        runs = json.loads((self.folder / "out/results.json").read_text())["runs"]
        self.assertEqual([run["format"][:4] for run in runs], ["OTF2", "Para", "Para"])
        self.run_ok("whatif", study, "--network", "infiniband-hdr")
        self.run_ok("calibrate", self.folder / "p8.prv.gz", "-o", self.folder / "network.toml")

    def test_several_applications(self):
        trace = self.trace(2, applications=2)
        self.fails(2, "several applications: 1 with 2 tasks, 2 with 2 tasks", "inspect", trace)
        self.fails(2, "there is no application 3", "factors", trace, "--application", 3)
        self.assertIn("Ranks      2", self.run_ok("inspect", trace, "--application", 2).stdout)
        for application in (1, 2):
            self.run_ok("factors", trace, "--application", application)
        study = self.write("s.toml", f'[[runs]]\ntrace = "{trace}"\napplication = 2\n')
        self.run_ok("factors", study)
        self.fails(2, "application = 1", "factors", study, "--application", 1)
        self.fails(2, "an OTF2 archive has no applications", "factors", LU_TRACES[0], "--application", 1)

    def test_damage(self):
        text = paraver_trace(4)
        self.fails(3, "the file ends in the middle of this line", "factors", self.write("cut.prv", text[: len(text) // 2]))
        lines = text.splitlines(keepends=True)
        sentence = "line 11, field 4 (task): there is no task 9: the header lists 4"
        lines[10] = "2:1:1:9:1:5:50000001:0\n"
        self.assertIn(sentence, self.run_ok("factors", self.write("one.prv", "".join(lines))).stderr)
        lines[20:23] = 3 * ["2:1:1:1:1:-5:50000001:0\n"]
        self.fails(3, sentence + "; 4 of 208 lines are damaged, more than 1 %", "factors",
                   self.write("more.prv", "".join(lines)))
        self.write("x.prv.gz", "").write_bytes(gzip.compress(text.encode())[:-40])
        self.fails(3, "the compressed file is cut short", "factors", self.folder / "x.prv.gz")
        self.fails(3, "the header gives no sound duration", "factors", self.write("y.prv", "#Paraver (20/11/26 at 10:00):xx:1:1:1(1:1)\n"))

    def test_the_name_does_not_matter(self):
        path = self.write("trace.txt", paraver_trace(2))
        self.assertIn("Format     Paraver", self.run_ok("inspect", path).stdout)


WHOLE_AND_GROUPS = [("whole", ""), ("whole", "step"), ("whole", "mesh")]


class Groups(CliTest):
    """Ranks that do different work: of four and more ranks the first half is in region step, the others in mesh."""

    def trace(self, ranks):
        self.write(f"g{ranks}.pcf", PCF.replace("1   step [step]", "1   step [step]\n2   mesh [mesh]"))
        lines = paraver_trace(ranks).splitlines(keepends=True)
        for i, line in enumerate(lines):
            if line.startswith("2:") and int(line.split(":")[3]) > ranks // 2:
                lines[i] = line.replace(":60000019:1:", ":60000019:2:")
        return self.write(f"g{ranks}.prv", "".join(lines))

    def phases_of(self, *arguments):
        rows = read_csv(self.run_ok("factors", *arguments, "-o", "-").stdout)
        return [(row["phase"], row["group"]) for row in rows]

    def test_shown(self):
        text = self.run_ok("phases", self.trace(8)).stdout
        self.assertIn("Ranks do different work\n", text)
        self.assertRegex(text, r"\nmesh +4 +\d+.\d % +\d.\d+ +ranks 4-7\n")
        self.assertNotIn("Ranks do different work", self.run_ok("phases", LU_TRACES[1]).stdout)

    def test_factors(self):
        trace = self.trace(8)
        self.assertEqual(self.phases_of(trace), WHOLE_AND_GROUPS)
        self.assertEqual(self.phases_of(trace, "--groups", "auto"), WHOLE_AND_GROUPS)
        self.assertEqual(self.phases_of(trace, "--groups", "none"), [("whole", "")])
        study = self.study([trace], more='groups = "none"', phase="")
        self.assertEqual(self.phases_of(study), [("whole", "")])
        self.assertEqual(self.phases_of(study, "--groups", "auto"), WHOLE_AND_GROUPS)
        self.fails(2, "--groups", "factors", trace, "--groups", "some")

    @nightly.alone
    def test_allocation_of_any_phase(self):
        """A phase is what a table calls it: 9 s of "main / solve", of which 3 of 4 ranks are a group, and 1 s of set-up."""
        table = self.write("t.csv", "phase,group,cores,ranks,runtime,parallelEfficiency\n" + "".join(
            f"set-up,,{cores},,1,0.9\nmain / solve,,{cores},,9,0.9\nmain / solve,pme,{cores},{3 * cores // 4},8,0.8\n"
            for cores in (4, 8, 16)))
        group = "| **Group of ranks** | pme |"
        for options, phase, is_group in (([], "main / solve", False), (["--group", "pme"], "main / solve", True),
                                         (["--phase", "main / solve / pme"], "main / solve", True),
                                         (["--phase", '"main / solve" / pme'], "main / solve", True),
                                         (["--phase", "set-up"], "set-up", False)):
            self.run_ok("report", table, "--form", "allocation", "--scaling", "weak", *options, "-o", self.folder / "a")
            pack = (self.folder / "a/allocation.md").read_text()
            self.assertIn(f"| **Phase** | {phase}:", pack)
            self.assertEqual(group in pack, is_group)
        self.fails(2, "no group 'pp' in the results", "report", table, "--form", "allocation", "--scaling", "weak",
                   "--group", "pp", "-o", self.folder / "b")

    @nightly.alone
    def test_from_study_to_prediction(self):
        study = self.study([self.trace(ranks) for ranks in (4, 8, 16)], phase="[[phases]]\nfound = true\n")
        for jobs in ("1", "3"):
            self.run_ok("run", study, "-o", self.folder / jobs, "-q", "--jobs", jobs)
        names = sorted(path.name for path in (self.folder / "1").iterdir())
        for name in names:
            if name != "figures":
                self.assertEqual((self.folder / "1" / name).read_bytes(), (self.folder / "3" / name).read_bytes())
        report = (self.folder / "1/report.md").read_text()
        self.assertIn("ranks 2-3 (2 of 4), 4-7 (4 of 8), 8-15 (8 of 16)", report)
        whole = read_csv(self.folder / "1/projection.csv")
        again = self.run_ok("predict", self.folder / "1/factors.csv", "--scaling", "strong", "-o", "-").stdout
        both = [{(row["phase"], row["group"]) for row in rows} for rows in (whole, read_csv(again))]
        self.assertEqual(both[0], {("iteration", ""), ("iteration", "step"), ("iteration", "mesh")})
        self.assertEqual(both[0], both[1])
        self.run_ok("predict", self.folder / "1/results.json", "--report", self.folder / "new")
        self.run_ok("report", self.folder / "1/results.json", "-o", self.folder / "again")

    def test_named_in_the_study(self):
        group = '[[groups]]\nname = "odd"\nevery = 2\noffset = 1\n'
        self.assertEqual(self.phases_of(self.study(LU_TRACES[1:3], phase=group)),
                         2 * [("whole", "")] + 2 * [("whole", "odd")] + 2 * [("whole", "others")])
        self.assertEqual(self.phases_of(self.study(LU_TRACES[1:2], phase=group), "--groups", "none"), [("whole", "")])
        group = '[[groups]]\nname = "last"\nranks = "4-7"\n'
        self.fails(2, "study.toml:7, " + LU_TRACES[1] + ": group 'last' has none of the 4 ranks", "factors",
                   self.study(LU_TRACES[1:2], phase=group))


class Phases(CliTest):
    def test_study_of_found_phases(self):
        traces = [self.copy_trace(ranks) for ranks in (2, 8)]
        study = self.folder / "study.toml"
        text = self.run_ok("phases", *traces, "--phase", "found", "-o", study).stdout
        self.assertEqual(text.count("The MPI calls show 3 iterations"), 2)
        self.fails(5, "already exists", "phases", traces[0], "-o", study)
        self.run_ok("run", study, "-o", self.folder / "out", "-q")
        self.assertIn("# part = ", study.read_text())  # the run of 2 ranks has none of those of 8
        found = read_csv(self.folder / "out/factors.csv")
        marked = read_csv(self.run_ok("factors", *traces, "--phase", "ssor_iter", "--span", "whole", "-o", "-").stdout)
        for a, b in zip(found, marked):
            self.assertEqual(a["iterations"], "3")  # with the first: that it computes norms besides is no noise
            self.assertAlmostEqual(float(a["loadBalance"]), float(b["loadBalance"]), delta=0.01)

    def test_no_loop(self):
        trace = self.write("once.prv", paraver_trace(2, steps=1))
        text = self.run_ok("factors", trace, "--phase", "auto").stderr
        self.assertIn("noLoopFound", text)
        result = farscale("phases", trace)
        self.assertEqual(result.returncode, 4)
        self.assertIn("show no loop", result.stdout)
        study = self.folder / "whole.toml"
        result = self.run_ok("phases", trace, "-o", study)
        self.assertIn("the MPI calls show no loop: the whole run is the phase", result.stderr)
        self.assertEqual(tomllib.loads(study.read_text())["phases"], [{"whole": True}])
        self.assertEqual(farscale("run", study, "-o", self.folder / "out", "-q").returncode, 4)  # one run: no projection
        self.fails(2, "must end in .toml", "phases", trace, "-o", "x.txt")

    def test_loops_that_contradict_each_other(self):
        """4 iterations of 100 us in all against 40 of 30 us: neither all ranks nor each of them computes alike in one."""
        few = self.write("few.prv", paraver_trace(2, steps=4))
        many = self.write("many.prv", paraver_trace(8, steps=40, work_of_step=30_000))
        result = self.run_ok("phases", few, many, "--phase", "found", "-o", self.folder / "s.toml")
        self.assertIn("different loops (4 on 2 ranks, 40 on 8 ranks)", result.stderr)
        study = self.folder / "s.toml"
        self.assertEqual(tomllib.loads(study.read_text())["phases"], [{"whole": True}])
        self.assertEqual(farscale("phases", few, many, "--phase", "found").returncode, 4)
        longer = self.write("longer.prv", paraver_trace(8, steps=40))  # as much work in each
        self.run_ok("phases", few, longer, "--phase", "found", "-o", self.folder / "t.toml")
        self.assertEqual(tomllib.loads((self.folder / "t.toml").read_text())["phases"][0], {"found": True})

    def test_one_bad_trace_does_not_lose_the_others(self):
        bad = self.copy_trace(8)
        (bad.parent / "traces/3.evt").unlink()
        result = farscale("phases", bad, LU_TRACES[1], "--phase", "found", "-o", self.folder / "s.toml")
        self.assertEqual(result.returncode, 3)
        self.assertIn("The MPI calls show 3 iterations", result.stdout)
        self.assertFalse((self.folder / "s.toml").exists())

    def test_clean_cut(self):
        text = self.run_ok("cut", LU_TRACES[2], "--phase", "found", "--clean", "-o", self.folder / "c.otf2").stdout
        self.assertIn("the longest run of clean iterations", text)
        cut = read_csv(self.run_ok("factors", self.folder / "c.otf2", "-o", "-").stdout)[0]
        whole = read_csv(self.run_ok("factors", LU_TRACES[2], "--phase", "found", "--clean", "longest", "--span", "whole",
                                     "-o", "-").stdout)[0]
        self.assertEqual(whole["iterations"], "2")
        for factor in ("loadBalance", "serializationEfficiency", "transferEfficiency"):
            self.assertAlmostEqual(float(cut[factor]), float(whole[factor]), places=9)
        self.fails(2, "must be longest", "factors", LU_TRACES[2], "--phase", "found", "--clean", "some")
        self.fails(2, "for regions that repeat", "factors", LU_TRACES[2], "--clean", "3")

    def test_iterations_of_a_region(self):
        text = self.run_ok("phases", LU_TRACES[1], "--phase", "ssor_iter", "-o", "-").stdout
        self.assertIn('region = "ssor_iter"', text)
        self.assertIn("iteration  begins at", text)

    def test_micro_load_balance(self):
        """A wavefront has dependencies within an iteration, which phase profiles do not see."""
        lines = self.run_ok("phases", LU_TRACES[4], "--phase", "lower_sweep").stdout.splitlines()
        header = next(line for line in lines if line.startswith("iteration"))
        for column in ("parallel eff.", "load bal.", "serialization", "transfer", "ideal", "by profile", "share"):
            self.assertIn(column, header)
        values = next(line for line in lines if line.startswith("serialization")).split()
        row = read_csv(self.run_ok("factors", LU_TRACES[4], "--phase", "lower_sweep", "-o", "-").stdout)[0]
        self.assertEqual(values[1:3], [f"{float(row[name]):.3f}" for name in ("serializationPhaseEstimate",
                                                                              "serializationEfficiency")])
        self.assertNotIn("cannot be the ideal time", "\n".join(lines))

    def test_estimate_out_of_range_is_said(self):
        """Ranks that do not wait between iterations: the longest of each together are more than the whole takes."""
        trace = ROOT / "sample-runs/comd-noise/traces/32/traces.otf2"
        result = self.run_ok("phases", trace, "--phase", "force", "-v")
        self.assertIn("cannot be the ideal time and was moved into its range", result.stdout)
        self.assertIn("phaseEstimateClamped", result.stderr)


def talp_run(ranks, elapsed):
    """As TALP writes it: 24 s of computation on all ranks together, on the busiest a tenth more than on average."""
    average = 24.0 / ranks
    region = {"numCpus": ranks, "numMpiRanks": ranks, "numNodes": 1, "avgCpus": float(ranks), "cycles": 48e9,
              "instructions": 60e9, "numMeasurements": ranks, "numMpiCalls": 100, "elapsedTime": elapsed * 1e9,
              "usefulTime": 24e9, "mpiTime": (elapsed * ranks - 24) * 1e9,
              "minMpiNormdProc": (elapsed - 1.1 * average) * 1e9, "minMpiNormdNode": (elapsed - average) * 1e9,
              "parallelEfficiency": round(average / elapsed, 2)}
    return json.dumps({"dlbVersion": "3.6.1", "timestamp": "2026-11-20T12:00:00",
                       "resources": {"numCpus": ranks, "numNodes": 1, "numMpiRanks": ranks, "numGpus": 0},
                       "Application": {"Global": region}})


class RunWithoutStudy(CliTest):
    def test_study_is_written_and_gives_the_same(self):
        for ranks in (2, 4, 8):
            self.copy_trace(ranks, f"results/{ranks}")
        said = self.run_ok("run", "results", cwd=self.folder)
        self.assertRegex(said.stdout, r"\nssor_iter +0\.\d+ @ 8 ")
        self.assertIn("and study.toml", " ".join(said.stdout.split()))
        study = self.folder / "report/study.toml"
        text = tomllib.loads(study.read_text())
        self.assertEqual((text["study"]["title"], text["study"]["scaling"]), ("results", "strong"))
        self.assertEqual([run["trace"] for run in text["runs"]],
                         [f"../results/{ranks}/traces.otf2" for ranks in (2, 4, 8)])
        self.assertEqual(text["phases"][0], {"region": "ssor_iter"})
        first = (self.folder / "report/factors.csv").read_text()
        before = study.read_text()
        self.run_ok("run", "results", "-q", cwd=self.folder)  # the draft is written again
        self.assertEqual(study.read_text(), before)
        self.run_ok("run", "report/study.toml", cwd=self.folder)
        self.assertEqual((self.folder / "report/factors.csv").read_text(), first)
        study.write_text(before + "# mine\n")
        self.fails(2, "report/study.toml: was not drafted by farscale run, or was edited since; run it with farscale run "
                      "report/study.toml", "run", "results", cwd=self.folder)
        self.assertTrue(study.read_text().endswith("# mine\n"))

    def test_formats_mix_and_runs_repeat(self):
        for name, ranks in (("a", 2), ("b", 4), ("c", 4), ("d", 8)):
            self.write(name + ".prv", paraver_trace(ranks, steps=6))
        self.run_ok("run", *(f"{name}.prv" for name in "abcd"), "-o", "out", "-q", cwd=self.folder)
        rows = read_csv(self.folder / "out/factors.csv")
        self.assertEqual([(row["cores"], row["repeat"]) for row in rows if row["phase"] == rows[0]["phase"]],
                         [("2", "0"), ("4", "0"), ("4", "1"), ("8", "0")])
        self.assertEqual(tomllib.loads((self.folder / "out/study.toml").read_text())["phases"][0], {"region": "function 1"})

    def test_bad_input_is_named(self):
        self.fails(3, "nothing: no such file or folder", "run", "nothing", cwd=self.folder)
        (self.folder / "empty").mkdir()
        self.fails(3, "empty: holds no study, trace (.otf2, .prv, .prv.gz) or measured run", "run", "empty", cwd=self.folder)
        self.write("other.json", '{"format": "farscale-factors"}')
        self.fails(3, "other.json: is no run that farscale measure or TALP has measured", "run", "other.json", cwd=self.folder)
        self.copy_trace(2, "runs/2")
        self.copy_trace(4, "runs/4")
        self.write("runs/bad.prv", "no trace")
        self.fails(3, "runs/bad.prv: ", "run", "runs", cwd=self.folder)
        text = (self.folder / "report/study.toml").read_text()
        self.assertIn("# left out: runs/bad.prv: ", text)
        self.assertEqual(len(tomllib.loads(text)["runs"]), 2)

    def test_strong_and_weak_runs_do_not_mix(self):
        """100 us of all ranks together on 2 and 4 ranks, 400 us on 16: from there on each rank has as much as before."""
        for ranks, work in ((2, 100_000), (4, 100_000), (16, 400_000)):
            self.write(f"{ranks}.prv", paraver_trace(ranks, steps=6, work_of_step=work))
        result = farscale("run", "2.prv", "4.prv", "16.prv", cwd=self.folder)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("the runs mix strong and weak scaling: from 2 to 4 cores", result.stderr)
        self.assertFalse((self.folder / "report/report.html").exists())

    def test_measured_runs(self):
        runs = self.folder / "runs"
        runs.mkdir()
        for ranks, elapsed in ((2, 14), (4, 7.5), (8, 4)):
            (runs / f"{ranks}.json").write_text(talp_run(ranks, elapsed))
        self.run_ok("run", "runs", cwd=self.folder)
        rows = read_csv(self.folder / "report/factors.csv")
        self.assertEqual([(row["cores"], row["phase"]) for row in rows], [("2", "whole"), ("4", "whole"), ("8", "whole")])
        self.assertAlmostEqual(float(rows[2]["parallelEfficiency"]), 24 / (8 * 4), places=3)
        text = (self.folder / "report/study.toml").read_text()
        self.assertEqual(tomllib.loads(text)["runs"][0], {"measured": "../runs/2.json"})
        study = self.write("s.toml", '[noise]\n[[runs]]\nmeasured = "runs/2.json"\n[[runs]]\nmeasured = "runs/4.json"\n')
        self.fails(2, "s.toml:2: the run was measured without a trace, so it cannot be replayed", "run", study)
        study = self.write("s.toml", '[[runs]]\nmeasured = "runs/2.json"\nthreads = 2\n')
        self.fails(2, "'threads' is for runs with a trace", "run", study)


class Batch(CliTest):
    def test_results_of_several_studies_on_one_page(self):
        shutil.copytree(pathlib.Path(reported_lu().name) / "out", self.folder / "a")
        results = json.loads((self.folder / "a/results.json").read_text())
        results["study"]["title"] = "other"
        other = self.write("other.json", json.dumps(results))
        result = self.run_ok("report", "a/results.json", other, "-o", "all", cwd=self.folder)
        self.assertRegex(result.stdout, r"\nother\s+iteration:? +0\.787 @ 32")
        page = (self.folder / "all/index.html").read_text()
        self.assertEqual(page.count('class="phase-row"'), 2 * len(results["phases"]))
        self.assertIn('<a href="../a/report.html">', page)
        self.assertIn("more of its phases</summary>", page)
        self.assertNotIn(">Machines<", page)
        text = (self.folder / "all/index.md").read_text()
        for figure in re.findall(r"\]\((figures/[^)]+)\)", text):
            self.assertTrue((self.folder / "all" / figure).exists(), figure)
        self.assertRegex(text, r"\| other \| iteration \| [^|]* \| serialization \| [\d.]+ % \|")
        self.fails(2, "an allocation pack is of one", "report", "a/results.json", other, "--form", "allocation", cwd=self.folder)
        self.fails(2, "a page of several studies is html or markdown", "report", "a/results.json", other, "-o", "x", "--format",
                   "csv", cwd=self.folder)

    @nightly.alone
    def test_machines_of_several_studies(self):
        for name, counts in (("a", (0, 1)), ("b", (1, 2))):
            study = self.study([LU_TRACES[i] for i in counts])
            self.run_ok("whatif", study, "--computation", "1,2", "-o", self.folder / name, "-q")
        result = self.run_ok("report", "a/results.json", "b/results.json", "-o", "all", cwd=self.folder)
        self.assertRegex(result.stdout, r"\ncomputation ×2 is fastest: 1\.\d\d× \([\d.]+–[\d.]+\) the speed of the machine of the runs over 2 studies")
        table = (self.folder / "all/index.md").read_text().partition("## Machines")[2].partition("## Studies")[0]
        self.assertRegex(table, r"\n\| computation ×2 \| 1 \| 1\.\d\d× \([\d.]+–[\d.]+\) \|\n")
        self.assertRegex(table, r"\n\| machine of the runs \| 2–3 \| 1\.00× \|\n")
        self.assertEqual(len(re.findall(r"\n\| [ab] \(\S+ \d+ cores, predicted\) \| \| \|\n\| computation ×2 \| [\d.]+ .?s \(", table)), 2, table)

    def test_offers(self):
        """Ranks fill the nodes of an offer in their order; what they cost stands beside their time."""
        (self.folder / "small.toml").write_text("name = 'Small nodes'\nnetwork = 'ethernet-25g'\ncores_per_node = 1\n"
                                                "price_per_node_hour = 1\ncurrency = 'EUR'\n")
        (self.folder / "large.toml").write_text("name = 'Large nodes'\nnetwork = 'ethernet-25g'\nprocessor_speed = 2\n"
                                                "cores_per_node = 64\nprice_per_node_hour = 20\ncurrency = 'EUR'\n")
        offers = ["--offer", self.folder / "small.toml", "--offer", self.folder / "large.toml"]
        text = self.run_ok("whatif", LU_TRACES[2], *offers).stdout
        self.assertTrue(text.startswith("Large nodes helps most"), text)
        times = dict(re.findall(r"\n(Small nodes|Large nodes) +8 +([\d.]+) ms", text))
        costs = dict(re.findall(r"\n(Small nodes|Large nodes) .* ([\d.e-]+) EUR", text))
        for name, nodes, price in (("Small nodes", 8, 1), ("Large nodes", 1, 20)):
            self.assertAlmostEqual(float(costs[name]), nodes * price * float(times[name]) / 3.6e6, delta=0.02 * float(costs[name]))
        self.fails(2, "excludes", "whatif", LU_TRACES[2], *offers, "--bandwidth", "2")
        self.fails(2, "is named 'Small nodes', too", "whatif", LU_TRACES[2], "--offer", self.folder / "small.toml",
                   "--offer", self.folder / "small.toml")

    @nightly.alone
    def test_studies_side_by_side_give_the_same_results(self):
        for name, counts in (("a", (0, 1, 2)), ("b", (1, 2, 3)), ("c", (0, 2, 3))):
            (self.folder / name).mkdir()
            self.study([LU_TRACES[i] for i in counts]).rename(self.folder / name / "study.toml")
            self.run_ok("run", self.folder / name / "study.toml", "-o", self.folder / "alone" / name, "-q")
        self.run_ok("run", "a", "b", "c", "-o", "all", "--jobs", "12", "-q", cwd=self.folder)
        for name in "abc":
            for file in ("results.json", "report.html"):
                self.assertEqual((self.folder / "all" / name / file).read_bytes(),
                                 (self.folder / "alone" / name / file).read_bytes())
        self.fails(2, "--memory", "run", "a", "b", "-o", "more", "--memory", "0", cwd=self.folder)

    def test_many_studies(self):
        for name, counts in (("a", (0, 1, 2)), ("b", (1, 2, 3))):
            (self.folder / name).mkdir()
            self.study([LU_TRACES[i] for i in counts]).rename(self.folder / name / "study.toml")
        bad = self.write("bad.toml", "[study]\ntitel = 1\n[[runs]]\ntrace = 'x'\n")
        result = self.fails(2, "did you mean 'title'?", "run", "a/study.toml", bad, "b", "-o", "all", cwd=self.folder)
        lines = result.stdout.splitlines()
        self.assertRegex(lines[1], r"^a +ssor_iter +0\.\d+ @ 8 ")
        self.assertRegex(lines[2], r"failed")
        self.assertRegex(lines[3], r"^b +ssor_iter +0\.\d+ @ 16 ")
        page = (self.folder / "all/index.html").read_text()
        self.assertIn('<a href="a/report.html">a</a>', page)
        first = (self.folder / "all/b/report.html").stat().st_mtime_ns
        again = self.run_ok("run", "a", "b", "-o", "all", cwd=self.folder)
        self.assertIn("2 of 2 were up to date and were not run again.", again.stdout)
        self.assertEqual((self.folder / "all/b/report.html").stat().st_mtime_ns, first)
        (self.folder / "b/study.toml").write_text((self.folder / "b/study.toml").read_text() + "skip = 1\n")
        again = self.run_ok("run", "a", "b", "-o", "all", cwd=self.folder)
        self.assertIn("1 of 2 were up to date", again.stdout)
        self.assertNotEqual((self.folder / "all/b/report.html").stat().st_mtime_ns, first)
        paths = self.run_ok("run", "a", "b", "-o", "all", "-q", cwd=self.folder).stdout.splitlines()
        self.assertEqual(paths, ["all/a/report.html", "all/b/report.html"])

    def test_reports_do_not_overwrite_each_other(self):
        for name in ("a.toml", "b.toml"):
            self.study(LU_TRACES[:2]).rename(self.folder / name)
        self.fails(2, "b.toml: writes its report to report, as a.toml does; give a folder for all reports with -o", "run",
                   "a.toml", "b.toml", cwd=self.folder)


class Run(CliTest):
    def test_report_with_every_form(self):
        result = self.run_ok("run", LU / "study.toml", "-o", self.folder / "out")
        self.assertRegex(result.stdout, r"\niteration +0\.787 @ 32 +serialization +128: 1\.68 ms \(1\.55–2\.02\) ")
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100 + len(str(self.folder)))
        self.assertEqual(result.stdout.count("Fitted to 5 core counts (2–32)."), 1)
        self.assertNotIn("\033", result.stdout)
        self.assertEqual(result.stderr, "")  # no progress when stderr is not a terminal
        names = sorted(p.name for p in (self.folder / "out").iterdir())
        self.assertEqual(names, ["appendix.md", "factors.csv", "figures", "projection.csv", "report.html", "report.md",
                                 "results.json"])
        paths = self.run_ok("run", LU / "study.toml", "-o", self.folder / "out", "-q").stdout.splitlines()
        self.assertEqual(sorted(pathlib.Path(path).name for path in paths), sorted(set(names) - {"figures"}))
        said = self.run_ok("run", LU / "study.toml", "-o", self.folder / "out", "-v").stdout
        self.assertIn("32 cores (largest run): parallel efficiency 0.816", said)

    @nightly.alone
    def test_colours_on_request_alone(self):
        run = ["run", LU / "study.toml", "-o", self.folder / "out"]
        self.assertIn("\033[33m0.787\033[0m", self.run_ok(*run, "--color", "always", env={"NO_COLOR": "1"}).stdout)
        self.assertNotIn("\033", self.run_ok(*run, "--color", "never").stdout)
        self.assertIn("\033[33m0.787", on_terminal(*run, columns=100))
        self.assertNotIn("\033[32m", on_terminal(*run, columns=100, env={"NO_COLOR": "1"}))

    def test_width_of_the_terminal_is_respected(self):
        said = on_terminal("run", LU / "study.toml", "-o", "out", "--color", "never", columns=50, cwd=self.folder)
        *progress, said = re.split(r"\r\033\[K", said)
        self.assertLess(max(map(len, progress)), 50, progress)
        for step in ("[0/5] reading traces", "fitting models", "predicting larger runs", "fitting losses", "writing the report"):
            self.assertIn(step, "\n".join(progress))
        self.assertIn("iteration", said)
        self.assertLessEqual(max(map(len, said.splitlines())), 50, said)

    @nightly.alone
    def test_every_command_keeps_to_the_width_of_the_terminal(self):
        self.run_ok("factors", LU / "study.toml", "-o", self.folder / "f.csv")
        self.run_ok("predict", self.folder / "f.csv", "--report", self.folder / "r", "-q")
        for command in (["inspect", LU_TRACES[2]], ["factors", LU / "study.toml"], ["phases", *LU_TRACES[:2]],
                        ["imbalance", LU / "study.toml"], ["predict", self.folder / "f.csv", "-v"],
                        ["predict", self.folder / "f.csv", "--targets", "64,256,1024"], ["backtest", self.folder / "f.csv"],
                        ["calibrate", LU_TRACES[2]], ["whatif", *LU_TRACES[1:3], "--bandwidth", "1,2"],
                        ["compare", self.folder / "f.csv", self.folder / "f.csv"], ["gate", self.folder / "r/results.json"]):
            said = re.sub(r"[^\n]*\r\033\[K", "", on_terminal(*command, "--color", "never", columns=80))
            words = [word for line in said.splitlines() if len(line) > 80 for word in line.split()]
            self.assertLessEqual(len([word for word in words if "/" not in word]), 2, (command[0], said))

    def test_a_report_is_not_made_of_a_table(self):
        table = self.folder / "t.csv"
        table.write_text("# measured\nphase,cores,loadBalance\nall,2,0.9\nall,4,0.8\nall,8,0.7\n")
        self.run_ok("factors", LU_TRACES[0], "-o", self.folder / "t.json")
        for name in ("t.csv", "t.json"):
            result = self.fails(3, "is a factor table, not the results of farscale run", "report", self.folder / name, "-o",
                                self.folder / "out")
            self.assertIn("farscale predict TABLE --report DIR", result.stderr)
            self.assertIn("--form allocation", result.stderr)

    def test_same_bytes_at_any_thread_count(self):
        for jobs in ("1", "2", "5"):
            self.run_ok("run", LU / "study.toml", "-o", self.folder / jobs, "--jobs", jobs, "-q")
        for path in (self.folder / "1").rglob("*.*"):
            for jobs in ("2", "5"):
                self.assertEqual(path.read_bytes(), (self.folder / jobs / path.relative_to(self.folder / "1")).read_bytes())

    def test_one_bad_run_does_not_lose_the_others(self):
        bad = self.copy_trace(8)
        (bad.parent / "traces/3.evt").unlink()
        study = self.study([LU_TRACES[0], LU_TRACES[1], bad, LU_TRACES[3]])
        result = self.fails(3, "files are missing", "run", study, "-o", self.folder / "out")
        self.assertRegex(result.stdout, r"\nssor_iter +0\.\d+ @ 16 ")
        report = (self.folder / "out/report.html").read_text()
        self.assertIn("Some runs could not be used", report)
        self.assertIn("3.evt (rank 3)", report)
        results = json.loads((self.folder / "out/results.json").read_text())
        self.assertEqual([run.get("cores") for run in results["runs"]], [2, 4, 16, None])

    def test_one_run_only_still_reports_factors(self):
        study = self.study([LU_TRACES[2]])
        self.fails(4, "a fit needs runs at two core counts at least, there is one", "run", study, "-o",
                   self.folder / "out")
        self.assertIn("Load balance", (self.folder / "out/report.md").read_text())

    def test_repeats_are_fine(self):
        again = self.copy_trace(4)
        study = self.study([LU_TRACES[0], LU_TRACES[1], again, LU_TRACES[2]])
        self.run_ok("run", study, "-o", self.folder / "out", "-q")
        rows = read_csv(self.folder / "out/factors.csv")
        self.assertEqual([(row["cores"], row["repeat"]) for row in rows], [("2", "0"), ("4", "0"), ("4", "1"), ("8", "0")])

    def test_study_errors(self):
        self.fails(3, "no such file", "run", self.folder / "none.toml")
        self.fails(2, "study.toml:2: unknown key 'titel'; did you mean 'title'?", "run",
                   self.write("study.toml", "[study]\ntitel = 'x'\n"))
        self.fails(2, "is not valid TOML", "run", self.write("study.toml", "[study\n"))
        self.fails(2, "did you mean 'ssor_iter'?", "run",
                   self.study(LU_TRACES[:1], phase='[[phases]]\nregion = "ssor_itr"\n'))
        self.fails(2, "has 3 iterations on rank 0, so iterations 3 to 7 do not exist", "run",
                   self.study(LU_TRACES[:1], phase='[[phases]]\nregion = "ssor_iter"\nskip = 2\nkeep = 5\n'))
        self.fails(2, "overlap between", "run",
                   self.study(LU_TRACES[:1], phase='[[phases]]\nwindow = [0, 0.1]\n[[phases]]\nwindow = [0.05, 0.2]\n'))
        self.fails(2, "the runs of a study must be of one program", "run",
                   self.study([LU_TRACES[0], ROOT / "sample-runs/lulesh/traces/8/traces.otf2"],
                              phase="[[phases]]\nwhole = true\n"))
        self.fails(2, "no run at the reference of 3 cores", "run", self.study(LU_TRACES[:2], more="reference = 3"))
        self.fails(2, "no model 'amdal'; did you mean 'amdahl'?", "run",
                   self.study(LU_TRACES[:2], more='[models]\ncandidates = ["amdal"]'))
        self.fails(2, "no counter 'INS' in this trace; it has CPU_TIME, BB_COUNT", "run",
                   self.study(LU_TRACES[:1], more='[counters]\ninstructions = "INS"'))
        self.assertEqual(list(self.folder.glob("report/*")), [])

    def test_unwritable_output(self):
        study = self.study(LU_TRACES[:2])
        blocked = self.write("blocked", "a file where the folder should be")
        self.fails(5, "cannot create this folder", "run", study, "-o", blocked)
        self.fails(5, "cannot create this folder", "run", study, "-o", blocked / "deeper")
        if os.geteuid() != 0:
            locked = self.folder / "locked"
            locked.mkdir()
            locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
            self.fails(5, "cannot", "run", study, "-o", locked / "out")

    def test_preset(self):
        self.run_ok("run", LU / "study.toml", "--preset", "rosas14", "-o", self.folder / "out", "-q")
        rows = read_csv(self.folder / "out/projection.csv")
        self.assertEqual({(row["model"], row["dimension"]) for row in rows}, {("amdahl", "1"), ("product", "")})
        self.fails(2, "no preset 'rosas15'", "run", LU / "study.toml", "--preset", "rosas15")

    def test_user_model(self):
        self.write("mine.toml", 'id = "mine"\nname = "Mine"\nformula = "e0 - s * log2(P)"\n'
                   "[parameters.e0]\nlower = 0\nupper = \"limit\"\nstarts = [0.9]\n"
                   "[parameters.s]\nlower = 0\nupper = 1\nstarts = [0.01]\n")
        study = self.study(LU_TRACES, more='[models]\nfiles = ["mine.toml"]\ncandidates = ["mine"]')
        self.run_ok("run", study, "-o", self.folder / "out", "-q")
        self.assertIn(",loadBalance,mine,1,", (self.folder / "out/projection.csv").read_text())


class Factors(CliTest):
    def test_csv_json_and_terminal_agree(self):
        self.run_ok("factors", *LU_TRACES, "--phase", "ssor_iter", "--scaling", "strong", "-o", self.folder / "f.csv")
        self.run_ok("factors", *LU_TRACES, "--phase", "ssor_iter", "--scaling", "strong", "-o", self.folder / "f.json")
        rows = read_csv(self.folder / "f.csv")
        self.assertEqual([row["cores"] for row in rows], ["2", "4", "8", "16", "32"])
        table = json.loads((self.folder / "f.json").read_text())
        for row, other in zip(rows, table["rows"]):
            self.assertEqual(float(row["loadBalance"]), other["factors"]["loadBalance"])
            product = float(row["loadBalance"]) * float(row["serializationEfficiency"]) * float(row["transferEfficiency"])
            self.assertAlmostEqual(product, float(row["parallelEfficiency"]), 12)
            self.assertEqual(float(row["serializationEfficiencyError"]),
                             other["standardErrors"]["serializationEfficiency"])
            self.assertEqual(float(row["runtimeError"]), other["runtimeError"])
        for form in ("csv", "json"):
            self.run_ok("predict", self.folder / f"f.{form}", "-o", self.folder / f"p-{form}.csv")
        self.assertEqual((self.folder / "p-csv.csv").read_text(), (self.folder / "p-json.csv").read_text())
        printed = self.run_ok("factors", *LU_TRACES, "--phase", "ssor_iter", "--scaling", "strong").stdout
        self.assertIn(f"{float(rows[4]['loadBalance']):.3f}", printed)
        self.assertEqual(self.run_ok("factors", *LU_TRACES, "--phase", "ssor_iter", "--scaling", "strong", "-o", "-").stdout,
                         (self.folder / "f.csv").read_text())

    def test_standard_errors_stand_beside_their_values(self):
        command = ["factors", *LU_TRACES, "--phase", "upper_sweep", "--scaling", "strong"]
        row = read_csv(self.run_ok(*command, "-o", "-").stdout)[4]
        printed = next(line for line in self.run_ok(*command).stdout.splitlines() if "Serialization " in line).split()
        self.assertEqual(printed[-2:], [f"{float(row['serializationEfficiency' + end]):.3f}" for end in ("", "Error")])

    def test_study_and_options(self):
        self.run_ok("factors", LU / "study.toml", "-o", self.folder / "f.csv")
        phases = {row["phase"] for row in read_csv(self.folder / "f.csv")}
        self.assertEqual(phases, {"iteration", "lower sweep", "upper sweep"})
        result = self.run_ok("factors", *LU_TRACES[:3])
        self.assertIn("scalingGuessed", result.stderr)
        self.assertIn("strong scaling", result.stderr)
        whole = self.run_ok("factors", LU_TRACES[1], "--phase", "ssor_iter", "--span", "whole", "-o", "-").stdout
        each = self.run_ok("factors", LU_TRACES[1], "--phase", "ssor_iter", "--span", "each", "-o", "-").stdout
        self.assertNotEqual(whole, each)
        self.run_ok("factors", LU_TRACES[1], "--rules", "causal", "-o", self.folder / "c.json")
        self.assertEqual(json.loads((self.folder / "c.json").read_text())["rules"], "causal")

    def test_bad_traces(self):
        self.fails(3, "no such trace", "factors", "none.otf2")
        self.fails(3, "is a folder, not a trace; name the trace: ", "factors", LU / "traces/2")
        self.fails(3, "is neither the anchor file of an OTF2 archive nor a Paraver trace", "factors", self.write("x.otf2", "text"))
        anchor = self.copy_trace(2)
        events = anchor.parent / "traces/1.evt"
        content = events.read_bytes()
        events.write_bytes(content[: len(content) // 2])
        self.fails(3, "rank 1", "factors", anchor)
        events.unlink()
        self.fails(3, "1.evt (rank 1)", "factors", anchor)
        shutil.rmtree(anchor.parent / "traces")
        self.fails(3, "4 of 4 files are missing", "factors", anchor)
        self.fails(2, "one study at a time", "factors", LU_TRACES[0], LU / "study.toml")


    def test_options_that_mean_nothing_here(self):
        self.fails(2, "are for regions that repeat", "factors", LU_TRACES[0], "--skip", 1)
        self.fails(2, "there is no study", "factors", LU_TRACES[0], "--preset", "rosas14")
        self.fails(2, "the trace is given twice", "factors", LU_TRACES[0], LU / "traces/2/../2/traces.otf2")
        self.fails(2, "'ssor_iter' is given twice", "factors", LU_TRACES[0], "--phase", "ssor_iter", "--phase",
                   "ssor_iter")
        self.run_ok("factors", "--phase", "ssor_iter", *LU_TRACES[:2])  # an option takes one value

    def test_link_to_an_anchor(self):
        link = self.folder / "link.otf2"
        link.symlink_to(LU_TRACES[0])
        self.assertEqual(self.run_ok("factors", link, "-o", "-").stdout,
                         self.run_ok("factors", LU_TRACES[0], "-o", "-").stdout)

    def test_full_device(self):
        if not pathlib.Path("/dev/full").exists():
            self.skipTest("no /dev/full here")
        for command in (["factors", LU_TRACES[0]], ["inspect", LU_TRACES[0], "--json"]):
            with open("/dev/full", "w") as full:
                result = subprocess.run([PROGRAM, *command], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(result.returncode, 5, result.stderr)


class CutReplayed(CliTest):
    def test_replayed_run_is_written(self):
        """On the ideal network nothing is lost in transfer; the phase is found again in what was written."""
        written = self.folder / "ideal.otf2"
        self.run_ok("cut", LU_TRACES[2], "--network", "ideal", "-o", written)
        row = read_csv(self.run_ok("factors", written, "--phase", "ssor_iter", "--span", "whole", "-o", "-").stdout)[0]
        self.assertAlmostEqual(float(row["transferEfficiency"]), 1, delta=1e-9)
        measured = read_csv(self.run_ok("factors", LU_TRACES[2], "--phase", "ssor_iter", "--span", "whole", "-o",
                                        "-").stdout)[0]
        self.assertEqual(row["loadBalance"], measured["loadBalance"])
        self.assertAlmostEqual(float(row["serializationEfficiency"]), float(measured["serializationEfficiency"]),
                               delta=0.01)  # the phase begins where the replay of the whole run has brought the ranks
        self.fails(2, "add --network", "cut", LU_TRACES[2], "--computation", "cpu-time", "-o", self.folder / "x.otf2")


class Noise(CliTest):
    def test_measurement_stands_without_what_the_noise_pass_needs(self):
        study = self.write("study.toml", "[study]\nscaling = 'strong'\n[noise]\nnetwork = 'omni-path-100'\n"
                           "computation = 'cycles'\n" +
                           "".join(f"[[runs]]\ntrace = '{trace}'\n" for trace in LU_TRACES[:2]))
        result = self.run_ok("run", study, "-o", self.folder / "r")
        self.assertIn("scenarioNotPossible", result.stderr)  # there are no cycles in these traces
        self.assertEqual(len(read_csv(self.folder / "r/factors.csv")), 2)
        self.assertTrue((self.folder / "r/factors-quiet-network.csv").exists())
        self.assertFalse((self.folder / "r/factors-no-noise.csv").exists())

    def test_instructions_give_back_the_run_without_noise(self):
        """The noise of the sample lies in time, not in its instructions: all ranks have as many."""
        study = (ROOT / "sample-runs/comd-noise/study.toml").read_text()
        study = study.replace('"cpu-time"', '"instructions"').replace('"traces/', f'"{ROOT}/sample-runs/comd-noise/traces/')
        study = study.replace('"network.toml"', f'"{ROOT}/sample-runs/comd-noise/network.toml"')
        self.run_ok("run", self.write("study.toml", study), "-o", self.folder / "r", "-q")
        for row in read_csv(self.folder / "r/factors-no-noise.csv"):
            self.assertGreater(float(row["loadBalance"]), 0.999)
            self.assertGreater(float(row["serializationEfficiency"]), 0.999)


class WhatIf(CliTest):
    def test_faster_machines(self):
        """Twice the speed of computation takes half its time; more bandwidth never costs any."""
        result = self.run_ok("whatif", *LU_TRACES[1:3], "--phase", "ssor_iter", "--scaling", "strong", "--network",
                             "infiniband-hdr", "--bandwidth", "1,4", "--computation", "1,2", "-o", self.folder / "r")
        self.assertIn("wrote", result.stdout)
        self.assertRegex(result.stdout, r"computation ×2 helps most: ssor_iter on 8 cores is \d\.\d\d× as fast")
        said = self.run_ok("whatif", *LU_TRACES[1:3], "--phase", "ssor_iter", "--latency", "1,4").stdout
        self.assertEqual(said.count("computation as measured"), 1)
        self.assertEqual(said.count("latency ×4"), 1)
        self.assertIn("Add -o FOLDER", said)
        results = json.loads((self.folder / "r/results.json").read_text())
        times = [variant["factors"]["rows"][-1]["runtime"] for variant in results["variants"]]
        self.assertEqual(len(times), 4)  # in the order bandwidth, computation
        self.assertLess(times[1], 0.6 * times[0])
        self.assertLessEqual(times[2], times[0])
        self.assertEqual(results["comparison"], "what-if")
        report = (self.folder / "r/report.md").read_text()
        self.assertIn("### What if", report)
        self.assertTrue((self.folder / "r/factors-whatif-4.csv").exists())

    def test_ideal_network_has_no_transfer_loss(self):
        result = self.run_ok("whatif", LU_TRACES[1], "--network", "ideal")
        self.assertRegex(result.stdout, r"Ideal network.* 1\.000\n")

    def test_errors(self):
        self.fails(2, "no network 'infiniband-hdx'; did you mean 'infiniband-hdr'", "whatif", LU_TRACES[0], "--network",
                   "infiniband-hdx")
        for value in ("0", "nan", "inf", "1e9"):
            self.fails(2, "is not a factor between", "whatif", LU_TRACES[0], "--bandwidth", value)
        self.fails(2, "add --computation", "whatif", LU_TRACES[0], "--region", "ssor_iter")
        result = self.fails(4, "none of the scenarios", "whatif", LU_TRACES[0], "--network", "ideal", "--region",
                            "ssor_itr", "--computation", "2")
        self.assertIn("did you mean 'ssor_iter'", result.stderr)
        bad = self.write("n.toml", "[remote]\nlatency = 3\n")
        self.fails(2, "n.toml:2", "whatif", LU_TRACES[0], "--network", bad)


class WrongScaling(CliTest):
    """What the runs say of their scaling counts in every command that is told of one."""
    LULESH = [str(ROOT / f"sample-runs/lulesh/traces/{ranks}/traces.otf2") for ranks in (8, 27, 64)]
    REFUSED = "the problem does not grow with the cores: from 2 to 32 cores an iteration falls"
    DOUBTED = "said to be strong, but from 8 to 64 cores"

    def study_of(self, traces, region, scaling):
        runs = "".join(f'[[runs]]\ntrace = "{trace}"\n' for trace in traces)
        return self.write("wrong.toml", f'[study]\ntitle = "T"\nscaling = "{scaling}"\n{runs}[[phases]]\nregion = "{region}"\n')

    def test_excluded(self):
        study = self.study_of(LU_TRACES, "ssor_iter", "weak")
        for command in (["run", study, "-o", self.folder / "r"], ["factors", study], ["imbalance", study],
                        ["factors", *LU_TRACES, "--phase", "ssor_iter", "--scaling", "weak"],
                        ["whatif", *LU_TRACES, "--phase", "ssor_iter", "--scaling", "weak", "--latency", "2"],
                        ["balance", study]):
            result = farscale(*command)
            self.assertEqual(result.returncode, 2, command)
            self.assertIn(self.REFUSED, result.stderr)
        table = self.folder / "f.json"
        self.run_ok("factors", *LU_TRACES, "--phase", "ssor_iter", "--scaling", "strong", "-o", table)
        table.write_text(table.read_text().replace('"scaling": "strong"', '"scaling": "weak"'))
        for command in (["predict", table], ["gate", table], ["report", table, "--form", "allocation"], ["backtest", table],
                        ["compare", table, table]):
            self.fails(2, self.REFUSED, *command)

    def test_unlikely_is_said_in_bold_everywhere(self):
        study = self.study_of(self.LULESH, "cycle", "strong")
        result = self.run_ok("run", study, "-o", self.folder / "r", "--form", "allocation")
        self.assertEqual(result.stderr.count("scalingUnlikely"), 1)
        self.assertIn(self.DOUBTED, result.stderr)
        report = (self.folder / "r/report.md").read_text()
        self.assertRegex(report, r"\*\*Warning: the work of the runs .*" + self.DOUBTED + r".*\*\*")
        self.assertLess(report.index(self.DOUBTED), report.index("## "))
        self.assertRegex((self.folder / "r/report.html").read_text(), "<strong>Warning: [^<]*" + self.DOUBTED)
        self.assertRegex((self.folder / "r/allocation/allocation.md").read_text(), r"- \*\*the work of the runs .*" + self.DOUBTED)
        self.assertIn("# Contradiction: the work of the runs", (self.folder / "r/allocation/allocation.csv").read_text())
        self.assertIn(self.DOUBTED, self.run_ok("gate", self.folder / "r/results.json", "--rules",
                                                self.write("g.toml", 'rules = ["loadBalance >= 0.1"]')).stdout)
        self.assertIn(self.DOUBTED, self.run_ok("balance", study, "--levels", "4", "--strategies", "greedy").stderr)
        results = self.folder / "r/results.json"
        compared = self.run_ok("compare", results, results, "-o", self.folder / "c")
        for text in (compared.stdout, compared.stderr, (self.folder / "c/compare.json").read_text()):
            self.assertIn(self.DOUBTED, text)
        self.assertRegex((self.folder / "c/compare.md").read_text(), r"\*\*Warning: .*" + self.DOUBTED + r".*\*\*")
        self.assertRegex((self.folder / "c/compare.html").read_text(), "<strong>Warning: [^<]*" + self.DOUBTED)
        self.run_ok("predict", results, "--targets", 256, "-o", self.folder / "p.json")
        self.assertIn("scalingUnlikely", (self.folder / "p.json").read_text())
        self.run_ok("history", "add", results, "--into", self.folder / "h", "--commit", "a", "--date", "2026-11-20")
        shown = self.run_ok("history", self.folder / "h", "--markdown", self.folder / "h.md", "--html", self.folder / "h.html")
        for text in (shown.stdout, shown.stderr, (self.folder / "h.md").read_text(), (self.folder / "h.html").read_text()):
            self.assertIn(self.DOUBTED, text)

    def test_right_ones_are_not_doubted(self):
        for traces, region, scaling in ((LU_TRACES, "ssor_iter", "strong"), (self.LULESH, "cycle", "weak")):
            result = self.run_ok("factors", *traces, "--phase", region, "--scaling", scaling)
            self.assertNotIn("scalingUnlikely", result.stderr)
            self.assertNotIn("preempted", result.stderr)

    def test_more_than_all_is_explained(self):
        """1.6 s in half the time of an ideal speedup: 10 · 16 / (64 · 1.6) = 156 %."""
        table = self.write("t.csv", "cores,runtime,parallelEfficiency\n16,10,0.9\n64,1.6,0.9\n128,0.9,0.8\n")
        why = "Efficiencies above 110 % come from computation scalability (1.5"
        for command in (["factors", table, "--scaling", "strong"], ["report", table, "--form", "allocation", "--scaling", "strong",
                                                                    "-o", self.folder / "a"]):
            self.assertIn(why, self.run_ok(*command).stdout)
        for form in ("md", "html", "csv", "tex"):
            text = (self.folder / f"a/allocation.{form}").read_text().replace("\\%", "%")
            self.assertIn(why, text)
        rules = self.write("g.toml", 'rules = ["globalEfficiency >= 0.5"]')
        self.assertIn(why, self.run_ok("gate", table, "--rules", rules, "--scaling", "strong", "--markdown",
                                       self.folder / "g.md", "--junit", self.folder / "g.xml").stdout)
        for form in ("md", "xml"):
            self.assertIn(why, (self.folder / f"g.{form}").read_text())
        self.run_ok("predict", table, "--scaling", "strong", "--report", self.folder / "p", "--targets", "256")
        self.assertRegex((self.folder / "p/report.html").read_text(), "<strong>" + re.escape(why))
        self.assertIn("**" + why, (self.folder / "p/report.md").read_text())


class Predict(CliTest):
    def test_processes_and_threads(self):
        """Tables that vary both numbers have best splits in place of a curve over cores, which others lack."""
        rows = ["cores,ranks,threads,runtime,mpiParallelEfficiency,ompParallelEfficiency,computationScalability"]
        rows += [f"{n * m},{n},{m},{(1 + 0.05 * (m - 1)) / (n * m * 0.98 ** (n - 1))},{0.98 ** (n - 1)},{1 / (1 + 0.05 * (m - 1))},1"
                 for n in (1, 2, 4) for m in (1, 2, 4)]
        table = self.write("both.csv", "\n".join(rows) + "\n")
        said = self.run_ok("predict", table, "--scaling", "strong", "--targets", "32,64", "--report", self.folder / "r").stdout
        self.assertIn("Processes and threads\n", said)
        self.assertIn(" cores: best", said)
        self.assertNotIn("No prediction", said)
        results = json.loads((self.folder / "r/results.json").read_text())
        self.assertEqual([one["cores"] for one in results["splits"]], [32, 64])
        self.assertIn("runs on 2 cores are divided differently", results["projections"][0]["obstacle"])
        report = (self.folder / "r/report.md").read_text()
        self.assertIn("### Processes and threads", report)
        self.assertIn(" 4 (2 × 2) |", report)
        again = self.run_ok("report", self.folder / "r/results.json", "-o", self.folder / "again", cwd=self.folder)
        self.assertEqual((self.folder / "again/report.md").read_text(), report, again)
        self.fails(4, "runs divide the same cores differently into processes and threads", "backtest", table, "--scaling", "strong")
        chain = self.write("chain.csv", "\n".join([rows[0], rows[1], rows[4], rows[7]]) + "\n")
        self.assertNotIn("Processes and threads", self.run_ok("predict", chain, "--scaling", "strong").stdout)

    @nightly.alone
    def test_other_terms(self):
        """Another reference or kind of scaling is measured anew, not just named; CSV and JSON agree."""
        for name in ("f.json", "f.csv"):
            self.run_ok("factors", *LU_TRACES[:3], "--phase", "ssor_iter", "--reference", 4, "--scaling", "strong", "-o",
                        self.folder / name)
        ours = ["predict", self.folder / "f.json", "--targets", 64, "-o", "-"]
        again = self.run_ok("factors", *LU_TRACES[:3], "--phase", "ssor_iter", "--scaling", "strong", "-o",
                            self.folder / "two.json")
        expected = self.run_ok("predict", self.folder / "two.json", "--targets", 64, "-o", "-").stdout
        self.assert_close(self.run_ok(*ours, "--reference", 2).stdout, expected)
        self.assert_close(self.run_ok("predict", self.folder / "f.csv", "--targets", 64, "-o", "-").stdout,
                          self.run_ok(*ours).stdout)
        self.assert_close(self.run_ok("predict", self.folder / "f.csv", "--targets", 64, "--reference", 2, "-o",
                                      "-").stdout, expected)
        self.assertEqual(again.stderr, "")
        # One problem on four times the cores is no weak scaling; on twice the cores it might be.
        self.fails(2, "--scaling weak: the problem does not grow with the cores: from 2 to 8 cores", *ours, "--scaling", "weak")
        self.run_ok("factors", *LU_TRACES[:2], "--phase", "ssor_iter", "--scaling", "strong", "-o", self.folder / "two.json")
        weak = self.run_ok("factors", self.folder / "two.json", "--scaling", "weak", "-o", "-")
        self.assertIn("warning: scalingUnlikely", weak.stderr)
        scalability = [float(row["computationScalability"]) for row in read_csv(weak.stdout)]
        self.assertAlmostEqual(scalability[1], 2, delta=0.1)

    def assert_close(self, a, b):
        for x, y in zip(read_csv(a), read_csv(b), strict=True):
            self.assertEqual((x["factor"], x["cores"]), (y["factor"], y["cores"]))
            self.assertAlmostEqual(float(x["value"]), float(y["value"]), delta=1e-9 * float(y["value"]), msg=x["factor"])

    def test_input_is_not_overwritten(self):
        table = self.write("t.csv", "cores,loadBalance\n2,0.9\n4,0.8\n")
        self.fails(2, "would overwrite the input", "predict", table, "-o", table)
        self.copy_report("r")
        self.fails(2, "would overwrite the input", "predict", self.folder / "r/results.json", "--report", self.folder / "r")

    def test_run_times_are_enough(self):
        """Shared work and a serial part: T = 1 + 100 / P."""
        counts = (1, 2, 4, 8, 16)
        times = {count: 1 + 100 / count for count in counts}
        forms = {
            "t.csv": "cores,runtime\n" + "".join(f"{count},{seconds}\n" for count, seconds in times.items()),
            "t.txt": "".join(f"{count} {seconds}\n" for count, seconds in times.items()),
            "t.json": json.dumps({"results": [{"command": "a", "mean": seconds, "times": [seconds],
                                               "parameters": {"cores": str(count)}} for count, seconds in times.items()]}),
        }
        outputs = set()
        for name, text in forms.items():
            table = self.write(name, text)
            result = self.run_ok("predict", table, "--targets", 64)
            self.assertIn("from 1 to 16 cores: strong scaling", result.stderr)
            self.assertIn("Note: run times tell neither where time is lost", result.stdout)
            outputs.add(self.run_ok("predict", table, "--targets", 64, "-o", "-").stdout)
            self.assertIn("Global efficiency", self.run_ok("backtest", table).stdout)
            self.assertIn("Run time", self.run_ok("factors", table).stdout)
            self.assertIn("Speedup", self.run_ok("compare", table, table).stdout)
        self.assertEqual(len(outputs), 1)
        values = {row["factor"]: row for row in read_csv(outputs.pop())}
        truth = 1 + 100 / 64
        for name, value in (("globalEfficiency", 101 / truth / 64), ("speedup", 101 / truth), ("runtime", truth)):
            self.assertAlmostEqual(float(values[name]["value"]), value, delta=0.05 * value)
            self.assertTrue(float(values[name]["low80"]) < value < float(values[name]["high80"]), name)
        # Measured from another run, times are the same; runs that take as long may scale weakly or not at all.
        other = read_csv(self.run_ok("predict", self.folder / "t.csv", "--targets", 64, "--reference", 4, "-o", "-").stdout)
        efficiency = next(float(row["value"]) for row in other if row["factor"] == "globalEfficiency")
        self.assertAlmostEqual(efficiency, 26 * 4 / truth / 64, delta=0.05 * efficiency)
        weak = self.write("w.txt", "1 10\n2 10.5\n4 11\n")
        self.fails(2, "efficiency 0.227 if strong, 0.909 if weak", "predict", weak, "--targets", 64)
        self.run_ok("predict", weak, "--targets", 64, "--scaling", "weak")

    def test_tables_from_standard_input(self):
        text = "phase,cores,loadBalance\n\"a\nb\",2,0.9\n\"a b\",4,0.8\n\"a b\",8,0.7\n"
        from_file = self.run_ok("predict", self.write("t.csv", text), "--targets", 64)
        self.assertIn("a b", from_file.stdout)
        self.assertEqual(self.run_ok("predict", "-", "--targets", 64, input=text).stdout, from_file.stdout)
        self.assertEqual(self.run_ok("factors", "-", "-o", "-", input=text).stdout,
                         self.run_ok("factors", self.folder / "t.csv", "-o", "-").stdout)
        self.run_ok("backtest", "-", input=text + "\"a b\",16,0.6\n\"a b\",32,0.5\n")
        self.fails(3, "standard input:3: loadBalance is 'x'", "predict", "-",
                   input="cores,loadBalance\n2,0.9\n4,x\n")
        self.fails(3, "standard input: is empty", "predict", "-", input="")

    def test_output_keeps_links(self):
        table = self.write("t.csv", "cores,loadBalance\n2,0.9\n4,0.8\n8,0.7\n")
        (self.folder / "link.csv").symlink_to("kept.csv")
        self.run_ok("factors", table, "-o", self.folder / "link.csv")
        self.assertTrue((self.folder / "link.csv").is_symlink())
        self.assertIn("loadBalance", (self.folder / "kept.csv").read_text())

    def test_truncated_traces(self):
        head = "#Paraver (20/11/2026 at 10:30):100000_ns:1(2):1:2(1:1,1:1),1\nc:1:1:2:1:2\n"
        records = []
        for rank in (1, 2):
            records.append((0, f"2:{rank}:1:{rank}:1:0:40000001:1"))
            for step in range(0, 100000, 1000):
                records.append((step, f"1:{rank}:1:{rank}:1:{step}:{step + 1000}:1"))
                records.append((step + 800, f"2:{rank}:1:{rank}:1:{step + 800}:50000002:8:50100004:1"))
                records.append((step + 900, f"2:{rank}:1:{rank}:1:{step + 900}:50000002:0"))
            records.append((100000, f"2:{rank}:1:{rank}:1:100000:40000001:0"))
        lines = [line for _, line in sorted(records)]
        whole = self.write("whole.prv", head + "\n".join(lines) + "\n")
        self.run_ok("factors", whole)
        cut = self.write("cut.prv", head + "\n".join(lines[:len(lines) // 2]) + "\n")
        for command in (["factors"], ["inspect"], ["phases"], ["imbalance"]):
            self.fails(3, "--accept traceEndsEarly uses it all the same", *command, cut)
        read = self.run_ok("factors", cut, "--accept-truncated", "-o", self.folder / "f.json")
        self.assertIn("traceEndsEarly", read.stderr)
        self.assertIn("accepted with --accept", (self.folder / "f.json").read_text())
        self.assertIn("traceEndsEarly", self.run_ok("imbalance", cut, "--accept", "traceEndsEarly").stderr)
        self.fails(2, "traceEndsEarly", "factors", cut, "--accept", "nothing")
        self.assertIn("traceEndsEarly", (self.folder / "f.json").read_text())
        study = "[study]\ntitle = 't'\nscaling = 'strong'\n[[runs]]\ntrace = 'cut.prv'\n"
        self.assertIn("traceEndsEarly", self.run_ok(
            "factors", self.write("s.toml", study + "accept_truncated = true\n")).stderr)
        self.assertIn("traceEndsEarly", self.run_ok(
            "factors", self.write("s.toml", study + "accept = ['traceEndsEarly']\n")).stderr)
        self.fails(2, "no trace is refused for 'x'", "factors", self.write("s.toml", study + "accept = 'x'\n"))
        self.assertIn("traceEndsEarly", self.run_ok("factors", self.write("s.toml", study), "--accept-truncated").stderr)

    def test_odd_tables_are_said(self):
        def warnings(text):
            return self.run_ok("predict", self.write("t.csv", text), "--targets", 64).stderr
        self.assertIn("parentNotProduct", warnings(
            "cores,parallelEfficiency,loadBalance,communicationEfficiency\n2,0.9,0.5,0.5\n4,0.8,0.5,0.5\n"))
        self.assertIn("shareAboveOne", warnings("cores,transferEfficiency\n2,1.1\n4,0.9\n"))
        self.fails(3, "t.csv:2: loadBalance is 1.9, but it is a share between 0 and 1", "predict",
                   self.write("t.csv", "cores,loadBalance\n2,1.9\n4,0.9\n"))
        self.assertIn("valuesMissing", warnings("cores,loadBalance\n2,0.9\n4,\n8,0.7\n"))
        table = self.write("t.csv", "cores,loadBalance,communicationEfficiency\n2,0.9,0.9\n4,0.8,0.8\n")
        result = self.run_ok("predict", table, "--model", "parallelEfficiency=constant")
        self.assertIn("modelNotUsed", result.stderr)
        line = self.write("line.toml", "id='line'\nname='L'\nformula='e0*(1-x/100)'\n[parameters.e0]\nupper=1\n"
                                       "starts=[0.9]\n")
        self.fails(4, "leaves the possible range", "predict", table, "--fits", line, "--model", "loadBalance=line")

    def published(self, name, *options):
        out = self.folder / "p.csv"
        targets = [row["cores"] for row in self.table(name)]
        self.run_ok("predict", TABLES / name, "--targets", ",".join(targets), "-o", out, *options)
        values = {(row["factor"], row["cores"]): float(row["value"]) for row in read_csv(out)}
        for row in self.table(name):
            for factor in ("loadBalance", "serializationEfficiency", "transferEfficiency", "parallelEfficiency"):
                self.assertAlmostEqual(values[factor, row["cores"]], float(row[factor]), delta=0.001)

    def table(self, name):
        return read_csv(TABLES / name)

    def test_tables_of_rosas14(self):
        self.published("rosas14-table2.csv", "--candidates", "amdahl:3", "--model",
                       "serializationEfficiency=pipeline:3")
        self.published("rosas14-table5.csv", "--preset", "rosas14")

    @nightly.alone
    def test_forms(self):
        self.run_ok("factors", LU / "study.toml", "-o", self.folder / "f.json", "-q")
        self.run_ok("factors", LU / "study.toml", "-o", self.folder / "f.csv", "-q")
        a = self.run_ok("predict", self.folder / "f.json", "-o", "-").stdout
        b = self.run_ok("predict", self.folder / "f.csv", "--scaling", "strong", "-o", "-").stdout
        self.assertEqual(a, b)
        header = a.splitlines()[0]
        self.assertEqual(header,
                         "series,phase,group,factor,model,dimension,cores,ratio,value,low80,high80,low95,high95,reliability")
        self.run_ok("predict", self.folder / "f.json", "-o", self.folder / "p.json")
        projection = json.loads((self.folder / "p.json").read_text())
        self.assertEqual(projection["format"], "farscale-projection")
        self.assertIn("global efficiency", self.run_ok("predict", self.folder / "f.json").stdout)
        self.run_ok("predict", self.folder / "f.json", "--report", self.folder / "report")
        self.assertIn("<svg", (self.folder / "report/report.html").read_text())
        self.copy_report("out")
        self.assertEqual(self.run_ok("predict", self.folder / "out/results.json", "-o", "-").stdout, a)

    def test_core_counts_are_plain_digits(self):
        """1,024 is neither 1 and 24 nor 1 and 20 cores, 0100 not 64, and nothing is left out in silence."""
        table, other = TABLES / "rosas14-table2.csv", TABLES / "rosas14-table5.csv"
        for command in (["predict", table, "--targets"], ["gate", table, "--targets"],
                        ["compare", table, other, "--targets"], ["backtest", table, "--train-max"],
                        ["predict", table, "--train-max"], ["predict", table, "--reference"],
                        ["factors", LU_TRACES[0], "--reference"],
                        ["report", table, "--form", "allocation", "--baseline"],
                        ["report", table, "--form", "allocation", "--up-to"]):
            self.fails(2, command[-1] + ": '024' is no number of cores, for it begins with a zero; write 1024", *command,
                       "1,024")
            self.fails(2, command[-1] + ": '0100' is no number of cores, for it begins with a zero; write 100", *command,
                       "0100")
            self.fails(2, command[-1] + ": a number of cores is missing beside a comma", *command, "1,,2")
        self.fails(2, "'16,32' is more than one number of cores", "predict", table, "--reference", "16,32")
        targets = ["predict", table, "-o", "-", "--targets"]
        self.assertEqual(self.run_ok(*targets, "4096, 8192").stdout, self.run_ok(*targets, 4096, "--targets", 8192).stdout)

    def test_train_max_and_targets(self):
        self.run_ok("factors", LU / "study.toml", "-o", self.folder / "f.csv", "-q")
        out = self.run_ok("predict", self.folder / "f.csv", "--train-max", "8", "--targets", "16,32", "-o", "-").stdout
        rows = read_csv(out)
        self.assertEqual({row["cores"] for row in rows}, {"16", "32"})
        self.assertEqual({row["ratio"] for row in rows}, {"2", "4"})
        for row in rows:
            if row["low80"]:
                self.assertLessEqual(float(row["low95"]), float(row["low80"]))
                self.assertLessEqual(float(row["low80"]), float(row["value"]))

    def test_reliable_range(self):
        """Reliable values are numbers, uncertain ones intervals alone, unknown ones neither, wherever projections are shown."""
        table = self.write("t.csv", "cores,loadBalance,communicationEfficiency,runtime\n"
                                    "8,0.99,0.98,8\n16,0.95,0.97,4.3\n32,0.96,0.93,2.2\n64,0.9,0.91,1.3\n")
        out = self.folder / "p.json"
        options = ["--scaling", "strong", "--targets", "128,100000", "--reliable-width", "0.14", "--reliable-width-absolute", "0.08"]
        said = self.run_ok("predict", table, *options, "-o", out, "-v").stdout
        phase = json.loads(out.read_text())["phases"][0]
        limit = phase["reliableRange"]
        self.assertEqual((limit["factor"], limit["share"], limit["absolute"]), ("parallelEfficiency", 0.14, 0.08))
        self.assertEqual(limit["reach"], "upTo")
        self.assertGreaterEqual(limit["uncertainUpTo"], limit["cores"])
        self.assertIn(f"reliable up to {limit['cores']:,.0f} cores", said)
        self.assertIn(f"wrote {out}", said)
        self.assertEqual(self.run_ok("predict", table, *options, "-o", out, "-q").stdout, "")
        for row in read_csv(self.run_ok("predict", table, *options, "-o", "-").stdout):
            if row["factor"] != limit["factor"]:
                continue
            cores, value, low, high = (float(row[key]) for key in ("cores", "value", "low80", "high80"))
            self.assertEqual(row["reliability"] == "reliable", cores <= limit["cores"])
            self.assertEqual(row["reliability"] == "unknown", cores > limit["uncertainUpTo"])
            if row["reliability"] == "reliable":
                self.assertLessEqual((high - low) / 2, min(0.14 * value, 0.08))
            if row["reliability"] != "unknown":
                self.assertLessEqual(max(high / value, value / low), 2)
        for factor in phase["factors"]:
            for target in factor["targets"]:
                self.assertIn(target["reliability"], ("reliable", "uncertain", "unknown"))
                if target["cores"] > limit["cores"]:
                    self.assertNotEqual(target["reliability"], "reliable")
        self.assertRegex(self.run_ok("predict", table, *options, "-v").stdout, r"100,000 .* (uncertain +<?0\.\d+–|unknown +–)")
        self.run_ok("predict", table, *options, "--report", self.folder / "r")
        self.assertRegex((self.folder / "r/report.md").read_text(), r"\| 100,000 \([\d,]+×, (uncertain|unknown)\) \|")
        self.fails(2, "divide percentages by 100", "predict", table, "--reliable-width", "20")
        self.fails(2, "--reliable-width-absolute", "predict", table, "--horizon-width", "0.2")
        old = self.study(LU_TRACES[:3], more="[projection]\nhorizon_width = 0.2")
        self.fails(2, "'horizon_width' is not used any more", "run", old, "-o", self.folder / "o")
        study = self.study(LU_TRACES[:3], more="[projection]\ntargets = [64]\nreliable_width = 0.0001")
        self.run_ok("run", study, "-o", self.folder / "s", "-q")
        phase = json.loads((self.folder / "s/results.json").read_text())["projections"][0]
        self.assertEqual((phase["reliableRange"]["reach"], phase["reliableRange"]["cores"]), ("onlyMeasured", 8))
        self.run_ok("report", self.folder / "s/results.json", "-o", self.folder / "again")
        self.assertIn("Predictions are not reliable beyond the runs", (self.folder / "again/report.md").read_text())

    def test_answers(self):
        self.run_ok("factors", LU / "study.toml", "--phase", "ssor_iter", "-o", self.folder / "f.csv")
        said = self.run_ok("predict", self.folder / "f.csv", "--answers", "--levels", "0.9,0.4").stdout
        for text in ("Parallel efficiency is above 90 % up to", "above 40 % up to", "Suggested next run",
                     "Time and cost at the targets", "Potential gain from removing each loss"):
            self.assertIn(text, said)
        self.fails(2, "-o - prints the projection as CSV", "predict", self.folder / "f.csv", "--answers", "-o", "-")
        self.fails(2, "divide percentages by 100", "predict", self.folder / "f.csv", "--levels", "0.8,50")
        rows = read_csv(self.run_ok("predict", self.folder / "f.csv", "--targets", "64", "-o", "-").stdout)
        value = {row["factor"]: float(row["value"]) for row in rows}
        measured = read_csv(self.folder / "f.csv")[0]
        self.assertAlmostEqual(value["timePerIteration"] * value["speedup"],
                               float(measured["runtime"]) / float(measured["iterations"]), places=9)
        self.assertAlmostEqual(value["runtime"] / value["timePerIteration"], float(measured["iterations"]), places=9)
        none = read_csv(self.run_ok("predict", TABLES / "rosas14-table5.csv", "-o", "-").stdout)
        self.assertNotIn("runtime", {row["factor"] for row in none})

    def test_bad_tables(self):
        self.fails(3, "t.csv:1: unknown column 'loadbalance'; did you mean 'loadBalance'?", "predict",
                   self.write("t.csv", "cores,loadbalance\n8,1\n"))
        self.fails(3, "divide percentages by 100", "predict", self.write("t.csv", "cores,loadBalance\n8,97\n"))
        self.fails(3, "no such file", "predict", self.folder / "none.csv")
        self.fails(4, "two core counts", "predict", self.write("t.csv", "cores,loadBalance\n8,0.9\n"))
        self.fails(2, "unknown factor 'LB'", "predict", TABLES / "rosas14-table2.csv", "--model", "LB=amdahl")
        self.fails(2, "no model 'linear'", "predict", TABLES / "rosas14-table2.csv", "--candidates", "linear")
        self.fails(2, "no preset 'none'", "predict", TABLES / "rosas14-table2.csv", "--preset", "none")
        self.fails(5, "cannot", "predict", TABLES / "rosas14-table2.csv", "-o", "/proc/none/p.csv")

    def test_several_series(self):
        table = self.write("t.csv", "series,cores,loadBalance\na,2,0.9\na,4,0.8\nb,2,0.7\nb,4,0.7\nc,8,1\n")
        result = farscale("predict", table, "-o", "-")
        self.assertEqual(result.returncode, 0)  # a and b are projected
        self.assertIn("c: no projection", result.stderr)
        self.assertEqual({row["series"] for row in read_csv(result.stdout)}, {"a", "b"})


class Grow(CliTest):
    """The sample runs of LU, grown."""

    TRACES = [ROOT / f"sample-runs/npb-lu/traces/{ranks}/traces.otf2" for ranks in (2, 4, 8, 16, 32)]

    def test_larger_runs_stand_beside_measured_ones(self):
        text = self.run_ok("grow", ROOT / "sample-runs/npb-lu/study.toml", "--phase", "ssor_iter", "--cores", "64").stdout
        self.assertTrue(text.startswith("Phase ssor_iter\nOn 64 ranks parallel efficiency will be 0.7"), text)
        self.assertIn("100.0 % of the messages follow rules", text)
        factors = {}
        for ranks, what, efficiency in re.findall(r"(?m)^(\d+) .*?(measured|grown from up to \d+) +[\d.]+ \S+ +([\d.]+)", text):
            factors[ranks, what] = float(efficiency)
        for smaller in ("grown from up to 8", "grown from up to 16"):
            self.assertAlmostEqual(factors["32", smaller], factors["32", "measured"], delta=0.01)
        self.assertAlmostEqual(factors["64", "grown from up to 32"], 0.746, delta=0.01)  # measured, ../shared

    @nightly.alone
    def test_layouts_can_be_named(self):
        lu = ["grow", ROOT / "sample-runs/npb-lu/study.toml", "--phase", "ssor_iter"]
        text = self.run_ok(*lu, "--grid", "16x4").stdout
        self.assertRegex(text, r"(?m)^64 +16 × 4 +grown from up to 32")
        for wrong in ("16x0", "1x1", "1x2x3x4x5", "axb", "16x"):
            self.fails(2, f"--grid {wrong}: is no layout of ranks", *lu, "--grid", wrong)
        self.fails(2, "say how far to grow", *lu)

    def test_grown_runs_enter_the_projection(self):
        study = self.write("study.toml", "[study]\ntitle = \"LU\"\n" + "".join(
            f'[[runs]]\ntrace = "{trace}"\n' for trace in self.TRACES[1:4]) +
            '[[phases]]\nname = "ssor_iter"\nregion = "ssor_iter"\n[projection]\ntargets = [32, 128]\n')
        self.run_ok("run", study, "--grow", "-o", self.folder / "report")
        results = json.loads((self.folder / "report/results.json").read_text())
        efficiency = next(f for f in results["projections"][0]["factors"] if f["factor"] == "parallelEfficiency")
        measured = {32: 0.816, 128: 0.624}  # ../shared
        for target, predictors in zip(efficiency["targets"], efficiency["predictors"], strict=True):
            self.assertEqual(target["cores"], predictors["cores"])
            self.assertAlmostEqual(predictors["grown"], measured[target["cores"]], delta=0.02)
            self.assertTrue(target["interval80"][0] < measured[target["cores"]] < target["interval80"][1])
        self.assertGreater(efficiency["predictors"][1]["weight"], 0.2)
        results = results["grownRuns"][0]["grownFrom"], results["grownRuns"][0]["cores"], results["grownLosses"][0]["grownFrom"]
        self.assertEqual(results, (16, 128, 16))
        self.assertIn("Grown, not measured: phase ssor_iter alone", (self.folder / "report/report.html").read_text())
        # A study says so itself, too; two runs are too few, which is no reason to fail.
        few = self.write("few.toml", study.read_text().split("[[runs]]", 1)[0] + "".join(
            f'[[runs]]\ntrace = "{trace}"\n' for trace in self.TRACES[1:3]) + '[[phases]]\nname = "ssor_iter"\n'
            'region = "ssor_iter"\n[growth]\n')
        result = self.run_ok("run", few, "-o", self.folder / "few")
        self.assertIn("2 runs; three or more of different numbers of ranks", result.stderr)

    @nightly.alone
    def test_files_do_not_depend_on_threads(self):
        files = {}
        for threads in (1, 5):
            for name in ("grown.json", "grown.otf2"):
                folder = self.folder / f"on-{threads}"
                folder.mkdir(exist_ok=True)
                self.run_ok("grow", *self.TRACES[2:], "--phase", "ssor_iter", "--cores", "64", "--seed", "3", "-j", threads,
                            "-o", folder / name)
            # All but the anchor, in which the OTF2 library numbers archives by the time.
            files[threads] = {file.relative_to(folder): hashlib.sha256(file.read_bytes()).hexdigest()
                              for file in folder.rglob("*") if file.is_file() and file.suffix != ".otf2"}
        self.assertGreater(len(files[1]), 64)
        self.assertEqual(files[1], files[5])

    @nightly.alone
    def test_commands_take_grown_runs(self):
        # Shares of the waiting on 64 ranks as measured: ../shared.
        measured = {"lower_sweep": 0.497, "upper_sweep": 0.264}
        ran = self.run_ok("imbalance", *self.TRACES[2:], "--phase", "ssor_iter", "--grow-to", "64", "-o", "-").stdout
        grown = [phase for phase in json.loads(ran)["phases"] if "grownFrom" in phase]
        self.assertEqual([(phase["cores"], phase["grownFrom"]) for phase in grown], [(64, 32)])
        waiting = sum(grown[0]["waiting"].values())
        for path in grown[0]["callPaths"]:
            share = sum(sum(path[kind].values()) for kind in ("shortTerm", "longTerm", "exitSkew")) / waiting
            if path["innermost"] in measured:
                self.assertAlmostEqual(share, measured.pop(path["innermost"]), delta=0.1)
        self.assertEqual(measured, {})
        text = self.run_ok("whatif", *self.TRACES[2:], "--phase", "ssor_iter", "--grow-to", "64", "--latency", "1,10").stdout
        self.assertEqual(len(re.findall(r"64, grown", text)), 3)
        text = self.run_ok("balance", *self.TRACES[2:], "--phase", "ssor_iter", "--grow-to", "64", "--levels", "2",
                           "--intervals", "1", "--strategies", "greedy", "--replicas", "0").stdout
        self.assertIn("8, 16, 32 and 64 (grown) ranks", text)
        self.assertIn("follow rules learned from runs on up to 32 cores", text)

    @nightly.alone
    def test_scenarios_are_grown_for_their_projections(self):
        self.run_ok("whatif", *self.TRACES[2:], "--phase", "ssor_iter", "--grow-to", "64", "--latency", "4",
                    "-o", self.folder / "report")
        results = json.loads((self.folder / "report/results.json").read_text())
        grown = [next(factor["grown"] for factor in of["projections"][0]["factors"] if factor["factor"] == "transferEfficiency")
                 for of in (results, results["variants"][0])]
        self.assertEqual([[point["cores"] for point in points] for points in grown], [[64], [64]])
        self.assertLess(grown[1][0]["value"], grown[0][0]["value"] - 0.02)  # latency costs most where parts are small

    def test_commands_say_why_nothing_is_grown(self):
        result = farscale("imbalance", *self.TRACES[:2], "--phase", "ssor_iter", "--grow-to", "64")
        self.assertEqual(result.returncode, 4)
        self.assertIn("2 runs; three or more of different numbers of ranks", result.stderr)
        self.assertIn("on 4 cores", result.stdout)

    @nightly.alone
    def test_grown_run_is_a_trace(self):
        output = self.folder / "grown.otf2"
        self.run_ok("grow", *self.TRACES[1:4], "--phase", "ssor_iter", "--cores", "64", "-o", output)
        self.assertRegex(self.run_ok("inspect", output).stdout, r"Ranks +64 ")

    def test_refusals(self):
        result = farscale("grow", *self.TRACES[:2], "--phase", "ssor_iter", "--cores", "64")
        self.assertEqual(result.returncode, 4)
        self.assertIn("Not grown: 2 runs; three or more of different numbers of ranks", result.stdout)
        self.fails(2, "writes one grown run", "grow", *self.TRACES[1:4], "--phase", "ssor_iter", "--cores", "64,128", "-o",
                   self.folder / "two.otf2")


class Backtest(CliTest):
    TABLE = "series,cores,loadBalance,communicationEfficiency\n" + "".join(
        f"{series},{cores},{0.95 - 0.001 * cores},{1 / (1 + slope * cores)}\n"
        for series, slope in (("a", 0.001), ("b", 0.002)) for cores in (2, 4, 8, 16, 32))

    def test_every_hidden_value_is_a_row(self):
        table = self.write("t.csv", self.TABLE)
        text = self.run_ok("backtest", table, "--train-max", "8,16", "-o", "-").stdout
        self.assertEqual(text.splitlines()[0],
                         "series,phase,group,factor,train_max,cores,ratio,measured,value,low80,high80,low95,high95,model")
        rows = read_csv(text)
        self.assertEqual([(row["train_max"], row["cores"], row["ratio"]) for row in rows if row["series"] == "b" and
                          row["factor"] == "loadBalance"], [("8", "16", "2"), ("8", "32", "4"), ("16", "32", "2")])
        measured = {(row["series"], row["cores"]): float(row["loadBalance"]) for row in read_csv(table)}
        projected = read_csv(self.run_ok("predict", table, "--train-max", 8, "--targets", "16,32", "-o", "-").stdout)
        values = {(row["series"], row["factor"], row["cores"]): row["value"] for row in projected}
        for row in rows:
            if row["factor"] == "loadBalance":
                self.assertEqual(float(row["measured"]), measured[row["series"], row["cores"]])
            if row["train_max"] == "8":
                self.assertEqual(row["value"], values[row["series"], row["factor"], row["cores"]])
        self.assertEqual(self.run_ok("backtest", table, "-o", "-").stdout, text)  # by default as well

    def test_summary(self):
        table = self.write("t.csv", self.TABLE)
        text = self.run_ok("backtest", table).stdout
        self.assertRegex(text, r"Parallel efficiency +2× +4 ")
        self.assertRegex(text, r"\n +4× +2 ")
        text = self.run_ok("backtest", table, "--factor", "communicationEfficiency", "--by-series", "-o",
                           self.folder / "b.csv").stdout
        self.assertNotIn("Load balance", text)
        self.assertRegex(text, r"\nCommunication efficiency +points .*\na +3 .*\nb +3 ")
        self.assertEqual(len(read_csv(self.folder / "b.csv")), 18)  # three factors, two series, three values
        self.assertEqual(self.run_ok("backtest", table, "-q", "-o", self.folder / "b.csv").stdout, "")

    def test_against(self):
        table = self.write("t.csv", self.TABLE)
        text = self.run_ok("backtest", table, "--against", "constant", "-o", self.folder / "b.json").stdout
        self.assertIn("better", text)
        found = json.loads((self.folder / "b.json").read_text())
        for own, other in zip(found["comparison"]["summary"], found["comparison"]["summaryAgainst"], strict=True):
            self.assertEqual((own["factor"], own["ratio"]), (other["factor"], other["ratio"]))
            if own["factor"] == "communicationEfficiency":
                self.assertLess(own["errors"]["median"], other["errors"]["median"])
        self.fails(2, "no model 'linear'", "backtest", table, "--against", "linear")

    def test_same_bytes_at_any_thread_count(self):
        table = self.write("t.csv", self.TABLE)
        texts = [self.run_ok("backtest", table, "-j", jobs, "-o", "-").stdout for jobs in (1, 3)]
        self.assertEqual(texts[0], texts[1])

    @nightly.alone
    def test_tables_of_other_commands(self):
        self.copy_report("out")
        self.run_ok("factors", LU / "study.toml", "-o", self.folder / "f.json", "-q")
        text = self.run_ok("backtest", self.folder / "f.json", "-o", "-").stdout
        self.assertEqual(self.run_ok("backtest", self.folder / "out/results.json", "-o", "-").stdout, text)
        results = json.loads((self.folder / "out/results.json").read_text())
        self.assertEqual([row["value"] for row in results["backtest"]], [float(row["value"]) for row in read_csv(text)])
        self.assertIn("### Backtest", (self.folder / "out/appendix.md").read_text())
        self.run_ok("predict", self.folder / "f.json", "--report", self.folder / "report")
        self.assertIn("<summary>Backtest</summary>", (self.folder / "report/report.html").read_text())
        self.run_ok("predict", self.folder / "f.json", "--train-max", 8, "--report", self.folder / "report")
        again = json.loads((self.folder / "report/results.json").read_text())
        self.assertEqual(again["backtest"], results["backtest"])

    def test_what_is_left_out_is_said(self):
        table = self.write("t.csv", self.TABLE + "c,64,0.9,0.9\n")
        self.assertIn("1 of 3 splits into runs to train on and runs to predict give nothing: 1 with too few core counts "
                      "to train on (first: c up to 16 cores)",
                      self.run_ok("backtest", table, "--train-max", 16).stderr)
        self.assertEqual(self.run_ok("backtest", table, "-q").stderr, "")
        result = self.run_ok("backtest", table, "--model", "parallelEfficiency=constant")
        self.assertIn("modelNotUsed", result.stderr)

    def test_errors(self):
        table = self.write("t.csv", self.TABLE)
        few = self.write("few.csv", "cores,loadBalance\n2,0.9\n4,0.8\n8,0.7\n")
        self.fails(4, "too few core counts to train on (first: a series); by default a backtest needs runs at four",
                   "backtest", few, "-o", self.folder / "b.csv")
        self.assertFalse((self.folder / "b.csv").exists())
        self.fails(4, "1 with no larger run to predict (first: a series up to 2 cores); --train-max must leave",
                   "backtest", few, "--train-max", "2,8")
        line = self.write("line.toml", "id='line'\nname='L'\nformula='e0*(1-x/10)'\n[parameters.e0]\nupper=1\n"
                                       "starts=[0.9]\n")
        self.fails(4, "no model could be fitted", "backtest", table, "--fits", line, "--candidates", "line", "--train-max",
                   "8")
        self.fails(4, "no prediction of serializationEfficiency", "backtest", table, "--factor", "serializationEfficiency")
        self.fails(2, "unknown factor 'loadbalance'; did you mean 'loadBalance'?", "backtest", table, "--factor",
                   "loadbalance")
        self.fails(2, "--train-max", "backtest", table, "--train-max", "0")
        self.fails(2, "would overwrite the input", "backtest", table, "-o", table)
        self.fails(2, "must end in .json or .csv", "backtest", table, "-o", "x.txt")
        self.fails(3, "no such file", "backtest", self.folder / "none.csv")
        self.fails(5, "cannot", "backtest", table, "-o", "/proc/none/b.csv")


class Report(CliTest):
    def test_again_and_with_other_templates(self):
        self.copy_report("a")
        self.run_ok("report", self.folder / "a/results.json", "-o", self.folder / "b")
        for name in ("report.html", "report.md", "projection.csv"):
            self.assertEqual((self.folder / "a" / name).read_bytes(), (self.folder / "b" / name).read_bytes())
        templates = self.folder / "templates"
        templates.mkdir()
        (templates / "report.md.mustache").write_text("{{title}}: {{#phases}}{{heading}};{{/phases}}")
        self.run_ok("report", self.folder / "a/results.json", "-o", self.folder / "c", "--templates", templates)
        self.assertEqual((self.folder / "c/report.md").read_text(),
                         "NAS LU, strong scaling: npb-lu, iteration;npb-lu, lower sweep;npb-lu, upper sweep;")
        (templates / "report.md.mustache").write_text("a\n{{titel}}\n")
        self.fails(2, "report.md.mustache:2: the tag 'titel' has no value", "report", self.folder / "a/results.json",
                   "-o", self.folder / "d", "--templates", templates)
        self.assertFalse((self.folder / "d").exists())
        self.fails(2, "has no value", "run", LU / "study.toml", "-o", self.folder / "d", "--templates", templates)
        self.assertEqual(sorted(path.name for path in (self.folder / "d").iterdir()),
                         ["factors.csv", "projection.csv", "results.json"])  # what was measured is not lost
        self.fails(3, "is not a results file", "report", self.write("x.json", "{}"), "-o", self.folder / "e")

    def test_parts_of_templates(self):
        results = self.folder / "a/results.json"
        self.run_ok("predict", TABLES / "rosas14-table2.csv", "--report", self.folder / "a", "-q")
        templates = self.folder / "templates"
        templates.mkdir()
        (templates / "report_glossary.mustache").write_text("<p>{{> house}}: {{title}}</p>\n")
        (templates / "house.mustache").write_text("House of {{generator}}")
        self.run_ok("report", results, "-o", self.folder / "b", "--templates", templates)
        ours, theirs = ((self.folder / name / "report.html").read_text() for name in "ab")
        self.assertIn("What the factors mean", ours)
        self.assertIn("<p>House of farscale", theirs)
        self.assertNotIn('<section id="glossary"', theirs)
        self.assertIn('<details id="measured"', theirs)
        (templates / "house.mustache").write_text("\n{{phases}}")
        self.fails(2, "house.mustache:2: the tag 'phases' is no text", "report", results, "-o", self.folder / "d",
                   "--templates", templates)
        (templates / "house.mustache").write_text("{{> report_glossary}}")
        self.fails(2, "house.mustache:1: the partial 'report_glossary' contains itself", "report", results, "-o",
                   self.folder / "d", "--templates", templates)
        (templates / "house.mustache").unlink()
        self.fails(2, "report_glossary.mustache:1: there is no partial 'house'", "report", results, "-o",
                   self.folder / "d", "--templates", templates)
        (templates / "report_glossary.mustache").unlink()
        (templates / "report_fits.mustache").write_text("{{title}}")
        result = self.fails(2, "report_fits.mustache: is no template of farscale, nor a partial of one", "report", results,
                            "-o", self.folder / "d", "--templates", templates)
        self.assertIn("did you mean 'report_fit.mustache'?", result.stderr)
        (templates / "report_fits.mustache").unlink()
        (templates / "theirs.css").write_text("")
        self.fails(2, "theirs.css: is no template of farscale", "report", results, "-o", self.folder / "d",
                   "--templates", templates)
        (templates / "theirs.css").unlink()
        (templates / "style.css").write_bytes(b"a {}\r/* one\r\n*/ </style\n")
        self.fails(2, "templates/style.css:3: contains </style", "report", results, "-o", self.folder / "d", "--templates",
                   templates)
        self.assertFalse((self.folder / "d").exists())
        (templates / "style.css").unlink()
        (templates / "report.md.mustache").write_bytes(b"\xef\xbb\xbfone\rtwo\r{{titel}}")
        self.fails(2, "report.md.mustache:3: the tag 'titel' has no value", "report", results, "-o", self.folder / "d",
                   "--templates", templates)
        (templates / "report.md.mustache").write_bytes(b"\xef\xbb\xbfone\rtwo\r\nthree")
        self.run_ok("report", results, "-o", self.folder / "f", "--templates", templates, "--format", "markdown")
        self.assertEqual((self.folder / "f/report.md").read_bytes(), b"one\ntwo\nthree")
        self.fails(2, "unknown format 'pdf'", "report", self.folder / "a/results.json", "-o", self.folder / "e",
                   "--format", "pdf")

    def test_what_is_wrong_is_said_first(self):
        """Options of another form; files that are none of results, even where -o is missing, too."""
        results, study = self.folder / "a/results.json", self.study(LU_TRACES[:1])
        self.run_ok("predict", TABLES / "rosas14-table2.csv", "--report", self.folder / "a", "-q")
        for option in (["--phase", "solve"], ["--efficiency", 0.9], ["--up-to", 64], ["--scaling", "weak"]):
            for command in (["report", results], ["run", study]):
                if option[0] == "--scaling" and command[0] == "run":
                    continue
                self.fails(2, f"{option[0]}: belongs to an allocation pack, which was not asked for; add --form "
                              "allocation", *command, *option, "-o", self.folder / "b")
        self.assertFalse((self.folder / "b").exists())
        for form in ([], ["--form", "allocation"]):
            self.fails(2, "study.toml: is a study, not the results of a run; farscale run", "report", study, *form)
            self.fails(3, "nosuch.json: ", "report", self.folder / "nosuch.json", *form)
        self.fails(3, "is a factor table", "report", TABLES / "rosas14-table2.csv")
        self.fails(2, "--output: is missing; -o DIR", "report", results)


class Cut(CliTest):
    def factors(self, *arguments):
        row = read_csv(self.run_ok("factors", *arguments, "-o", "-", "-q").stdout)[0]
        return {key: row[key] for key in row if key.endswith("Efficiency") or key.startswith("loadBalance")}

    def test_factors_of_a_cut_are_those_of_the_phase(self):
        anchor = self.folder / "deeper/iterations.otf2"
        result = self.run_ok("cut", LU_TRACES[2], "--phase", "ssor_iter", "--skip", 1, "-o", anchor)
        self.assertRegex(result.stdout, r"^wrote \S+iterations.otf2: region ssor_iter, without the first 1, 8 ranks, "
                                        r"[\d,]+ calls, [\d.]+ KiB, [\d.]+ % of the run\n$")
        self.assertEqual(sorted(path.name for path in anchor.parent.iterdir()),
                         ["iterations", "iterations.def", "iterations.otf2"])
        for rules in ("bsc", "causal"):
            self.assertEqual(
                self.factors(anchor, "--rules", rules),
                self.factors(LU_TRACES[2], "--phase", "ssor_iter", "--skip", 1, "--span", "whole", "--rules", rules))
        inspection = json.loads(self.run_ok("inspect", anchor, "--json").stdout)
        self.assertEqual(inspection["ranks"], 8)
        self.assertIn("lower_sweep", {region["name"] for region in inspection["regions"]})
        again = self.folder / "again.otf2"  # a cut is a trace like any other
        self.assertEqual(self.run_ok("cut", anchor, "--phase", "lower_sweep", "--keep", 1, "-o", again, "-q").stdout, "")
        self.assertEqual(self.factors(again),
                         self.factors(anchor, "--phase", "lower_sweep", "--keep", 1, "--span", "whole"))

    @nightly.alone
    def test_windows_and_whole_runs(self):
        self.assertIn("100.0 % of the run", self.run_ok("cut", LU_TRACES[0], "-o", self.folder / "a.otf2").stdout)
        self.assertEqual(self.factors(self.folder / "a.otf2"), self.factors(LU_TRACES[0]))
        window = self.run_ok("cut", LU_TRACES[3], "--window", "0.01,0.015", "-o", self.folder / "b.otf2").stdout
        self.assertIn("the window from 0.01 s to 0.015 s of the run, 16 ranks", window)
        self.assertIn("messageCutAtEdge", self.run_ok("factors", self.folder / "b.otf2", "-v").stderr)

    def test_errors(self):
        target = self.folder / "a.otf2"
        cut = ["cut", LU_TRACES[0], "-o", target]
        self.fails(2, "did you mean 'ssor_iter'?", *cut, "--phase", "ssor_itr")
        self.fails(2, "has 3 iterations on rank 0", *cut, "--phase", "ssor_iter", "--keep", 4)
        self.fails(2, "'1' is not a window", *cut, "--window", "1")
        self.fails(2, "after the end of the run", *cut, "--window", "5,6")
        self.fails(2, "leave out one of --phase and --window", *cut, "--window", "0,1", "--phase", "ssor_iter")
        self.fails(2, "are for regions that repeat", *cut, "--skip", 1)
        self.fails(2, "must end in .otf2", "cut", LU_TRACES[0], "-o", self.folder / "a.txt")
        self.fails(2, "--output", "cut", LU_TRACES[0])
        self.fails(3, "no such trace", "cut", "none.otf2", "-o", target)
        self.assertEqual(list(self.folder.iterdir()), [])
        self.fails(5, "cannot create this folder", "cut", LU_TRACES[0], "-o", self.write("f", "") / "a.otf2")
        self.run_ok(*cut)
        self.fails(5, "a.otf2: already exists", *cut)
        threads = self.write("threads.prv", "#Paraver (20/11/2026 at 10:30):100_ns:1(4):1:1(2:1),0\n"
                             "2:1:1:1:1:0:40000001:1\n1:1:1:1:1:0:100:1\n1:2:1:1:2:0:20:0\n1:2:1:1:2:20:90:1\n"
                             "2:1:1:1:1:10:50000002:8\n2:1:1:1:1:15:50000002:0\n2:1:1:1:1:100:40000001:0\n")
        self.fails(2, "also has OpenMP threads; add --main-threads", "cut", threads, "-o", self.folder / "t.otf2")
        self.run_ok("cut", threads, "-o", self.folder / "t.otf2", "--main-threads")
        target.unlink()
        self.fails(5, "a: already exists", *cut)  # what is left of the archive

    def test_full_disk(self):
        """A file that cannot grow, as on a full disk: the error is seen and nothing is left behind."""
        script = f"ulimit -f 8; trap '' XFSZ; exec {PROGRAM} cut {LU_TRACES[2]} -o a.otf2"
        result = subprocess.run(["sh", "-c", script], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(result.returncode, 5, result.stdout + result.stderr)
        self.assertIn("check that there is enough space", result.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])


class Inspect(CliTest):
    def test_text_and_json(self):
        text = self.run_ok("inspect", LU_TRACES[2]).stdout
        for word in ("8 on 8 nodes", "ssor_iter", "loop", "BB_COUNT", "MPI_Send", "Loops to analyse", "No anomalies were found"):
            self.assertIn(word, text)
        inspection = json.loads(self.run_ok("inspect", LU_TRACES[2], "--json").stdout)
        self.assertEqual(inspection["ranks"], 8)
        self.assertTrue(any(region["isLoop"] for region in inspection["regions"] if region["name"] == "ssor_iter"))

    def test_bad_trace(self):
        self.fails(3, "no such trace", "inspect", "none.otf2")


class Calibrate(CliTest):
    def network(self, path):
        return tomllib.loads(path.read_text())

    def test_table_and_network(self):
        result = self.run_ok("calibrate", LU_TRACES[2], "-o", self.folder / "n.toml")
        for word in ("8 ranks on 8 nodes", "between nodes", "1.50 µs", "the network explains the run", "wrote "):
            self.assertIn(word, result.stdout)
        network = self.network(self.folder / "n.toml")
        self.assertAlmostEqual(network["remote"]["latency_us"], 1.5, delta=0.01)
        self.assertAlmostEqual(network["remote"]["bandwidth_MBps"], 10000, delta=50)
        self.assertIn(LU_TRACES[2], network["source"])
        self.assertRegex(network["source"], r"[\d,]+ of [\d,]+ messages")
        self.assertEqual(self.run_ok("calibrate", LU_TRACES[2], "-o", "-").stdout, (self.folder / "n.toml").read_text())
        self.assertEqual(self.run_ok("calibrate", LU_TRACES[2], "-o", self.folder / "m.toml", "-q").stdout, "")

    def test_rules(self):
        self.assertIn("between nodes", self.run_ok("calibrate", LU_TRACES[2], "--rules", "causal").stdout)
        self.fails(2, "--rules", "calibrate", LU_TRACES[2], "--rules", "mine")

    def test_several_traces(self):
        result = self.run_ok("calibrate", LU_TRACES[3], LU_TRACES[1], "-o", self.folder / "n.toml")
        self.assertIn("16 ranks on 16 nodes", result.stdout)
        self.assertIn("4 ranks on 4 nodes", result.stdout)
        self.assertIn("16 ranks on 16 nodes", self.network(self.folder / "n.toml")["source"])

    def test_not_enough_data(self):
        shared = pathlib.Path(os.environ.get("FARSCALE_SHARED_DATA", ROOT / "../shared/data"))
        few = shared / "traces/others/pipit/pingpong-2/traces.otf2"  # 16 messages
        if not few.exists():
            self.skipTest(f"no {few}; set FARSCALE_SHARED_DATA to test on more")
        sentence = "not enough data to calibrate a network: of 16 messages 4 can be used, at least 10 are needed"
        self.fails(4, sentence, "calibrate", few, "-o", self.folder / "n.toml")
        self.assertFalse((self.folder / "n.toml").exists())
        result = self.run_ok("calibrate", few, LU_TRACES[0], "-o", self.folder / "n.toml")  # the other is enough
        self.assertIn("warning: " + str(few), result.stderr)

    def test_bad_input(self):
        self.fails(3, "no such trace", "calibrate", "none.otf2")
        anchor = self.copy_trace(2)
        self.fails(2, "would overwrite the input", "calibrate", anchor, "-o", anchor)
        self.fails(5, "cannot", "calibrate", LU_TRACES[0], "-o", "/proc/none/n.toml")


class Balance(CliTest):
    """What dynamic load balancing would bring, in every form."""
    LULESH = ROOT / "sample-runs/lulesh/traces/64/traces.otf2"

    def test_one_trace(self):
        arguments = ("balance", self.LULESH, "--processors", "16", "--strategies", "greedy,refine", "--intervals", "1,2")
        text = self.run_ok(*arguments).stdout
        for expected in ("on 16 processors", "RefineLB after every iteration", "no balancing", "Largest part beside computation", "Ranks on nodes"):
            self.assertIn(expected, text)
        for threads in ("1", "3"):
            self.assertEqual(self.run_ok(*arguments, "-j", threads).stdout, text)
        what_if = json.loads(self.run_ok(*arguments, "-o", "-").stdout)
        self.assertEqual(len(what_if["outcomes"]), 5)
        for outcome in what_if["outcomes"]:
            self.assertAlmostEqual(sum(outcome["parts"].values()), outcome["makespan"], delta=1e-9 * outcome["makespan"])

    def test_what_is_odd_about_the_runs_is_said(self):
        """What factors says of runs side by side, balance says, too."""
        traces = [str(ROOT / f"sample-runs/lulesh/traces/{ranks}/traces.otf2") for ranks in (8, 27)]
        few = ("--levels", "4", "--strategies", "greedy", "--intervals", "1")
        guessed = next(line for line in self.run_ok("factors", *traces).stderr.splitlines() if "scalingGuessed" in line)
        self.assertIn("useful time grows", guessed)
        self.assertEqual(self.run_ok("balance", *traces, *few).stderr.count("scalingGuessed: "), 1)

    def test_strong_scaling_has_an_original_run(self):
        study = self.study(LU_TRACES[:3])
        what_if = json.loads(self.run_ok("balance", study, "--processors", "4", "--levels", "1,2,4", "--free", "-o", "-").stdout)
        self.assertEqual({outcome["configuration"]["tasks"] for outcome in what_if["outcomes"]}, {4, 8})
        self.assertEqual([left["why"] for left in what_if["leftOut"]], ["no run has 16 ranks"])

    def test_pages(self):
        self.run_ok("balance", self.LULESH, "--levels", "4", "-o", self.folder / "b", "-q")
        html, markdown = ((self.folder / "b" / name).read_text() for name in ("balance.html", "balance.md"))
        self.assertIn("prefers-color-scheme: dark", html)
        self.assertNotIn("<script", html)
        self.assertIn("RefineLB", markdown)
        for figure in re.findall(r"\((figures/[^)]*)\)", markdown):
            self.assertTrue((self.folder / "b" / figure).exists(), figure)
        self.run_ok("balance", self.LULESH, "--levels", "4", "-o", self.folder / "x.html")
        self.assertEqual((self.folder / "x.html").read_text(), html)
        self.run_ok("balance", self.LULESH, "--levels", "4", "-o", self.folder / "y" / "x.md")
        self.assertEqual((self.folder / "y" / "x.md").read_text(), markdown)

    @nightly.alone
    def test_state_of_tasks(self):
        sizes = self.write("sizes.csv", "rank,bytes\n" + "".join(f"{rank},{1000 * rank}\n" for rank in range(64)))
        few = ("--levels", "4", "--strategies", "greedy", "--intervals", "1")
        what_if = json.loads(self.run_ok("balance", self.LULESH, *few, "--task-bytes", sizes, "-o", "-").stdout)
        self.assertAlmostEqual(what_if["runs"][0]["taskBytes"], 31500)
        what_if = json.loads(self.run_ok("balance", self.LULESH, *few, "--task-bytes", "1.5MiB", "-o", "-").stdout)
        self.assertAlmostEqual(what_if["runs"][0]["taskBytes"], 1.5 * 2**20)
        for text, fault in (("x\n", "the first line is not rank,bytes"), ("rank,bytes\n0,1\n0,1\n", "rank 0 is there twice"),
                            ("rank,bytes\n0,1\n", "nothing is said of rank 1"), ("rank,bytes\n0,-1\n", "no number of bytes"),
                            ("rank,bytes\nx,1\n", "no rank in")):
            self.fails(2, fault, "balance", self.LULESH, "--task-bytes", self.write("bad.csv", text))
        self.fails(2, "neither a size nor a file", "balance", self.LULESH, "--task-bytes", "many")

    def test_what_cannot_be(self):
        self.fails(2, "did you mean 'refine'", "balance", self.LULESH, "--strategies", "refin")
        self.fails(4, "nothing of what was asked for", "balance", self.LULESH, "--processors", "100")
        self.fails(2, "no network 'nowhere'", "balance", self.LULESH, "--network", "nowhere")
        self.fails(2, "must end in .html, .md or .json", "balance", self.LULESH, "-o", self.folder / "x.csv")
        self.fails(2, "--tolerance", "balance", self.LULESH, "--tolerance", "0.5")
        self.fails(3, "no such trace", "balance", "none.otf2")


class Imbalance(CliTest):
    """Where time is lost, in every form."""

    def test_one_trace(self):
        text = self.run_ok("imbalance", LU_TRACES[2], "--phase", "ssor_iter", "--top", "2").stdout
        self.assertIn("What causes waiting", text)
        losses = json.loads(self.run_ok("imbalance", LU_TRACES[2], "--phase", "ssor_iter", "-o", "-").stdout)
        self.assertEqual(losses["format"], "farscale-losses")
        phase = losses["phases"][0]
        costs = sum(sum(path[term].values()) for path in phase["callPaths"]
                    for term in ("shortTerm", "longTerm", "exitSkew"))
        waiting = sum(phase["waiting"].values())
        self.assertAlmostEqual(costs + sum(phase["unattributed"].values()) + phase["atEnd"], waiting, delta=1e-9 * waiting)

    def test_pages(self):
        study = self.study(LU_TRACES[:3])
        self.assertEqual(self.run_ok("imbalance", study, "-o", self.folder / "l", "-q").stdout, "")
        html, markdown = ((self.folder / "l" / name).read_text() for name in ("imbalance.html", "imbalance.md"))
        for text in ("main / ssor_iter / lower_sweep", "Boehme13", "All runs", "class=\"chart heat\"", "On the critical path"):
            self.assertIn(text, html)
        self.assertNotIn("<script", html)
        self.assertIn("| 1. main / ssor\\_iter / ", markdown)
        self.run_ok("imbalance", study, "-o", self.folder / "x.html")
        self.assertEqual((self.folder / "x.html").read_text(), html)
        self.run_ok("imbalance", study, "-o", self.folder / "x.md", "--top", "1")
        self.assertNotIn("| 2. ", (self.folder / "x.md").read_text().split("Wait state")[0].split("What causes")[1])
        self.fails(2, "must end in .html, .md or .json", "imbalance", study, "-o", self.folder / "x.csv")

    def test_templates_of_ones_own(self):
        mine = self.folder / "mine"
        mine.mkdir()
        (mine / "imbalance.md.mustache").write_text("{{#phases}}{{#losses}}{{#causes}}{{path}}\n{{/causes}}{{/losses}}{{/phases}}")
        self.run_ok("imbalance", LU_TRACES[0], "--phase", "ssor_iter", "-o", self.folder / "x.md", "--templates", mine)
        self.assertTrue((self.folder / "x.md").read_text().startswith("main / "))

    def test_reports_tell_of_losses(self):
        """And those made again from results.json are the same."""
        self.run_ok("run", self.study(LU_TRACES[:3]), "-o", self.folder / "r")
        self.run_ok("report", self.folder / "r/results.json", "-o", self.folder / "again")
        for name in ("report.html", "report.md"):
            text = (self.folder / "r" / name).read_text()
            self.assertIn("Where the time is lost", text)
            self.assertEqual((self.folder / "again" / name).read_text(), text)


class Installed(CliTest):
    def test_data_is_found_beside_the_program(self):
        prefix = self.folder / "prefix"
        build = os.environ.get("FARSCALE_BUILD")
        if not build:
            self.skipTest("FARSCALE_BUILD is not set")
        subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, capture_output=True)
        program = prefix / "bin/farscale"
        result = subprocess.run([program, "predict", TABLES / "rosas14-table5.csv", "--preset", "rosas14"],
                                capture_output=True, text=True, cwd="/")
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in ("fits/amdahl.toml", "templates/report.html.mustache", "configs/rosas14.toml"):
            self.assertTrue((prefix / "share/farscale" / name).exists())

    def test_data_folder_of_the_user(self):
        self.fails(2, "FARSCALE_DATA names a folder without fits/", "predict", TABLES / "rosas14-table5.csv",
                   env={"FARSCALE_DATA": str(self.folder)})

    def test_model_in_the_data_folder(self):
        """A file in fits/ takes part for the factors that it names, without a word in a study or an option."""
        for name in ("fits", "configs", "templates"):
            shutil.copytree(ROOT / name, self.folder / "data" / name)
        mine = ('id = "mine"\nname = "Mine"\nformula = "e0 - s * log2(P)"\nfactors = "transferEfficiency"\n%s'
                "[parameters.e0]\nupper = 1\nstarts = [0.9]\n[parameters.s]\nupper = 1\nstarts = [0.01]\n")
        file = self.write("data/fits/mine.toml", mine % "")
        env = {"FARSCALE_DATA": str(self.folder / "data")}
        table, out = TABLES / "rosas14-table5.csv", self.folder / "p.json"
        self.run_ok("predict", table, "-o", out, env=env)
        projection = json.loads(out.read_text())
        rivals = {factor["factor"]: [rival["model"] for rival in factor["rivals"]]
                  for phase in projection["phases"] for factor in phase["factors"] if "rivals" in factor}
        self.assertEqual({factor for factor, models in rivals.items() if "mine" in models}, {"transferEfficiency"})
        self.write("data/fits/mine.toml", mine % "rolls = 1\n")
        self.fails(2, f"{file}:5: unknown key 'rolls'; did you mean 'roles'?", "predict", table, env=env)
        self.write("data/fits/mine.toml", mine % 'roles = ["losses"]\n')
        self.fails(2, f"{file}:5: the role 'losses' needs factors = \"all\"", "predict", table, env=env)


def nasty_names(count):
    """Names with what is special in TOML, CSV, JSON, HTML, Markdown, LaTeX, templates and on terminals."""
    generator = random.Random(12)
    pieces = ["\n", "\r\n", "\t", "\x01", "\x02", "\x06", "\x1b[31m", "\x7f", '"', "'", "\\", ",", ";", "=", "+", "-", "@", "#",
              "<b>", "</script>", "&lt;", "|", "*", "_", "`", "$", "%", "{", "}", "{{", "}}", "{{{x}}}", "caption: ", "~", "^",
              "[a](b)", " / ", ":", "é", "日本", "\u2028", "\u202e", "a", "step", " ", "0.5", "x" * 300]
    names = [first + "1" for first in "=+-@#'\"|"]
    while len(names) < count:
        names.append("n" + "".join(generator.choices(pieces, k=generator.randint(1, 6))) + "n")
    return names


class Names(unittest.TestCase):
    """Whatever a phase, series or folder is called, it goes through all outputs, and stays in its line."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.here = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    @nightly.alone
    def test_of_phases_and_series(self):
        names = nasty_names(50)
        for first in nightly.some(range(0, len(names), 5), 6):
            text = io.StringIO()
            table = csv.writer(text, quoting=csv.QUOTE_ALL)  # lines that begin with # are comments
            table.writerow(["series", "phase", "cores", "runtime", "loadBalance", "serializationEfficiency", "transferEfficiency"])
            for name in names[first:first + 5]:
                for cores in (2, 4, 8, 16):
                    guarded = "'" + name if re.match("'*[=+@-]", name) else name
                    table.writerow([guarded, guarded, cores, 8 / cores + 0.1, 1 - cores / 200, 0.98, 1 - cores / 300])
            (self.here / "t.csv").write_text(text.getvalue(), newline="")
            with self.subTest(names[first:first + 5]):
                for output in ("p.csv", "p.json"):
                    done = farscale("predict", self.here / "t.csv", "--targets", "64", "--scaling", "strong", "-o", self.here / output)
                    self.assertEqual(done.returncode, 0, done.stderr)
                done = farscale("predict", self.here / "t.csv", "--scaling", "strong", "--report", self.here / "report")
                self.assertEqual(done.returncode, 0, done.stderr)
                shown = [name for name in {row["series"] for row in read_csv(self.here / "p.csv")}]
                self.assertEqual(len(shown), 5)
                for name in shown:
                    self.assertNotRegex(name, "^[=+@-]")
                page = (self.here / "report/report.html").read_text()
                self.assertNotIn("<b>", page.replace("<b>factor</b>", ""))
                self.assertNotRegex(page, "[\x00-\x08\x0b-\x1f]")

    @nightly.alone
    def test_of_phases_in_studies(self):
        names = nasty_names(50)
        for first in range(0, len(names), 10):
            phases = "".join(f"[[phases]]\nname = {json.dumps(name)}\nwindow = [{i / 1e2}, {i / 1e2 + 9e-3}]\n"
                             for i, name in enumerate(names[first:first + 10]))
            runs = "".join(f"[[runs]]\ntrace = {json.dumps(trace)}\n" for trace in LU_TRACES[:2])
            study = self.here / "study.toml"
            study.write_text("[study]\nscaling = \"strong\"\n" + runs + phases)
            with self.subTest(names[first:first + 10]):
                for verbose in ([], ["-v"]):
                    done = farscale("run", study, "-o", self.here / "r", *verbose)
                    self.assertEqual(done.returncode, 0, done.stderr)
                done = farscale("report", self.here / "r/results.json", "-o", self.here / "again")
                self.assertEqual(done.returncode, 0, done.stderr)
                results = json.loads((self.here / "r/results.json").read_text())
                self.assertEqual({row["phase"] for row in results["factors"]["rows"]}, set(names[first:first + 10]))

    def test_of_folders(self):
        names = (b"caf\xe9", b"a\xff\xfeb", "日本".encode(), b"new\nline", b"quo\"te'\\x", b"{{x}} [a](b)", b"-o", b"=1+1")
        for name in nightly.some(names, 8):
            with self.subTest(name):
                top = os.path.join(os.fsencode(self.here), name)
                for ranks in (2, 4, 8):
                    shutil.copytree(LU / f"traces/{ranks}", os.fsdecode(os.path.join(top, str(ranks).encode())))
                command = [PROGRAM, "run", b"./" + name, b"-o", b"./" + name + b"/report"]
                done = subprocess.run(command, cwd=self.here, capture_output=True, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)
                for study in (os.path.join(name, b"report/study.toml"), os.path.join(top, b"report/study.toml")):
                    done = subprocess.run([PROGRAM, "run", b"./" + study if not study.startswith(b"/") else study],
                                          cwd=self.here, capture_output=True, timeout=120)
                    self.assertEqual(done.returncode, 0, done.stderr)
                results = json.loads(pathlib.Path(os.fsdecode(top)).joinpath("report/results.json").read_bytes())
                self.assertEqual(len(results["runs"]), 3)
                done = subprocess.run([PROGRAM, "run", b"./" + name + b"/2/traces.otf2", b"./" + name + b"/4/traces.otf2",
                                       b"-o", b"outside"], cwd=self.here, capture_output=True, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)
                done = subprocess.run([PROGRAM, "run", b"outside/study.toml"], cwd=self.here, capture_output=True, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)
                shutil.rmtree(top)
                shutil.rmtree(self.here / "outside")


class Limits(unittest.TestCase):
    """Where the system gives no more, the program says so and ends with an exit code of its own."""

    def run_within(self, limit, most, *arguments):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120, errors="replace",
                              preexec_fn=lambda: resource.setrlimit(limit, (most, most)))

    def check(self, done, what):
        if "while loading shared libraries" in done.stderr:
            return  # the program did not even begin
        self.assertIn(done.returncode, range(0, 6), f"{what}: {done.returncode} {done.stderr[-500:]}")
        if done.returncode != 0:
            self.assertIn("farscale: ", done.stderr, what)
            self.assertNotIn("internal error", done.stderr, what)

    def test_of_memory(self):
        for kibibytes in nightly.some([*range(30000, 120000, 3000), *range(120000, 600000, 60000)], 12):
            for command in (["factors", LU_TRACES[2], "-j1"], ["factors", *LU_TRACES], ["inspect", LU_TRACES[0], "-j4"]):
                self.check(self.run_within(resource.RLIMIT_AS, kibibytes << 10, *command), (kibibytes, command))

    @nightly.alone
    def test_of_files(self):
        for files in (4, 5, 6, 8, 10, 16, 24, 64):
            self.check(self.run_within(resource.RLIMIT_NOFILE, files, "factors", *LU_TRACES), files)

    def test_of_sizes_of_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for size in (0, 100, 1000, 5000):
                done = self.run_within(resource.RLIMIT_FSIZE, size, "predict", str(TABLES / "rosas14-table2.csv"), "-o", f"{folder}/p.json")
                self.assertEqual(done.returncode, 5, done.stderr)
                self.assertIn("cannot be written", done.stderr)
                self.assertEqual(os.listdir(folder), [])

    @nightly.alone
    def test_inputs_without_an_end(self):
        endless = "has no end within 256 MiB"
        with tempfile.TemporaryDirectory() as folder:
            links = [os.path.join(folder, name) for name in ("t.csv", "r.json", "study.toml")]
            for link in links:
                os.symlink("/dev/zero", link)
            commands = ["predict", "/dev/zero"], ["predict", links[0]], ["report", links[1]], ["run", links[2]]
            for command in commands:
                done = farscale(*command)
                self.assertEqual(done.returncode, 3, command)
                self.assertIn(endless, done.stderr)
            for source in ("yes", "cat /dev/zero"):
                done = subprocess.run(f"{source} | {PROGRAM} predict -", shell=True, capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 3)
                self.assertIn(endless, done.stderr)
            fifo = os.path.join(folder, "fifo")
            os.mkfifo(fifo)
            writer = subprocess.Popen(f"yes > {fifo}", shell=True, stderr=subprocess.DEVNULL)
            done = farscale("predict", fifo)
            writer.wait(timeout=60)
            self.assertEqual(done.returncode, 3)
            self.assertIn(endless, done.stderr)


if __name__ == "__main__":
    nightly.main()
