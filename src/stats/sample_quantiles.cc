#include "stats/sample_quantiles.h"

#include <stdexcept>

namespace farscale {

double QuantileOfSorted(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) throw std::domain_error("no values have no quantile");
  if (!(share >= 0 && share <= 1)) throw std::domain_error("the share of a quantile must lie between 0 and 1");
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
