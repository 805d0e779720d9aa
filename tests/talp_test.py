#!/usr/bin/env python3
"""Runs measured by TALP as factor tables, and factor tables as JSON that TALP-Pages reads.

    FARSCALE=build/dev/bin/farscale tests/talp_test.py
"""

import datetime
import json
import math
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = str(pathlib.Path(os.environ["FARSCALE"]).resolve())
TRACES = [str(ROOT / f"sample-runs/npb-lu/traces/{ranks}/traces.otf2") for ranks in (2, 4)]
CHILDREN = ("loadBalanceIn", "loadBalanceOut", "loadBalance", "communicationEfficiency", "parallelEfficiency")
# What tables and charts of TALP-Pages show of runs with MPI, and of those with threads, too.
SHOWN = ("parallelEfficiency", "mpiParallelEfficiency", "mpiCommunicationEfficiency", "mpiLoadBalance",
         "mpiLoadBalanceIn", "mpiLoadBalanceOut", "ompParallelEfficiency", "ompLoadBalance",
         "ompSchedulingEfficiency", "ompSerializationEfficiency")


def run_of(ranks, elapsed=12.0, version="3.6.1", **more):
    """Strong scaling: 24 s of computation, on the busiest rank a tenth more than on average."""
    average = 24.0 / ranks
    region = {"numCpus": ranks, "numMpiRanks": ranks, "numNodes": 1, "avgCpus": float(ranks), "cycles": 48e9,
              "instructions": 60e9, "numMeasurements": ranks, "numMpiCalls": 100, "elapsedTime": elapsed * 1e9,
              "usefulTime": 24e9, "mpiTime": (elapsed * ranks - 24) * 1e9,
              "minMpiNormdProc": (elapsed - 1.1 * average) * 1e9, "minMpiNormdNode": (elapsed - average) * 1e9,
              "parallelEfficiency": round(average / elapsed, 2), **more}
    return {"dlbVersion": version, "timestamp": "2026-11-20T12:00:00",
            "resources": {"numCpus": ranks, "numNodes": 1, "numMpiRanks": ranks, "numGpus": 0},
            "Application": {"Global": region}}


def demands_of_talp_pages(path):
    """What its loaders of DLB 3.5 and later ask of a file, in the order in which they do; returns the regions."""
    document = json.loads(path.read_text())
    assert document["dlbVersion"] in ("3.5", "3.5a")  # the first release; later ones compare the beginning
    # A date of this form is read by all versions of Python that it supports.
    datetime.datetime.strptime(document["timestamp"], "%Y-%m-%dT%H:%M:%S")
    assert "metadata" not in document  # if there is any, it must name a commit
    resources = document["resources"]
    cpus, ranks = resources["numCpus"], resources["numMpiRanks"]
    assert isinstance(cpus, int) and isinstance(ranks, int) and cpus >= ranks >= 1
    regions = document["Application"]
    assert "Global" in regions  # badges and time series begin there
    for region in regions.values():
        for counter in ("cycles", "instructions"):
            assert region[counter] >= 0  # compared with 0, so it may not be null
        assert region["usefulTime"] > 0 and region["elapsedTime"] > 0  # divided by
        assert region["numCpus"] == cpus
        for factor in SHOWN:
            assert region[factor] is None or 0 < region[factor] <= 1 + 1e-12, factor
    return regions


class TalpTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)
        self.addCleanup(self._folder.cleanup)

    def farscale(self, *arguments, code=0, **environment):
        result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=self.folder,
                                timeout=120, env={**os.environ, **environment})
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        if code:
            errors = [line for line in result.stderr.splitlines() if line.startswith("farscale: ")]
            self.assertEqual(len(errors), 1, result.stderr)
        return result

    def write(self, name, document):
        path = self.folder / name
        path.write_text(json.dumps(document))
        return path.name

    def runs(self):
        return [self.write(f"talp{ranks}.json", run_of(ranks, 24 / ranks / efficiency))
                for ranks, efficiency in ((2, 0.9), (4, 0.85), (8, 0.8), (16, 0.7))]

    def rows(self, *inputs):
        self.farscale("factors", *inputs, "-o", "read.json", "--quiet")
        return json.loads((self.folder / "read.json").read_text())


class Reading(TalpTest):
    def test_several_runs_are_one_table(self):
        table = self.rows(*self.runs())
        self.assertEqual([row["cores"] for row in table["rows"]], [2, 4, 8, 16])
        self.assertEqual(table["scaling"], "strong")
        last = table["rows"][-1]["factors"]
        self.assertAlmostEqual(last["parallelEfficiency"], 0.7)
        self.assertAlmostEqual(last["loadBalance"], 1 / 1.1)
        self.assertAlmostEqual(last["loadBalanceOut"], 1)
        self.assertAlmostEqual(last["instructionScaling"], 1)
        self.assertAlmostEqual(last["speedup"], 8 * 0.7 / 0.9)
        self.assertNotIn("idealElapsed", table["rows"][0]["totals"])

    def test_commands_take_them_where_they_take_tables(self):
        runs = self.runs()
        self.assertIn("128", self.farscale("predict", *runs, "--targets", "128").stdout)
        self.farscale("backtest", *runs)
        self.farscale("compare", runs[0], runs[1])
        self.write("rules.json", {})
        rules = self.folder / "rules.toml"
        rules.write_text("rules = ['parallelEfficiency at measured >= 0.5']\n")
        self.assertIn("16", self.farscale("gate", *runs, "--rules", "rules.toml").stdout)
        for runs_of_one in (runs[:1], runs):
            refused = self.farscale("report", *runs_of_one, "-o", "r", code=3).stderr
            self.assertIn("--report DIR", refused)
            self.assertEqual(refused.count("\n"), 1)
        self.farscale("history", "add", *runs, "--into", "h", "--commit", "a", "--date", "2026-11-20T12:00:00Z")

    def test_odd_numbers_are_named(self):
        bad = self.write("bad.json", run_of(2, 13.0, cycles=-398487332076099, instructions=-5, parallelEfficiency=0.2))
        warnings = self.farscale("factors", bad).stderr
        self.assertIn("counterImpossible", warnings)
        self.assertIn("cycles -3.98487e+14 in Global of bad.json", warnings)
        self.assertIn("parallelEfficiency 0.2, times give 0.9231 in Global of bad.json", warnings)

    def test_errors_are_one_sentence(self):
        new = self.write("new.json", run_of(2, version="4.1"))
        self.assertIn("version '4.1' of DLB", self.farscale("predict", new, code=3).stderr)
        empty = self.write("empty.json", {"dlbVersion": "3.6", "Application": {}})
        self.assertIn("empty.json: holds no metrics of regions", self.farscale("factors", empty, code=3).stderr)
        other = self.write("other.json", {"format": "farscale-factors"})
        good = self.write("good.json", run_of(2, 13.0))
        self.assertIn("other.json: is no JSON of TALP", self.farscale("factors", good, other, code=3).stderr)
        run = self.write("run.json", {"format": "farscale-measured-run"})
        self.assertIn("times are not counted alike", self.farscale("factors", good, run, code=2).stderr)
        self.assertIn("is a factor table, which takes only", self.farscale("factors", good, "--phase", "x", code=2).stderr)
        (self.folder / "cut.json").write_text((self.folder / good).read_text()[:200])
        self.farscale("factors", "cut.json", code=3)


class Writing(TalpTest):
    def check_same(self, written, read):
        self.assertEqual(len(written["rows"]), len(read["rows"]))
        for before, after in zip(written["rows"], read["rows"]):
            for key in ("phase", "cores", "ranks", "threads", "repeat", "iterations"):
                self.assertEqual(before[key], after[key])
            for factor in CHILDREN:
                self.assertTrue(math.isclose(before["factors"][factor], after["factors"][factor], rel_tol=1e-5), factor)

    def test_traces_become_files_that_talp_pages_reads_and_read_back_the_same(self):
        region = str(ROOT / "sample-runs/npb-lu/study.toml")
        self.assertTrue(pathlib.Path(region).exists())
        self.farscale("factors", *TRACES, "-o", "table.json", "--quiet")
        self.farscale("factors", "table.json", "--format", "talp", "--date", "2026-11-20T12:00:00Z", "-o", "pages/lu",
                      "--quiet")
        files = sorted((self.folder / "pages/lu").iterdir())
        self.assertEqual([path.name for path in files], ["talp-2.json", "talp-4.json"])
        for path in files:
            demands_of_talp_pages(path)
        self.assertEqual(json.loads(files[0].read_text())["timestamp"], "2026-11-20T12:00:00")
        self.check_same(json.loads((self.folder / "table.json").read_text()), self.rows(*files))

    def test_straight_from_traces(self):
        self.farscale("factors", TRACES[0], "--format", "talp", "-o", "one.json", SOURCE_DATE_EPOCH="1795176000")
        demands_of_talp_pages(self.folder / "one.json")
        again = (self.folder / "one.json").read_bytes()
        self.farscale("factors", TRACES[0], "--format", "talp", "-o", "one.json", SOURCE_DATE_EPOCH="1795176000")
        self.assertEqual(again, (self.folder / "one.json").read_bytes())

    def test_the_whole_run_comes_first_whatever_phases_are_named(self):
        trace = ROOT / "sample-runs/lulesh/traces/8/traces.otf2"
        self.farscale("factors", trace, "--format", "talp", "--phase", "cycle", "-o", "one.json",
                      SOURCE_DATE_EPOCH="1795176000")
        self.assertEqual(list(demands_of_talp_pages(self.folder / "one.json")), ["Global", "cycle"])

    def test_what_cannot_be_written(self):
        (self.folder / "t.csv").write_text("cores,runtime,parallelEfficiency\n4,1,0.9\n8,1,\n16,0.5,0.8\n")
        date = ("--date", "2026-11-20T12:00:00Z")
        result = self.farscale("factors", "t.csv", "--format", "talp", *date, "-o", "out")
        self.assertIn("at 8 cores has no parallel efficiency: TALP has no place for it", result.stderr)
        self.assertEqual(sorted(path.name for path in (self.folder / "out").iterdir()), ["talp-16.json", "talp-4.json"])
        self.farscale("factors", "t.csv", "--format", "talp", *date, "-o", "x.json", code=2)
        self.farscale("factors", "t.csv", "--format", "talp", *date, code=2)
        self.farscale("factors", "t.csv", *date, code=2)
        self.assertIn("the date of the results is not known",
                      self.farscale("factors", "t.csv", "--format", "talp", "-o", "y", code=2, CI_COMMIT_TIMESTAMP="",
                                    SOURCE_DATE_EPOCH="").stderr)
        self.assertFalse((self.folder / "x.json").exists() or (self.folder / "y").exists())


if __name__ == "__main__":
    unittest.main()
