#!/usr/bin/env python3
"""farscale on several processes of an MPI job: the same bytes at any number of them, one voice, and an end for all.

    FARSCALE=build/dev/bin/farscale tests/processes_test.py [OpenMpi|Mpich]
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ["FARSCALE"]).resolve()
LULESH = ROOT / "sample-runs/lulesh"
LAMMPS = sorted((ROOT / "sample-runs/lammps-lj/traces").rglob("*.otf2"))
COUNTS = (1, 2, 3, 7)


def files_in(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def has_results(folder):
    """Whether a file has its own name; until it is whole, it is hidden."""
    return any(path.is_file() and not path.name.endswith(".tmp") for path in folder.rglob("*"))


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
        # The file of one location: whichever process reads it says so.
        victim = sorted((broken / LAMMPS[0].stem).glob("*.evt"))[-1]
        victim.chmod(0o600)
        victim.write_bytes(victim.read_bytes()[:-100])
        fails(3, "factors", broken / LAMMPS[0].name)

    def test_help_is_said_once(self):
        for arguments in (["--version"], ["factors", "--help"], ["schema"]):
            self.assertEqual(self.run_on(3, *arguments).stdout, self.run_on(0, *arguments).stdout)

    def test_killed_process_ends_all(self):
        self.ends_all(lambda job, first, further: os.kill(further[-1], signal.SIGKILL))

    def test_killed_first_process_ends_all(self):
        self.ends_all(lambda job, first, further: os.kill(first[0], signal.SIGKILL))

    def test_interrupt_ends_all(self):
        # As a terminal does it: to all of its foreground group.
        self.ends_all(lambda job, first, further: os.killpg(job.pid, signal.SIGINT))

    def test_terminated_launcher_ends_all(self):
        # As batch systems do it at the end of the time.
        self.ends_all(lambda job, first, further: job.terminate())

    def ends_all(self, end):
        """The job ends with an error, no process of it stays, and files under their own names are whole."""
        studies = ROOT / "sample-runs/comd-noise/study.toml", LULESH / "study.toml"
        folder = self.folder / "all"
        job = subprocess.Popen(self.command(3, "run", *studies, "-o", folder, "-j", "1"),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            # When the first study is being written, the second one is still to come.
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
