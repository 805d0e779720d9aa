"""What scripts/accuracy compares farscale with besides Amdahl's law and Extra-P: a simple choice among four models, and
the last measured value.

The four are e0 / (1 + s g(P)) with a loss that stays (g = 0), grows with P (Amdahl's law, g = P - 1), with its logarithm
(trees of messages, g = log2 P), or levels off (saturation, and the filling of pipelines, g = 1 - 1/P). The choice is by
what a textbook of forecasting does first, validation on the last observation [Tashman00]: each model is fitted to all
core counts but the largest, the one that predicts this best is fitted to all of them. Of models that are equally good,
the first. Two core counts leave one to fit and so no choice: Amdahl's law.
"""

import math

from plain_amdahl import fit_loss

MODELS = {"constant": lambda cores: 0.0, "amdahl": lambda cores: cores - 1.0, "logarithm": math.log2,
          "saturation": lambda cores: 1 - 1 / cores}
GREATEST_LOSS = {"amdahl": 1.0}  # a serial share
NO_LIMIT = 1e4                   # of the loss of other models


def fit_model(model, points, limit=1.0):
    """(model, e0, s) by least squares."""
    values = [value for _, value in points]
    if model == "constant":
        return model, min(limit, sum(values) / len(values)), 0.0
    basis = [MODELS[model](cores) for cores, _ in points]
    return model, *fit_loss(basis, values, limit, GREATEST_LOSS.get(model, NO_LIMIT))


def model_value(fitted, cores):
    model, e0, loss = fitted
    return e0 / (1 + loss * MODELS[model](cores))


def mean_at(points, cores):
    values = [value for count, value in points if count == cores]
    return sum(values) / len(values)


def last_value(points):
    """The mean of the runs on the most cores."""
    return mean_at(points, max(count for count, _ in points))


def choose_model(points, limit=1.0):
    """The model that predicts the largest core count best from the others, fitted to all."""
    largest = max(count for count, _ in points)
    smaller = [point for point in points if point[0] < largest]
    if len({count for count, _ in smaller}) < 2:
        return fit_model("amdahl", points, limit)
    hidden = mean_at(points, largest)
    best = min(MODELS, key=lambda model: abs(model_value(fit_model(model, smaller, limit), largest) - hidden))
    return fit_model(best, points, limit)
