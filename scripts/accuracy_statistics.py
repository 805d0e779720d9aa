"""Statistics of predictions: errors, bias, and how often and how well intervals hold.

A point is a hidden value: a dictionary with `kind` of data, `table`, `application`, `series`, `phase`, `factor`,
`train_max`, `cores`, `repeat`, `ratio`, `measured`, `counts` (how many core counts were trained on), `trained` (cores
and value of these runs), and `methods`, by name a prediction with `value` and `intervals` by level.
"""

import math
import statistics

PARALLEL = "parallelEfficiency"
GLOBAL = "globalEfficiency"
BALANCE = "loadBalance"
COMMUNICATION = "communicationEfficiency"
SERIALIZATION = "serializationEfficiency"
TRANSFER = "transferEfficiency"
FACTORS = {PARALLEL: "Parallel efficiency", GLOBAL: "Efficiency of run times", BALANCE: "Load balance",
           COMMUNICATION: "Communication efficiency", SERIALIZATION: "Serialization", TRANSFER: "Transfer"}
WHOLE = (PARALLEL, GLOBAL)  # what is judged; the others are parts of it

RATIOS = [2, 4, 8, 16]
LEVELS = {80: 0.2, 95: 0.05}  # coverage in percent, and what it leaves out

MEASURES = {"median": "median error", "percentile": "90th percentile", "bias": "bias", "cover80": "in 80 %",
            "cover95": "in 95 %", "width80": "width 80 %", "width95": "width 95 %", "score80": "score 80 %",
            "score95": "score 95 %"}


def quantile(values, share):
    """Between two points on the straight line, as `farscale backtest` does."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def interval_score(low, high, value, left_out):
    """[Gneiting07, eq. 43]"""
    return high - low + 2 / left_out * (max(low - value, 0) + max(value - high, 0))


def nearest_power(ratio):
    return 2 ** math.floor(math.log2(ratio) + 0.5)


def relative_error(point, method):
    return (point["methods"][method]["value"] - point["measured"]) / point["measured"]


def has_intervals(points, method):
    return all(len(point["methods"][method]["intervals"]) == len(LEVELS) for point in points)


def summary(points, method):
    """Measures of one method over points: errors, bias and widths relative to what was measured, scores in the unit of
    the factor. Of widths the median: an efficiency next to nothing makes their mean as large as one likes."""
    shares = [relative_error(point, method) for point in points]
    result = {"points": len(points), "median": statistics.median(map(abs, shares)),
              "percentile": quantile(map(abs, shares), 0.9), "bias": statistics.median(shares)}
    if not has_intervals(points, method):
        return result
    for level, left_out in LEVELS.items():
        found = [(*point["methods"][method]["intervals"][level], point["measured"]) for point in points]
        result[f"cover{level}"] = statistics.mean(low <= value <= high for low, high, value in found)
        result[f"width{level}"] = statistics.median((high - low) / value for low, high, value in found)
        result[f"score{level}"] = statistics.mean(interval_score(*some, left_out) for some in found)
    return result


def by_application(points):
    applications = {}
    for point in points:
        applications.setdefault(point["application"], []).append(point)
    return applications


def summary_of_applications(points, method):
    """Every application counts the same: the median over applications of each measure, of coverage the mean."""
    each = [summary(some, method) for some in by_application(points).values()]
    result = {"points": len(each)}
    for measure in MEASURES:
        values = [one[measure] for one in each if measure in one]
        if len(values) == len(each):
            result[measure] = statistics.mean(values) if measure.startswith("cover") else statistics.median(values)
    return result


def with_methods(points, methods):
    """Points that all of these methods predict, with a measured value that errors can be relative to."""
    return [point for point in points if point["measured"] > 0 and all(name in point["methods"] for name in methods)]


def at_ratio(points, ratio):
    return [point for point in points if nearest_power(point["ratio"]) == ratio]
