"""Plain Amdahl with a parametric bootstrap: what scripts/accuracy compares farscale with.

e0 / (f + (1 - f) P) by least squares with f in [0, 1] and e0 in [0, 1], as is commonly done, for every factor by
itself. Factors that may exceed 1 have no limit for e0.
"""

import math
import random

REPLICATES = 200
LEAST_SIGMA = 0.001      # no measurement is better than this
ASSUMED_SIGMA = 0.01     # with as many points as parameters
SMALLEST_LOSS = 1e-7     # losses that are searched begin here
GRID_STEP = math.log(10) / 4
GOLDEN = (math.sqrt(5) - 1) / 2
GOLDEN_STEPS = 18


def amdahl(cores, e0, serial):
    """e0 / (f + (1 - f) P) with f = 1 - serial."""
    return e0 / (1 + serial * (cores - 1))


def loss_fitter(basis, limit=1.0, greatest_loss=1.0):
    """A function from values to their least squares (e0, s) of e0 / (1 + s basis), e0 from 0 to `limit`, s from 0 to
    `greatest_loss`. The best e0 for a loss is a closed form, and the sum of squares over the loss is searched: on a
    grid over its logarithm, then by golden sections around its best point."""
    lowest, highest = math.log(SMALLEST_LOSS), math.log(greatest_loss)
    steps = math.ceil((highest - lowest) / GRID_STEP)
    grid = [lowest + (highest - lowest) * i / steps for i in range(steps + 1)]

    def curve_of(loss):
        return [1 / (1 + loss * g) for g in basis]

    curves = [curve_of(math.exp(point)) for point in grid]  # the same for all values

    def fit(values):
        def solve(curve):
            """Sum of squares but for that of the values, and e0."""
            product = square = 0.0
            for y, c in zip(values, curve):
                product += y * c
                square += c * c
            e0 = min(limit, max(0.0, product / square))
            return e0 * (e0 * square - 2 * product), e0

        def at(point):
            return *solve(curve_of(math.exp(point))), math.exp(point)

        costs = [solve(curve)[0] for curve in curves]
        best = costs.index(min(costs))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, steps)]
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        at_left, at_right = at(left), at(right)
        for _ in range(GOLDEN_STEPS):
            if at_left[0] <= at_right[0]:
                high, right, at_right = right, left, at_left
                left = high - GOLDEN * (high - low)
                at_left = at(left)
            else:
                low, left, at_left = left, right, at_right
                right = low + GOLDEN * (high - low)
                at_right = at(right)
        _, e0, loss = min((*solve(curve_of(0.0)), 0.0), at_left, at_right, at(highest))
        return e0, loss

    return fit


def fit_loss(basis, values, limit=1.0, greatest_loss=1.0):
    return loss_fitter(basis, limit, greatest_loss)(values)


def fit_amdahl(cores, values, limit=1.0):
    return fit_loss([count - 1 for count in cores], values, limit)


def bootstrap_amdahl(cores, values, targets, seed, limit=1.0):
    """The fitted curve at every target, and draws of a new measurement there: the curve of a fit to points drawn
    around the first curve, with the scatter of the points around it added again."""
    generator = random.Random(seed)
    fit = loss_fitter([count - 1 for count in cores], limit)
    fitted = fit(values)
    curve = [amdahl(count, *fitted) for count in cores]
    spare = len(values) - 2
    squares = sum((y - c) ** 2 for y, c in zip(values, curve))
    sigma = max(LEAST_SIGMA, math.sqrt(squares / spare)) if spare > 0 else ASSUMED_SIGMA

    def drawn(value):
        return min(limit, max(0.0, value + generator.gauss(0, sigma)))

    draws = {target: [] for target in targets}
    for _ in range(REPLICATES):
        replicate = fit([drawn(c) for c in curve])
        for target in targets:
            draws[target].append(drawn(amdahl(target, *replicate)))
    return {target: amdahl(target, *fitted) for target in targets}, draws
