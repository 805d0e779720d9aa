// What a rank does outside MPI within an interval: time, counts, and the ideal time that follows from them.
#pragma once

#include <cstddef>

#include "factors/thread_times.h"
#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

// Time outside MPI within an interval of one rank, in ticks, without its pauses; and the pauses.
Tick UsefulTicks(const RankTimeline& timeline, const Interval& interval);
Tick PausedTicks(const RankTimeline& timeline, const Interval& interval);

// Counts outside MPI within an interval of one rank; the rank must have the counter.
double UsefulCount(const RankTimeline& timeline, std::size_t counter, const Interval& interval);

// T_ideal estimated from phase profiles: the sum over iterations of the largest useful time of any rank [Huck10],
// in ticks and not clamped. Of threads the mean time outside MPI, as in the totals of a hybrid run.
Tick EstimateIdealFromIterations(const Trace& trace, const PhaseCut& cut, const ThreadStates* threads = nullptr);

}  // namespace farscale
