// The diagnosis of a phase [imbalance/diagnosis.h] whose ranks lie with several processes: each finds wait states,
// delay costs and its stretches of the critical path, and gives the first member what its ranks lose by call path. That
// one adds them up in the order of ranks, so that the result has the bits of one process.
#pragma once

#include "imbalance/diagnosis.h"
#include "parallel/exchange.h"
#include "replay/part_matching.h"
#include "replay/part_program.h"
#include "replay/shared_replay.h"

namespace farscale {

// At the first member; others get nothing. Without slack, shapes, causes and latency, which need all ranks in one
// process: options that ask for these are none for this.
Diagnosis DiagnosePart(const TracePart& part, const PartMatching& matching, const PartCut& cut,
                       const DiagnosisOptions& options, Exchange& exchange);

// For the processes that share a run [replay/shared_replay.h].
SharedTask DiagnosisTask();
Diagnosis DiagnoseShared(SharedReplay& shared, const PhaseCut& cut, const DiagnosisOptions& options);

}  // namespace farscale
