// Iterations that recur at a fixed distance and are heavier on most ranks: work of the program, such as output or a
// rebuilt list, not a disturbance.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace farscale {

struct HeavyIterations {
  std::size_t every = 0;  // iterations; 0: there are none
  std::size_t first = 0;  // counted from 0
  double level = 1;       // their mean load over that of the others
  double share = 0;       // beyond the others, of all load

  bool Has(std::size_t iteration) const { return every > 0 && iteration >= first && (iteration - first) % every == 0; }
  friend bool operator==(const HeavyIterations&, const HeavyIterations&) = default;
};

// The load of a rank by iteration; empty for ranks without any, else as long on all ranks.
using LoadOfRank = std::function<std::span<const double>(std::size_t rank)>;

// Three must recur, at one distance of two or more and without a gap, and take 10 % longer than the rank's median on
// most of the ranks with any load.
HeavyIterations FindHeavyIterations(std::size_t ranks, const LoadOfRank& load_of);

}  // namespace farscale
