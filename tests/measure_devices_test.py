#!/usr/bin/env python3
"""Programs with devices under `farscale measure`. The devices are threads, and their runtime, with its interface for
tools, is tests/mpi/fake_device.c; the program works out itself what has to be measured. Backends for real runtimes are
not tested here, nor anywhere: there is no such device.

FARSCALE names the program, FARSCALE_BUILD the build folder. An MPI that is missing is skipped, with a message.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ["FARSCALE"]
LIBRARIES = pathlib.Path(os.environ["FARSCALE_BUILD"]) / "lib" / "farscale"
OF_DEVICES = ("deviceParallelEfficiency", "deviceLoadBalance", "deviceCommunicationEfficiency",
              "deviceOrchestrationEfficiency")


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

    def measure(self, ranks, *arguments, backend="backend.so"):
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_pml="ob1", OMPI_MCA_btl="self,vader,tcp", OMPI_MCA_rmaps_base_oversubscribe="1",
                           OMPI_MCA_hwloc_base_binding_policy="none", FARSCALE_PAGES=str(self.here / "pages"))
        if backend:
            environment["FAKE_DEVICE_TOOL"] = str(self.here / backend)
        (self.here / "farscale.json").unlink(missing_ok=True)
        self.result = subprocess.run([f"mpirun.{self.mpi}", "-n", str(ranks), PROGRAM, "measure",
                                      str(self.here / "device"), *arguments], cwd=self.here, env=environment,
                                     text=True, capture_output=True, timeout=60)
        self.results = json.loads((self.here / "farscale.json").read_text())
        self.ids = [finding["id"] for finding in self.results["diagnostics"]]
        self.regions = {region["name"]: region for region in self.results["regions"]}

    def check(self, ranks, *arguments):
        """Factors of the region, within 2 % of what the program knows; returns that."""
        self.measure(ranks, *arguments)
        self.assertEqual(self.result.returncode, 0, self.result.stderr)
        own = json.loads(self.result.stdout)
        region = self.regions["work"]
        elapsed = region["elapsed"]
        self.assertAlmostEqual(elapsed, max(rank["elapsed"] for rank in own), delta=0.02 * elapsed)
        kernels = [rank["kernels"] for rank in own]
        active = max(rank["active"] for rank in own)
        calls = sum(rank["calls"] for rank in own)
        outside = sum(rank["elapsed"] for rank in own)
        expected = {"deviceParallelEfficiency": sum(kernels) / (ranks * elapsed),
                    "deviceLoadBalance": sum(kernels) / (ranks * max(kernels)),
                    "deviceCommunicationEfficiency": max(kernels) / active,
                    "deviceOrchestrationEfficiency": active / elapsed,
                    "deviceOffloadEfficiency": 1 - calls / outside}
        for name, value in expected.items():
            self.assertAlmostEqual(region["factors"][name], value, delta=0.02 * value, msg=name)
        self.assertAlmostEqual(region["threadTimes"]["deviceRuntime"], calls, delta=0.02 * calls)
        for device, rank in zip(region["devices"], own):
            self.assertAlmostEqual(device["kernels"], rank["kernels"], delta=0.02 * rank["kernels"])
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
        self.assertAlmostEqual(self.regions["before"]["deviceTimes"]["kernelsLargest"], before, delta=0.02 * before)
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
