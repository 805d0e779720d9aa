// How much longer something could have taken before the phase takes longer, and what is nearly critical therefore
// [docs/formulas.md, slack].
#pragma once

#include <optional>
#include <vector>

#include "imbalance/activities.h"
#include "imbalance/collective_waits.h"
#include "imbalance/wait_states.h"
#include "replay/matching.h"
#include "trace/trace.h"

namespace farscale {

// Activities with less slack than this share of the phase are nearly critical.
inline constexpr double kNearlyCritical = 0.05;

struct Slack {
  // The least of any activity that takes time, of every rank and of every call path over all ranks; 0 on the critical
  // path, nothing where there is none.
  std::vector<std::optional<Tick>> of_rank, of_path;
  std::vector<double> nearly_critical;  // of every call path: ticks of all ranks with little slack, waits left out
};

// A receive can begin no sooner than its message is sent, a collective operation no sooner than it has what it needs;
// a send waits for its receiver only where the trace shows that it did.
Slack FindSlack(const Trace& trace, const Matching& matching, const Activities& activities, const WaitStates& states,
                const CollectiveWaits& collectives);

}  // namespace farscale
