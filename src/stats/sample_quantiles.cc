#include "stats/sample_quantiles.h"

namespace farscale {

double QuantileOfSorted(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return QuantileOfSorted(values, share);
}

}  // namespace farscale
