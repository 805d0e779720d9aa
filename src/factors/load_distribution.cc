#include "factors/load_distribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Mean of (x - mean)^power.
double CentralMoment(const std::vector<double>& values, double mean, int power) {
  double sum = 0;
  for (const double value : values) sum += std::pow(value - mean, power);
  return sum / static_cast<double>(values.size());
}

void SetMoments(const std::vector<double>& loads, LoadDistribution& distribution) {
  const auto count = static_cast<double>(loads.size());
  const double variance = CentralMoment(loads, 1, 2);
  distribution.deviation = std::sqrt(variance * count / (count - 1));
  distribution.skewness = variance > 0 ? CentralMoment(loads, 1, 3) / std::pow(variance, 1.5) : 0;
  distribution.kurtosis = variance > 0 ? CentralMoment(loads, 1, 4) / (variance * variance) - 3 : 0;
}

}  // namespace

// The i-th smallest of P values is the largest of n with the probability C(i - 1, n - 1) / C(P, n), which is n / P for
// i = P, and decreases by the factor (i - n) / (i - 1) from i to i - 1.
double ExpectedLargestOf(const std::vector<double>& sorted, std::size_t count) {
  const auto n = static_cast<double>(count);
  double probability = n / static_cast<double>(sorted.size()), sum = 0;
  for (std::size_t i = sorted.size(); i >= count; --i) {
    sum += probability * sorted[i - 1];
    if (i == 1) break;
    probability *= (static_cast<double>(i) - n) / (static_cast<double>(i) - 1);
  }
  return sum;
}

std::optional<LoadDistribution> DistributionOf(std::vector<double> useful) {
  if (useful.size() < 2) return std::nullopt;
  const double mean = MeanOf(useful);
  if (!(mean > 0)) return std::nullopt;
  std::vector<double>& loads = useful;
  for (double& load : loads) load /= mean;
  std::sort(loads.begin(), loads.end());
  LoadDistribution distribution;
  SetMoments(loads, distribution);
  distribution.quantile5 = QuantileOfSorted(loads, 0.05);
  distribution.quantile25 = QuantileOfSorted(loads, 0.25);
  distribution.quantile50 = QuantileOfSorted(loads, 0.50);
  distribution.quantile75 = QuantileOfSorted(loads, 0.75);
  distribution.quantile95 = QuantileOfSorted(loads, 0.95);
  // Within what is possible, whatever the rounding.
  distribution.largest_of_half = std::max(1.0, std::min(ExpectedLargestOf(loads, loads.size() / 2), loads.back()));
  return distribution;
}

void LoadVariation::AddRank(const std::vector<double>& loads) {
  iterations_ = loads.size();
  const double mean = MeanOf(loads);
  for (const double load : loads) squares_within_ += (load - mean) * (load - mean);
  means_.push_back(mean);
}

void LoadVariation::Set(LoadDistribution& distribution) const {
  if (iterations_ < 2 || means_.size() < 2) return;
  const auto ranks = static_cast<double>(means_.size()), iterations = static_cast<double>(iterations_);
  // Loads of an iteration have the mean 1, which takes one rank's freedom in each.
  const double noise_squared = squares_within_ / ((ranks - 1) * (iterations - 1));
  const double of_means = CentralMoment(means_, MeanOf(means_), 2) * ranks / (ranks - 1);
  distribution.noise = std::sqrt(noise_squared);
  distribution.persistent = std::sqrt(std::max(0.0, of_means - noise_squared / iterations));
}

}  // namespace farscale
