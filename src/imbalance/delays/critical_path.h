// Which activities decided how long the phase took [Boehme13, section 4.4; docs/formulas.md, critical path], and how
// much longer the others could have taken before it takes longer [docs/formulas.md, slack].
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "imbalance/waits/activities.h"
#include "imbalance/waits/wait_states.h"
#include "replay/matching.h"
#include "trace/trace.h"

namespace farscale {

// A stretch of the path on one rank. Segments tile the phase from its end back to its begin.
struct PathSegment {
  std::uint32_t rank = 0;
  Tick begin = 0;
  Tick end = 0;

  friend bool operator==(const PathSegment&, const PathSegment&) = default;
};

// Segments in the order of time. The path ends on the rank that ends last; of equals on the lowest.
std::vector<PathSegment> FindCriticalPath(const WaitStates& states);

// Ticks of the path by rank and call path.
std::map<std::pair<std::uint32_t, PathId>, Tick> CriticalTicks(const Activities& activities,
                                                               const std::vector<PathSegment>& segments);

// Activities with less slack than this share of the phase are nearly critical; chosen.
inline constexpr double kNearlyCritical = 0.05;

struct Slack {
  // The least of any activity that takes time, of every rank and of every call path over all ranks; 0 on the critical
  // path, nothing where there is none.
  std::vector<std::optional<Tick>> of_rank, of_path;
  std::vector<double> nearly_critical;  // one a call path: ticks of all ranks with little slack, waits left out
};

// A receive can begin no sooner than its message is sent, a collective operation no sooner than it has what it needs;
// a send waits for its receiver only where the trace shows that it did.
Slack FindSlack(const Trace& trace, const Matching& matching, const WaitStates& states);

}  // namespace farscale
