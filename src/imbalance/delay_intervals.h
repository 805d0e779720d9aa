// Why one rank came later than another that waited for it: what either did since the two last ran together, up to the
// wait state [Boehme13, section 4.3; docs/formulas.md, delay costs].
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "imbalance/collective_waits.h"
#include "imbalance/delay_costs.h"

namespace farscale {

// What lies between a wait state and the synchronization point before it, on the side of the delayer.
struct DelayInterval {
  std::uint32_t first_delay = 0, end_delay = 0;  // into the delays of the waiter
  std::uint32_t first_wait = 0, end_wait = 0;    // waits of the delayer
  Tick delays = 0;                               // sum of both
  Tick waits = 0;
  std::optional<PathId> exit_path{};  // of the delayer's call at the synchronization point
};

struct Delay {
  PathId path = 0;
  Tick ticks = 0;  // by which the delayer was longer in it
};

// Of some wait states of one rank, in their order.
struct RankIntervals {
  std::vector<DelayInterval> intervals;
  std::vector<Delay> delays;
};

// Finds the intervals of any wait states. They take more room than the wait states, so that only those in use are kept.
class DelayIntervalSearch {
 public:
  DelayIntervalSearch(const Activities& activities, const WaitStates& states, const CollectiveWaits& collectives,
                      DelayRules rules);
  ~DelayIntervalSearch();

  // Wait states [first, end) of a rank.
  struct Part {
    std::uint32_t rank = 0;
    std::uint32_t first = 0, end = 0;
  };
  // One result a part, in the place of what is there.
  void Find(std::span<const Part> parts, std::span<RankIntervals> results) const;

 private:
  class Search;
  std::unique_ptr<const Search> search_;
};

}  // namespace farscale
