"""Plain Amdahl with a parametric bootstrap: what scripts/accuracy compares farscale with.

e0 / (f + (1 - f) P) by least squares with e0 and f in [0, 1], as is commonly done, for every factor by itself.
"""

import math
import random

REPLICATES = 200
LEAST_SIGMA = 0.001      # no measurement is better than this
ASSUMED_SIGMA = 0.01     # with as many points as parameters
SMALLEST_SHARE = 1e-7    # serial shares that are searched begin here


def amdahl(cores, e0, serial):
    """e0 / (f + (1 - f) P) with f = 1 - serial."""
    return e0 / (1 + serial * (cores - 1))


def fit_amdahl(cores, values):
    """Least squares (e0, serial) with both in [0, 1]. The best e0 for a serial share is a closed form, and the sum of
    squares over the share is searched: on a grid over its logarithm, then by golden sections around its best point."""

    def solve(serial):
        curve = [1 / (1 + serial * (count - 1)) for count in cores]
        e0 = min(1.0, max(0.0, sum(y * g for y, g in zip(values, curve)) / sum(g * g for g in curve)))
        return sum((y - e0 * g) ** 2 for y, g in zip(values, curve)), e0, serial

    lowest = math.log(SMALLEST_SHARE)
    grid = [lowest * (1 - i / 28) for i in range(29)]
    best = min(range(len(grid)), key=lambda i: solve(math.exp(grid[i]))[0])
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = solve(math.exp(left)), solve(math.exp(right))
    for _ in range(18):
        if at_left[0] <= at_right[0]:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = solve(math.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = solve(math.exp(right))
    _, e0, serial = min(solve(0.0), at_left, at_right, solve(1.0))
    return e0, serial


def bootstrap_amdahl(cores, values, targets, seed):
    """The fitted curve at every target, and draws of a new measurement there: the curve of a fit to points drawn
    around the first curve, with the scatter of the points around it added again."""
    generator = random.Random(seed)
    fitted = fit_amdahl(cores, values)
    curve = [amdahl(count, *fitted) for count in cores]
    spare = len(values) - 2
    squares = sum((y - c) ** 2 for y, c in zip(values, curve))
    sigma = max(LEAST_SIGMA, math.sqrt(squares / spare)) if spare > 0 else ASSUMED_SIGMA
    draws = {target: [] for target in targets}
    for _ in range(REPLICATES):
        drawn = [min(1.0, max(0.0, c + generator.gauss(0, sigma))) for c in curve]
        replicate = fit_amdahl(cores, drawn)
        for target in targets:
            draws[target].append(min(1.0, max(0.0, amdahl(target, *replicate) + generator.gauss(0, sigma))))
    return {target: amdahl(target, *fitted) for target in targets}, draws
