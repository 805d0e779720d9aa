// The value in the middle.
#pragma once

#include <algorithm>
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

}  // namespace farscale
