"""The tables that scripts/accuracy writes into docs/accuracy.md. Points are as in scripts/accuracy_statistics.py."""

import math
import re
import statistics

from accuracy_data import KINDS, SORTING, TIMES, TRACES
from accuracy_methods import AMDAHL, EXTRAP, EXTRAP_TIME, PERSISTENCE, SIMPLE, has_extrap
from accuracy_statistics import (BALANCE, COMMUNICATION, FACTORS, LEVELS, MEASURES, RATIOS, SERIALIZATION, TRANSFER,
                                 WHOLE, at_ratio, by_application, has_intervals, nearest_power, relative_error, summary,
                                 summary_of_applications, with_methods)

FARSCALE, GROWN = "farscale", "grown"
METHODS = {FARSCALE: "farscale", SIMPLE: "simple selection", PERSISTENCE: "persistence", AMDAHL: "plain Amdahl",
           EXTRAP: "Extra-P"}
TITLES = METHODS | {GROWN: "farscale with grown runs", EXTRAP_TIME: "Extra-P of the time"}
OTHERS = [method for method in METHODS if method != FARSCALE]

# What is aimed at: on traces shares of the measured parallel efficiency.
MEDIAN_AIMS = {2: 0.01, 4: 0.025, 8: 0.05, 16: 0.08}
PERCENTILE_AIMS = {2: 0.08, 4: 0.12, 8: 0.25, 16: 0.40}
COVERAGE_AIMS = {80: (0.75, 0.88), 95: (0.91, 0.98)}
STABILITY_AIMS = {"median": 0.02, "worst": 0.10}

EXTRAP_ANEW = "`scripts/extrap_models.py`"
WORST_RATIO = 4
WORST_SHOWN = 8


def percent(share):
    return f"{100 * share:.1f} %"


def signed(share):
    return f"{100 * share:+.1f} %"


def number(value):
    return f"{value:.2f}" if value >= 0.0995 else f"{value:.3f}"


def efficiency(value):
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1g}"


def bold(text, is_bold):
    return f"**{text}**" if is_bold else text


def markdown(head, rows):
    if not rows:
        return "None."
    numbers = ["---" if isinstance(cell, str) and not re.match(r"\**[-+]?\d", cell) else "---:" for cell in rows[0]]
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(numbers) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def by_ratio(groups):
    """(label, ratio, points) where there are any that all methods predict."""
    for label, points in groups:
        for ratio in RATIOS:
            chosen = with_methods(at_ratio(points, ratio), METHODS)
            if chosen:
                yield label, ratio, chosen


def summarised(groups, with_applications=True):
    """(label, ratio, number of points, summaries by method): over points, then, if asked for, with every application
    alike where there are several."""
    for label, ratio, points in by_ratio(groups):
        applications = by_application(points)
        yield label, f"{ratio}×", len(points), {method: summary(points, method) for method in METHODS}
        if with_applications and len(applications) > 1:
            yield f"{label}, by application", f"{ratio}×", len(applications), \
                {method: summary_of_applications(points, method) for method in METHODS}


def best_other(summaries, measure):
    """(method, value) of the other method with the least value; nothing where none has it."""
    values = [(summaries[method][measure], method) for method in OTHERS if measure in summaries[method]]
    return min(values)[::-1] if values else None


def is_worse(summaries, measure):
    """Whether farscale is worse than the best of the others, as far as the table shows."""
    best = best_other(summaries, measure)
    return best is not None and summaries[FARSCALE].get(measure, math.inf) > best[1]


def error_cells(summaries):
    """Median and 90th percentile of every method; farscale's bold where another one's is smaller."""
    cells = []
    for method, one in summaries.items():
        worse = [method == FARSCALE and is_worse(summaries, measure) for measure in ("median", "percentile")]
        cells.append(", ".join(bold(percent(one[measure]), is_bold)
                               for measure, is_bold in zip(("median", "percentile"), worse)))
    return cells


def errors_table(groups, label="data", with_applications=True):
    rows = [[name, ratio, count, *error_cells(summaries)]
            for name, ratio, count, summaries in summarised(groups, with_applications)]
    return markdown([label, "ratio", "points", *METHODS.values()], rows)


def bias_table(groups):
    rows = [[name, ratio, count, *[signed(one["bias"]) for one in summaries.values()]]
            for name, ratio, count, summaries in summarised(groups)]
    return markdown(["data", "ratio", "points", *METHODS.values()], rows)


def intervals_table(groups):
    """Of the methods that have intervals."""
    rows = []
    for name, ratio, count, summaries in summarised(groups, with_applications=False):
        for method, one in summaries.items():
            if "score80" not in one:
                continue
            scores = [bold(number(one[f"score{level}"]), method == FARSCALE and is_worse(summaries, f"score{level}"))
                      for level in LEVELS]
            rows.append([name, ratio, count, METHODS[method], *[percent(one[f"cover{level}"]) for level in LEVELS],
                         *[percent(one[f"width{level}"]) for level in LEVELS], *scores])
    return markdown(["data", "ratio", "points", "method", *[MEASURES[f"{name}{level}"] for name in
                                                            ("cover", "width", "score") for level in LEVELS]], rows)


def aim_cells(kind, ratio, summaries):
    """Errors and scores with what is aimed at; bold where that is missed."""
    ours, cells = summaries[FARSCALE], []
    if kind == TRACES:
        for measure, aims in (("median", MEDIAN_AIMS), ("percentile", PERCENTILE_AIMS)):
            aim = aims[ratio]
            cells.append(f"{bold(percent(ours[measure]), ours[measure] > aim)} (≤ {100 * aim:g} %)")
        return [*cells, number(ours["score80"]), number(ours["score95"])]
    for measure, text in (("median", percent), ("percentile", percent), ("score80", number), ("score95", number)):
        method, value = best_other(summaries, measure)
        aimed = measure != "percentile"
        cell = bold(text(ours[measure]), aimed and ours[measure] >= value)
        cells.append(f"{cell} (< {text(value)}, {METHODS[method]})" if aimed else cell)
    return cells


def aims_table(groups):
    rows = []
    for name, ratio, points in by_ratio(groups):
        summaries = {method: summary(points, method) for method in METHODS}
        rows.append([name, f"{ratio}×", len(points), *aim_cells(name, ratio, summaries)])
    return markdown(["data", "ratio", "points", "median error", "90th percentile", "score 80 %", "score 95 %"], rows)


def coverage_table(groups):
    """Coverage over all ratios of the tables, of every kind of data."""
    rows = []
    for name, points in groups:
        chosen = [point for _, _, some in by_ratio([(name, points)]) for point in some]
        if not chosen:
            continue
        one, cells = summary(chosen, FARSCALE), []
        for level, (low, high) in COVERAGE_AIMS.items():
            share = one[f"cover{level}"]
            cells.append(f"{bold(percent(share), not low <= share <= high)} ({100 * low:.0f} – {100 * high:.0f})")
        rows.append([name, len(chosen), *cells])
    return markdown(["data", "points", "in 80 %", "in 95 %"], rows)


def stability_table(moved):
    """Moves of all phases, by method."""
    rows = []
    for method in METHODS:
        some = [move for move in moved if move["method"] == method]
        if not some:
            continue
        worst = max(some, key=lambda move: move["move"])
        measured = {"median": statistics.median(move["move"] for move in some), "worst": worst["move"]}
        cells = [bold(percent(value), method == FARSCALE and value > STABILITY_AIMS[name]) +
                 (f" (≤ {100 * STABILITY_AIMS[name]:g} %)" if method == FARSCALE else "")
                 for name, value in measured.items()]
        rows.append([METHODS[method], len(some), *cells, f"{worst['table']} {worst['phase']}"])
    return markdown(["method", "predictions", "median move", "worst move", "worst of"], rows)


def data_table(points):
    rows = []
    for kind in KINDS:
        of_kind = [point for point in points if point["kind"] == kind and point["factor"] in WHOLE]
        many = [point for point in of_kind if point["counts"] >= 3]
        applications = sorted(by_application(of_kind), key=str.casefold)
        splits = {(point["table"], point["series"], point["phase"], point["train_max"]) for point in many}
        rows.append([kind, ", ".join(applications),
                     len({(point["table"], point["series"], point["phase"]) for point in of_kind}), len(splits),
                     len(many), len([point for point in of_kind if point["counts"] == 2])])
    return markdown(["data", "applications", "series and phases", "splits", "points", "points of two counts"], rows)


def groups_of_applications(points):
    """Sorting programs are named by team and algorithm."""
    return [(f"{kind}: {name}", some) for kind in KINDS
            for name, some in sorted(by_application([point for point in points if point["kind"] == kind]).items())]


def worse_list(groups):
    """Where another method is better than farscale, one line each kind of data and measure."""
    lines = []
    for measure, text in (("median", percent), ("percentile", percent), ("score80", number), ("score95", number)):
        found = {}
        for name, ratio, _, summaries in summarised(groups):
            if is_worse(summaries, measure):
                method, value = best_other(summaries, measure)
                found.setdefault(name, []).append(
                    f"{ratio} {text(summaries[FARSCALE][measure])} ({METHODS[method]} {text(value)})")
        lines += [f"- {name}, {MEASURES[measure]}: {'; '.join(some)}" for name, some in found.items()]
    return "\n".join(lines) if lines else "Nowhere in these tables."


def beside_best(summaries):
    """farscale's median error and the least of the others'; bold where that is smaller."""
    method, value = best_other(summaries, "median")
    ours = summaries[FARSCALE]["median"]
    return f"{bold(percent(ours), ours > value)}; {percent(value)} ({METHODS[method]})"


def applications_table(points):
    """Of every application the errors by ratio, and bias and coverage over all ratios."""
    rows = []
    for label, some in groups_of_applications(points):
        cells = {ratio: beside_best(summaries)
                 for _, ratio, _, summaries in summarised([(label, some)], with_applications=False)}
        if not cells:
            continue
        ours = summary([point for _, _, of_ratio in by_ratio([(label, some)]) for point in of_ratio], FARSCALE)
        rows.append([label, ours["points"], *[cells.get(f"{ratio}×", "") for ratio in RATIOS], signed(ours["bias"]),
                     *[percent(ours[f"cover{level}"]) for level in LEVELS]])
    return markdown(["application", "points", *[f"{ratio}×" for ratio in RATIOS], "bias", "in 80 %", "in 95 %"], rows)


def few_table(points):
    """Learned from three core counts and from two: errors and coverage."""
    rows = []
    for kind in KINDS:
        for counts in (3, 2):
            some = [point for point in points if point["kind"] == kind and point["factor"] in WHOLE and
                    point["counts"] == counts]
            for _, ratio, count, summaries in summarised([(kind, some)], with_applications=False):
                ours = summaries[FARSCALE]
                rows.append([f"{kind}, {counts} counts", ratio, count, beside_best(summaries), signed(ours["bias"]),
                             *[percent(ours[f"{name}80"]) for name in ("cover", "width")]])
    return markdown(["data", "ratio", "points", "median error", "bias", "in 80 %", "width 80 %"], rows)


def grown_table(points):
    """Curves alone and grown runs with them, where there are grown runs."""
    rows = []
    for ratio in RATIOS:
        chosen = with_methods(at_ratio(points, ratio), [FARSCALE, GROWN])
        if not chosen:
            continue
        row = [f"{ratio}×", len(chosen)]
        for method in (FARSCALE, GROWN):
            one = summary(chosen, method)
            row += [f"{percent(one['median'])}, {percent(one['percentile'])}",
                    f"{percent(one['cover80'])}, {percent(one['cover95'])}", percent(one["width80"]),
                    number(one["score80"])]
        rows.append(row)
    heads = ["error", "in 80 %, 95 %", "width 80 %", "score 80 %"]
    return markdown(["ratio", "points", *heads, *[f"grown: {head}" for head in heads]], rows)


def extrap_times_table(points):
    """Extra-P on run times: of the time of all cores together, and of the time that passes."""
    rows = []
    for ratio in RATIOS:
        chosen = with_methods(at_ratio(points, ratio), [EXTRAP])
        both = with_methods(chosen, [EXTRAP_TIME])
        if not both:
            continue
        cells = [", ".join(percent(summary(both, method)[measure]) for measure in ("median", "percentile"))
                 for method in (FARSCALE, EXTRAP, EXTRAP_TIME)]
        rows.append([f"{ratio}×", len(both), len(chosen) - len(both), *cells])
    return markdown(["ratio", "points", "time not positive", "farscale", "Extra-P", "Extra-P of the time"], rows)


def to_blame(point, points):
    """The leaf of the same hidden run whose prediction is off by the largest factor; without leaves the point."""
    leaves = [leaf for leaf in points if leaf["factor"] in (BALANCE, SERIALIZATION, TRANSFER, COMMUNICATION) and
              all(leaf[part] == point[part] for part in ("table", "series", "phase", "train_max", "cores", "repeat"))]
    if any(leaf["factor"] == SERIALIZATION for leaf in leaves):
        leaves = [leaf for leaf in leaves if leaf["factor"] != COMMUNICATION]
    least = 1e-9
    return max(leaves or [point], key=lambda leaf: abs(math.log(max(leaf["methods"][FARSCALE]["value"], least) /
                                                                max(leaf["measured"], least))))


def worst_table(points):
    """The worst predictions within a ratio of 4: of a series and phase only its worst."""
    near = [point for point in with_methods(points, [FARSCALE])
            if point["factor"] in WHOLE and nearest_power(point["ratio"]) <= WORST_RATIO]
    rows, seen = [], set()
    for point in sorted(near, key=lambda point: -abs(relative_error(point, FARSCALE))):
        name = (point["series"], point["phase"])
        if name in seen:
            continue
        seen.add(name)
        leaf = to_blame(point, points)
        ours = point["methods"][FARSCALE]
        ends = ours["intervals"][95] if has_intervals([point], FARSCALE) else ()
        interval = " – ".join(f"{end:.2f}" for end in ends) or "none"
        values = ", ".join(efficiency(value) for _, value in leaf["trained"])
        rows.append([" ".join(part for part in name if part), f"{point['train_max']:g} → {point['cores']:g}",
                     efficiency(point["measured"]), efficiency(ours["value"]), interval,
                     signed(relative_error(point, FARSCALE)),
                     f"{FACTORS[leaf['factor']]}: {values}; then {efficiency(leaf['measured'])}, "
                     f"predicted {efficiency(leaf['methods'][FARSCALE]['value'])}"])
        if len(rows) == WORST_SHOWN:
            break
    return markdown(["series", "cores", "measured", "predicted", "95 % interval", "error",
                     "factor to blame: as trained on"], rows)


def page_tables(points, moved):
    """The tables of the page by the name of their place."""
    many = [point for point in points if point["counts"] >= 3]
    whole = [point for point in many if point["factor"] in WHOLE]
    groups = [(kind, [point for point in whole if point["kind"] == kind]) for kind in KINDS]
    factors = [(f"{kind}: {FACTORS[factor]}", [p for p in many if p["kind"] == kind and p["factor"] == factor])
               for factor in (BALANCE, COMMUNICATION, SERIALIZATION, TRANSFER) for kind in KINDS]
    of_kind = {kind: [point for point in many if point["kind"] == kind] for kind in KINDS}
    return {
        "data": data_table(points),
        "extrap": f"Extra-P's predictions on this page were made by {'Extra-P' if has_extrap() else EXTRAP_ANEW}.",
        "aims": aims_table(groups),
        "coverage": coverage_table(groups),
        "stability": stability_table(moved),
        "errors": errors_table(groups),
        "worse": worse_list(groups),
        "bias": bias_table(groups),
        "intervals": intervals_table(groups),
        "grown": grown_table(whole),
        "extrap-times": extrap_times_table(dict(groups)[TIMES]),
        "factors": errors_table([group for group in factors if group[1]], "data and factor", False),
        "few": few_table(points),
        "applications": applications_table(whole),
        "worst-sorting": worst_table(of_kind[SORTING]),
        "worst-traces": worst_table(of_kind[TRACES]),
        "worst-times": worst_table(of_kind[TIMES]),
    }
