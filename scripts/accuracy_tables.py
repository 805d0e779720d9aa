"""The tables that scripts/accuracy writes into docs/accuracy.md.

A point is a hidden value of a factor: a dictionary with `group`, `series`, `phase`, `factor`, `train_max`, `cores`,
`repeat`, `ratio`, `measured`, `counts` (how many core counts were trained on), `trained` (cores and value of these
runs), and for each of WAYS its prediction: `value`, and `intervals` by level.
"""

import math
import re

SORTING = "sorting"
SORTING_TRAIN_MAX = [16, 32, 64]
ALL_TRACES = "all traces"

PARALLEL = "parallelEfficiency"
BALANCE = "loadBalance"
COMMUNICATION = "communicationEfficiency"
SERIALIZATION = "serializationEfficiency"
TRANSFER = "transferEfficiency"
FACTORS = {PARALLEL: "Parallel efficiency", BALANCE: "Load balance", COMMUNICATION: "Communication efficiency",
           SERIALIZATION: "Serialization", TRANSFER: "Transfer"}

RATIOS = [2, 4, 8, 16]
LEVELS = {80: 0.2, 95: 0.05}  # coverage in percent, and what it leaves out
WAYS = ("farscale", "amdahl", "bootstrap")

# What is aimed at for parallel efficiency: shares.
MEDIAN_AIMS = {2: 0.01, 4: 0.03, 8: 0.05, 16: 0.08}
PERCENTILE_AIMS = {2: 0.08, 4: 0.12, 8: 0.25, 16: 0.40}
COVERAGE_AIMS = {80: (0.75, 0.90), 95: (0.90, 0.98)}
COVERAGE_AIMED_AT = [2, 4, 8]


def quantile(values, share):
    """Between two points on the straight line, as `farscale backtest` does."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def score(low, high, value, left_out):
    """[Gneiting07, eq. 43]"""
    return high - low + 2 / left_out * (max(low - value, 0) + max(value - high, 0))


def nearest_power(ratio):
    return 2 ** math.floor(math.log2(ratio) + 0.5)


def percent(share):
    return f"{100 * share:.1f} %"


def number(value):
    return f"{value:.2f}" if value >= 0.0995 else f"{value:.3f}"


def efficiency(value):
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1g}"


def bold(text, is_bold):
    return f"**{text}**" if is_bold else text


def errors(points, way):
    return [abs(point[way]["value"] - point["measured"]) / point["measured"] for point in points if point["measured"]]


def coverage(points, way, level):
    inside = [low <= point["measured"] <= high for point in points for low, high in [point[way]["intervals"][level]]]
    return sum(inside) / len(inside)


def mean_score(points, way, level):
    scores = [score(*point[way]["intervals"][level], point["measured"], LEVELS[level]) for point in points]
    return sum(scores) / len(scores)


def markdown(head, rows):
    numbers = ["---" if isinstance(cell, str) and not re.match(r"\**\d", cell) else "---:" for cell in rows[0]]
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(numbers) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def by_ratio(groups):
    """(label, ratio, points) where there are any."""
    for label, points in groups:
        for ratio in RATIOS:
            chosen = [point for point in points if nearest_power(point["ratio"]) == ratio]
            if chosen:
                yield label, ratio, chosen


def error_cells(points, share):
    """Of all ways; bold where farscale is worse than plain Amdahl."""
    ours, amdahl_alone, plain = (quantile(errors(points, way), share) for way in WAYS)
    return [bold(percent(ours), ours > plain), percent(amdahl_alone), percent(plain)]


def targets_table(groups):
    """What is aimed at, beside what was measured, which is bold where it misses that."""

    def coverage_cell(points, level, ratio):
        share, (low, high) = coverage(points, "farscale", level), COVERAGE_AIMS[level]
        if ratio not in COVERAGE_AIMED_AT:
            return percent(share)
        return f"{bold(percent(share), not low <= share <= high)} ({100 * low:.0f} – {100 * high:.0f})"

    rows = []
    for name, ratio, points in by_ratio(groups):
        cells = []
        for share, aims in ((0.5, MEDIAN_AIMS), (0.9, PERCENTILE_AIMS)):
            error = quantile(errors(points, "farscale"), share)
            cells.append(f"{bold(percent(error), error > aims[ratio])} (≤ {100 * aims[ratio]:.0f})")
        cells += [coverage_cell(points, level, ratio) for level in LEVELS]
        for level in LEVELS:
            ours, plain = (mean_score(points, way, level) for way in ("farscale", "bootstrap"))
            cells.append(f"{bold(number(ours), ours >= plain)} (< {number(plain)})")
        rows.append([name, f"{ratio}×", len(points), *cells])
    return markdown(["group", "ratio", "points", "median error", "90th percentile", "in 80 %", "in 95 %",
                     "score 80 %", "score 95 %"], rows)


def errors_table(groups):
    rows = [[name, f"{ratio}×", len(points), *error_cells(points, 0.5), *error_cells(points, 0.9)]
            for name, ratio, points in by_ratio(groups)]
    return markdown(["group", "ratio", "points", "median error", "Amdahl", "plain Amdahl", "90th percentile", "Amdahl",
                     "plain Amdahl"], rows)


def interval_table(groups, measure, text, heads):
    """Of all ways, for every level: `measure` of points, way and level, as `text`."""
    rows = [[name, f"{ratio}×", len(points)] + [text(measure(points, way, level)) for level in LEVELS for way in WAYS]
            for name, ratio, points in by_ratio(groups)]
    return markdown(["group", "ratio", "points", heads[0], "Amdahl", "plain Amdahl", heads[1], "Amdahl",
                     "plain Amdahl"], rows)


def short_table(groups, label):
    rows = [[name, f"{ratio}×", len(points)] +
            [cell for share in (0.5, 0.9) for cell in error_cells(points, share)[::2]] +
            [percent(coverage(points, "farscale", level)) for level in LEVELS] +
            [number(mean_score(points, way, 80)) for way in ("farscale", "bootstrap")]
            for name, ratio, points in by_ratio(groups)]
    return markdown([label, "ratio", "points", "median error", "plain Amdahl", "90th percentile",
                     "plain Amdahl", "in 80 %", "in 95 %", "score 80 %", "plain Amdahl"], rows)


def relative_error(point):
    return (point["farscale"]["value"] - point["measured"]) / point["measured"]


def to_blame(point, points):
    """The leaf of the same hidden run whose prediction is off by the largest factor."""
    leaves = [leaf for leaf in points if leaf["factor"] in (BALANCE, SERIALIZATION, TRANSFER, COMMUNICATION) and
              all(leaf[part] == point[part] for part in ("series", "phase", "train_max", "cores", "repeat"))]
    if any(leaf["factor"] == SERIALIZATION for leaf in leaves):
        leaves = [leaf for leaf in leaves if leaf["factor"] != COMMUNICATION]
    least = 1e-9
    return max(leaves, key=lambda leaf: abs(math.log(max(leaf["farscale"]["value"], least) /
                                                     max(leaf["measured"], least))))


def worst_table(points, wanted):
    """The worst predictions within ratio 4: of a series and phase only its worst."""
    near = [point for point in points if point["factor"] == PARALLEL and nearest_power(point["ratio"]) <= 4]
    rows, seen = [], set()
    for point in sorted(near, key=lambda point: -abs(relative_error(point))):
        name = (point["series"], point["phase"])
        if name in seen:
            continue
        seen.add(name)
        leaf = to_blame(point, points)
        low, high = point["farscale"]["intervals"][95]
        values = ", ".join(efficiency(float(value)) for _, value in leaf["trained"] if value)
        rows.append([" ".join(part for part in name if part), f"{point['train_max']:g} → {point['cores']:g}",
                     efficiency(point["measured"]), efficiency(point["farscale"]["value"]), f"{low:.2f} – {high:.2f}",
                     f"{100 * relative_error(point):+.0f} %",
                     f"{FACTORS[leaf['factor']]}: {values}; then {efficiency(leaf['measured'])}, "
                     f"predicted {efficiency(leaf['farscale']['value'])}"])
        if len(rows) == wanted:
            break
    return markdown(["series", "cores", "measured", "predicted", "95 % interval", "error",
                     "factor to blame: as trained on"], rows)


def tables(points):
    """The tables of the page by the name of their place."""
    sorting = [p for p in points if p["group"] == SORTING and p["train_max"] in SORTING_TRAIN_MAX]
    traces = [p for p in points if p["group"] != SORTING and p["counts"] >= 3]
    groups = [(SORTING, sorting), (ALL_TRACES, traces)]
    groups += [(name, [p for p in traces if p["group"] == name]) for name in dict.fromkeys(p["group"] for p in traces)]

    def of(factor, chosen):
        return [(name, [p for p in members if p["factor"] == factor]) for name, members in chosen]

    def few(counts):
        chosen = [p for p in points if p["counts"] == counts and p["factor"] == PARALLEL]
        return [(f"{label}, {counts} counts", [p for p in chosen if (p["group"] == SORTING) == is_sorting])
                for label, is_sorting in ((SORTING, True), (ALL_TRACES, False))]

    by_factor = [(f"{name}: {FACTORS[factor]}", members) for factor in list(FACTORS)[1:]
                 for name, members in of(factor, groups[:2])]
    main = of(PARALLEL, groups)
    return {
        "targets": targets_table(main[:2]),
        "errors": errors_table(main),
        "coverage": interval_table(main, coverage, percent, ("in 80 %", "in 95 %")),
        "scores": interval_table(main, mean_score, number, ("score 80 %", "score 95 %")),
        "factors": short_table(by_factor, "group and factor"),
        "few": short_table([*few(3), *few(2)], "group"),
        "worst-sorting": worst_table(sorting, 10),
        "worst-traces": worst_table(traces, 8),
    }
