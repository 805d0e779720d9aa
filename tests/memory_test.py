#!/usr/bin/env python3
"""Results do not depend on the memory: with next to none, arrays lie in files, and everything is the same.

    FARSCALE=build/dev/bin/farscale tests/memory_test.py
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

import nightly

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


def write_turns(path, ranks, turns):
    """A Paraver trace in which each even rank sends to the next one, which answers, in turns that vary in length."""
    tasks = ",".join(f"1:{task + 1}" for task in range(ranks))
    nodes = ",".join("1" for _ in range(ranks))
    lines = [f"#Paraver (01/01/2026 at 12:00):{turns * 1000}_ns:{ranks}({nodes}):1:{ranks}({tasks})"]
    send, receive, point_to_point = 1, 2, 50000001
    for turn in range(turns):
        for task in range(1, ranks, 2):
            begin = turn * 1000 + (turn * 7 + task) % 50
            for sender, receiver, at in ((task, task + 1, begin), (task + 1, task, begin + 400)):
                late = at + 100 + turn % 30
                lines += [f"2:{sender}:1:{sender}:1:{at}:{point_to_point}:{send}",
                          f"2:{receiver}:1:{receiver}:1:{at + 10}:{point_to_point}:{receive}",
                          f"3:{sender}:1:{sender}:1:{at}:{at}:{receiver}:1:{receiver}:1:{at + 10}:{late}:64:1",
                          f"2:{sender}:1:{sender}:1:{at + 60}:{point_to_point}:0",
                          f"2:{receiver}:1:{receiver}:1:{late}:{point_to_point}:0"]
    path.write_text("\n".join(lines) + "\n")


class Memory(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def run_with(self, memory, *arguments, allowed=None, has_files=True):
        """`allowed`: bytes that are not in files; beyond them the system refuses memory."""
        def limit():
            if allowed is not None:
                resource.setrlimit(resource.RLIMIT_DATA, (allowed, allowed))
            if not has_files:
                resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        options = [] if memory is None else ["--memory", memory]
        return subprocess.run([PROGRAM, *map(str, arguments), *options], capture_output=True, timeout=300,
                              preexec_fn=limit, env={**os.environ, "TMPDIR": str(self.folder)})

    def test_every_trace_in_files(self):
        traces = small_traces()
        self.assertGreater(len(traces), 10)
        for trace in nightly.some(traces, 30):
            for command in (["factors", trace, "--format", "json"], ["imbalance", trace, "-o", "-"]):
                usual, tiny = (self.run_with(memory, *command) for memory in (None, "64k"))
                self.assertEqual(tiny.stdout, usual.stdout, command)
                self.assertEqual(tiny.stderr, usual.stderr, command)
                self.assertEqual(tiny.returncode, usual.returncode, command)
        self.assertEqual(list(self.folder.iterdir()), [])

    @nightly.alone
    def test_studies_one_run_at_a_time(self):
        for study in ("lulesh", "comd-noise"):
            outputs = []
            for memory in (None, "64k"):
                folder = self.folder / f"{study}-{memory}"
                done = self.run_with(memory, "run", ROOT / "sample-runs" / study / "study.toml", "-o", folder, "-q")
                self.assertEqual(done.returncode, 0, done.stderr)
                outputs.append({path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*"))
                                if path.is_file()})
            self.assertEqual(outputs[0], outputs[1])

    @nightly.alone
    def test_trace_of_three_times_the_memory(self):
        def command(name, turns):
            write_turns(self.folder / name, 8, turns)
            return ["imbalance", self.folder / name, "-o", "-", "-j", "2"]
        short, long = command("short.prv", 200), command("long.prv", 30000)
        # What a trace of next to nothing takes is not the trace's.
        bare = self.least_allowed(short)
        needed = self.peak_of(long) - self.peak_of(short)
        self.assertGreater(needed, 48 * MIB)
        usual = self.run_with(None, *long)
        self.assertEqual(usual.returncode, 0, usual.stderr)
        refused = self.run_with("100G", *long, allowed=bare + needed // 3, has_files=False)
        self.assertEqual((refused.returncode, refused.stderr), (3, b"farscale: out of memory\n"))
        for memory in ("8M", "100G"):  # arrays go to files, too, when the system refuses what the budget allows
            allowed = self.run_with(memory, *long, allowed=bare + needed // 3)
            self.assertEqual(allowed.returncode, 0, allowed.stderr)
            self.assertEqual(allowed.stdout, usual.stdout)

    def peak_of(self, command):
        """Bytes of memory at the peak, of a process of its own that waits for no other."""
        code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); "
                "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        done = subprocess.run([sys.executable, "-c", code, PROGRAM, *map(str, command)], capture_output=True, text=True)
        return int(done.stdout) * 1024

    def least_allowed(self, command):
        """Without files, to 4 MiB."""
        low, high = 0, 512 * MIB
        while high - low > 4 * MIB:
            middle = (low + high) // 2
            done = self.run_with(None, *command, allowed=middle, has_files=False)
            low, high = (low, middle) if done.returncode == 0 else (middle, high)
        return high

    def test_wrong_sizes(self):
        for size in ("0", "-1", "many", "1X"):
            done = self.run_with(size, "inspect", small_traces()[0])
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr.count(b"\n"), 1)


if __name__ == "__main__":
    unittest.main()
