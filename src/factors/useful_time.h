// Time of a rank outside MPI within an interval, counts there, and the ideal time that follows from them.
#pragma once

#include <cstddef>
#include <vector>

#include "factors/phase_totals.h"
#include "factors/thread_times.h"
#include "phases/phase_cut.h"
#include "replay/replay.h"
#include "trace/trace.h"

namespace farscale {

struct IterationProfile;

// Time outside MPI within an interval of one rank, in ticks, without its pauses; and the pauses.
Tick UsefulTicks(const RankTimeline& timeline, const Interval& interval);
Tick PausedTicks(const RankTimeline& timeline, const Interval& interval);

// Counts outside MPI within an interval of one rank; the rank must have the counter.
double UsefulCount(const RankTimeline& timeline, std::size_t counter, const Interval& interval);

// Sums that follow from the useful and paused ticks of every rank: everything but T, T_ideal, MPI time and counts.
PhaseTotals SumRanks(const Trace& trace, const PhaseCut& cut, const std::vector<Tick>& useful,
                     const std::vector<Tick>& paused);

// Puts what the threads of every rank do into totals of main threads. A run takes no less on an ideal network than any
// of its threads is outside MPI, which a replay of main threads does not know.
void UseThreads(const Trace& trace, const PhaseCut& cut, const std::vector<ThreadTicks>& of_ranks, PhaseTotals& totals);

// T_ideal estimated from phase profiles: the sum over iterations of the largest useful time of any rank [Huck10],
// in ticks and not clamped. Of threads the mean time outside MPI, as in the totals of a hybrid run.
Tick EstimateIdealFromIterations(const Trace& trace, const PhaseCut& cut, const ThreadStates* threads = nullptr);

// `replay` of this cut with every call kept. The rules say what computation is [docs/formulas.md, two notions of useful
// time]. `threads`: null where they are not known.
std::vector<IterationProfile> ProfileIterations(const Trace& trace, const PhaseCut& cut, const ReplayResult& replay,
                                                const ThreadStates* threads, RuleSet rules);

}  // namespace farscale
