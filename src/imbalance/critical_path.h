// Which activities decided how long the phase took [Boehme13, section 4.4; docs/formulas.md, critical path].
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "imbalance/activities.h"
#include "imbalance/wait_states.h"

namespace farscale {

// A stretch of the path on one rank. Segments tile the phase from its end back to its begin.
struct PathSegment {
  std::uint32_t rank = 0;
  Tick begin = 0;
  Tick end = 0;

  friend bool operator==(const PathSegment&, const PathSegment&) = default;
};

// Segments in the order of time. The path ends on the rank that ends last; of equals on the lowest.
std::vector<PathSegment> FindCriticalPath(const Activities& activities, const WaitStates& states);

// Ticks of a path on one rank.
struct RankPathTicks {
  std::uint32_t rank = 0;
  PathId path = 0;
  double ticks = 0;
};

// Time on the critical path by rank and call path, in the order of ranks, then paths.
std::vector<RankPathTicks> ProfileOf(const Activities& activities, const std::vector<PathSegment>& segments);

}  // namespace farscale
