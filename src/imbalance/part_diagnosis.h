// The diagnosis of a phase [imbalance/diagnosis.h] whose ranks lie with several processes: each finds wait states,
// delay costs and its stretches of the critical path, and gives the first member what its ranks lose by call path. That
// one adds them up in the order of ranks, so that the result has the bits of one process.
#pragma once

#include <optional>

#include "imbalance/diagnosis.h"
#include "replay/replay.h"
#include "replay/shared_replay.h"

namespace farscale {

// What the processes that share a run do for it [replay/shared_replay.h].
SharedTask DiagnosisTask();

// Causes and the gain without latency need replays with all ranks in one process and must not be asked for. `replayed`:
// at the times of a replay by these rules on OneTickNetwork [imbalance/factor_losses.h].
Diagnosis DiagnoseShared(const Trace& trace, SharedReplay& shared, const PhaseCut& cut, const DiagnosisOptions& options,
                         const std::optional<ReplayRules>& replayed = std::nullopt);

}  // namespace farscale
