// How much each measured value counts in a fit, by what is known of its error [docs/formulas.md, weights].
//
// A value errs by its own standard error s, which the iterations of its run tell, and by what differs from run to run,
// with a standard deviation τ that one run's iterations cannot tell: the points around the curve do. Its weight is
// 1 / (s² + τ²).
#pragma once

#include <optional>
#include <vector>

namespace farscale {

// Smallest standard deviation between runs that is believed: factors of repeated runs hardly ever agree better.
inline constexpr double kSmallestSigma = 0.001;

// What to take for s of every point: its own, else the median of the others'. Empty when none has a standard error or
// all have the same, so that all points count alike.
std::vector<double> ErrorsForWeights(const std::vector<std::optional<double>>& standard_errors);

// 1 / (s² + τ²), scaled so that their product is 1.
std::vector<double> WeightsOf(const std::vector<double>& errors, double between_runs);

// Whether they differ by no more than a percent, which is as good as not at all.
bool HardlyDiffer(const std::vector<double>& weights);

// Weights to find τ with: 1 / s², as if nothing differed between runs.
std::vector<double> FirstWeightsOf(const std::vector<double>& errors);

// τ by the method of moments [DerSimonian86; DerSimonian07]: what the residuals r of a fit with weights a are larger
// than the errors s make them, τ² = (Σ a r² - Σ a (1 - h) s²) / Σ a (1 - h), never below kSmallestSigma². h are the
// leverages of that fit: how much each value moves the curve at its own place.
double BetweenRuns(const std::vector<double>& errors, const std::vector<double>& weights,
                   const std::vector<double>& residuals, const std::vector<double>& leverages);

}  // namespace farscale
