"""Hybrid programs with known laws, to measure how well `farscale predict --split` divides cores into processes and
threads. Nothing in farscale is fitted to them."""

import json
import math
import random
import subprocess
from concurrent.futures import ThreadPoolExecutor

PROCESSES, THREADS = (1, 2, 4, 8), (1, 2, 4)
TARGETS = (128, 256, 512)  # 4, 8 and 16 times the largest run
PROGRAMS = 10  # of a kind
SEED = 27
COLUMNS = ("cores", "ranks", "threads", "runtime", "mpiParallelEfficiency", "ompParallelEfficiency",
           "deviceOffloadEfficiency", "computationScalability")


def mpi_law(draw):
    """MPI parallel efficiency over processes: serialization that grows linearly, with the logarithm, or in between."""
    weight = draw.uniform(0.002, 0.02)
    growth = draw.choice((lambda n: (n - 1) / 8, lambda n: math.log2(n), lambda n: math.sqrt(n) - 1))
    return lambda n: 1 / (1 + weight * growth(n))


def one(*_):
    return 1.0


def serial_part(draw):
    serial, mpi = draw.uniform(0.005, 0.1), mpi_law(draw)
    return {"mpi": lambda n, m: mpi(n), "openmp": lambda n, m: 1 / (1 + serial * (m - 1)), "computation": one}


def thread_imbalance(draw):
    weight, power, mpi = draw.uniform(0.02, 0.1), draw.uniform(0.5, 1.2), mpi_law(draw)
    return {"mpi": lambda n, m: mpi(n), "openmp": lambda n, m: 1 / (1 + weight * math.log2(m) ** power),
            "computation": one}


def bandwidth(draw):
    """The memory of a process feeds a number of threads; more of them slow each other down."""
    enough, sharpness, mpi = draw.uniform(2, 6), draw.uniform(2, 5), mpi_law(draw)
    serial = draw.uniform(0, 0.03)

    def speed(m):
        return (1 + (m / enough) ** sharpness) ** (-1 / sharpness)
    return {"mpi": lambda n, m: mpi(n), "openmp": lambda n, m: 1 / (1 + serial * (m - 1)),
            "computation": lambda n, m: speed(m) / speed(1)}


def repeated_work(draw):
    """Work that every thread of every process repeats."""
    share, serial, mpi = draw.uniform(0.0002, 0.003), draw.uniform(0.005, 0.05), mpi_law(draw)
    return {"mpi": lambda n, m: mpi(n), "openmp": lambda n, m: 1 / (1 + serial * (m - 1)),
            "computation": lambda n, m: 1 / (1 + share * (n * m - 1))}


def fixed_messages(draw):
    """The time in MPI depends on processes alone while threads shorten the rest, so that MPI's efficiency is not a
    product of functions of both."""
    weight, serial = draw.uniform(0.0005, 0.003), draw.uniform(0.005, 0.05)
    return {"mpi": lambda n, m: 1 / (1 + weight * m * math.log2(n) * math.sqrt(n)),
            "openmp": lambda n, m: 1 / (1 + serial * (m - 1)), "computation": one}


def messages_and_imbalance(draw):
    """The same beside an imbalance of processes, which threads shorten as they do the rest."""
    weight, share, serial = draw.uniform(0.0005, 0.002), draw.uniform(0.005, 0.03), draw.uniform(0.005, 0.05)
    return {"mpi": lambda n, m: 1 / (1 + weight * m * math.log2(n) * math.sqrt(n) + share * math.log2(n)),
            "openmp": lambda n, m: 1 / (1 + serial * (m - 1)), "computation": one}


KINDS = {"serial part of a process": serial_part, "imbalance of threads": thread_imbalance,
         "memory bandwidth of a process": bandwidth, "repeated work": repeated_work,
         "messages that threads do not shorten": fixed_messages,
         "messages and imbalance": messages_and_imbalance}


def true_values(law, n, m):
    """Parallel efficiency and seconds; one core takes about a second."""
    efficiency = law["mpi"](n, m) * law["openmp"](n, m)
    return efficiency, 1 / (n * m * efficiency * law["computation"](n, m))


def measured_rows(law, draw):
    """The runs, each value with noise of its own between 0.5 and 2 % for a program."""
    noise = draw.uniform(0.005, 0.02)
    rows, reference = [], None
    for n in PROCESSES:
        for m in THREADS:
            mpi, openmp = (min(1.0, law[part](n, m) * math.exp(draw.gauss(0, noise))) for part in ("mpi", "openmp"))
            useful = math.exp(draw.gauss(0, noise)) / law["computation"](n, m)
            reference = reference or useful
            rows.append((n * m, n, m, useful / (n * m * mpi * openmp), mpi, openmp, 1, reference / useful))
    return rows


def points_of(program, work, kind, number):
    draw = random.Random(f"{SEED} {kind} {number}")
    law = KINDS[kind](draw)
    table = work / f"{kind.replace(' ', '-')}-{number}.csv"
    rows = [COLUMNS, *measured_rows(law, draw)]
    table.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    points = []
    for cores in TARGETS:
        command = [program, "predict", table, "--scaling", "strong", "--split", str(cores), "-q", "-o", "-"]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        phase = json.loads(result.stdout)["phases"][0]
        times = [true_values(law, split["processes"], split["threads"])[1] for split in phase["splits"]]
        chosen = times[phase["best"]] / min(times)
        is_named = phase["splits"][times.index(min(times))]["mayBeBest"]
        values = [(split, *true_values(law, split["processes"], split["threads"])) for split in phase["splits"]]
        points.append({"kind": kind, "program": number, "cores": cores, "regret": chosen - 1, "named": is_named,
                       "share": sum(split["mayBeBest"] for split in phase["splits"]) / len(phase["splits"]),
                       "efficiency": [scored(split["parallelEfficiency"], true) for split, true, _ in values],
                       "seconds": [scored(split["secondsPerIteration"], true) for split, _, true in values]})
    return points


def scored(predicted, true):
    """The error of a value, and whether its interval of 80 % holds the true one."""
    low, high = predicted["interval80"]
    return abs(predicted["value"] / true - 1), low <= true <= high


def quantile(values, share):
    values = sorted(values)
    place = share * (len(values) - 1)
    below = int(place)
    return values[below] + (place - below) * (values[min(below + 1, len(values) - 1)] - values[below])


def table_row(name, points):
    cells = [name, str(sum(len(point["seconds"]) for point in points))]
    for value in ("efficiency", "seconds"):
        scores = [score for point in points for score in point[value]]
        errors = [error for error, _ in scores]
        cells.append(f"{100 * quantile(errors, 0.5):.1f} %, {100 * quantile(errors, 0.9):.1f} %")
        cells.append(f"{100 * sum(is_in for _, is_in in scores) / len(scores):.0f} %")
    regrets = [point["regret"] for point in points]
    cells.append(f"{100 * quantile(regrets, 0.5):.1f} %, {100 * quantile(regrets, 0.9):.1f} %")
    cells.append(f"{100 * sum(point['named'] for point in points) / len(points):.0f} %")
    cells.append(f"{100 * sum(point['share'] for point in points) / len(points):.0f} %")
    return "| " + " | ".join(cells) + " |"


def splits_table(program, work):
    jobs = [(program, work, kind, number) for kind in KINDS for number in range(PROGRAMS)]
    with ThreadPoolExecutor(2) as pool:
        points = [point for found in pool.map(lambda job: points_of(*job), jobs) for point in found]
    lines = ["| programs | points | efficiency: error | in 80 % | time: error | in 80 % | time lost by the split "
             "| best named | splits named |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    most = max(PROCESSES) * max(THREADS)
    for cores in TARGETS:
        lines.append(table_row(f"all, {cores // most}×", [point for point in points if point["cores"] == cores]))
    for kind in KINDS:
        lines.append(table_row(kind, [point for point in points if point["kind"] == kind]))
    return "\n".join(lines)
