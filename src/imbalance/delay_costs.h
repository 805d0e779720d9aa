// What caused the wait states: delays on other ranks, directly or through chains of waits [Boehme13, section 4.3;
// docs/formulas.md, delay costs].
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "imbalance/activities.h"
#include "imbalance/collective_waits.h"
#include "imbalance/wait_states.h"

namespace farscale {

// How intervals are weighed.
enum class DelayRules : std::uint8_t {
  kConserving,  // [Boehme13]: costs add up to the waiting time
  kScalasca,    // as Scalasca 2: the end of the call at the synchronization point counts as work, and a wait longer
                // than what its delayer did is charged in part only
};

// By kind of the wait state that is caused in the end, in ticks summed over ranks.
using ByWaitKind = std::array<double, kWaitKinds>;

// Costs of what one rank did in one call path.
struct PathCosts {
  PathId path = 0;
  ByWaitKind short_term{};  // of waits it caused itself
  ByWaitKind long_term{};   // of waits that those caused in turn
};

// Of one wait state, in ticks.
struct WaitParts {
  double indirect = 0;     // caused by waits of the delayer; the rest is direct
  double propagating = 0;  // causes other waits; the rest is terminal
  double caused = 0;       // waiting time elsewhere that this wait brings about (phi)
};

struct RankCosts {
  std::vector<PathCosts> paths;   // in the order of paths, those with costs
  std::vector<WaitParts> waits;   // of every wait state of the rank
};

struct DelayCosts {
  std::vector<RankCosts> ranks;
  ByWaitKind unattributed{};  // waits, and what they caused, behind which no delay is found
  ByWaitKind lost{};          // not charged by the rules of Scalasca
};

DelayCosts FindDelayCosts(const Activities& activities, const WaitStates& states, const CollectiveWaits& collectives,
                          DelayRules rules = DelayRules::kConserving);

}  // namespace farscale
