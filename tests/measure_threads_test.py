#!/usr/bin/env python3
"""Programs with OpenMP under `farscale measure`, of GCC with its libgomp and of Clang with LLVM's libomp.

The programs keep clocks of their own, so that what is expected is what happened, on a machine with other work, too.
FARSCALE names the program, FARSCALE_BUILD the build folder. A compiler or an MPI that is missing is skipped, with a
message.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tests" / "mpi" / "hybrid.c"
PROGRAM = os.environ["FARSCALE"]
LIBRARIES = pathlib.Path(os.environ["FARSCALE_BUILD"]) / "lib" / "farscale"
THREADS = 4


class ThreadsTest:
    """What is the same for every compiler; subclasses name one, with an MPI."""

    mpi = ""
    compiler = ""
    flags = []

    @classmethod
    def setUpClass(cls):
        for need in (f"mpicc.{cls.mpi}", f"mpirun.{cls.mpi}", cls.compiler):
            if not shutil.which(need):
                raise unittest.SkipTest(f"{need} is not installed")
        if not (LIBRARIES / f"libfarscale-{cls.mpi}.so").exists():
            raise unittest.SkipTest(f"farscale was built without a library for {cls.mpi}")
        cls.folder = tempfile.TemporaryDirectory(prefix="farscale-threads-")
        cls.here = pathlib.Path(cls.folder.name)
        (cls.here / "pages").mkdir()
        environment = dict(os.environ, OMPI_CC=cls.compiler, MPICH_CC=cls.compiler)
        built = subprocess.run([f"mpicc.{cls.mpi}", "-O1", "-w", "-fopenmp", f"-I{ROOT}/src/collect/include", str(SOURCE),
                                "-o", str(cls.here / "hybrid"), f"-L{LIBRARIES}", "-lfarscale", "-pthread",
                                f"-Wl,-rpath,{LIBRARIES}"], env=environment, text=True, capture_output=True)
        if built.returncode != 0:
            raise unittest.SkipTest(f"{cls.compiler} cannot compile OpenMP: {built.stderr}")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def measure(self, ranks, *arguments, options=(), mode="measure", **variables):
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_pml="ob1", OMPI_MCA_btl="self,vader,tcp", OMPI_MCA_rmaps_base_oversubscribe="1",
                           OMPI_MCA_hwloc_base_binding_policy="none", FARSCALE_PAGES=str(self.here / "pages"),
                           OMP_WAIT_POLICY="passive", KMP_BLOCKTIME="0", **variables)
        (self.here / "farscale.json").unlink(missing_ok=True)
        result = subprocess.run([f"mpirun.{self.mpi}", "-n", str(ranks), PROGRAM, mode, *options,
                                 str(self.here / "hybrid"), *arguments], cwd=self.here, env=environment, text=True,
                                capture_output=True, timeout=60)
        self.result = result
        path = self.here / ("trace" if mode == "trace" else ".") / "farscale.json"
        self.results = json.loads(path.read_text())
        self.ids = [finding["id"] for finding in self.results["diagnostics"]]
        self.regions = {region["name"]: region for region in self.results["regions"]}
        self.whole = self.results["regions"][0]
        return result

    def check_sums(self, region):
        """Times of a region add up to those of its CPUs, and its factors are what they say."""
        times, factors = region["threadTimes"], region["factors"]
        cpu_time = times["cpus"] / region["ranks"] * sum(region["elapsedByRank"])
        self.assertAlmostEqual(sum(times.values()) - times["cpus"], cpu_time, delta=1e-6 * cpu_time)
        product = factors["mpiParallelEfficiency"] * factors["ompParallelEfficiency"]
        self.assertAlmostEqual(factors["parallelEfficiency"], product, delta=1e-6)
        children = factors["ompLoadBalance"] * factors["ompSchedulingEfficiency"] * factors["ompSerializationEfficiency"]
        self.assertAlmostEqual(factors["ompParallelEfficiency"], children, delta=1e-9)
        children = factors["loadBalance"] * factors["communicationEfficiency"]
        self.assertAlmostEqual(factors["mpiParallelEfficiency"], children, delta=1e-9)

    def check(self, ranks, *arguments, **more):
        """Every time that the program knows of, within 2 % of the time of all CPUs."""
        result = self.measure(ranks, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        own = json.loads(result.stdout)
        region = self.regions["work"]
        times = region["threadTimes"]
        self.assertEqual(times["cpus"], ranks * THREADS)
        self.check_sums(self.whole)
        self.check_sums(region)
        self.assertNotIn("threadsAtProcessLevel", self.ids)
        known = {"useful": own["useful"], "mpi": own["mpi"], "mpiIdle": own["mpiIdle"],
                 "ompImbalance": own["imbalance"], "ompSerialization": own["serial"] * (THREADS - 1)}
        known.update(more)
        all_of_it = THREADS * sum(region["elapsedByRank"])
        for name, expected in known.items():
            if expected is not None:
                self.assertAlmostEqual(times[name] / all_of_it, expected / all_of_it, delta=0.02,
                                       msg=f"{name} of {times}, by the program {known}")
        # Threads that share cores are late, too, which is scheduling.
        self.assertGreater(times["ompScheduling"], own["waited"] - 0.02 * all_of_it)

    def test_serial_parts(self):
        self.check(1, "serial")
        self.assertAlmostEqual(self.regions["work"]["factors"]["parallelEfficiency"], 0.3, delta=0.06)
        self.check_sums(self.regions["team"])
        self.assertLess(self.regions["team"]["threadTimes"]["ompSerialization"], 0.005)
        self.assertIn("OpenMP parallel efficiency", self.result.stderr)
        self.assertEqual(self.results["threads"], THREADS)

    def test_loops(self):
        self.check(1, "loops")

    def test_locks(self):
        self.check(1, "locks")

    def test_tasks(self):
        self.check(1, "tasks", ompImbalance=None)

    def test_main_thread_in_mpi(self):
        self.check(2, "alone", ompImbalance=None)

    def test_main_thread_in_mpi_inside_of_a_team(self):
        self.check(2, "master")

    def test_nested_teams(self):
        self.check(1, "nested", ompSerialization=None)

    def test_teams_of_changing_size(self):
        self.check(1, "sizes", ompSerialization=None, ompImbalance=None)

    def test_workers_that_call_mpi(self):
        self.check(2, "multiple", mpiIdle=None, ompImbalance=None, ompSerialization=None)

    def test_threads_that_are_given(self):
        self.measure(1, "serial", options=("--threads", "8"))
        self.assertEqual(self.whole["threadTimes"]["cpus"], 8)
        self.check_sums(self.whole)

    def test_one_thread_is_a_pure_mpi_program(self):
        self.measure(2, "sizes", OMP_THREAD_LIMIT="1")
        self.assertNotIn("threadTimes", self.whole)
        self.assertNotIn("threadsSeen", self.whole)
        self.assertNotIn("mpiParallelEfficiency", self.whole["factors"])
        self.assertEqual(self.results["threads"], 1)

    def test_a_program_that_is_killed(self):
        self.measure(2, "serial", "segv")
        self.assertEqual(self.results["ending"], "signal")
        self.check_sums(self.whole)
        self.assertAlmostEqual(self.whole["factors"]["ompParallelEfficiency"], 0.3, delta=0.06)

    def test_small_tasks(self):
        result = self.measure(1, "tiny")
        times, own = self.regions["work"]["threadTimes"], json.loads(result.stdout)
        self.check_sums(self.whole)
        self.assertGreater(times["ompScheduling"] + times["ompImbalance"], 0.05 * sum(self.whole["elapsedByRank"]))
        self.assertGreater(times["useful"], own["useful"] * 0.98)

    def test_a_trace_says_that_threads_are_missing(self):
        shutil.rmtree(self.here / "trace", ignore_errors=True)
        self.measure(1, "serial", options=("-o", "trace"), mode="trace")
        self.check_sums(self.whole)
        self.assertIn("teamsNotTraced", self.ids)
        read = subprocess.run([PROGRAM, "factors", "-v", str(self.here / "trace" / "traces.otf2")], text=True,
                              capture_output=True)
        self.assertEqual(read.returncode, 0, read.stderr)
        self.assertIn("threadsAtProcessLevel", read.stderr)

    def test_threads_that_no_library_tells_of(self):
        self.measure(1, "own")
        self.assertEqual(self.whole["threadsSeen"], 4)
        elapsed = self.whole["elapsed"]
        self.assertAlmostEqual(self.whole["parallelEfficiencyAtMost"] * 4 * elapsed, elapsed + 0.15,
                               delta=0.05 * elapsed)
        self.check_said()

    def test_threads_that_have_ended(self):
        for arguments in (["joined"], ["joined", "segv"]):
            self.measure(1, *arguments)
            self.assertGreaterEqual(self.whole["threadsSeen"], 2)
            self.check_said()

    def check_said(self):
        self.assertIn("threadsAtProcessLevel", self.ids)
        self.assertIn("parallel efficiency of all threads is at most", self.result.stderr)
        self.assertLessEqual(self.whole["parallelEfficiencyAtMost"], 1)
        self.assertNotIn("threadTimes", self.whole)


class Gcc(ThreadsTest, unittest.TestCase):
    mpi = "openmpi"
    compiler = "gcc"


class Clang(ThreadsTest, unittest.TestCase):
    mpi = "mpich"
    compiler = "clang"


if __name__ == "__main__":
    unittest.main()
