"""The data that scripts/accuracy judges predictions on: tables of factors by core count, of three kinds.

Tables of traces are measured by the program and kept in a folder, so that a second run does not read the traces again.
"""

import csv
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

SORTING = "sorting"
TRACES = "traces"
TIMES = "run times"
KINDS = (SORTING, TRACES, TIMES)

# Sets of traces: the application, how its runs scale, and regions of it; the whole run is judged, too.
TRACE_SETS = {
    "amg-weak": ("AMG", "weak", ["pcg_iter"]),
    "comd-weak": ("CoMD", "weak", ["timestep", "redistribute", "atomHalo", "force"]),
    "comd-weak-noise": ("CoMD", "weak", ["timestep", "redistribute", "atomHalo", "force"]),
    "epoch": ("EPOCH", "strong", []),
    "lammps-lj-strong-real": ("LAMMPS", "strong", []),
    "lammps-lj-weak": ("LAMMPS", "weak", ["step", "forward_comm", "pair", "reverse_comm", "reneighbor"]),
    "lammps-lj-weak-cpu-papinames": ("LAMMPS", "weak", ["step"]),
    "lulesh-weak": ("LULESH", "weak", ["cycle", "TimeIncrement", "LagrangeNodal", "LagrangeElements"]),
    "lulesh-weak-cpu": ("LULESH", "weak", ["cycle"]),
    "npb-cg-strong": ("CG", "strong", ["outer_iter", "cg_iter"]),
    "npb-lu-strong": ("LU", "strong", ["ssor_iter", "lower_sweep", "upper_sweep"]),
    "npb-mg-strong": ("MG", "strong", ["mg_iter"]),
    "sweep3d-weak": ("Sweep3D", "weak", ["inner_iter"]),
}
OF_OTHERS = {"epoch"}  # in the folder of third-party data
TIMES_OF = {"gromacs": "GROMACS", "castep": "CASTEP"}


@dataclass
class Table:
    """Rows of factors, or of run times, of some series."""

    name: str
    kind: str
    path: pathlib.Path
    scaling: str


def application_of(table, series):
    """The program that a series was measured of: its data are alike, however many series there are."""
    if table.kind == TRACES:
        return TRACE_SETS[table.name][0]
    if table.kind == TIMES:
        return TIMES_OF[series.split("/")[0]]
    return "/".join(series.split("/")[:2])  # team/algorithm


def phase_of(row):
    """The phase with its group of ranks in one text, as tables without a column for groups have it."""
    phase, group = row.get("phase", ""), row.get("group", "")
    return f"{phase} / {group}" if group else phase


def read_rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def read_series(path):
    """Rows of a table by series and phase."""
    found = {}
    for row in read_rows(path):
        found.setdefault((row.get("series", ""), phase_of(row)), []).append(row)
    return found


def write_rows(path, rows):
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def traces_of(name, data):
    folder = data / "traces" / ("others" if name in OF_OTHERS else "") / name
    return sorted((path for ending in ("traces.otf2", "*.prv.gz") for path in folder.glob(f"*/{ending}")),
                  key=lambda path: int(path.parent.name))


def measure(program, data, name, folder):
    """The factors of a set of traces as the program writes them: the whole run, and every region that can be
    measured."""
    _, scaling, regions = TRACE_SETS[name]
    rows = []
    for region in [None, *regions]:
        output = folder / f"{name}-phase.csv"
        result = subprocess.run([program, "factors", *traces_of(name, data), "-q", "--series", name, "--scaling",
                                 scaling, "--groups", "none", "-o", output] +
                                (["--phase", region] if region else []), capture_output=True, text=True)
        if result.returncode:
            print(f"{name}, {region or 'whole run'}: skipped: {result.stderr.strip()}", file=sys.stderr)
            continue
        rows += read_rows(output)
        output.unlink()
    return rows


def tables(program, data, folder):
    """All tables that there are data of. Those of traces are measured unless `folder` has them."""

    def table_of(name):
        path = folder / f"{name}.csv"
        if not path.exists() and traces_of(name, data):
            rows = measure(program, data, name, folder)
            if rows:
                write_rows(path, rows)
        if not path.exists():
            print(f"{name}: skipped: no traces", file=sys.stderr)
            return []
        return [Table(name, TRACES, path, TRACE_SETS[name][1])]

    with ThreadPoolExecutor(2) as pool:
        traces = [table for found in pool.map(table_of, TRACE_SETS) for table in found]
    of_others = [Table("sorting", SORTING, data / "scaling-tables/sorting.csv", "strong"),
                 Table("runtimes", TIMES, data / "scaling-tables/runtimes.csv", "strong")]
    return [table for table in [*of_others, *traces] if table.path.exists()]
