// The causes of wait states: delays on other ranks, directly or through chains of waits [Boehme13, section 4.3;
// docs/formulas.md, delay costs].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "imbalance/waits/activities.h"
#include "imbalance/waits/losses.h"
#include "imbalance/waits/wait_states.h"

namespace farscale {

// Costs of what one rank did in one call path.
struct PathCosts {
  PathId path = 0;
  ByWaitKind short_term{};  // waits it caused itself
  ByWaitKind long_term{};   // waits that those caused in turn
  // Waits for a rank that left the last synchronization point later than the one that waited, as far as nothing that it
  // did since explains them, and what those caused; charged to its call there. [Boehme13] leaves them open.
  ByWaitKind exit_skew{};
};

// Ticks of one wait state.
struct WaitParts {
  double indirect = 0;     // caused by waits of the delayer; the rest is direct
  double propagating = 0;  // causes other waits; the rest is terminal
  double caused = 0;       // waiting time elsewhere that this wait causes in turn (phi)
};

struct RankCosts {
  std::vector<PathCosts> paths;  // in the order of paths, those with costs
  std::vector<WaitParts> waits;  // one a wait state of the rank
  ByWaitKind unattributed{};     // waits for the rank, and what they caused, behind which no delay is found
  ByWaitKind lost{};             // the part of those not charged by the rules of Scalasca
  double at_end = 0;             // its wait at the end, where that is not charged
};

struct DelayCosts {
  std::vector<RankCosts> ranks;
  // One a path: costs by rank and iteration of the delay. Sums of them are exact.
  std::vector<LossRaster> rasters;
};

// `charge_end`: waits at the end, too.
DelayCosts FindDelayCosts(const WaitStates& states, std::size_t iterations = 1, DelayRules rules = DelayRules::kBounded,
                          bool charge_end = false);

// Begins of stretches of time with so many of the samples each, rising; the first stretch has none.
std::vector<Tick> BeginsOfStretches(std::vector<Tick> samples, std::size_t step);

// Why one rank came later than another that waited for it: what either did since the two last ran together, up to the
// wait state [Boehme13, section 4.3; docs/formulas.md, delay costs].

// The time between a wait state and the synchronization point before it, on the side of the delayer.
struct DelayInterval {
  std::uint32_t first_delay = 0, end_delay = 0;  // into the delays of the waiter
  std::uint32_t first_wait = 0, end_wait = 0;    // waits of the delayer
  Tick delays = 0;                               // sum of both
  Tick waits = 0;
  std::optional<PathId> exit_path{};  // path of the delayer's call at the synchronization point
};

// Wait states [first, end) of a rank, and their intervals in this order.
struct RankIntervals {
  std::uint32_t rank = 0, first = 0, end = 0;
  std::vector<DelayInterval> intervals = {};
  std::vector<std::pair<PathId, Tick>> delays = {};  // call paths, and how much longer the delayer was in each
};

// Sums over the activities and waits of one rank, from which the times in any interval follow in constant time.
struct IntervalSums {
  // Ticks in activities [0, (i + 1) * step), waits left out, by path in the order in which the rank first comes to
  // them.
  std::size_t step = 0;
  std::vector<PathId> order;
  std::vector<Tick> ticks;
  std::vector<std::uint32_t> ends;         // in ticks, for activities [0, (i + 1) * step)
  std::vector<std::uint32_t> first_waits;  // in or behind activity i * step
  std::vector<Tick> waits;                 // the length of all waits before each of its waits, and before the end
};
std::vector<IntervalSums> FindIntervalSums(const WaitStates& states);

// Finds the intervals of the wait states. They take more room than these, so only those in use are kept.
void FindIntervals(const WaitStates& states, DelayRules rules, const std::vector<IntervalSums>& sums,
                   std::span<RankIntervals> ranges);

}  // namespace farscale
