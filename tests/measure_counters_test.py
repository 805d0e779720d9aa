#!/usr/bin/env python3
"""Instructions and cycles under `farscale measure` and `farscale trace`. Machines without hardware counters, as most
virtual ones, count page faults and CPU time in their place, which the kernel does in software, or count through a
libpapi made for this test (tests/mpi/fake_papi.c), which knows CPU time.

FARSCALE names the program, FARSCALE_BUILD the build folder. An MPI that is missing is skipped, with a message.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import busy
import nightly

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "mpi"
PROGRAM = os.environ["FARSCALE"]
LIBRARIES = pathlib.Path(os.environ["FARSCALE_BUILD"]) / "lib" / "farscale"
RANKS = 2


@busy.all_tried
class CountersTest:
    """What is the same for both MPIs; subclasses name one."""

    mpi = ""

    @classmethod
    def setUpClass(cls):
        for need in (f"mpicc.{cls.mpi}", f"mpirun.{cls.mpi}", "cc"):
            if not shutil.which(need):
                raise unittest.SkipTest(f"{need} is not installed")
        if not (LIBRARIES / f"libfarscale-{cls.mpi}.so").exists():
            raise unittest.SkipTest(f"farscale was built without a library for {cls.mpi}")
        cls.folder = tempfile.TemporaryDirectory(prefix="farscale-counters-")
        cls.here = pathlib.Path(cls.folder.name)
        (cls.here / "pages").mkdir()
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", f"{SOURCES}/fake_papi.c", "-o", "libpapi.so.7.2"],
                       cwd=cls.here, check=True)
        for name, flags in (("pils", []), ("hybrid", ["-fopenmp", "-pthread"])):
            subprocess.run([f"mpicc.{cls.mpi}", "-O1", "-w", *flags, f"-I{ROOT}/src/collect/include",
                            f"{SOURCES}/{name}.c", "-o", name, f"-L{LIBRARIES}", "-lfarscale",
                            f"-Wl,-rpath,{LIBRARIES}"], cwd=cls.here, check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_program(self, mode, *arguments, program="pils", ranks=RANKS, **variables):
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_pml="ob1", OMPI_MCA_btl="self,vader,tcp", OMPI_MCA_rmaps_base_oversubscribe="1",
                           OMPI_MCA_hwloc_base_binding_policy="none", FARSCALE_PAGES=str(self.here / "pages"),
                           LD_LIBRARY_PATH=str(self.here), **{"FARSCALE_COUNTERS": "papi", **variables})
        shutil.rmtree(self.here / "trace", ignore_errors=True)
        (self.here / "farscale.json").unlink(missing_ok=True)
        result = subprocess.run([f"mpirun.{self.mpi}", "-n", str(ranks), PROGRAM, *mode, str(self.here / program),
                                 *arguments], cwd=self.here, env=environment, text=True, capture_output=True,
                                timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.errors = result.stderr

    def measure(self, *arguments, **variables):
        self.run_program(["measure"], *arguments, **variables)
        results = json.loads((self.here / "farscale.json").read_text())
        self.sentences = {finding["id"]: finding["sentence"] for finding in results["diagnostics"]}
        return results["regions"][0]

    def software(self, *arguments, program="pils", ranks=RANKS):
        """CPU time as instructions and as cycles, in ns."""
        whole = self.measure(*arguments, program=program, ranks=ranks, FARSCALE_COUNTERS="1:1,1:1")
        if "kernel forbids" in self.sentences.get("noCounters", ""):
            self.skipTest("the kernel forbids counting")
        self.assertNotIn("noCounters", self.sentences)
        return whole

    def test_the_kernel_is_asked_by_system_calls(self):
        whole = self.software("300", "500", "1")
        useful = whole["factors"]["parallelEfficiency"] * whole["elapsed"] * RANKS * 1e9
        self.assertLess(whole["cycles"], (1 + busy.bound(0.02)) * useful)
        self.assertGreater(whole["cycles"], 0.2 * useful)  # cores may be shared with others
        self.assertAlmostEqual(whole["ipc"], 1, delta=1e-3)

    def test_threads_of_teams_count(self):
        counts = {}
        for threads in (1, 2):
            whole = self.software("many", "100", "3000", str(threads), program="hybrid", ranks=1)
            counts[threads] = whole["cycles"]
            times = whole.get("threadTimes", {"useful": whole["usefulTotal"]})
            self.assertLess(whole["cycles"], (1 + busy.bound(0.02)) * 1e9 * times["useful"])
            self.assertGreater(whole["cycles"], 0.2e9 * times["useful"])
            self.assertAlmostEqual(whole["frequency"], whole["cycles"] / times["useful"], delta=1e-6 * whole["frequency"])
        self.assertGreater(counts[2], 1.2 * counts[1])

    def test_threads_of_teams_count_in_a_trace(self):
        self.run_program(["trace", "-o", "trace"], "many", "100", "3000", "2", program="hybrid", ranks=1,
                         FARSCALE_COUNTERS="1:1,1:1")
        trace = str(self.here / "trace" / "traces.otf2")
        table = json.loads(subprocess.run([PROGRAM, "factors", trace, "--format", "json"], text=True,
                                          capture_output=True, check=True).stdout)
        totals = table["rows"][0]["totals"]
        if "cycles" not in totals:
            self.skipTest("the kernel forbids counting")
        useful = totals["threadTimes"]["useful"] * 1e9
        self.assertLess(totals["cycles"], (1 + busy.bound(0.02)) * useful)
        self.assertGreater(totals["cycles"], 0.2 * useful)
        measured = json.loads((self.here / "trace" / "farscale.json").read_text())["regions"][0]
        self.assertAlmostEqual(totals["cycles"], measured["cycles"], delta=busy.bound(0.02) * measured["cycles"])

    def test_counters_that_are_none_are_refused_in_a_sentence(self):
        self.measure("20", "500", "1", FARSCALE_COUNTERS="cycles")
        self.assertIn("FARSCALE_COUNTERS is 'cycles', but must be papi, or TYPE:CONFIG,TYPE:CONFIG", self.errors)

    def test_papi_counts(self):
        whole = self.measure("300", "500", "1")
        self.assertNotIn("noCounters", self.sentences)
        self.assertAlmostEqual(whole["ipc"], 2.0, delta=1e-4)
        # 3 a nanosecond of useful CPU time, of which reading is a little.
        useful = whole["factors"]["parallelEfficiency"] * whole["elapsed"] * RANKS
        self.assertLess(whole["instructions"], 3e9 * useful * (1 + busy.bound(0.02)))
        self.assertGreater(whole["instructions"], 3e9 * useful * 0.2)  # cores may be shared with others

    @nightly.alone
    def test_papi_counts_in_a_trace(self):
        self.run_program(["trace", "-o", "trace"], "100", "500", "1")
        trace = str(self.here / "trace" / "traces.otf2")
        inspected = json.loads(subprocess.run([PROGRAM, "inspect", trace, "--json"], text=True,
                                              capture_output=True, check=True).stdout)
        self.assertLessEqual({"instructions", "cycles"}, {counter["name"] for counter in inspected["counters"]})
        table = json.loads(subprocess.run([PROGRAM, "factors", trace, "--format", "json"], text=True,
                                          capture_output=True, check=True).stdout)
        totals = table["rows"][0]["totals"]
        self.assertAlmostEqual(totals["instructions"] / totals["cycles"], 2.0, delta=1e-3)

    def test_what_papi_cannot_count_is_said(self):
        whole = self.measure("20", "500", "1", FAKE_PAPI_MISSING="1")
        self.assertNotIn("ipc", whole)
        self.assertIn("no libpapi", self.sentences["noCounters"])

    @nightly.alone
    def test_reading_that_takes_too_long_is_given_up(self):
        whole = self.measure("1000", "50", "1", FAKE_PAPI_SLOW="1")
        self.assertNotIn("ipc", whole)
        self.assertIn("too long", self.sentences["noCounters"])


class OpenMpi(CountersTest, unittest.TestCase):
    mpi = "openmpi"


class Mpich(CountersTest, unittest.TestCase):
    mpi = "mpich"


if __name__ == "__main__":
    unittest.main()
