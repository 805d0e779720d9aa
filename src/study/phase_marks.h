// Where the phases of a run lie in time, for the report.
#pragma once

#include "factors/disturbance.h"
#include "phases/phase_cut.h"
#include "results/results.h"
#include "trace/trace.h"

namespace farscale {

// Iterations beyond this many are told in groups.
inline constexpr std::size_t kMostIterationRecords = 400;

// `cut`: with all iterations; `choice`: which are kept, and how disturbed each is. Where some are left out, the marks
// say what the factors would be with them.
PhaseMarks MarkPhase(const Trace& trace, const Matching& matching, const PhaseCut& cut, const CleanChoice& choice,
                     const FactorOptions& options);

}  // namespace farscale
