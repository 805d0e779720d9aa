#!/usr/bin/env python3
"""Validates the JSON that farscale writes against docs/schema/, for every sample run and for a run that failed."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import jsonschema

import nightly

ROOT = pathlib.Path(__file__).resolve().parent.parent
FARSCALE = os.environ["FARSCALE"]
SCHEMAS = {path.name: json.loads(path.read_text()) for path in (ROOT / "docs/schema").glob("*.schema.json")}


def validate(document):
    name = document["format"].removeprefix("farscale-") + ".schema.json"
    resolver = jsonschema.RefResolver(base_uri="", referrer=SCHEMAS[name], store=SCHEMAS)
    jsonschema.Draft202012Validator(SCHEMAS[name], resolver=resolver).validate(document)


class SchemaTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_farscale(self, *arguments, code=0):
        done = subprocess.run([FARSCALE, *map(str, arguments), "--quiet"], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    reported = {}  # by name of the sample study: its results.json

    def results_of(self, study):
        """The results.json of a sample study, which is run once for all tests."""
        if study.parent.name not in self.reported:
            self.run_farscale("run", study, "-o", self.folder / "r")
            self.reported[study.parent.name] = (self.folder / "r/results.json").read_text()
        return self.reported[study.parent.name]

    def test_schemas_are_schemas(self):
        self.assertEqual(len(SCHEMAS), 15)
        for schema in SCHEMAS.values():
            jsonschema.Draft202012Validator.check_schema(schema)

    def test_schemas_are_those_of_the_program(self):
        """They are generated: farscale schema NAME > docs/schema/NAME.schema.json."""
        for name in SCHEMAS:
            with self.subTest(name):
                committed = (ROOT / "docs/schema" / name).read_text()
                self.assertEqual(committed, self.run_farscale("schema", name.removesuffix(".schema.json")))

    def test_sample_runs(self):
        for study in nightly.some(sorted(ROOT.glob("sample-runs/*/study.toml")), 3):
            with self.subTest(study.parent.name):
                results = json.loads(self.results_of(study))
                validate(results)
                self.check_shares(results["lossProjections"])
                table, projection = self.folder / "factors.json", self.folder / "projection.json"
                self.run_farscale("factors", study, "-o", table)
                validate(json.loads(table.read_text()))
                self.run_farscale("predict", table, "-o", projection)
                validate(json.loads(projection.read_text()))
                if len({row["cores"] for row in json.loads(table.read_text())["rows"]}) > 3:
                    self.run_farscale("backtest", table, "--against", "amdahl:1", "-o", self.folder / "backtest.json")
                    validate(json.loads((self.folder / "backtest.json").read_text()))
                history = self.folder / study.parent.name
                self.run_farscale("history", "add", table, "--into", history, "--commit", "a", "--date", "2026-11-20",
                                  "--accept", "the first")
                validate(json.loads(next(history.iterdir()).read_text()))
                validate(json.loads(self.run_farscale("history", history, "--json", "-")))
                validate(json.loads(self.run_farscale("gate", table, "--baseline", history, "--json", "-")))
                validate(json.loads(self.run_farscale("imbalance", study, "-o", "-")))
                validate(json.loads(self.run_farscale("balance", study, "--strategies", "refine", "--levels", "2",
                                                      "--intervals", "1", "--replicas", "5", "-o", "-")))
                trace = next(study.parent.glob("traces/*/traces.otf2"))
                validate(json.loads(self.run_farscale("inspect", trace, "--json")))

    @nightly.alone
    def test_growth(self):
        study = ROOT / "sample-runs/npb-lu/study.toml"
        text = self.run_farscale("grow", study, "--phase", "ssor_iter", "--cores", "64", "-o", "-")
        grown = json.loads(text)
        validate(grown)
        phase = grown["phases"][0]
        self.assertEqual([row["ranks"] for row in phase["rows"] if row["source"] == "measured"], [2, 4, 8, 16, 32])
        self.assertEqual(phase["learned"]["explained"], 1)
        self.assertAlmostEqual(sum(rule["share"] for rule in phase["learned"]["partners"]), 1)
        self.run_farscale("grow", study, "--phase", "ssor_iter", "--cores", "64", "-q", "-o", self.folder / "g.json")
        self.assertEqual((self.folder / "g.json").read_text(), text)

    def check_shares(self, projections):
        """What call paths lose at a target are shares of one whole."""
        self.assertTrue(projections)
        for projection in projections:
            sums = {}
            for path in projection["callPaths"]:
                for target in path["targets"]:
                    sums[target["cores"]] = sums.get(target["cores"], 0) + target["loss"]
            for cores, total in sums.items():
                self.assertLessEqual(total, 1 + 1e-9, f"{projection['phase']}, {projection['measure']}, {cores} cores")

    def test_published_numbers(self):
        for table in sorted(ROOT.glob("tests/tables/*.csv")):
            projection = self.folder / "projection.json"
            self.run_farscale("predict", table, "-o", projection)
            validate(json.loads(projection.read_text()))

    def test_splits_of_cores(self):
        """Of runs that separate processes and threads."""
        table, splits = self.folder / "hybrid.csv", self.folder / "splits.json"
        head = "cores,ranks,threads,runtime,mpiParallelEfficiency,ompParallelEfficiency,computationScalability\n"
        rows = ["1,1,1,8,1,1,1", "2,1,2,4.2,1,0.95,1", "2,2,1,4.1,0.98,1,1", "4,2,2,2.15,0.98,0.95,1"]
        table.write_text(head + "\n".join(rows) + "\n")
        self.run_farscale("predict", table, "--scaling", "strong", "--split", "8", "-o", splits)
        found = json.loads(splits.read_text())
        validate(found)
        self.assertEqual([split["threads"] for split in found["phases"][0]["splits"]], [1, 2, 4])
        self.assertEqual(found["phases"][0]["moreThreads"]["to"], 4)

    def test_study_of_processes_and_threads(self):
        results = json.loads(self.results_of(ROOT / "tests/studies/hybrid/study.toml"))
        validate(results)
        self.assertEqual([one["cores"] for one in results["splits"]], [64, 128, 256])

    def test_comparisons(self):
        """Two studies with times and projections, and tables of factors without."""
        for name in ("npb-lu", "lulesh"):
            (self.folder / name).mkdir()
            (self.folder / name / "results.json").write_text(self.results_of(ROOT / f"sample-runs/{name}/study.toml"))
        tables = sorted(ROOT.glob("tests/tables/*.csv"))[:3]
        lu, lulesh = (self.folder / name / "results.json" for name in ("npb-lu", "lulesh"))
        for inputs in ((lu, lu), (lu, lulesh), tables):
            self.run_farscale("compare", *inputs, "-o", self.folder / "c")
            validate(json.loads((self.folder / "c/compare.json").read_text()))

    def test_case_of_a_study(self):
        text = (ROOT / "sample-runs/npb-lu/study.toml").read_text()
        text = text.replace("traces/2/traces.otf2\"", "traces/2/traces.otf2\"\nsize = 100")
        study = self.folder / "study.toml"
        study.write_text(text.replace("traces/", f"{ROOT}/sample-runs/npb-lu/traces/") +
                         '\n[case]\nsize = 110\nunit = "points"\niterations = 10\n')
        self.run_farscale("run", study, "-o", self.folder / "r")
        results = json.loads((self.folder / "r/results.json").read_text())
        validate(results)
        self.assertEqual(results["study"]["case"], {"size": 110, "unit": "points", "iterations": 10})
        self.assertEqual(results["runs"][0]["size"], 100)

    def test_failed_run_and_no_projection(self):
        """One run is missing, one is left: no fit is possible, and both are said in the results."""
        shutil.copytree(ROOT / "sample-runs/npb-lu/traces/2", self.folder / "2")
        study = self.folder / "study.toml"
        study.write_text('[[runs]]\ntrace = "2/traces.otf2"\n[[runs]]\ntrace = "4/traces.otf2"\n')
        self.run_farscale("run", study, "-o", self.folder / "r", code=3)
        results = json.loads((self.folder / "r/results.json").read_text())
        validate(results)
        self.assertIn("error", results["runs"][1])
        self.assertIn("obstacle", results["projections"][0])


if __name__ == "__main__":
    unittest.main()
