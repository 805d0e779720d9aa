// Names the causes of waiting and what the run would gain without each [docs/formulas.md, causes and gains].
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "imbalance/causes/cause.h"
#include "imbalance/waits/collective_waits.h"
#include "imbalance/diagnosis.h"
#include "phases/phase_cut.h"
#include "replay/matching.h"
#include "trace/trace.h"

namespace farscale {

struct CauseInput {
  const Trace& trace;
  const Matching& matching;
  const PhaseCut& cut;
  const Activities& activities;
  const WaitStates& states;
  const CollectiveWaits& collectives;
  const Diagnosis& diagnosis;  // in ticks
};

// Those that gain kLeastGain of the phase or more, alone or once the others are gone, by what they gain. Each is
// replayed on the measured program; none where that does not take as long as was measured.
std::vector<Cause> FindCauses(const CauseInput& input, const CauseOptions& options);

// Of the MPI call path that gains most with every call as short as the shortest of them, waits apart, by a replay of
// the measured program; nothing below kLeastGain. Call overhead stays, and so does what messages of the least size
// take.
std::optional<LatencyGain> FindLatencyGain(const CauseInput& input);

}  // namespace farscale
