"""Models in the performance model normal form, chosen as Extra-P 4 chooses them: what scripts/accuracy compares with.

c0 + c1 P^i log2(P)^j [Calotoiu13], with the exponents and the selection of Extra-P's default modeler for one
parameter: every pair of exponents is fitted by least squares to the mean of each core count; its cost is the symmetric
mean absolute percentage error (SMAPE) of every mean, predicted from the others. The first model of the least cost wins,
if that is less than the SMAPE of the constant, which is not cross-validated. Written anew from these rules; where
Extra-P is installed, scripts/accuracy takes that.
"""

import math
from fractions import Fraction

# Polynomial exponents, and the powers of the logarithm that go with them.
LOGARITHMS = {"0": (1, 2), "1/4": (0, 1, 2), "1/3": (0, 1, 2), "1/2": (0, 1, 2), "2/3": (0, 1, 2), "3/4": (0, 1, 2),
              "4/5": (0,), "1": (0, 1, 2), "5/4": (0, 1), "4/3": (0, 1), "3/2": (0, 1, 2), "5/3": (0,), "7/4": (0,),
              "2": (0, 1, 2), "9/4": (0,), "7/3": (0,), "5/2": (0, 1, 2), "8/3": (0,), "11/4": (0,), "3": (0, 1)}
TERMS = [(float(Fraction(power)), logarithm) for power, some in LOGARITHMS.items() for logarithm in some]
# Extra-P's option for quantities that fall, such as the time of a run under strong scaling.
FALLING_TERMS = TERMS + [(-power, -logarithm) for power, logarithm in TERMS]
LEAST_CONTRIBUTION = 0.0005  # of a term to one of the values, and of the constant to the least of them


def term_value(term, cores):
    power, logarithm = term
    return cores ** power * math.log2(cores) ** logarithm


def fit_line(basis, values):
    """Least squares (c0, c1) of c0 + c1 basis; with one point the shortest of all that meet it."""
    if len(set(basis)) == 1:
        mean = sum(values) / len(values)
        return mean / (1 + basis[0] ** 2), mean * basis[0] / (1 + basis[0] ** 2)
    middle, mean = sum(basis) / len(basis), sum(values) / len(values)
    slope = (sum((g - middle) * (y - mean) for g, y in zip(basis, values)) /
             sum((g - middle) ** 2 for g in basis))
    return mean - slope * middle, slope


def smape_of(predicted, measured):
    """The share of one value in the SMAPE, from 0 to 2."""
    total = abs(predicted) + abs(measured)
    return 2 * abs(predicted - measured) / total if total else 0.0


def cross_validated(basis, values):
    """SMAPE of every value, predicted from the others. A constant that is next to nothing is taken as none there."""
    cost = 0.0
    for i, (g, y) in enumerate(zip(basis, values)):
        others = values[:i] + values[i + 1:]
        c0, c1 = fit_line(basis[:i] + basis[i + 1:], others)
        if abs(c0) < LEAST_CONTRIBUTION * abs(min(others)):
            c0 = 0.0
        cost += smape_of(c0 + c1 * g, y)
    return cost / len(values)


def means(points):
    """Cores and mean value of each core count."""
    values = {}
    for cores, value in points:
        values.setdefault(cores, []).append(value)
    return [(cores, sum(some) / len(some)) for cores, some in sorted(values.items())]


def fit_extrap(points, is_falling=False):
    """(c0, c1, term) of points (cores, value); the term is None for a constant."""
    points = means(points)
    cores, values = [p[0] for p in points], [p[1] for p in points]
    mean = sum(values) / len(values)
    best = mean, 0.0, None
    if all(value == values[0] for value in values):
        return best
    terms = FALLING_TERMS if is_falling else TERMS
    if is_falling and min(cores) <= 1:  # the logarithm of one core cannot be divided by
        terms = [term for term in terms if term[1] == 0]
    least = sum(smape_of(mean, value) for value in values) / len(values)
    for term in terms:
        basis = [term_value(term, count) for count in cores]
        c0, c1 = fit_line(basis, values)
        cost = cross_validated(basis, values)
        contributes = max(abs(c1 * g / y) for g, y in zip(basis, values)) >= LEAST_CONTRIBUTION
        if contributes and cost < least:
            best, least = (c0, c1, term), cost
    return best


def extrap_value(model, cores):
    c0, c1, term = model
    return c0 if term is None else c0 + c1 * term_value(term, cores)
