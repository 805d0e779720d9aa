#include "models/weights.h"

#include <algorithm>
#include <cmath>

#include "base/median.h"

namespace farscale {

std::vector<double> ErrorsForWeights(const std::vector<std::optional<double>>& standard_errors) {
  std::vector<double> known;
  for (const std::optional<double>& error : standard_errors) {
    if (error) known.push_back(*error);
  }
  if (known.empty()) return {};
  const double median = Median(known);
  std::vector<double> errors;
  for (const std::optional<double>& error : standard_errors) errors.push_back(error.value_or(median));
  const bool all_alike =
      std::all_of(errors.begin(), errors.end(), [&](double error) { return error == errors.front(); });
  return all_alike ? std::vector<double>() : errors;
}

std::vector<double> WeightsOf(const std::vector<double>& errors, double between_runs) {
  std::vector<double> logarithms;
  double mean = 0;
  for (const double error : errors) {
    logarithms.push_back(-2 * std::log(std::hypot(error, between_runs)));
    mean += logarithms.back() / static_cast<double>(errors.size());
  }
  std::vector<double> weights;
  for (const double logarithm : logarithms) weights.push_back(std::exp(logarithm - mean));
  return weights;
}

bool HardlyDiffer(const std::vector<double>& weights) {
  constexpr double kNoDifference = 1.01;
  const auto [least, most] = std::minmax_element(weights.begin(), weights.end());
  return weights.empty() || *most <= kNoDifference * *least;
}

std::vector<double> FirstWeightsOf(const std::vector<double>& errors) {
  std::vector<double> believed;
  for (const double error : errors) believed.push_back(std::max(error, kSmallestSigma));
  return WeightsOf(believed, 0);
}

double BetweenRuns(const std::vector<double>& errors, const std::vector<double>& weights,
                   const std::vector<double>& residuals, const std::vector<double>& leverages) {
  double squares = 0, expected = 0, free = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    squares += weights[i] * residuals[i] * residuals[i];
    expected += weights[i] * (1 - leverages[i]) * errors[i] * errors[i];
    free += weights[i] * (1 - leverages[i]);
  }
  const double variance = free > 0 ? (squares - expected) / free : 0;
  return std::max(kSmallestSigma, std::sqrt(std::max(0.0, variance)));
}

}  // namespace farscale
