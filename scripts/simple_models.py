"""What scripts/accuracy compares farscale with besides Amdahl's law and Extra-P: a simple choice among four models,
and the last measured value.

The four are e0 / (1 + s g(P)) with a loss that stays (g = 0), grows with P (Amdahl's law, g = P - 1), with its
logarithm (trees of messages, g = log2 P), or levels off (saturation, filling of pipelines, g = 1 - 1/P). They are
chosen as forecasts are, by rolling origins [Tashman00]: every core count from the third on is predicted by each model
fitted to the smaller ones, and the model with the least sum of squared relative errors is fitted to all; of equally
good models the first. Two core counts leave nothing to choose by: Amdahl's law.
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


def squared_errors(model, points, counts, limit):
    """Of the mean of every count from the third on, predicted from the smaller ones."""
    total = 0.0
    for count in counts[2:]:
        fitted = fit_model(model, [point for point in points if point[0] < count], limit)
        hidden = mean_at(points, count)
        total += (model_value(fitted, count) / hidden - 1) ** 2 if hidden > 0 else 0.0
    return total


def choose_model(points, limit=1.0):
    """(model, e0, s) of the model that predicts larger core counts best from smaller ones, fitted to all."""
    counts = sorted({count for count, _ in points})
    if len(counts) < 3:
        return fit_model("amdahl", points, limit)
    best = min(MODELS, key=lambda model: squared_errors(model, points, counts, limit))
    return fit_model(best, points, limit)
