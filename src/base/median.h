// The value in the middle, and the one below which most lie.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace farscale {

// One of the values itself: the larger of the two in the middle of an even number. Not for none.
template <typename Value>
Value UpperMedian(std::vector<Value> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Half-way between the two in the middle of an even number, rounded down for integers. Not for none.
template <typename Value>
Value Median(std::vector<Value> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const Value below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

// The value below which a share of the others lies, on the straight line between its neighbours: for 0.5 the median.
// Not for none.
inline double Percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
}

}  // namespace farscale
