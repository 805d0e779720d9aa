"""The goals of docs/performance.md and how each is measured, for scripts/measure_speed."""

import dataclasses
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass
class Row:
    """`sense`: "≤" or "≥". `reached` is None where something to measure with is missing, which `why_not` names."""
    work: str
    sense: str
    limit: float
    unit: str
    how: str
    reached: float | None = None
    why_not: str = ""

    def text(self, number):
        digits = 0 if number == 0 or abs(number) >= 100 else max(0, 2 - math.floor(math.log10(abs(number))))
        return f"{number:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{number:.0f}"

    def goal(self):
        return f"{self.sense} {self.text(self.limit)} {self.unit}".strip()

    def value(self):
        return f"{self.text(self.reached)} {self.unit}".strip()

    def is_missed(self):
        if self.reached is None:
            return False
        return self.reached > self.limit if self.sense == "≤" else self.reached < self.limit

    def verdict(self):
        return "" if self.reached is None else "missed" if self.is_missed() else "met"


@dataclasses.dataclass
class Cost:
    seconds: float
    cpu_seconds: float
    bytes: int
    output: str


class Setting:
    """Where everything is, and how large: a trial divides sizes by 20 and measures once."""

    def __init__(self, folder, program, benchmarks, shared, is_trial):
        self.folder, self.program, self.benchmarks, self.shared = folder, program, benchmarks, shared
        self.is_trial = is_trial
        for needed in (program, benchmarks / "benchmarks", benchmarks / "trace_speed"):
            if not needed.exists():
                sys.exit(f"There is no {needed}: build the presets program and dev first.")
        self.cores = len(os.sched_getaffinity(0))

    def size(self, full):
        return max(1, full // 20) if self.is_trial else full

    def repetitions(self, full):
        return 1 if self.is_trial else full

    def trace_speed(self, *arguments):
        return cost_of([self.benchmarks / "trace_speed", *arguments])

    def write(self, kind, name, *sizes):
        """The path of a made-up trace, which remains until the end of its part."""
        return self.trace_speed(kind, self.folder / name, *sizes).output.strip()

    def remove(self, *names):
        for name in names:
            shutil.rmtree(self.folder / name)

    def farscale(self, *arguments):
        return cost_of([self.program, "-q", *arguments])

    def read(self, threads, *traces):
        """Events and seconds, the start of the process left out."""
        events, seconds, _ = self.trace_speed("read", threads, *traces).output.split()
        return int(events), float(seconds)


def cost_of(command, environment=None):
    begin = time.monotonic()
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True, cwd=ROOT,
                          env=environment) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - begin
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, output)


def median(repetitions, measure):
    return statistics.median(measure() for _ in range(repetitions))


def seconds_of(setting, repetitions, *arguments):
    return median(setting.repetitions(repetitions), lambda: setting.farscale(*arguments).seconds)


# --- Studies and tables ---------------------------------------------------------------------------------------------

def write_table(path, counts, phases=1, repeats=1):
    """A factor table with one row a core count, phase and repeat; repeats scatter by a percent."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("cores,phase,repeat,runtime,loadBalance,serializationEfficiency,transferEfficiency\n")
        for phase in range(phases):
            for cores in counts:
                for repeat in range(repeats):
                    noise = 1 + 0.01 * (repeat * 37 % 100 / 100 - 0.5)
                    factors = [noise / (1.005 + slope * (1 + phase % 7) * math.log2(cores)) for slope in (8e-3, 5e-3, 3e-3)]
                    runtime = 100 / cores / math.prod(factors)
                    file.write(f"{cores},phase{phase},{repeat},{runtime:.6g},{','.join(f'{f:.6f}' for f in factors)}\n")
    return path


def sample(setting):
    study = ROOT / "sample-runs/lulesh/study.toml"
    seconds = seconds_of(setting, 9, "run", study, "-o", setting.folder / "report")
    yield Row("study of four LULESH traces with its report", "≤", 0.4, "s", "`farscale run sample-runs/lulesh/study.toml`",
              seconds)


def predict(setting):
    counts = [2, 4, 8, 16, 32]
    for phases, goal, name in ((1, 0.03, "5 rows"), (100, 2, "100 phases of 5 rows")):
        table = write_table(setting.folder / "table.csv", counts, phases)
        seconds = seconds_of(setting, 9 if phases == 1 else 3, "predict", table, "-o", setting.folder / "projection.csv")
        yield Row(f"prediction of a table of {name}", "≤", goal, "s", "`farscale predict TABLE.csv -o P.csv`", seconds)


def csv(setting):
    counts = [2 ** i for i in range(1, 11)]
    seconds = []
    for repeats in (100, 1000):
        table = write_table(setting.folder / "table.csv", counts, 100, setting.size(repeats))
        seconds.append(seconds_of(setting, 3, "factors", table, "-o", setting.folder / "copy.csv"))
    how = "`farscale factors TABLE.csv -o COPY.csv`"
    yield Row("factor table of a million rows, read and written", "≤", 3, "s", how, seconds[1])
    yield Row("a million rows against a hundred thousand", "≤", 12, "", how, seconds[1] / seconds[0])


# --- Traces ---------------------------------------------------------------------------------------------------------

def factors(setting):
    ranks = 64
    trace = setting.write("stencil", "large", ranks, setting.size(25000))
    ratios = []
    for _ in range(setting.repetitions(3)):
        bare = setting.trace_speed("bare", ranks, trace)
        ratios.append(setting.farscale("factors", trace, "-o", setting.folder / "f.csv").cpu_seconds / bare.cpu_seconds)
        events = int(bare.output.split()[0])
    setting.remove("large")
    yield Row(f"factors of {events / 1e6:.0f} million events on {ranks} locations, CPU time against the OTF2 library alone", "≤",
              1.8, "", "`farscale factors T.otf2`, `trace_speed bare 64 T.otf2`", statistics.median(ratios))


def many_ranks(setting):
    for ranks, calls in ((1024, 1_000_000), (16384, 1_600_000)):
        trace = setting.write("calls", "many", setting.size(ranks), setting.size(calls))
        ratios = []
        for _ in range(setting.repetitions(5)):
            _, one = setting.read(1, trace)
            events, two = setting.read(2, trace)
            ratios.append(one / two)
        yield Row(f"reading {events // setting.size(ranks)} events a rank on {ranks:,} ranks, two threads against one", "≥", 1.6,
                  "", "`trace_speed read 1 T.otf2`, `trace_speed read 2 T.otf2`", statistics.median(ratios))
        if ranks == 16384:
            seconds = seconds_of(setting, 5, "factors", trace, "-o", setting.folder / "f.csv")
            yield Row("factors of the same trace", "≤", 1.0, "s", "`farscale factors T.otf2`", seconds)
        setting.remove("many")


def imbalance(setting):
    trace = setting.write("calls", "losses", 256, setting.size(13_300_000))
    ratios, sizes = [], []
    for _ in range(setting.repetitions(3)):
        events, reading = setting.read(setting.cores, trace)
        cost = setting.farscale("imbalance", trace, "-o", setting.folder / "losses.json")
        ratios.append(cost.seconds / reading)
        sizes.append(cost.bytes / events)
    setting.remove("losses")
    work = f"losses of {events / 1e6:.0f} million events on 256 ranks"
    how = "`farscale imbalance T.otf2 -o L.json`"
    yield Row(f"{work}, against reading", "≤", 2.5, "", f"{how}, `trace_speed read {setting.cores} T.otf2`",
              statistics.median(ratios))
    yield Row(f"{work}, memory at most", "≤", 20, "bytes an event", how, statistics.median(sizes))


def epoch(setting):
    folder = setting.shared / "traces/others/epoch"
    row = Row("factors of EPOCH on 1 to 16 processes", "≤", 0.07, "s", "`farscale factors T.prv.gz ...`")
    if folder.exists():
        traces = [folder / f"{n}/epoch_{n}proc.prv.gz" for n in (1, 2, 4, 8, 16)]
        row.reached = seconds_of(setting, 9, "factors", *traces, "-o", setting.folder / "f.csv")
    else:
        row.why_not = "the traces are not at hand"
    yield row


def paraver(setting):
    for ranks, size, goal in ((1024, 102, 0.26), (4096, 209, 0.5)):
        trace = setting.write("paraver", "paraver", ranks, setting.size(size * 1_000_000))
        seconds = median(setting.repetitions(5), lambda: setting.read(setting.cores, trace)[1])
        setting.remove("paraver")
        yield Row(f"reading {size} MB of Paraver text on {ranks:,} ranks", "≤", goal, "s",
                  f"`trace_speed read {setting.cores} T.prv`", seconds)


def paraver_memory(setting):
    trace = setting.write("paraver", "paraver", 64, setting.size(1_000_000_000))
    size = pathlib.Path(trace).stat().st_size
    used = float(setting.trace_speed("read", 1, trace).output.split()[2]) * 2 ** 20
    setting.remove("paraver")
    yield Row("memory of reading 1 GB of Paraver text on 64 ranks, against the text", "≤", 0.5, "",
              "`trace_speed read 1 T.prv`", used / size)


# --- Rooms ----------------------------------------------------------------------------------------------------------

class Medians:
    """What the program `benchmarks` measured whose names match a pattern."""

    def __init__(self, setting, pattern):
        self.how = f"`benchmarks --benchmark_filter='{pattern}'`"
        out = setting.folder / "benchmarks.json"
        trial = ["--benchmark_repetitions=2", "--benchmark_min_time=0.01"] if setting.is_trial else []
        cost_of([setting.benchmarks / "benchmarks", f"--benchmark_filter={pattern}", f"--benchmark_out={out}",
                 "--benchmark_out_format=json", *trial])
        with open(out, encoding="utf-8") as file:
            self.found = {row["run_name"].removesuffix("/real_time"): row for row in json.load(file)["benchmarks"]
                          if row.get("aggregate_name") == "median"}

    def seconds(self, name):
        return self.found[name]["real_time"] / 1000

    def rate(self, name):
        return self.found[name]["items_per_second"]

    def row(self, work, sense, limit, unit, reached):
        return Row(work, sense, limit, unit, self.how, reached)


def reading(setting):
    of = Medians(setting, "^(EmptyCallbacks|Read|Factors|Losses)/")
    one = of.seconds("Read/1")
    yield of.row("event rate of reading 64 ranks, against the OTF2 library alone, one core", "≥", 0.4, "",
                 of.seconds("EmptyCallbacks") / one)
    yield of.row("the same on two cores against one", "≥", 1.8, "", one / of.seconds("Read/2"))
    yield of.row("factors of one phase, its 9000 iterations and their spread, against reading, one core", "≤", 1.0, "",
                 of.seconds("Factors") / one)
    yield of.row("wait states, delay costs, critical path and slack of one phase, against reading, one core", "≤", 3.0, "",
                 of.seconds("Losses") / one)
    of = Medians(setting, "^LossesOfManyRanks/4096")
    yield of.row("wait states, delay costs, critical path and slack of 2.5 million calls on 4096 ranks", "≤", 10, "s",
                 of.seconds("LossesOfManyRanks/4096"))
    of = Medians(setting, "^ReadParaver/")
    yield of.row("reading 1 GB of Paraver text on 64 ranks, one core", "≥", 150, "MB/s", of.rate("ReadParaver/1") / 1e6)
    yield of.row("the same on two cores against one", "≥", 1.7, "", of.seconds("ReadParaver/1") / of.seconds("ReadParaver/2"))


def replay(setting):
    of = Medians(setting, "^Replay")
    million = 1e6
    for ranks in (1024, 4096):
        yield of.row(f"ideal replay at {ranks:,} ranks, one core", "≥", 25, "million calls/s",
                     of.rate(f"Replay/{ranks}") / million)
    yield of.row("cost of a call at 4,096 ranks against 1,024", "≤", 1.34, "", of.rate("Replay/1024") / of.rate("Replay/4096"))
    timed = "ReplayTimed/ranks:{}/contention:{}"
    yield of.row("replay on a timed network at 1,024 ranks, against the ideal one", "≥", 0.5, "",
                 of.rate(timed.format(1024, 0)) / of.rate("Replay/1024"))
    yield of.row("the same with contention", "≥", 0.2, "", of.rate(timed.format(1024, 1)) / of.rate("Replay/1024"))
    for work, few, many in (("ideal", "Replay/64", "Replay/16384"), ("timed", timed.format(64, 0), timed.format(16384, 0)),
                            ("with contention", timed.format(64, 1), timed.format(16384, 1))):
        yield of.row(f"cost of a call at 16,384 ranks against 64, {work}", "≤", 2, "", of.rate(few) / of.rate(many))


def balancing(setting):
    of = Medians(setting, "^Balance")
    yield of.row("dynamic load balancing of 64 tasks of 500 iterations on 16 processors", "≤", 1, "s", of.seconds("BalanceOne"))
    yield of.row("a sweep of 101 such configurations on two cores against one", "≥", 1.7, "",
                 of.seconds("BalanceSweep/1") / of.seconds("BalanceSweep/2"))


def study(setting):
    of = Medians(setting, "^(ReadStudyTraces|StudyOfSix)/")
    yield of.row("study of six traces with its report, against reading them", "≤", 1.5, "",
                 of.seconds("StudyOfSix") / of.seconds("ReadStudyTraces"))


# --- Building -------------------------------------------------------------------------------------------------------

def build(setting):
    """CPU time of what scripts/demo builds, without a compiler cache."""
    folder = setting.folder / "build"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CMAKE_")}
    environment["CCACHE_DISABLE"] = "1"
    target = "farscale_base" if setting.is_trial else "farscale"
    cost = cost_of(["cmake", "--preset", "release", "-B", folder], environment)
    cost_of_build = cost_of(["cmake", "--build", folder, "--target", target], environment)
    setting.remove("build")
    yield Row("build of what `scripts/demo` runs, CPU time", "≤", 7.5, "minutes",
              "`cmake --preset release`, `cmake --build --preset release --target farscale`",
              (cost.cpu_seconds + cost_of_build.cpu_seconds) / 60)


PARTS = {"sample": sample, "study": study, "predict": predict, "csv": csv, "reading": reading, "factors": factors,
         "many_ranks": many_ranks, "imbalance": imbalance, "epoch": epoch, "paraver": paraver,
         "paraver_memory": paraver_memory, "replay": replay, "balancing": balancing, "build": build}
