// Time of a rank outside MPI within an interval, counts there, and the ideal time that follows from them.
#pragma once

#include <cstddef>
#include <vector>

#include "factors/thread_times.h"
#include "phases/phase_cut.h"
#include "replay/replay.h"
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

// Every iteration of a phase by itself: how long it takes, how much of that is useful, and how long it takes on the
// ideal network [Huck10; docs/formulas.md, iterations].

// One iteration, in seconds. Ranks need not begin and end it together. Where occurrences count (span `each`), the
// two lengths are those of the rank that takes longest. In one window (span `whole`) they are how far the iteration
// moves the end of the run: from when the last rank is through with the one before until the last rank is through with
// this one, less what lies between the two on every rank. Without such gaps they add up to T and T_ideal.
struct IterationProfile {
  double begin = 0;                // earliest on any rank, since the begin of the run
  double elapsed = 0;              // as measured
  double ideal = 0;                // replayed on the ideal network; 0 where the trace does not tell all waits
  double average_useful = 0;       // mean of the threads, where they are known
  double average_load = 0;         // basis of load balance: the same, but in hybrid runs all time outside MPI
  double largest_useful = 0;       // largest of any rank; the iteration's part of the ideal time by phase profiles
  double largest_computation = 0;  // basis of serialization with `ideal`: the same unless ranks paused

  // The factors of a phase. In one window they exceed 1 where a rank has computed long before the last one is through
  // with the iteration before: such iterations overlap, and only the phase as a whole has these factors. With threads
  // or devices, load balance, serialization and transfer are those of MPI.
  double ParallelEfficiency() const { return elapsed > 0 ? average_useful / elapsed : 0; }
  double LoadBalance() const { return largest_useful > 0 ? average_load / largest_useful : 0; }
  double Serialization() const { return ideal > 0 ? largest_computation / ideal : 0; }
  double Transfer() const { return elapsed > 0 && ideal > 0 ? largest_useful / elapsed / Serialization() : 0; }
};

// `replay` of this cut with every call kept. The rules say what computation is [docs/formulas.md, two notions of useful
// time]. `threads`: null where they are not known.
std::vector<IterationProfile> ProfileIterations(const Trace& trace, const PhaseCut& cut, const ReplayResult& replay,
                                                const ThreadStates* threads, RuleSet rules);

}  // namespace farscale
