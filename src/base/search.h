// Searching what has indices but no iterators, such as packed columns.
#pragma once

#include <cstddef>

namespace farscale {

// The first index in [first, end) for which `is_before` does not hold; `end` when it holds for all. It must hold for
// the indices up to some place and for none from there on.
template <typename IsBefore>
std::size_t PartitionIndex(std::size_t first, std::size_t end, IsBefore is_before) {
  while (first < end) {
    const std::size_t middle = first + (end - first) / 2;
    if (is_before(middle)) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first;
}

}  // namespace farscale
