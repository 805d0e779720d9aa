#!/usr/bin/env python3
"""New things are as few edits as CONTRIBUTING.md says: adds one of each kind by a patch to a copy of the tree, builds the
program there and sees that they appear. A build from nothing, so that only scripts/check --full runs this.

Usage: extend_test.py [PatchesTest]    the class alone applies the patches without a build
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATCHES = ROOT / "tests/extensions"
LU = ROOT / "sample-runs/npb-lu"
MOST_EDITS = {"factor": 5, "section": 3, "strategy": 3, "format": 5}
MODEL = """id = "mine"
name = "Mine"
formula = "e0 - s * log2(P)"
factors = ["transferEfficiency"]
[parameters.e0]
upper = 1
starts = [0.9]
[parameters.s]
upper = 1
starts = [0.01]
"""


def files_of(patch):
    return re.findall(r"^diff --git a/(\S+)", patch.read_text(), flags=re.MULTILINE)


def copy_tree(to):
    """The files that git knows, so that no build folder comes along."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if not (ROOT / name).is_file():
            continue
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to / name)


def apply_patches(folder):
    for patch in sorted(PATCHES.glob("*.patch")):
        subprocess.run(["git", "apply", "--unsafe-paths", f"--directory={folder}", patch], cwd="/", check=True)


class PatchesTest(unittest.TestCase):
    def test_edits(self):
        self.assertEqual({patch.stem for patch in PATCHES.glob("*.patch")}, set(MOST_EDITS))
        for kind, most in MOST_EDITS.items():
            self.assertLessEqual(len(files_of(PATCHES / f"{kind}.patch")), most, kind)

    def test_they_apply(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in {name for kind in MOST_EDITS for name in files_of(PATCHES / f"{kind}.patch")}:
                if (ROOT / name).exists():
                    (pathlib.Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / name, pathlib.Path(folder) / name)
            apply_patches(folder)


class ProgramTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        tree = cls.folder / "tree"
        copy_tree(tree)
        apply_patches(tree)
        (tree / "fits/mine.toml").write_text(MODEL)
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count()))
        for command in (["cmake", "--preset", "release"],
                        ["cmake", "--build", "--preset", "release", "--target", "farscale", "-j", jobs]):
            subprocess.run(command, cwd=tree, check=True)
        cls.program = tree / "build/release/bin/farscale"

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def run_ok(self, *arguments):
        result = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_factor_and_model(self):
        table, out = self.folder / "factors.csv", self.folder / "p.json"
        self.run_ok("factors", *(LU / f"traces/{ranks}/traces.otf2" for ranks in (2, 4, 8)), "--scaling", "strong",
                    "-o", table)
        self.assertIn("usefulShare", table.read_text())
        self.run_ok("predict", table, "-o", out)
        factors = json.loads(out.read_text())["phases"][0]["factors"]
        with_model = {factor["factor"] for factor in factors
                      if any(rival["model"] == "mine" for rival in factor.get("rivals", []))}
        self.assertEqual(with_model, {"transferEfficiency"})

    def test_strategy(self):
        self.assertIn("rotation", self.run_ok("balance", "--help"))
        result = self.folder / "balance.json"
        self.run_ok("balance", LU / "traces/8/traces.otf2", "--phase", "ssor_iter", "--strategies", "rotation", "-o",
                    result)
        self.assertIn('"rotation"', result.read_text())

    def test_section(self):
        self.run_ok("run", LU / "study.toml", "-o", self.folder / "report", "-q")
        self.assertIn("<h3>List of runs</h3>", (self.folder / "report/report.html").read_text())
        self.assertIn("### List of runs", (self.folder / "report/appendix.md").read_text())

    def test_format(self):
        trace, table = self.folder / "trace.plain", self.folder / "plain.csv"
        trace.write_text("farscale-plain 4 1000000\n")
        self.run_ok("factors", trace, "-o", table)
        self.assertIn("loadBalance", table.read_text())


if __name__ == "__main__":
    unittest.main()
