#include "projection/intervals.h"

#include <algorithm>
#include <stdexcept>

#include "stats/sample_quantiles.h"

namespace farscale {

void PlaceIntervals(std::vector<double>& draws, const std::vector<double>& coverages) {
  std::vector<double> shares;
  for (const double coverage : coverages) {
    shares.push_back(0.5 - coverage / 2);
    shares.push_back(0.5 + coverage / 2);
  }
  PlaceQuantiles(draws, shares);
}

IntervalBounds IntervalOf(const std::vector<double>& sorted, double coverage, double value) {
  constexpr double kNothing = 1e-6;  // chosen: lower bounds of efficiencies below this are printed as 0
  if (!(coverage >= 0 && coverage <= 1))
    throw std::domain_error("the coverage of an interval must lie between 0 and 1");
  const double low = std::min(value, QuantileOfSorted(sorted, 0.5 - coverage / 2));
  return {low < kNothing ? 0 : low, std::max(value, QuantileOfSorted(sorted, 0.5 + coverage / 2))};
}

}  // namespace farscale
