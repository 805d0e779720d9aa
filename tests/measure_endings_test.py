#!/usr/bin/env python3
"""How measured programs end, and what may stand in the way of measuring them, with every MPI that is installed.

FARSCALE names the program, FARSCALE_BUILD the build folder. An MPI without a compiler or preload library is skipped,
with a message.
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import nightly

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "mpi"
PROGRAM = os.environ["FARSCALE"]
LIBRARIES = pathlib.Path(os.environ["FARSCALE_BUILD"]) / "lib" / "farscale"


class Launched:
    def __init__(self, process):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr


def has_mpi(name):
    return all(shutil.which(f"{tool}.{name}") for tool in ("mpicc", "mpirun")) and \
        (LIBRARIES / f"libfarscale-{name}.so").exists()


def environment(here, **more):
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                OMPI_MCA_rmaps_base_oversubscribe="1", FARSCALE_PAGES=str(here / "pages"), **more)


class EndingTest:
    """What is the same for every MPI; subclasses name one."""

    name = ""

    @classmethod
    def setUpClass(cls):
        if not has_mpi(cls.name):
            raise unittest.SkipTest(f"{cls.name} or its preload library is not there")
        cls.folder = tempfile.TemporaryDirectory(prefix="farscale-endings-")
        cls.bin = pathlib.Path(cls.folder.name)
        for source in ("badends.c", "names.c"):
            subprocess.run([f"mpicc.{cls.name}", "-O1", "-w", f"-I{ROOT}/src/collect/include", str(SOURCES / source), "-o",
                            str(cls.bin / source[:-2]), f"-L{LIBRARIES}", "-lfarscale", "-pthread",
                            f"-Wl,-rpath,{LIBRARIES}"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.here = pathlib.Path(tempfile.mkdtemp(dir=self.folder.name))
        (self.here / "pages").mkdir()

    def mpirun(self, *arguments, timeout=30, **more):
        # A launcher that ends takes the folder that all have in common away if it is empty, and one that begins at that
        # moment fails. The name is short, as it is part of addresses of sockets.
        with tempfile.TemporaryDirectory(prefix="fs-", dir="/tmp", ignore_cleanup_errors=True) as own:
            more.setdefault("OMPI_MCA_orte_tmpdir_base", own)
            return Launched(subprocess.run([f"mpirun.{self.name}", *map(str, arguments)], cwd=self.here, text=True,
                                           env=environment(self.here, **more), capture_output=True, timeout=timeout))

    def refused(self, *arguments):
        """A launch that farscale ends before the program begins. Open MPI would wait a second after a failure, until it
        kills ranks that handle SIGTERM; here there are none."""
        return self.mpirun(*arguments, OMPI_MCA_odls_base_sigkill_timeout="0")

    def measure(self, ranks, program, *arguments, options=()):
        return self.mpirun("-n", ranks, PROGRAM, "measure", *options, self.bin / program, *arguments)

    def results(self, name="farscale.json"):
        return json.loads((self.here / name).read_text())

    def check_report(self, result, ending, first):
        """One summary, the same as in the file, and nothing left behind."""
        run = self.results()
        self.assertEqual(run["ending"], ending, result.err)
        self.assertEqual(result.err.count("Load balance"), 1, result.err)
        whole = run["regions"][0]
        shares = {label: float(share) / 100
                  for label, share in re.findall(r"^ +(\S.*?) {2,}([\d.]+) %$", result.err, re.MULTILINE)}
        for label, factor in (("Parallel efficiency", "parallelEfficiency"), ("Load balance", "loadBalance"),
                              ("Communication efficiency", "communicationEfficiency")):
            self.assertAlmostEqual(shares[label], whole["factors"][factor], delta=0.0006)
        self.assertEqual([p.name for p in self.here.iterdir() if p.name != "pages"], ["farscale.json"])
        self.wait_for(lambda: list((self.here / "pages").iterdir()) == [])
        self.assertNotIn("missingRanks", run)
        self.assertEqual(run["notFinalized"], [0, 1, 2])
        if first is not None:
            self.assertIn(first, run["endedFirst"], result.err)
        self.validate()
        return run

    def wait_for(self, condition):
        for _ in range(100):
            if condition():
                return
            time.sleep(0.05)
        self.fail("did not come about")

    def validate(self):
        try:
            import jsonschema
        except ImportError:
            return
        schema = json.loads((ROOT / "docs/schema/measured-run.schema.json").read_text())
        jsonschema.Draft202012Validator(schema).validate(self.results())

    # Ends.

    def test_a_killed_rank_is_named_and_its_time_ends_with_it(self):
        # Rank 1 waits 0.1 s for its end. The others are ended a second later by some launchers. The best of three, as the
        # machine may disturb a run.
        elapsed = []
        while len(elapsed) < 3 and min(elapsed, default=1) >= 1:
            result = self.measure(3, "badends", "kill", "1")
            elapsed.append(self.check_report(result, "lost", 1)["regions"][0]["elapsed"])
            self.assertRegex(result.err, r"rank 1 ended without MPI_Finalize, killed or by _exit, before the others")
            for path in self.here.glob("*.json"):
                path.unlink()
        self.assertLess(min(elapsed), 1.0)

    def test_every_other_end_is_reported_once(self):
        ends = (("segv", "1", "signal"), ("exit0", None, None), ("overflow", "1", "signal"),
                ("exit3", "1", "not finalized"), ("abort", "2", "signal"), ("usr2", "1", "signal"),
                ("mpi_abort", "1", "aborted"), ("term", "1", "signal"), ("_exit", None, None))
        for how, rank, ending in nightly.some(ends, 3):
            with self.subTest(how):
                for path in self.here.glob("*.json"):
                    path.unlink()
                result = self.measure(3, "badends", how, *([rank] if rank else []))
                # Of several that leave the launcher may kill the last ones.
                expected = ending or self.results()["ending"]
                self.assertIn(expected, ("not finalized", "lost", "signal", "aborted"))
                run = self.check_report(result, expected, int(rank) if rank else None)
                if how in ("segv", "overflow", "abort", "usr2", "term"):
                    self.assertEqual(run["signal"], {"segv": 11, "overflow": 11, "abort": 6, "usr2": 12, "term": 15}[how])
                    self.assertIn(f"{signal.Signals(run['signal']).name} ended rank {rank}", result.err)

    # Traces.

    def farscale(self, *arguments):
        return Launched(subprocess.run([PROGRAM, *arguments], cwd=self.here, text=True, capture_output=True, timeout=60))

    def check_cut_trace(self, folder, said):
        """Readable here and elsewhere, with its end said, and ten steps of every rank in it."""
        self.assertEqual(said.count("warning: the trace ends early"), 1, said)
        self.assertEqual(sorted(p.name for p in (self.here / folder).iterdir()),
                         ["farscale.json", "traces", "traces.def", "traces.otf2"])
        self.assertEqual({p.suffix for p in (self.here / folder / "traces").iterdir()}, {".def", ".evt"})
        inspected = json.loads(self.farscale("inspect", f"{folder}/traces.otf2", "--json").out)
        found = {one["id"]: one for one in inspected["diagnostics"]}
        self.assertIn("traceEndsEarly", found)
        self.assertRegex(found["traceEndsEarly"]["example"], r"rank \d has events until [\d.]+ m?s")
        self.assertEqual({c["name"]: c["count"] for c in inspected["calls"]}["MPI_Allreduce"], 3 * 10)
        factors = self.farscale("factors", f"{folder}/traces.otf2")
        self.assertEqual(factors.code, 0, factors.err)
        self.assertIn("traceEndsEarly", factors.err)
        if shutil.which("otf2-print"):
            printed = subprocess.run(["otf2-print", f"{folder}/traces.otf2"], cwd=self.here, text=True,
                                     capture_output=True)
            self.assertEqual(printed.returncode, 0, printed.stderr)
            self.assertNotIn("otf2-print:", printed.stdout + printed.stderr)
            self.assertEqual(len(re.findall("^ENTER .*MPI_Allreduce", printed.stdout, re.MULTILINE)), 3 * 10)

    @nightly.alone
    def test_traces_keep_what_was_recorded(self):
        for how in (["kill", "1"], ["segv", "0"], ["term"], ["exit0"]):
            with self.subTest(how):
                result = self.mpirun("-n", 3, PROGRAM, "trace", "-o", how[0], self.bin / "badends", *how)
                self.check_cut_trace(how[0], result.err)
                self.wait_for(lambda: list((self.here / "pages").iterdir()) == [])

    def test_traces_of_several_nodes_are_put_together(self):
        # Nodes do not see each other's pages: each has a guard of its own, of which that of rank 0 waits for the other.
        command = []
        for node, ranks in (("a", 1), ("b", 2)):
            (self.here / f"pages-{node}").mkdir()
            command += [":"] * (node == "b") + ["-n", ranks, "env", f"FARSCALE_NODE={node}",
                                               f"FARSCALE_PAGES={self.here}/pages-{node}", PROGRAM, "trace", "-o", "nodes",
                                               self.bin / "badends", "segv", "1"]
        result = self.mpirun(*command)
        self.wait_for((self.here / "nodes/traces.otf2").exists)
        for file in (self.here / "nodes").glob("farscale.json.*"):
            file.unlink()
        inspected = json.loads(self.farscale("inspect", "nodes/traces.otf2", "--json").out)
        self.assertEqual(inspected["ranks"], 3, result.err)
        self.assertEqual({c["name"]: c["count"] for c in inspected["calls"]}["MPI_Allreduce"], 3 * 10)

    @nightly.alone
    def test_what_a_failed_node_leaves_can_be_finished(self):
        # The guards are killed with the ranks, as when the power fails.
        launcher = subprocess.Popen([f"mpirun.{self.name}", "-n", "2", PROGRAM, "trace", "--flush", "0.1", "-o", "t",
                                     str(self.bin / "badends"), "wait"], cwd=self.here, env=environment(self.here),
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for(lambda: len(list((self.here / "t/traces").glob("*.room"))) == 2)
        time.sleep(0.3)
        job = str(self.here / "pages")
        pids = [int(p.name) for p in pathlib.Path("/proc").iterdir() if p.name.isdigit() and self.is_of(p, job)]
        for pid in pids:
            if pid != launcher.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        launcher.wait(timeout=30)
        self.assertFalse((self.here / "t/traces.otf2").exists())
        recovered = self.farscale("trace", "--recover", "t")
        self.assertEqual(recovered.code, 0, recovered.err)
        self.assertIn("wrote t/traces.otf2", recovered.out)
        inspected = json.loads(self.farscale("inspect", "t/traces.otf2", "--json").out)
        self.assertGreater({c["name"]: c["count"] for c in inspected["calls"]}["MPI_Allreduce"], 2)
        again = self.farscale("trace", "--recover", "t")
        self.assertIn("contains no trace that can be finished", again.err)

    @staticmethod
    def is_of(process, pages):
        """A rank or its guard, by its environment."""
        with contextlib.suppress(OSError):
            return f"FARSCALE_PAGES={pages}".encode() in (process / "environ").read_bytes().split(b"\0") and \
                b"mpirun" not in (process / "cmdline").read_bytes().split(b"\0")[0]
        return False

    @nightly.alone
    def test_all_killed_at_once_are_reported(self):
        launcher = subprocess.Popen([f"mpirun.{self.name}", "-n", "3", PROGRAM, "measure", str(self.bin / "badends"),
                                     "wait"], cwd=self.here, env=environment(self.here), text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        pages = self.here / "pages"
        self.wait_for(lambda: len([p for p in pages.iterdir() if re.search(r"\.[012]$", p.name)]) >= 3)
        time.sleep(0.4)

        def ranks():
            lines = subprocess.run(["ps", "-eo", "pid,args"], text=True, capture_output=True).stdout.splitlines()
            return [int(line.split()[0]) for line in lines if line.split(None, 1)[1].startswith(str(self.bin / "badends"))]

        # A process that forks to start another one has its name for a moment.
        self.wait_for(lambda: len(ranks()) == 3)
        for pid in ranks():
            with contextlib.suppress(ProcessLookupError):  # the launcher was quicker
                os.kill(pid, signal.SIGKILL)
        _, err = launcher.communicate(timeout=30)
        self.wait_for((self.here / "farscale.json").exists)
        self.assertEqual(self.results()["ending"], "lost")
        self.assertEqual(err.count("ended without MPI_Finalize"), 1, err)

    @nightly.alone
    def test_handlers_of_the_program_decide(self):
        for how in ("repair", "repair late", "survive", "survive late"):
            with self.subTest(how):
                for path in self.here.glob("*.json"):
                    path.unlink()
                result = self.measure(2, "badends", how)
                self.assertEqual(result.code, 0, result.err)
                self.assertEqual(result.out.count("faults 1" if "repair" in how else "told 15"), 2)
                run = self.results()
                self.assertEqual(run["ending"], "finalized")
                self.assertEqual(result.err.count("Load balance"), 1)
                # What came after the signal was measured, too: twenty calls in each half and a barrier or none.
                self.assertEqual(run["regions"][0]["mpiCalls"], 2 * 20)

    def test_the_guard_is_gone_when_the_run_is(self):
        self.measure(2, "badends")
        job = self.results()["job"]
        self.wait_for(lambda: job not in subprocess.run(["ps", "-eo", "args"], text=True,
                                                        capture_output=True).stdout)
        self.assertEqual(list((self.here / "pages").iterdir()), [])

    @nightly.alone
    def test_pages_stay_where_farscale_cannot_be_run(self):
        # As with a library that is preloaded by hand.
        result = self.mpirun("-n", 2, "env", f"LD_PRELOAD={LIBRARIES}/libfarscale-{self.name}.so", self.bin / "badends")
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(result.err.count("farscale measure --report"), 1, result.err)
        self.assertFalse((self.here / "farscale.json").exists())
        reported = self.farscale("measure", "--report", "farscale.json.pages")
        self.assertEqual(reported.code, 0, reported.err)
        self.assertIn("Load balance", reported.err)
        self.assertEqual((self.results()["ending"], self.results()["regions"][0]["mpiCalls"]), ("finalized", 2 * 20))
        self.validate()
        quiet = self.farscale("measure", "--report", "farscale.json.pages", "-q")
        self.assertEqual((quiet.code, quiet.err), (0, ""))
        # A site's limit is no failure, but what else keeps the results from their place is one.
        for bytes_left, code, words in (("100", 0, "no more room"), ("10000000", 5, "cannot be written")):
            limited = subprocess.run([PROGRAM, "measure", "--report", "farscale.json.pages"], cwd=self.here, text=True,
                                     env=environment(self.here) | {"FARSCALE_MOST_BYTES": bytes_left},
                                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)),
                                     capture_output=True)
            self.assertEqual((limited.returncode, limited.stderr.count(words)), (code, 1), limited.stderr)
        # A pipe that is full and does not wait loses nothing.
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        filled = os.write(writer, b"x" * (1 << 20))
        report = subprocess.Popen([PROGRAM, "measure", "--report", "farscale.json.pages"], cwd=self.here, stderr=writer,
                                  env=environment(self.here))
        os.close(writer)
        time.sleep(0.5)
        with open(reader, "rb") as pipe:
            self.assertIn(b"Load balance", pipe.read()[filled:])
        self.assertEqual(report.wait(), 0)
        (self.here / "farscale.json.pages").write_bytes(b"fspages")
        self.assertEqual(self.farscale("measure", "--report", "farscale.json.pages").code, 3)

    # What others put where pages lie.

    @nightly.alone
    def test_pipes_and_folders_among_the_pages_stop_nobody(self):
        own = os.geteuid()
        for name in ("farscale.65534.x", f"farscale.{own}.x", f"farscale.{own}.job.0"):
            os.mkfifo(self.here / "pages" / name)
            os.utime(self.here / "pages" / name, (1, 1))  # old
        (self.here / "pages" / f"farscale.{own}.folder.0").mkdir()
        (self.here / "pages" / f"farscale.{own}.link.0").symlink_to("/dev/zero")
        with open(self.here / "pages" / f"farscale.{own}.huge.0", "wb") as file:
            file.truncate(1 << 40)
        watch = subprocess.run([PROGRAM, "watch", "--once"], env=environment(self.here), text=True, capture_output=True,
                               timeout=10)
        self.assertIn("No program of yours", watch.stdout)
        result = self.measure(2, "badends", "segv", "1")
        self.assertEqual(self.results()["ending"], "signal", result.err)

    # Where results go.

    def test_output_that_cannot_be_written_is_refused_before_anything_runs(self):
        (self.here / "folder").mkdir()
        os.mkfifo(self.here / "pipe")
        shutil.copy(self.bin / "badends", self.here / "program")
        refused = {"none/x.json": "does not exist", "folder": "is a folder", "folder/": "is a folder",
                   "": "no file is named", "pipe": "is no ordinary file", "/dev/null": "is no ordinary file",
                   "x" * 1100: "is longer than 1023 characters", "x" * 250: "a name of more than"}
        # Nothing is measured, so that several launchers may run at once: they spend their time with waiting.
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = dict(zip(refused, pool.map(
                lambda output: self.refused("-n", 2, PROGRAM, "measure", "-o", output, self.bin / "badends", "told"),
                refused)))
        for output, words in refused.items():
            with self.subTest(output[:20]):
                result = results[output]
                self.assertNotEqual(result.code, 0)
                self.assertEqual(result.err.count(words), 1, result.err)
                self.assertNotIn("started", result.out)
        alone = subprocess.run([PROGRAM, "measure", "-o", "folder", str(self.bin / "badends")], cwd=self.here,
                               env=environment(self.here), text=True, capture_output=True)
        self.assertEqual(alone.returncode, 5)

    def test_a_second_trace_is_refused_before_anything_runs(self):
        for expected in (0, 1):
            launch = self.refused if expected else self.mpirun
            result = launch("-n", 2, PROGRAM, "trace", "-o", "trace", self.bin / "names")
            self.assertEqual(result.code != 0, expected != 0, result.err)
        self.assertIn("contains a trace already", result.err)
        self.assertNotIn("whole", result.out)
        self.assertEqual(sorted(p.name for p in self.here.iterdir()), ["pages", "trace"])

    def test_what_is_wrong_is_said_once(self):
        self.assertEqual(self.refused("-n", 3, PROGRAM, "measure").err.count("no program to run"), 1)
        self.assertEqual(self.refused("-n", 3, PROGRAM, "measure", "--nope", "x").err.count("--nope"), 1)

    # The library of the right MPI.

    def other(self):
        return "mpich" if self.name == "openmpi" else "openmpi"

    def test_a_script_may_run_programs_of_another_mpi(self):
        if not has_mpi(self.other()):
            self.skipTest("there is one MPI only")
        program = self.here / "other"
        subprocess.run([f"mpicc.{self.other()}", "-w", f"-I{ROOT}/src/collect/include", str(SOURCES / "badends.c"), "-o",
                        str(program)], check=True)
        result = self.mpirun("-n", 1, PROGRAM, "measure", "bash", "-c", f"{program}; true")
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(self.results()["regions"][0]["mpiCalls"], 20)
        self.assertEqual(self.results()["mpi"].startswith("Open MPI"), self.other() == "openmpi")

    def test_without_a_library_for_it_the_program_runs_as_it_is(self):
        if not has_mpi(self.other()):
            self.skipTest("there is one MPI only")
        for folder in ("bin", "lib/farscale"):
            (self.here / folder).mkdir(parents=True)
        shutil.copy(PROGRAM, self.here / "bin" / "farscale")
        shutil.copy(LIBRARIES / f"libfarscale-{self.name}.so", self.here / "lib/farscale")
        program = self.here / "other"
        subprocess.run([f"mpicc.{self.other()}", "-w", str(SOURCES / "badends.c"), "-o", str(program)], check=True)
        result = self.mpirun("-n", 1, self.here / "bin" / "farscale", "measure", "bash", "-c", f"{program} told; true")
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("started", result.out)
        self.assertEqual(result.err.count("for which farscale was not built"), 1, result.err)
        self.assertFalse((self.here / "farscale.json").exists())

    # Programs and ranks that are not measured.

    def test_programs_without_mpi_are_told(self):
        result = self.mpirun("-n", 2, PROGRAM, "measure", "bash", "-c", "true")
        self.assertEqual(result.code, 0)
        self.assertEqual(result.err.count("nothing was measured: bash ended without a call of MPI_Init"), 1, result.err)
        result = self.mpirun("-n", 2, PROGRAM, "measure", "bash", "-c", f"{self.bin}/badends; true")
        self.assertNotIn("nothing was measured", result.err)
        self.assertEqual(list((self.here / "pages").iterdir()), [])

    def test_static_programs_are_told(self):
        source = self.here / "static.c"
        source.write_text("int main(void) { return 0; }\n")
        built = subprocess.run(["gcc", "-static", str(source), "-o", str(self.here / "static")], capture_output=True)
        if built.returncode != 0:
            self.skipTest("there is no static C library")
        result = self.mpirun("-n", 2, PROGRAM, "measure", self.here / "static")
        self.assertEqual(result.err.count("is linked statically"), 1, result.err)

    def test_ranks_without_farscale_are_told(self):
        process = subprocess.Popen([f"mpirun.{self.name}", "-n", "1", PROGRAM, "measure", str(self.bin / "badends"), ":",
                                    "-n", "1", str(self.bin / "badends")], cwd=self.here, text=True,
                                   env=environment(self.here, FARSCALE_PATIENCE="1"), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        words = "rank 0 has waited 1 s in MPI_Init for the other ranks"
        ends = threading.Timer(20, process.terminate)
        ends.start()
        lines = []
        while not lines or (lines[-1] and words not in lines[-1]):
            lines.append(process.stderr.readline())
        ends.cancel()
        process.terminate()
        process.communicate(timeout=20)
        self.assertIn(words, lines[-1], lines)

    # Names.

    def test_names_stay_apart_and_fit_into_tables(self):
        result = self.measure(1, "names")
        self.assertEqual(result.code, 0, result.err)
        names = [region["name"] for region in self.results()["regions"]]
        long = [name for name in names if name.startswith("xxx")]
        self.assertEqual(len(set(long)), 2)
        self.assertEqual({len(name) for name in long}, {63})
        self.assertIn("löse", names)
        self.assertIn("pcö", names)
        self.assertTrue(any(re.fullmatch(r"line\?feed~[0-9a-f]{8}", name) for name in names), names)
        table = result.err[result.err.index("  region"):].splitlines()
        rows = table[:len(names)]
        self.assertEqual(len({len(row) for row in rows}), 1, rows)
        self.assertNotIn("stopped that was not started", result.err)
        table = subprocess.run([PROGRAM, "factors", "farscale.json", "-o", "f.json"], cwd=self.here, text=True,
                               capture_output=True)
        self.assertEqual(table.returncode, 0, table.stderr)
        phases = [row["phase"] for row in json.loads((self.here / "f.json").read_text())["rows"]]
        self.assertEqual(phases.count("whole"), 1)
        self.assertIn("region whole", phases)

    def test_more_regions_than_there_is_room_for(self):
        result = self.measure(1, "names", "many")
        self.assertEqual(result.err.count("only the first 255 regions"), 1, result.err)
        self.assertNotIn("stopped that was not started", result.err)

    @nightly.alone
    def test_warnings_reach_the_projection(self):
        for ranks in (1, 2, 3):
            self.measure(ranks, "badends", options=["-o", f"run{ranks}.json"])
            run = self.results(f"run{ranks}.json")
            run["diagnostics"] = [{"id": "preempted", "severity": "warning", "sentence": "the ranks ran 12 % of the time"}]
            (self.here / f"run{ranks}.json").write_text(json.dumps(run))
        for command in ("predict", "factors"):
            result = subprocess.run([PROGRAM, command, "run1.json", "run2.json", "run3.json", "--scaling", "weak", "-o",
                                     f"{command}.json"], cwd=self.here, text=True, capture_output=True)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("preempted", result.stderr)
            self.assertIn("the ranks ran 12 % of the time", result.stderr)


class OpenMpi(EndingTest, unittest.TestCase):
    name = "openmpi"


class Mpich(EndingTest, unittest.TestCase):
    name = "mpich"


if __name__ == "__main__":
    unittest.main()
