// Searching and ordering by indices: what has no iterators, such as packed columns, or keeps its places.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

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

// Indices of sizes, the largest first. In this order of parts no core is left with a large one at the end.
inline std::vector<std::size_t> LargestFirst(const std::vector<std::uint64_t>& sizes) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return sizes[i]; });
  return order;
}

}  // namespace farscale
