#!/usr/bin/env python3
"""Results do not depend on the memory: with next to none, arrays lie in files, and everything is the same.

    FARSCALE=build/dev/bin/farscale tests/memory_test.py
"""

import os
import pathlib
import resource
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = str(pathlib.Path(os.environ["FARSCALE"]).resolve())
SHARED = pathlib.Path(os.environ.get("FARSCALE_SHARED_DATA", ROOT.parent / "shared" / "data")) / "traces"
LARGEST = 1_000_000  # bytes; larger traces of the shared data would take long
MIB = 1 << 20


def bytes_of(trace):
    folder = trace.with_suffix("")
    return trace.stat().st_size + sum(file.stat().st_size for file in folder.glob("*") if folder.is_dir())


def small_traces():
    found = [*ROOT.glob("sample-runs/*/traces/*/*.otf2"), *SHARED.rglob("*.otf2"), *SHARED.rglob("*.prv*")]
    return sorted(trace for trace in found if bytes_of(trace) < LARGEST)


class Memory(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def run_with(self, memory, *arguments, allowed=None):
        """`allowed`: bytes that are not in files; beyond them the system refuses memory."""
        def limit():
            if allowed is not None:
                resource.setrlimit(resource.RLIMIT_DATA, (allowed, allowed))
        options = [] if memory is None else ["--memory", memory]
        return subprocess.run([PROGRAM, *map(str, arguments), *options], capture_output=True, timeout=300,
                              preexec_fn=limit, env={**os.environ, "TMPDIR": str(self.folder)})

    def test_every_trace_in_files(self):
        traces = small_traces()
        self.assertGreater(len(traces), 10)
        for trace in traces:
            for command in (["factors", trace, "--format", "json"], ["imbalance", trace, "-o", "-"]):
                usual, tiny = (self.run_with(memory, *command) for memory in (None, "64k"))
                self.assertEqual(tiny.stdout, usual.stdout, command)
                self.assertEqual(tiny.stderr, usual.stderr, command)
                self.assertEqual(tiny.returncode, usual.returncode, command)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_studies_one_run_at_a_time(self):
        for study in ("npb-lu", "comd-noise"):
            outputs = []
            for memory in (None, "64k"):
                folder = self.folder / f"{study}-{memory}"
                done = self.run_with(memory, "run", ROOT / "sample-runs" / study / "study.toml", "-o", folder, "-q")
                self.assertEqual(done.returncode, 0, done.stderr)
                outputs.append({path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*"))
                                if path.is_file()})
            self.assertEqual(outputs[0], outputs[1])

    def test_trace_of_three_times_the_memory(self):
        trace = self.folder / "grown.otf2"
        grown = self.run_with(None, "grow", ROOT / "sample-runs/npb-lu/study.toml", "--cores", GROWN_CORES, "-o", trace)
        self.assertEqual(grown.returncode, 0, grown.stderr)
        command = ["imbalance", trace, "-o", "-", "-j", "2"]
        usual = self.run_with(None, *command)
        self.assertEqual(usual.returncode, 0, usual.stderr)
        # What the program takes for a trace of next to nothing is not the trace's.
        bare = self.least_allowed(["imbalance", small_traces()[0], "-o", "-", "-j", "2"], "100G", 1 * MIB, 512 * MIB)
        needed = self.least_allowed(command, "100G", bare, 2048 * MIB) - bare
        self.assertGreater(needed, 48 * MIB)
        allowed = self.run_with("8M", *command, allowed=bare + needed // 3)
        self.assertEqual(allowed.returncode, 0, allowed.stderr)
        self.assertEqual(allowed.stdout, usual.stdout)
        refused = self.run_with("100G", *command, allowed=bare + needed // 3)
        self.assertEqual((refused.returncode, refused.stderr), (3, b"farscale: out of memory\n"))

    def least_allowed(self, command, memory, low, high):
        """To 4 MiB, of two bounds."""
        while high - low > 4 * MIB:
            middle = (low + high) // 2
            low, high = (low, middle) if self.run_with(memory, *command, allowed=middle).returncode == 0 else (middle, high)
        return high

    def test_wrong_sizes(self):
        for size in ("0", "-1", "many", "1X"):
            done = self.run_with(size, "inspect", small_traces()[0])
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr.count(b"\n"), 1)


GROWN_CORES = 256

if __name__ == "__main__":
    unittest.main()
