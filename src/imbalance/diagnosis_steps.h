// The steps of a diagnosis [imbalance/diagnosis.h]. Times are ticks until the last.
#pragma once

#include <vector>

#include "imbalance/activities.h"
#include "imbalance/collective_waits.h"
#include "imbalance/critical_path.h"
#include "imbalance/delay_costs.h"
#include "imbalance/diagnosis.h"
#include "imbalance/wait_states.h"
#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

// Whether waits at the end are charged, where that is not said.
DelayOptions DelaysOf(const PhaseCut& cut, DelayOptions options);

// Losses of every rank of the trace that is present. Paths and waits of the costs are given up.
std::vector<RankLosses> LossesOfRanks(const Activities& activities, const CollectiveWaits& collectives,
                                      const WaitStates& states, std::vector<RankCosts>& costs,
                                      const std::vector<PathSegment>& critical);

// What follows from paths, ranks and their costs alone: totals, imbalance, impact, and what is charged to nobody.
void AddOverRanks(const PhaseCut& cut, const std::vector<RankCosts>& costs, const DiagnosisOptions& options,
                  Diagnosis& diagnosis);

// Whether waits for locks are among them: whoever has a lock may keep others waiting, which slack does not know.
bool HasLockWaits(const WaitStates& states);
void AddSlack(const Slack& slack, Diagnosis& diagnosis);

// Of those that are regions of the trace; of equals those first by name.
std::vector<PathId> LargestCosts(const Diagnosis& diagnosis, std::size_t most);

// Of a phase of so many ticks.
void FinishDiagnosis(const Trace& trace, Tick length, Diagnosis& diagnosis);

}  // namespace farscale
