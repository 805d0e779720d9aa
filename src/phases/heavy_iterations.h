// Iterations that recur at a fixed distance and are heavier on most ranks: work of the program, such as output or a
// rebuilt list, not a disturbance.
#pragma once

#include <cstddef>
#include <vector>

namespace farscale {

struct HeavyIterations {
  std::size_t every = 0;  // iterations; 0: there are none
  std::size_t first = 0;  // counted from 0
  double level = 1;       // their mean load over that of the others
  double share = 0;       // of all load

  friend bool operator==(const HeavyIterations&, const HeavyIterations&) = default;
};

// `load`: of every rank, by iteration; ranks without any may be empty, the others have equally many. Three must recur,
// at one distance of two or more, be alike, and be longer than all others on most of the ranks with any load.
HeavyIterations FindHeavyIterations(const std::vector<std::vector<double>>& load);

}  // namespace farscale
