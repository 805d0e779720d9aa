#!/usr/bin/env python3
"""Programs with OpenMP under `farscale measure`, of GCC with its libgomp and of Clang with LLVM's libomp.

The programs keep clocks of their own, so that what is expected is what happened, on a machine with other work, too.
FARSCALE names the program, FARSCALE_BUILD the build folder. A compiler or an MPI that is missing is skipped, with a
message.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import busy
import nightly

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tests" / "mpi" / "hybrid.c"
PROGRAM = os.environ["FARSCALE"]
LIBRARIES = pathlib.Path(os.environ["FARSCALE_BUILD"]) / "lib" / "farscale"
THREADS = 4


@busy.all_tried
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
                self.assertAlmostEqual(times[name] / all_of_it, expected / all_of_it, delta=busy.bound(0.02),
                                       msg=f"{name} of {times}, by the program {known}")
        # Threads that share cores are late, too, which is scheduling.
        self.assertGreater(times["ompScheduling"], own["waited"] - busy.bound(0.02) * all_of_it)

    def test_serial_parts(self):
        self.check(1, "serial")
        self.check_sums(self.regions["team"])
        team = self.regions["team"]
        self.assertLess(team["threadTimes"]["ompSerialization"], busy.bound(0.02) * THREADS * sum(team["elapsedByRank"]))
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
        result = self.measure(2, "serial", "segv")
        self.assertEqual(self.results["ending"], "signal")
        self.check_sums(self.whole)
        useful = sum(float(line) for line in result.stdout.split("\n") if re.fullmatch("[0-9.]+", line))
        region = self.regions["work"]
        all_of_it = THREADS * sum(region["elapsedByRank"])
        self.assertAlmostEqual(region["threadTimes"]["useful"] / all_of_it, useful / all_of_it, delta=busy.bound(0.02))

    def test_small_tasks(self):
        result = self.measure(1, "tiny")
        times, own = self.regions["work"]["threadTimes"], json.loads(result.stdout)
        self.check_sums(self.whole)
        self.assertGreater(times["ompScheduling"] + times["ompImbalance"], 0.05 * sum(self.whole["elapsedByRank"]))
        self.assertGreater(times["useful"], own["useful"] * (1 - busy.bound(0.02)))

    def trace(self, ranks, *arguments):
        shutil.rmtree(self.here / "trace", ignore_errors=True)
        result = self.measure(ranks, *arguments, options=("-o", "trace"), mode="trace")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.check_sums(self.whole)
        return json.loads(result.stdout)

    def imbalance(self):
        """What farscale imbalance says of the trace, in seconds by kind of waiting."""
        read = subprocess.run([PROGRAM, "imbalance", str(self.here / "trace" / "traces.otf2")], text=True,
                              capture_output=True)
        self.assertEqual(read.returncode, 0, read.stderr)
        self.assertNotIn("team", read.stderr)
        units = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
        rows = re.findall(r"^Wait (.*?)  +([0-9.]+) (s|ms|µs|ns) ", read.stdout, re.MULTILINE)
        return {name: float(value) * units[unit] for name, value, unit in rows}

    def test_a_trace_has_the_teams(self):
        own = self.trace(1, "serial")
        waits = self.imbalance()
        all_of_it = THREADS * self.whole["elapsed"]
        self.assertAlmostEqual(waits["at implicit OpenMP barrier"] / all_of_it, own["imbalance"] / all_of_it,
                               delta=busy.bound(0.02))
        self.assertAlmostEqual(waits["for an OpenMP fork"] / all_of_it, own["serial"] * (THREADS - 1) / all_of_it,
                               delta=busy.bound(0.05))  # the first fork and the end of the run are in it

    def test_a_trace_has_teams_of_all_ranks_and_their_barriers(self):
        self.trace(2, "loops")
        self.assertEqual(len(list((self.here / "trace" / "traces").glob("*.evt"))), 2 * THREADS)
        self.assertIn("at implicit OpenMP barrier", self.imbalance())
        if shutil.which("otf2-print"):
            printed = subprocess.run(["otf2-print", str(self.here / "trace" / "traces.otf2")], text=True,
                                     capture_output=True).stdout
            self.assertEqual(printed.count("THREAD_TEAM_BEGIN"), printed.count("THREAD_TEAM_END"))
            self.assertEqual(printed.count("THREAD_FORK"), 4)
            self.assert_openmp_regions()

    @nightly.alone
    def test_a_trace_has_tasks(self):
        self.trace(1, "tasks")
        if shutil.which("otf2-print"):
            printed = subprocess.run(["otf2-print", str(self.here / "trace" / "traces.otf2")], text=True,
                                     capture_output=True).stdout
            begun = len(re.findall(r"^ENTER .*omp task", printed, re.MULTILINE))
            self.assertEqual(begun, len(re.findall(r"^LEAVE .*omp task", printed, re.MULTILINE)))
            self.assertGreaterEqual(begun, 36)

    @nightly.alone
    def test_a_trace_has_tasks_that_other_threads_alone_ran(self):
        self.trace(1, "others")
        if shutil.which("otf2-print"):
            printed = self.printed()
            self.assertEqual(len(re.findall(r"^ENTER .*\"!\$omp task\"", printed, re.MULTILINE)), 2)
            self.assertEqual(re.findall(r"^(?:ENTER|LEAVE) .*\"!\$omp task\"", self.printed("-L", "0"), re.MULTILINE), [])

    @nightly.alone
    def test_an_estimate_counts_events_of_all_threads(self):
        self.trace(1, "many", "5000", "1", "4")
        sizes = [file.stat().st_size for file in (self.here / "trace" / "traces").glob("*.evt")]
        self.assertEqual(len(sizes), 4)
        environment = self.measure(1, "many", "5000", "1", "4", options=("-o", "trace2", "--estimate"), mode="trace")
        said = re.search(r"a trace would take ([\d.]+) MiB", environment.stderr)
        self.assertIsNotNone(said, environment.stderr)
        self.assertAlmostEqual(sum(sizes) / 2**20 / float(said[1]), 1, delta=0.1)
        self.assertFalse(list(self.here.glob("trace2*/**/*.evt")))

    @nightly.alone
    def test_a_trace_of_a_killed_program_has_the_main_threads(self):
        shutil.rmtree(self.here / "trace", ignore_errors=True)
        result = self.measure(2, "loops", "segv", options=("-o", "trace"), mode="trace")
        self.assertIn("the trace ends early", result.stderr)
        self.assertIn("without other threads than those that called MPI_Init", result.stderr)
        anchor = self.here / "trace" / "traces.otf2"
        self.assertEqual(sorted(file.name for file in (self.here / "trace" / "traces").glob("*.evt")), ["0.evt", "1.evt"])
        inspected = json.loads(subprocess.run([PROGRAM, "inspect", str(anchor), "--json"], text=True,
                                              capture_output=True, check=True).stdout)
        found = {one["id"]: one for one in inspected["diagnostics"]}
        self.assertIn("traceEndsEarly", found)
        self.assertEqual(found["threadsAtProcessLevel"]["count"], 2)
        for command in ("factors", "imbalance"):
            read = subprocess.run([PROGRAM, command, str(anchor)], text=True, capture_output=True)
            self.assertEqual(read.returncode, 0, read.stderr)
            self.assertIn("threadsAtProcessLevel", read.stderr)
        if shutil.which("otf2-print"):
            printed = self.printed()
            self.assertEqual(printed.count("THREAD_TEAM_BEGIN"), 2 * 2)
            self.assertEqual(printed.count("THREAD_TEAM_END"), 2 * 2)
            self.assertEqual(len(re.findall("^ENTER .*omp parallel", printed, re.MULTILINE)), 2 * 2)
            self.assertNotIn("INVALID", printed)
            self.assert_openmp_regions()

    def printed(self, *options):
        return subprocess.run(["otf2-print", *options, str(self.here / "trace" / "traces.otf2")], text=True,
                              capture_output=True, check=True).stdout

    def assert_openmp_regions(self):
        regions = re.findall(r'^REGION .*Name: "(.*?)".*Paradigm: (\w+)', self.printed("-G"), re.MULTILINE)
        self.assertIn(("!$omp parallel", "OPENMP"), regions)
        for name, paradigm in regions:
            self.assertEqual(paradigm == "OPENMP", name.startswith("!"), name)

    def test_threads_that_no_library_tells_of(self):
        self.measure(1, "own")
        self.assertEqual(self.whole["threadsSeen"], 4)
        elapsed = self.whole["elapsed"]
        self.assertAlmostEqual(self.whole["parallelEfficiencyAtMost"] * 4 * elapsed, elapsed + 0.15,
                               delta=busy.bound(0.05) * elapsed)
        self.check_said()

    @nightly.alone
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
