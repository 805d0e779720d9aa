#!/usr/bin/env python3
"""Programs that a site measures without their doing, under a fake srun, and the list of what was collected.

FARSCALE names the program, FARSCALE_BUILD the build folder. An MPI without a compiler or preload library is skipped,
with a message.
"""

import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ["FARSCALE"])
LIBRARIES = pathlib.Path(os.environ["FARSCALE_BUILD"]) / "lib" / "farscale"
PROLOG = ROOT / "configs" / "site" / "task_prolog"


class SiteTest:
    """What is the same for every MPI; subclasses name one."""

    name = ""

    @classmethod
    def setUpClass(cls):
        for need in (f"mpicc.{cls.name}", f"mpirun.{cls.name}"):
            if not shutil.which(need):
                raise unittest.SkipTest(f"{need} is not installed")
        if not (LIBRARIES / f"libfarscale-{cls.name}.so").exists():
            raise unittest.SkipTest(f"farscale was built without a library for {cls.name}")
        cls.folder = tempfile.TemporaryDirectory(prefix="farscale-site-")
        cls.ends = pathlib.Path(cls.folder.name) / "ends"
        subprocess.run([f"mpicc.{cls.name}", "-O1", "-w", f"-I{ROOT}/src/collect/include", str(ROOT / "tests/mpi/ends.c"),
                        "-o", str(cls.ends), f"-L{LIBRARIES}", "-lfarscale", f"-Wl,-rpath,{LIBRARIES}"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.here = pathlib.Path(tempfile.mkdtemp(dir=self.folder.name))
        for folder in ("pages", "results"):
            (self.here / folder).mkdir()

    def configure(self, **more):
        values = {"results": str(self.here / "results"), **more}
        lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
        (self.here / "site.toml").write_text("\n".join(lines) + "\n")

    def environment(self, **more):
        return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                    OMPI_MCA_rmaps_base_oversubscribe="1", FARSCALE_PAGES=str(self.here / "pages"),
                    FARSCALE_CONFIG=str(self.here / "site.toml"), PATH=f"{PROGRAM.parent}:{os.environ['PATH']}", **more)

    def srun(self, tasks, *command, **more):
        return subprocess.run([str(ROOT / "tests/mpi/fake_srun"), self.name, str(tasks), str(PROLOG), *map(str, command)],
                              cwd=self.here, env=self.environment(**more), text=True, capture_output=True, timeout=60)

    def farscale(self, *arguments):
        return subprocess.run([str(PROGRAM), *map(str, arguments)], cwd=self.here, env=self.environment(), text=True,
                              capture_output=True, timeout=60)

    def results(self):
        return sorted(self.here.glob("results/*/*.json"))

    def test_every_program_is_measured_privately(self):
        self.configure(mpi=self.name)
        done = self.srun(2, self.ends)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.srun(2, self.ends, "segv")
        self.assertNotEqual(done.returncode, 0)
        files = self.results()
        self.assertEqual([file.name for file in files], ["job-4711.0-2.json", "job-4711.0.json"])
        self.assertEqual({stat.S_IMODE(file.stat().st_mode) for file in files}, {0o600})
        self.assertEqual(stat.S_IMODE(files[0].parent.stat().st_mode), 0o700)
        listed = self.farscale("jobs", "results")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("2 jobs", listed.stdout)
        self.assertRegex(listed.stdout, r"ends +2 .*signal")
        jobs = json.loads(self.farscale("jobs", "results", "-o", "-").stdout)["jobs"]
        self.assertEqual([(job["program"], job["ranks"]) for job in jobs], [("ends", 2), ("ends", 2)])
        lost = [job["lostCoreHours"] for job in jobs]
        self.assertEqual(lost, sorted(lost, reverse=True))
        self.check_page()

    def check_page(self):
        self.assertEqual(self.farscale("jobs", "results", "-o", "jobs.html").returncode, 0)
        page = (self.here / "jobs.html").read_text()
        self.assertEqual(len(re.findall("<th scope=row[ >]", page)), 3)  # two jobs, and their program
        self.assertIn("tone-", page)
        self.assertNotIn("{{", page)
        self.assertEqual(self.farscale("jobs", "results", "-o", "jobs.csv").returncode, 0)
        self.assertEqual(len((self.here / "jobs.csv").read_text().splitlines()), 3)
        self.assertEqual(self.farscale("jobs", "results", "-o", "jobs.md").returncode, 0)

    def test_it_is_off_where_the_file_the_user_or_the_limit_says_so(self):
        self.configure(mpi=self.name, enabled=False)
        self.assertEqual(self.farscale("site").stdout, "")
        self.configure(mpi=self.name, megabytes=1e-6)
        done = self.srun(2, self.ends)
        self.assertEqual((done.returncode, self.results()), (0, []), done.stderr)
        self.configure(mpi=self.name, private=False, quiet=False)
        self.assertEqual(self.srun(1, "true", FARSCALE_SITE="off").returncode, 0)
        done = self.srun(2, self.ends)
        self.assertIn("Parallel efficiency", done.stderr)
        self.assertEqual(stat.S_IMODE(self.results()[0].stat().st_mode), 0o666 & ~self.umask())

    @staticmethod
    def umask():
        mask = os.umask(0)
        os.umask(mask)
        return mask

    def test_measure_of_the_user_takes_its_place(self):
        self.configure(mpi=self.name)
        done = self.srun(2, PROGRAM, "measure", "-o", "own.json", self.ends)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.results(), [])
        self.assertEqual(json.loads((self.here / "own.json").read_text())["ranks"], 2)

    def test_a_wrapper_of_a_module_is_measured(self):
        wrapper = self.here / "wrapper"
        wrapper.write_text(f"#!/bin/sh\nexec {self.ends}\n")
        wrapper.chmod(0o755)
        # As under a launcher of PMIx, which does not say the MPI; the program itself starts as one rank.
        environment = {name: value for name, value in self.environment().items()
                       if not name.startswith(("OMPI_COMM", "PMI"))}
        command = [str(PROGRAM), "measure", str(wrapper)]
        unknown = subprocess.run(command, cwd=self.here, env=environment, text=True, capture_output=True, timeout=60)
        self.assertIn("set FARSCALE_MPI", unknown.stderr)
        known = subprocess.run(command, cwd=self.here, env=dict(environment, FARSCALE_MPI=self.name), text=True,
                               capture_output=True, timeout=60)
        self.assertEqual(known.returncode, 0, known.stderr)
        self.assertEqual(json.loads((self.here / "farscale.json").read_text())["program"], "ends")

    def test_the_file_is_checked(self):
        self.configure(mpi=self.name)
        checked = self.farscale("site", "--check")
        self.assertIn("results in", checked.stdout)
        for wrong in ({"mpi": "lam"}, {"results": "relative"}, {"results": "/with blank"}, {"megabytes": 0},
                      {"colour": "red"}):
            self.configure(**wrong)
            self.assertEqual(self.farscale("site", "--check").returncode, 2, wrong)
            self.assertEqual(self.srun(1, "true").stderr, "", wrong)  # the task runs as it is


class OpenMpi(SiteTest, unittest.TestCase):
    name = "openmpi"


class Mpich(SiteTest, unittest.TestCase):
    name = "mpich"


if __name__ == "__main__":
    unittest.main()
