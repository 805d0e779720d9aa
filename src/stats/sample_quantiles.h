// Median and quantiles of samples. A quantile lies on the straight line between its neighbours, definition 7 of
// [Hyndman96]; for 0.5 that is the median.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace farscale {

// Standard deviation of normal values over the median of their distances from their median.
inline constexpr double kDeviationOverMedianDistance = 1.4826;

// Half-way between the two in the middle of an even number, rounded down for integers. Not for none.
template <typename Value>
Value Median(std::vector<Value> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const Value below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

// Where a value in the middle stands: of the two of an even number the larger, of equals as the order of places has it.
// For whoever needs one of the things themselves. Not for none.
template <typename Value>
std::size_t PlaceOfMedian(const std::vector<Value>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2);
  std::nth_element(order.begin(), middle, order.end(),
                   [&](std::size_t a, std::size_t b) { return std::pair(values[a], a) < std::pair(values[b], b); });
  return *middle;
}

// The value below which this share of the values lies. Throws std::domain_error for shares outside 0 to 1, and for no
// values.
double QuantileOfSorted(const std::vector<double>& sorted, double share);
// Moves values so that QuantileOfSorted is right for these shares, which takes a fraction of the time of sorting.
void PlaceQuantiles(std::vector<double>& values, const std::vector<double>& shares);
double Quantile(std::vector<double> values, double share);

}  // namespace farscale
