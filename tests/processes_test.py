#!/usr/bin/env python3
"""farscale on several processes of an MPI job: the same bytes at any number of them, one voice, and an end for all.

    FARSCALE=build/dev/bin/farscale tests/processes_test.py [OpenMpi|Mpich]
"""

import gzip
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import nightly

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ["FARSCALE"]).resolve()
LULESH = ROOT / "sample-runs/lulesh"
LAMMPS = sorted((ROOT / "sample-runs/lammps-lj/traces").rglob("*.otf2"))
LULESH_TRACES = sorted((LULESH / "traces").rglob("*.otf2"))[:2]
COUNTS = (1, 2, 3, 7)


def files_in(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def has_results(folder):
    """Whether a file has its own name; until it is whole, it is hidden."""
    return any(path.is_file() and not path.name.endswith(".tmp") for path in folder.rglob("*"))


def paraver_text(iterations):
    """A run of as many ranks as numbers: so many iterations of each, in which neighbours in a ring exchange messages and
    ranks compute; at the end one Allreduce of all."""
    ranks = len(iterations)
    records, clocks = [], [0] * ranks
    def add(rank, begin, end, call, more=""):
        place = f"{rank + 1}:1:{rank + 1}:1"
        kind = 50000002 if more else 50000001
        records.append((begin, f"2:{place}:{begin}:{kind}:{call}{more}"))
        records.append((end, f"2:{place}:{end}:{kind}:0"))
    for k in range(max(iterations)):
        for rank in (rank for rank in range(ranks) if iterations[rank] > k):
            other = (rank + 1) % ranks
            begin = clocks[rank] + 1000 + 7 * (rank + k) % 50
            if iterations[other] > k:
                add(rank, begin, begin + 10, 3)
                taken = clocks[other] + 1100
                records.append((begin, f"3:{rank + 1}:1:{rank + 1}:1:{begin}:{begin + 2}:{other + 1}:1:{other + 1}:1:"
                                       f"{taken}:{taken + 30}:{100 + k}:7"))
            if iterations[rank - 1] > k:
                add(rank, clocks[rank] + 1100, clocks[rank] + 1130, 2)
        clocks = [clock + 1200 if iterations[rank] > k else clock for rank, clock in enumerate(clocks)]
    end = max(clocks) + 200
    for rank in range(ranks):
        place = f"{rank + 1}:1:{rank + 1}:1"
        records += [(0, f"2:{place}:0:40000001:1"), (end, f"2:{place}:{end}:40000001:0")]
        add(rank, clocks[rank] + 100, end - 10, 10, ":50100001:8:50100002:8:50100004:1")
    records.sort(key=lambda record: record[0])
    members = ",".join("1:1" for _ in iterations)
    numbers = ":".join(str(rank + 1) for rank in range(ranks))
    head = f"#Paraver (20/11/2026 at 10:30):{end}_ns:1({ranks}):1:{ranks}({members}),1\nc:1:1:{ranks}:{numbers}\n"
    return head + "".join(line + "\n" for _, line in records)


class Processes:
    """What holds with either MPI."""

    launcher, options, library = "", [], ""
    whole = None  # the files of a report that nobody ended, once they are needed

    @classmethod
    def setUpClass(cls):
        libraries = PROGRAM.parent.parent / "lib/farscale"
        if shutil.which(cls.launcher) is None or not (libraries / f"libfarscale-processes-{cls.library}.so").exists():
            raise unittest.SkipTest(f"no {cls.launcher}")

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def command(self, count, *arguments):
        return [self.launcher, *self.options, "-n", str(count), str(PROGRAM), *map(str, arguments)]

    def run_on(self, count, *arguments, cwd=None):
        command = self.command(count, *arguments) if count > 0 else [str(PROGRAM), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, timeout=120, cwd=cwd)

    def same_at_all_counts(self, *arguments, counts=COUNTS):
        alone = self.run_on(0, *arguments)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        for count in counts:
            done = self.run_on(count, *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, alone.stdout, (count, arguments))
            self.assertEqual(done.stderr, alone.stderr, (count, arguments))

    def test_commands_print_the_same(self):
        self.same_at_all_counts("inspect", LAMMPS[-1], "--json")
        self.same_at_all_counts("imbalance", *LAMMPS[-2:], "-o", "-", counts=(2, 7))
        self.same_at_all_counts("phases", LAMMPS[0], counts=(3,))
        self.same_at_all_counts("factors", LULESH / "study.toml", "--format", "json", counts=(3,))

    @nightly.alone
    def test_reports_are_the_same(self):
        study = ROOT / "sample-runs/comd-noise/study.toml"
        alone = self.folder / "alone"
        self.assertEqual(self.run_on(0, "run", study, "-o", alone, "-q").returncode, 0)
        for count in COUNTS[1:]:
            folder = self.folder / str(count)
            done = self.run_on(count, "run", study, "-o", folder, "-q")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(files_in(folder), files_in(alone))

    def test_whatif_and_cut(self):
        network = ROOT / "configs/networks/ideal.toml"
        self.same_at_all_counts("whatif", LAMMPS[0], "--network", network, counts=(2,))
        for count in (0, 3):
            done = self.run_on(count, "cut", LAMMPS[0], "--window", "0,0.001", "-o", self.folder / f"{count}/cut.otf2")
            self.assertEqual(done.returncode, 0, done.stderr)
        # The anchor of every archive has a number of its own.
        one, other = ({name: content for name, content in files_in(self.folder / count).items() if name != "cut.otf2"}
                      for count in ("0", "3"))
        self.assertEqual(one, other)

    def test_one_sentence_and_the_right_code(self):
        def fails(code, *arguments):
            alone, together = self.run_on(0, *arguments), self.run_on(3, *arguments)
            self.assertEqual((alone.returncode, together.returncode), (code, code), together.stderr)
            sentence = alone.stderr.decode().splitlines()[0]
            self.assertEqual(together.stderr.decode().count(sentence), 1, together.stderr)
            self.assertEqual(together.stdout, alone.stdout)
        fails(2, "inspect")
        fails(2, "inspect", LAMMPS[0], "--memory", "none")
        fails(3, "inspect", self.folder / "nothing.otf2")
        broken = self.folder / "broken"
        shutil.copytree(LAMMPS[0].parent, broken)
        victim = sorted((broken / LAMMPS[0].stem).glob("*.evt"))[-1]
        victim.chmod(0o600)
        victim.write_bytes(victim.read_bytes()[:-100])
        fails(3, "factors", broken / LAMMPS[0].name)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    @nightly.alone
    def test_paraver_texts(self):
        trace = self.write("t.prv", paraver_text([60] * 4))
        self.same_at_all_counts("factors", trace, "--format", "json")
        self.same_at_all_counts("imbalance", trace, "-o", "-", counts=(3,))
        packed = self.folder / "packed.prv.gz"
        packed.write_bytes(gzip.compress(trace.read_bytes()))
        self.same_at_all_counts("factors", packed, "--format", "json", counts=(3,))
        self.same_at_all_counts("inspect", self.write("small.prv", paraver_text([5, 5])), "--json", counts=(7,))

    def test_damaged_paraver_text(self):
        lines = paraver_text([60] * 4).splitlines(keepends=True)
        def damaged(*numbers):
            return "".join("2:1:1:9:1:5:6:7\n" if i in numbers else line for i, line in enumerate(lines))
        # Few lines are counted, with the first of them.
        few = self.write("few.prv", damaged(len(lines) // 2, len(lines) - 9))
        self.same_at_all_counts("inspect", few, "--json", counts=(7,))
        self.assertIn(f"line {len(lines) // 2 + 1}, field 4".encode(), self.run_on(0, "inspect", few, "--json").stdout)
        many = self.write("many.prv", damaged(*range(len(lines) // 3, len(lines) // 2)))
        cut = self.write("cut.prv", "".join(lines[:len(lines) // 2]) + "2:1:1:1")
        for trace, count in (many, 2), (cut, 7):
            alone, done = self.run_on(0, "inspect", trace), self.run_on(count, "inspect", trace)
            self.assertEqual((alone.returncode, done.returncode, done.stdout), (3, 3, alone.stdout))
            self.assertEqual(done.stderr.decode().count(alone.stderr.decode().strip()), 1, done.stderr)

    def test_files_of_one_process_alone(self):
        """The second process stands in a folder without the traces. One run is measured by the first process."""
        here, nothing = (self.folder / name for name in ("here", "nothing"))
        here.mkdir()
        nothing.mkdir()
        for name in ("t.prv", "u.prv"):
            self.write(f"here/{name}", paraver_text([60] * 4))
        def run(*traces):
            command = [self.launcher, *self.options]
            for folder in here, nothing:
                command += ["-n", "1", "-wdir", str(folder), str(PROGRAM), "factors", *traces, ":"]
            return subprocess.run(command[:-1], capture_output=True, timeout=120)
        alone = run("t.prv")
        self.assertEqual(alone.returncode, 0, alone.stderr)
        done = run("t.prv", "u.prv")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stderr.decode().count("u.prv: no such trace"), 1, done.stderr)

    @nightly.alone
    def test_one_rank_is_most_of_the_trace(self):
        text = self.write("uneven.prv", paraver_text([3, 400, 3]))
        self.same_at_all_counts("factors", text, "--format", "json", counts=(2,))
        archive = self.folder / "uneven/traces.otf2"
        self.assertEqual(self.run_on(0, "cut", text, "--window", "0,1", "-o", archive).returncode, 0)
        self.same_at_all_counts("factors", archive, "--format", "json", counts=(3,))

    @nightly.alone
    def test_many_more_processes_than_ranks(self):
        self.same_at_all_counts("factors", LAMMPS[0], "--format", "json", counts=(16,))
        self.same_at_all_counts("factors", self.write("t.prv", paraver_text([60] * 4)), "--format", "json", counts=(16,))

    def test_help_is_said_once(self):
        for arguments in (["--version"], ["factors", "--help"], ["schema"]):
            self.assertEqual(self.run_on(3, *arguments).stdout, self.run_on(0, *arguments).stdout)

    def test_killed_process_ends_all(self):
        self.ends_all(lambda job, first, further: os.kill(further[-1], signal.SIGKILL))

    def test_killed_first_process_ends_all(self):
        self.ends_all(lambda job, first, further: os.kill(first[0], signal.SIGKILL))

    @nightly.alone
    def test_interrupt_ends_all(self):
        # As a terminal does it: to all of its foreground group.
        self.ends_all(lambda job, first, further: os.killpg(job.pid, signal.SIGINT))

    @nightly.alone
    def test_terminated_launcher_ends_all(self):
        # As batch systems do it at the end of the time.
        self.ends_all(lambda job, first, further: job.terminate())

    def ends_all(self, end):
        """The job ends with an error, no process of it stays, and files under their own names are whole."""
        studies = [ROOT / "sample-runs" / name / "study.toml" for name in ("comd-noise", "lulesh", "npb-lu")]
        folder = self.folder / "all"
        job = subprocess.Popen(self.command(3, "run", *studies, "-o", folder, "-j", "1"),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            # When the first study is being written, two are still to come.
            deadline = time.monotonic() + 60
            while not has_results(folder) and job.poll() is None and time.monotonic() < deadline:
                time.sleep(0.005)
            processes = self.processes_of(job.pid)
            further = [pid for pid in processes if self.is_further(pid)]
            self.assertEqual((len(processes), len(further)), (3, 2))
            end(job, [pid for pid in processes if pid not in further], further)
            self.assertNotEqual(job.wait(timeout=30), 0)
        finally:
            if job.poll() is None:
                job.kill()
                job.wait()
        deadline = time.monotonic() + 10
        while any(self.is_ours(pid) for pid in processes) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse([pid for pid in processes if self.is_ours(pid)])
        # Open MPI takes a second to end processes, in which the report may become complete.
        whole = self.whole_report(studies)
        for name, content in files_in(folder).items():
            if not name.endswith(".tmp"):
                self.assertEqual(content, whole[name], name)

    @classmethod
    def whole_report(cls, studies):
        if cls.whole is None:
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run([str(PROGRAM), "run", *map(str, studies), "-o", folder, "-j", "1", "-q"],
                               check=True, stdout=subprocess.DEVNULL)
                cls.whole = files_in(pathlib.Path(folder))
        return cls.whole

    @staticmethod
    def is_ours(pid):
        try:
            return os.readlink(f"/proc/{pid}/exe") == str(PROGRAM)
        except OSError:
            return False

    @staticmethod
    def processes_of(launcher):
        """Processes of farscale whose ancestor is the launcher."""
        parents = {}
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rsplit(")", 1)[1].split()
                parents[int(path.parent.name)] = int(fields[1])
            except OSError:
                continue
        def descends(pid):
            while pid in parents and pid != launcher:
                pid = parents[pid]
            return pid == launcher
        found = []
        for pid in parents:
            if descends(pid) and Processes.is_ours(pid):
                found.append(pid)
        return sorted(found)

    @staticmethod
    def is_further(pid):
        try:
            variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False
        ranks = [value for name, _, value in (variable.partition(b"=") for variable in variables)
                 if name in (b"OMPI_COMM_WORLD_RANK", b"PMI_RANK")]
        return ranks and ranks[0] != b"0"

    def test_each_by_itself_on_request(self):
        os.environ["FARSCALE_MPI"] = "none"
        try:
            done = self.run_on(2, "schema")
        finally:
            del os.environ["FARSCALE_MPI"]
        self.assertEqual(done.stdout, 2 * self.run_on(0, "schema").stdout)


class OpenMpi(Processes, unittest.TestCase):
    launcher, library = "mpirun.openmpi", "openmpi"
    options = ["--allow-run-as-root", "--oversubscribe", "-q"]


class Mpich(Processes, unittest.TestCase):
    launcher, library = "mpirun.mpich", "mpich"


if __name__ == "__main__":
    unittest.main()
