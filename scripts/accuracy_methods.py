"""What the methods beside farscale predict: of leaves of the tree of factors, multiplied, or of run times.

A prediction is a dictionary with `value` and `intervals`, low and high by level, which methods without intervals leave
empty. Every method learns from the same runs as farscale.
"""

import importlib.util
import math
from dataclasses import dataclass

import extrap_models
from accuracy_data import TIMES, read_series
from accuracy_statistics import (BALANCE, COMMUNICATION, GLOBAL, LEVELS, PARALLEL, SERIALIZATION, TRANSFER, quantile)
from plain_amdahl import amdahl, bootstrap_amdahl, fit_amdahl
from simple_models import choose_model, last_value, model_value

SIMPLE, PERSISTENCE, AMDAHL, EXTRAP, EXTRAP_TIME = "simple", "persistence", "amdahl", "extrap", "extrapTime"
LEAST = 1e-9  # an efficiency of 0 has no reciprocal


@dataclass
class Split:
    """The runs of a series and phase up to train_max cores, and the core counts to predict."""

    kind: str
    rows: list
    targets: list
    seed: str | None  # of draws; without one there are no intervals


def has_extrap():
    return importlib.util.find_spec("extrap") is not None


def fit_installed_extrap(points, is_falling):
    """A function of cores from Extra-P itself."""
    from extrap.entities.coordinate import Coordinate
    from extrap.entities.measurement import Measurement
    from extrap.modelers.single_parameter.basic import SingleParameterModeler
    modeler = SingleParameterModeler()
    if is_falling:
        modeler.allow_negative_exponents = True
    measurements = [Measurement(Coordinate(cores), None, None, value) for cores, value in extrap_models.means(points)]
    return modeler.model([measurements])[0].hypothesis.function.evaluate


def fit_extrap(points, is_falling=False):
    """A function of cores: from Extra-P where it is installed, else from scripts/extrap_models.py."""
    if has_extrap():
        return fit_installed_extrap(points, is_falling)
    model = extrap_models.fit_extrap(points, is_falling)
    return lambda cores: extrap_models.extrap_value(model, cores)


def points_of(rows, column):
    return [(float(row["cores"]), float(row[column])) for row in rows if row.get(column)]


def leaves_of(rows):
    """The leaves of parallel efficiency that the rows have."""
    has_parts = any(row.get(SERIALIZATION) for row in rows)
    return [BALANCE, SERIALIZATION, TRANSFER] if has_parts else [BALANCE, COMMUNICATION]


def predict_leaf(points, targets, seed, limit=1.0):
    """By method and target: the value and, of the method with intervals, its draws. Without a seed nothing is drawn."""
    chosen, last = choose_model(points, limit), last_value(points)
    cores, efficiencies = [p[0] for p in points], [p[1] for p in points]
    if seed is None:
        fitted = fit_amdahl(cores, efficiencies, limit)
        law = {target: (amdahl(target, *fitted), None) for target in targets}
    else:
        values, draws = bootstrap_amdahl(cores, efficiencies, targets, seed, limit)
        law = {target: (values[target], draws[target]) for target in targets}
    return {SIMPLE: {target: (model_value(chosen, target), None) for target in targets},
            PERSISTENCE: {target: (last, None) for target in targets}, AMDAHL: law}


def predict_reciprocal(points, targets):
    """Extra-P models what grows with the loss. Where its model leaves what a factor can be, the limit is taken."""
    model = fit_extrap([(cores, 1 / max(value, LEAST)) for cores, value in points])
    return {target: (1 / max(1.0, model(target)), None) for target in targets}


def multiply(parts):
    """(value, draws) of a product; draws are multiplied draw by draw."""
    draws = [part[1] for part in parts]
    return math.prod(part[0] for part in parts), None if None in draws else [math.prod(some) for some in zip(*draws)]


def prediction(value, draws):
    intervals = {} if draws is None else {level: (quantile(draws, left_out / 2), quantile(draws, 1 - left_out / 2))
                                          for level, left_out in LEVELS.items()}
    return {"value": value, "intervals": intervals}


def predict_factors(split):
    """Predictions by factor, target and method."""
    leaves = leaves_of(split.rows)
    by_leaf = {}
    for leaf in leaves:
        points = points_of(split.rows, leaf)
        if len({cores for cores, _ in points}) < 2:
            return {}
        by_leaf[leaf] = predict_leaf(points, split.targets, split.seed and f"{split.seed}/{leaf}")
        by_leaf[leaf][EXTRAP] = predict_reciprocal(points, split.targets)
    parts = {leaf: [leaf] for leaf in leaves} | {COMMUNICATION: leaves[1:], PARALLEL: leaves}
    return {factor: {target: {method: prediction(*multiply([by_leaf[leaf][method][target] for leaf in some]))
                              for method in by_leaf[leaves[0]]} for target in split.targets}
            for factor, some in parts.items()}


def reference_of(series):
    """Core time of the smallest run, which efficiency is relative to."""
    least = min(float(row["cores"]) for row in series)
    times = [float(row["runtime"]) for row in series if float(row["cores"]) == least]
    return least * sum(times) / len(times)


def efficiencies_of(rows):
    """Cores and the efficiency of run times."""
    reference = reference_of(rows)
    return [(cores, reference / (cores * time)) for cores, time in points_of(rows, "runtime")]


def measured_of(kind, rows, factor):
    """Cores and measured value of a factor; of parents that the table leaves out the product of the leaves."""
    if kind == TIMES:
        return efficiencies_of(rows)
    parts = {PARALLEL: leaves_of(rows), COMMUNICATION: leaves_of(rows)[1:]}.get(factor, [factor])
    parts = [factor] if any(row.get(factor) for row in rows) else parts
    return [(float(row["cores"]), math.prod(float(row[part]) for part in parts)) for row in rows
            if all(row.get(part) for part in parts)]


def predict_times(split):
    """Predictions of the efficiency of run times by target and method; those that Extra-P has none for, as its time is
    not positive, are left out."""
    reference, times = reference_of(split.rows), points_of(split.rows, "runtime")
    by_method = predict_leaf(efficiencies_of(split.rows), split.targets, split.seed, math.inf)
    core_time = fit_extrap([(cores, cores * time) for cores, time in times])
    time = fit_extrap(times, is_falling=True)
    for method, function in ((EXTRAP, core_time), (EXTRAP_TIME, lambda cores: cores * time(cores))):
        by_method[method] = {target: (reference / function(target), None) for target in split.targets
                             if function(target) > 0}
    return {GLOBAL: {target: {method: prediction(*some[target]) for method, some in by_method.items() if target in some}
                     for target in split.targets}}


def predict_split(split):
    return predict_times(split) if split.kind == TIMES else predict_factors(split)


def splits_of(table, points):
    """The splits that farscale predicted of a table, by (series, phase, train_max)."""
    targets = {}
    for point in points:
        targets.setdefault((point["series"], point["phase"], point["train_max"]), set()).add(point["cores"])
    series = read_series(table.path)
    return {key: Split(table.kind, [row for row in series[key[:2]] if float(row["cores"]) <= key[2]], sorted(cores),
                       f"{table.name}/{key[0]}/{key[1]}/{key[2]:g}") for key, cores in sorted(targets.items())}
