"""How far predictions move when their inputs move by less than runs differ: what scripts/accuracy calls stability.

Every leaf of a table of traces is multiplied by 1 + 0.005 z with z standard normal, at most to 1, and parallel
efficiency at eight times the largest run is predicted anew from all runs. A move is the change as a share of the
prediction from the unchanged table.
"""

import csv
import random
import subprocess
import sys

from accuracy_data import application_of, phase_of, read_series, write_rows
from accuracy_methods import Split, leaves_of, predict_split
from accuracy_statistics import PARALLEL

NOISE = 0.005
DRAWS = 5
TIMES_LARGEST = 8
SEED = "accuracy"


def with_noise(rows, leaves, generator):
    """The rows with their leaves moved and without what is computed from these."""
    moved = []
    for row in rows:
        kept = {column: row[column] for column in ("series", "phase", "cores", "repeat") if column in row}
        values = {leaf: float(row[leaf]) for leaf in leaves if row.get(leaf)}
        moved.append(kept | {leaf: repr(min(1.0, value * (1 + NOISE * generator.gauss(0, 1))))
                             for leaf, value in values.items()})
    return moved


def variants(rows, seed):
    """The rows without noise, then with it, several times."""
    leaves = leaves_of(rows)
    still = [{column: row[column] for column in ("series", "phase", "cores", "repeat", *leaves) if column in row}
             for row in rows]
    return [still] + [with_noise(rows, leaves, random.Random(f"{seed}/{draw}")) for draw in range(DRAWS)]


def predict_variants(program, table, found, folder):
    """farscale's predictions by series, which is named after its variant, and phase."""
    rows = [row | {"series": f"{row['series']}#{i}"} for some in found.values() for i, variant in enumerate(some)
            for row in variant]
    path, output = folder / f"{table.name}-moved.csv", folder / f"{table.name}-predicted.csv"
    write_rows(path, rows)
    target = TIMES_LARGEST * max(int(row["cores"]) for row in rows)
    result = subprocess.run([program, "predict", path, "-q", "-o", output, "--scaling", table.scaling, "--targets",
                             str(target)], capture_output=True, text=True)
    if result.returncode:
        print(f"{table.name}: stability: skipped: {result.stderr.strip()}", file=sys.stderr)
        return {}, target
    with open(output, newline="") as file:
        return {(row["series"], phase_of(row)): float(row["value"]) for row in csv.DictReader(file)
                if row["factor"] == PARALLEL and float(row["cores"]) == target}, target


def moves(program, table, folder):
    """One for each phase, method and draw of the noise."""
    found = {key: variants(rows, f"{SEED}/{table.name}/{key[1]}") for key, rows in read_series(table.path).items()}
    ours, target = predict_variants(program, table, found, folder)
    result = []
    for (series, phase), some in found.items():
        values = {"farscale": [ours.get((f"{series}#{i}", phase)) for i in range(len(some))]}
        for rows in some:
            predicted = predict_split(Split(table.kind, rows, [target], None)).get(PARALLEL, {target: {}})[target]
            for method, one in predicted.items():
                values.setdefault(method, []).append(one["value"])
        for method, (still, *others) in values.items():
            if still and None not in others:
                result += [{"table": table.name, "application": application_of(table, series), "phase": phase,
                            "method": method, "value": still, "move": abs(other - still) / still} for other in others]
    return result
