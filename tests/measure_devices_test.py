#!/usr/bin/env python3
"""Programs with devices under `farscale measure` and `farscale trace`. The devices are threads, and their runtime, with its interface for
tools, is tests/mpi/fake_device.c; the program works out itself what has to be measured. Backends for real runtimes are
not tested here, nor anywhere: there is no such device.

FARSCALE names the program, FARSCALE_BUILD the build folder. An MPI that is missing is skipped, with a message.
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
PROGRAM = os.environ["FARSCALE"]
LIBRARIES = pathlib.Path(os.environ["FARSCALE_BUILD"]) / "lib" / "farscale"
OF_DEVICES = ("deviceParallelEfficiency", "deviceLoadBalance", "deviceCommunicationEfficiency",
              "deviceOrchestrationEfficiency")


@busy.all_tried
class DevicesTest:
    """What is the same for both MPIs; subclasses name one."""

    mpi = ""

    @classmethod
    def setUpClass(cls):
        for need in (f"mpicc.{cls.mpi}", f"mpirun.{cls.mpi}", "cc"):
            if not shutil.which(need):
                raise unittest.SkipTest(f"{need} is not installed")
        if not (LIBRARIES / f"libfarscale-{cls.mpi}.so").exists():
            raise unittest.SkipTest(f"farscale was built without a library for {cls.mpi}")
        cls.folder = tempfile.TemporaryDirectory(prefix="farscale-devices-")
        cls.here = pathlib.Path(cls.folder.name)
        (cls.here / "pages").mkdir()
        sources = ROOT / "tests" / "mpi"
        flags = ["-O1", f"-I{ROOT}/src", f"-I{ROOT}/src/collect/include", "-pthread"]
        runtime = ["-L.", "-lfake_device", f"-Wl,-rpath,{cls.here}", "-ldl"]
        for command in (
                ["cc", *flags, "-shared", "-fPIC", f"{sources}/fake_device.c", "-o", "libfake_device.so"],
                ["cc", *flags, "-shared", "-fPIC", f"{sources}/fake_device_backend.c", "-o", "backend.so", *runtime],
                [f"mpicc.{cls.mpi}", *flags, f"{sources}/device.c", "-o", "device", f"-L{LIBRARIES}", "-lfarscale",
                 f"-Wl,-rpath,{LIBRARIES}", *runtime]):
            subprocess.run(command, cwd=cls.here, check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def launch(self, ranks, mode, *arguments, backend="backend.so"):
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_pml="ob1", OMPI_MCA_btl="self,vader,tcp", OMPI_MCA_rmaps_base_oversubscribe="1",
                           OMPI_MCA_hwloc_base_binding_policy="none", FARSCALE_PAGES=str(self.here / "pages"))
        if backend:
            environment["FAKE_DEVICE_TOOL"] = str(self.here / backend)
        self.result = subprocess.run([f"mpirun.{self.mpi}", "-n", str(ranks), PROGRAM, *mode,
                                      str(self.here / "device"), *arguments], cwd=self.here, env=environment,
                                     text=True, capture_output=True, timeout=60)

    def measure(self, ranks, *arguments, backend="backend.so"):
        (self.here / "farscale.json").unlink(missing_ok=True)
        self.launch(ranks, ["measure"], *arguments, backend=backend)
        self.results = json.loads((self.here / "farscale.json").read_text())
        self.ids = [finding["id"] for finding in self.results["diagnostics"]]
        self.regions = {region["name"]: region for region in self.results["regions"]}

    def trace(self, ranks, *arguments, options=()):
        """Traces the program; returns what it knows of its region itself."""
        shutil.rmtree(self.here / "trace", ignore_errors=True)
        self.launch(ranks, ["trace", "-o", "trace", *options], *arguments)
        self.assertEqual(self.result.returncode, 0, self.result.stderr)
        return json.loads(self.result.stdout)

    def farscale(self, command, *options):
        path = self.here / "trace" / "traces.otf2"
        result = subprocess.run([PROGRAM, command, path, *options], text=True, capture_output=True, cwd=self.here)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def factors_of_trace(self, phase="work"):
        return self.farscale("factors", "--phase", phase, "--format", "json")["rows"][0]["factors"]

    def expected_factors(self, own, elapsed):
        kernels = [rank["kernels"] for rank in own]
        active = max(rank["active"] for rank in own)
        calls = sum(rank["calls"] for rank in own)
        outside = sum(rank["elapsed"] for rank in own)
        return {"deviceParallelEfficiency": sum(kernels) / (len(own) * elapsed),
                "deviceLoadBalance": sum(kernels) / (len(own) * max(kernels)),
                "deviceCommunicationEfficiency": max(kernels) / active,
                "deviceOrchestrationEfficiency": active / elapsed,
                "deviceOffloadEfficiency": 1 - calls / outside}

    def check(self, ranks, *arguments):
        """Factors of the region, within 2 % of what the program knows; returns that."""
        self.measure(ranks, *arguments)
        self.assertEqual(self.result.returncode, 0, self.result.stderr)
        own = json.loads(self.result.stdout)
        region = self.regions["work"]
        elapsed = region["elapsed"]
        self.assertAlmostEqual(elapsed, max(rank["elapsed"] for rank in own), delta=busy.bound(0.02) * elapsed)
        calls = sum(rank["calls"] for rank in own)
        for name, value in self.expected_factors(own, elapsed).items():
            self.assertAlmostEqual(region["factors"][name], value, delta=busy.bound(0.02) * value, msg=name)
        self.assertAlmostEqual(region["threadTimes"]["deviceRuntime"], calls, delta=busy.bound(0.02) * calls)
        for device, rank in zip(region["devices"], own):
            self.assertAlmostEqual(device["kernels"], rank["kernels"], delta=busy.bound(0.02) * rank["kernels"])
            self.assertAlmostEqual(device["kernels"] + device["copies"] + device["idle"], elapsed, delta=1e-9)
        self.check_products(region)
        return own

    def check_products(self, region):
        factors = region["factors"]
        product = factors["deviceLoadBalance"] * factors["deviceCommunicationEfficiency"] * \
            factors["deviceOrchestrationEfficiency"]
        self.assertAlmostEqual(factors["deviceParallelEfficiency"], product, delta=1e-12)
        product = factors["mpiParallelEfficiency"] * factors["ompParallelEfficiency"] * \
            factors["deviceOffloadEfficiency"]
        self.assertAlmostEqual(factors["parallelEfficiency"], product, delta=1e-9)

    def test_factors(self):
        own = self.check(2)
        self.assertEqual([device["name"] for device in self.regions["work"]["devices"]], ["fake 0", "fake 1"])
        self.assertEqual([device["ranks"] for device in self.regions["work"]["devices"]], [[0], [1]])
        for line in ("Device offload", "Device parallel efficiency", "Device orchestration"):
            self.assertIn(line, self.result.stderr)
        self.assertNotIn("OpenMP", self.result.stderr)
        self.assertNotIn("deviceWorkLost", self.ids)
        # Of a kernel that crosses the end of a region what lies inside counts, and a region without has no such factor.
        before = max(rank["before"] for rank in own)
        self.assertAlmostEqual(self.regions["before"]["deviceTimes"]["kernelsLargest"], before, delta=busy.bound(0.02) * before)
        self.assertNotIn("deviceTimes", self.regions["quiet"])
        self.assertNotIn("deviceParallelEfficiency", self.regions["quiet"]["factors"])
        self.check_products(self.results["regions"][0])

    def test_factors_are_read(self):
        self.check(2)
        path = str(self.here / "farscale.json")
        read = subprocess.run([PROGRAM, "factors", path, "--format", "json"], text=True, capture_output=True)
        self.assertEqual(read.returncode, 0, read.stderr)
        rows = {row["phase"]: row for row in json.loads(read.stdout)["rows"]}
        for name in OF_DEVICES + ("deviceOffloadEfficiency",):
            self.assertAlmostEqual(rows["work"]["factors"][name], self.regions["work"]["factors"][name], delta=1e-9)

    def test_a_runtime_that_starts_before_mpi(self):
        self.check(2, "early")

    def test_ranks_that_share_a_device(self):
        self.measure(2, "shared")
        devices = self.regions["work"]["devices"]
        self.assertEqual([device["ranks"] for device in devices], [[0, 1]])
        self.assertLessEqual(devices[0]["kernels"], self.regions["work"]["elapsed"])
        self.assertIn("devicesShared", self.ids)

    def test_a_trace_has_the_devices_of_the_run(self):
        own = self.trace(2)
        factors = self.factors_of_trace()
        for name, value in self.expected_factors(own, max(rank["elapsed"] for rank in own)).items():
            self.assertAlmostEqual(factors[name], value, delta=busy.bound(0.02) * value, msg=name)
        # What farscale measures of the same run, without its trace.
        regions = json.loads((self.here / "trace" / "farscale.json").read_text())["regions"]
        measured = {region["name"]: region for region in regions}["work"]["factors"]
        for name in OF_DEVICES + ("deviceOffloadEfficiency", "mpiParallelEfficiency", "parallelEfficiency"):
            self.assertAlmostEqual(factors[name], measured[name], delta=busy.bound(0.005) * measured[name], msg=name)
        inspected = self.farscale("inspect", "--json")
        calls = {region["name"]: region for region in inspected["regions"]}["CUDA runtime"]
        self.assertEqual(calls["most"], 26)  # six in each step, two around the kernel that crosses the end of a region
        known = {"preempted"}
        self.assertLessEqual({finding["id"] for finding in inspected["diagnostics"]}, known)
        if shutil.which("otf2-print"):
            printed = subprocess.run(["otf2-print", str(self.here / "trace" / "traces.otf2")], text=True,
                                     capture_output=True, check=True)
            self.assertEqual(printed.stderr, "")
            # Every rank has 9 kernels, of which 4 overlap another, and 4 copies.
            self.assertEqual(printed.stdout.count('Region: "CUDA kernel"'), 2 * 2 * 9)
            self.assertEqual(printed.stdout.count('Region: "CUDA copy"'), 2 * 2 * 4)

    @nightly.alone
    def test_longer_kernels_are_the_cause_of_waiting(self):
        self.trace(2)
        losses = self.farscale("imbalance", "-o", "-")["phases"][0]
        first = losses["causes"][0]
        self.assertTrue(first["isDeviceCall"])
        self.assertEqual((first["ranks"], first["classes"]), ([1], [{"class": "deviceWait", "share": 1}]))
        self.assertGreater(losses["deviceCalls"]["costs"], 0.05)  # rank 1 has 80 ms of kernels more

    def test_a_trace_of_ranks_that_share_a_device(self):
        self.trace(2, "shared")
        timeline = self.farscale("timeline", "-o", "-")
        names = {event["args"]["name"] for event in timeline["traceEvents"] if event.get("name") == "thread_name"}
        self.assertLessEqual({"rank 0, device fake 0", "rank 1, device fake 0"},
                             {name.split(" (node")[0] for name in names})
        self.assertEqual(self.farscale("factors", "--format", "json")["rows"][0]["totals"]["deviceTimes"]["devices"], 1)

    @nightly.alone
    def test_devices_of_chosen_regions_alone(self):
        own = self.trace(2, options=["--record-only", "work"])
        factors = self.factors_of_trace()
        for name, value in self.expected_factors(own, max(rank["elapsed"] for rank in own)).items():
            self.assertAlmostEqual(factors[name], value, delta=busy.bound(0.02) * value, msg=name)
        whole = self.farscale("factors", "--format", "json")["rows"][0]["totals"]["deviceTimes"]["kernels"]
        kernels = sum(rank["kernels"] for rank in own)
        self.assertAlmostEqual(whole, kernels, delta=busy.bound(0.02) * kernels)  # without the one behind it

    @nightly.alone
    def test_an_estimate_counts_what_devices_do(self):
        self.trace(2)
        files = self.here.glob("trace/traces/*.evt")
        size = sum(file.stat().st_size for file in files)
        (self.here / "farscale.json").unlink(missing_ok=True)
        self.launch(2, ["trace", "--estimate"])
        self.assertEqual(self.result.returncode, 0, self.result.stderr)
        said = re.search(r"would take ([\d.]+) (B|KiB)", self.result.stderr)
        self.assertIsNotNone(said, self.result.stderr)
        estimate = float(said[1]) * (1024 if said[2] == "KiB" else 1)
        self.assertAlmostEqual(estimate, size, delta=0.05 * size + 64)

    def test_the_trace_of_a_program_that_is_killed_is_read(self):
        shutil.rmtree(self.here / "trace", ignore_errors=True)
        self.launch(2, ["trace", "-o", "trace"], "killed")
        self.assertIn("without what devices did", self.result.stderr)
        self.assertIn("deviceOffloadEfficiency", self.factors_of_trace())

    def test_a_program_that_is_killed(self):
        self.measure(2, "killed")
        self.assertEqual(self.results["ending"], "signal")
        self.assertIn("devicesUnknown", self.ids)
        self.assertNotIn("deviceTimes", self.regions["work"])
        self.assertIn("deviceOffloadEfficiency", self.regions["work"]["factors"])

    def test_without_a_backend_nothing_is_said_of_devices(self):
        self.measure(2, backend=None)
        self.assertEqual(self.result.returncode, 0, self.result.stderr)
        for region in self.results["regions"]:
            self.assertFalse({"threadTimes", "deviceTimes", "devices"} & set(region))
            self.assertNotIn("deviceOffloadEfficiency", region["factors"])
        self.assertNotIn("Device", self.result.stderr)


class OpenMpi(DevicesTest, unittest.TestCase):
    mpi = "openmpi"


class Mpich(DevicesTest, unittest.TestCase):
    mpi = "mpich"


if __name__ == "__main__":
    unittest.main()
