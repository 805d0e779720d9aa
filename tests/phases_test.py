#!/usr/bin/env python3
"""`farscale phases -o` always writes a study that `farscale run` accepts, whatever traces there are.

    FARSCALE=build/dev/bin/farscale tests/phases_test.py
"""

import json
import os
import pathlib
import subprocess
import tempfile
import tomllib
import unittest

import nightly

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = str(pathlib.Path(os.environ["FARSCALE"]).resolve())
SHARED = pathlib.Path(os.environ.get("FARSCALE_SHARED_DATA", ROOT.parent / "shared/data")) / "traces"
MOST_RANKS = 32  # larger runs take long and show nothing new
NOT_ENOUGH_DATA = 4  # a report without a projection: too few runs


def farscale(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=600)


def trace_sets():
    """Folder of a program and the traces of its runs, in sample-runs/ and in the shared data where that is there."""
    sets = {}
    folders = [ROOT / "sample-runs", *(sorted(SHARED.iterdir()) if SHARED.is_dir() else [])]
    for folder in folders:
        for trace in [*folder.rglob("traces.otf2"), *folder.rglob("*.prv.gz")]:
            ranks = "".join(c for c in trace.parent.name.split("-")[-1] if c.isdigit())
            if "faulty" in trace.parts or int(ranks or 1) > MOST_RANKS:
                continue
            # Runs by Score-P lie in folders of their names, others in folders of their ranks.
            of = trace.parent if not trace.parent.name.isdigit() else trace.parent.parent
            sets.setdefault(of, []).append(trace)
    return sets


class StudiesOfPhases(unittest.TestCase):
    checked = {}  # by folder of the traces: the first phase and the results

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)

    def check(self, folder, traces):
        """The first phase of the study and the results; where another test has run it, those."""
        if folder not in self.checked:
            self.checked[folder] = self.run_study_of(traces)
        return self.checked[folder]

    def run_study_of(self, traces):
        study = self.folder / "study.toml"
        study.unlink(missing_ok=True)
        result = farscale("phases", *traces, "-o", study)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        runs = tomllib.loads(study.read_text())
        self.assertEqual(len(runs["runs"]), len(traces))
        output = self.folder / "report"
        result = farscale("run", study, "-o", output, "-q")
        self.assertIn(result.returncode, (0, NOT_ENOUGH_DATA), study.read_text() + result.stderr)
        self.assertTrue((output / "results.json").exists(), result.stderr)
        return runs["phases"][0], json.loads((output / "results.json").read_text())

    def test_of_all_traces(self):
        sets = trace_sets()
        self.assertGreaterEqual(len(sets), 4)
        for folder, traces in nightly.some(sets.items(), 6):
            with self.subTest(folder.name):
                self.check(folder, traces)

    # LAMMPS builds its neighbour lists anew in iterations 5 and 10, LU computes a norm in the last one: work of the
    # program, which stands out in some runs and can be left out in some. All runs keep all iterations, so that the
    # study has the factors that `factors --phase auto` has.
    @nightly.alone
    def test_work_of_the_program_is_not_cleaned_away(self):
        sets = {folder.name: (folder, traces) for folder, traces in trace_sets().items()}
        for name in ("lammps-lj-weak-cpu-papinames", "lammps-lj-weak", "npb-lu-strong"):
            if name not in sets:
                continue
            with self.subTest(name):
                folder, traces = sets[name]
                phase, results = self.check(folder, traces)
                self.assertNotIn("clean", phase)
                table = self.folder / f"{name}.json"
                self.assertEqual(farscale("factors", *traces, "--phase", "auto", "-o", table).returncode, 0)
                of_study = {row["cores"]: row["factors"] for row in results["factors"]["rows"]
                            if row["phase"] == phase["region"]}
                self.assertEqual(of_study, {row["cores"]: row["factors"]
                                            for row in json.loads(table.read_text())["rows"]})

    def test_marked_loops_come_first(self):
        sets = {folder.name: traces for folder, traces in trace_sets().items()}
        for name, region in (("npb-mg-strong", "mg_iter"), ("amg-weak", "pcg_iter"), ("sweep3d-weak", "inner_iter"),
                             ("npb-lu-strong", "ssor_iter"), ("lulesh-weak", "cycle")):
            if name not in sets:
                continue
            with self.subTest(name):
                result = farscale("phases", *sets[name][:1], "-o", "-")
                self.assertIn(f'region = "{region}"', result.stdout)


if __name__ == "__main__":
    unittest.main()
