// Slack [imbalance/critical_path.h] of a phase whose ranks lie with several processes: a pass from the last moment to
// the first, in rounds.
//
// A moment is when a rank enters or leaves a call. Each takes the slack of its rank from the moment behind it; where
// the call posts something, also from moments of other ranks at which that is needed, as far as those come later in the
// order of one process: by time, then by rank. Which moments are needed is told beforehand. So every process goes back
// on each of its ranks until it gets to a moment for which it has not been told all, and tells the others each round
// what it has found out.
//
// The order has no circles: of all moments that are left anywhere, the last one needs only such that are done, whose
// slack has been told by the end of the round. So every round does some, and the end is a round behind which none is
// left. What is taken is the least of some whole ticks, and does not depend on when it is told.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "imbalance/collective_waits.h"
#include "imbalance/critical_path.h"
#include "imbalance/part_waits.h"
#include "imbalance/wait_states.h"

namespace farscale {

struct PartSlack {
  Slack slack;               // of own ranks; of paths as far as they are on own ranks
  std::uint64_t rounds = 0;  // the same on all members
};

PartSlack FindPartSlack(const PhasePart& phase, const WaitStates& states, const CollectiveWaits& collectives);

// Of the same paths on other ranks.
void MergeSlack(Slack& into, const Slack& other);

}  // namespace farscale
