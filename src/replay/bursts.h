// The computation of a rank between its MPI calls, as the clock and as a counter measured it. Bursts are numbered by
// the call they come before; calls() is the one after the last call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/diagnostics.h"
#include "phases/iteration_shape.h"
#include "phases/phase_cut.h"
#include "trace/names.h"
#include "trace/trace.h"

namespace farscale {

// Where the burst before a call lies; the timeline's ends take the place of calls before the first and after the last.
inline Tick BurstBegin(const RankTimeline& timeline, std::size_t call) {
  return call > 0 ? timeline.leave(call - 1) : timeline.begin();
}
inline Tick BurstEnd(const RankTimeline& timeline, std::size_t call) {
  return call < timeline.calls() ? timeline.enter(call) : timeline.end();
}

// Lengths of all bursts, in ticks.
std::vector<Tick> MeasuredLengths(const RankTimeline& timeline);

// A rank's bursts as a counter sees them. Bursts that an interruption of the recording touches have no counts: what the
// counter did in it is unknown: it may have stood still, or counted calls that were not recorded and the writing of
// buffers.
struct CountedRank {
  std::vector<Tick> measured;
  std::vector<double> counts;
  std::vector<bool> interrupted;
};

// The rank must have the counter, unless it never did anything.
CountedRank CountBursts(const RankTimeline& timeline, std::size_t counter);

// A median of fewer says nothing against one disturbed iteration.
inline constexpr std::size_t kFewestLikeIterations = 3;

struct TypicalIterations {
  std::vector<Tick> lengths;      // one a burst of the rank, as Computation::lengths
  std::uint64_t iterations = 0;   // in the cut on this rank
  std::uint64_t as_measured = 0;  // those, for want of others with the same calls
};

// The computation of a rank in every iteration, in ticks.
std::vector<double> ComputationOfIterations(const RankTimeline& timeline, const RankCut& cut);

// Replaces every burst of an iteration by its median over all iterations of the rank that make the same calls in the
// same order, heavy ones and others apart. Iterations without two others like them stay as measured, and so does what
// lies outside the iterations; a burst across an iteration's edge is replaced inside and kept outside.
TypicalIterations ReplaceByMedian(const RankTimeline& timeline, const RankCut& cut, const HeavyIterations& heavy);

// Checks that ranks had a processor while they computed, and that their counts are possible.

// Names the ranks that had a core for less than 95 % of their time outside MPI, by CPU time, else by cycles at the
// highest clock on the node; says nothing where the trace has neither. Of the phases cut, or of the whole run where
// there are none. Only what is missing in bursts of 100 us and more counts: a preempted burst is long, and in short
// ones the errors at the ends of the samples look like it [docs/formulas.md, processor time].
//
// Also names the ranks that count more than a processor can in their whole time, or from one edge to the next by more
// than a percent of all: 1.05 seconds of CPU time a second, 10 GHz, 100 instructions a nanosecond, for each thread.
Diagnostics CheckProcessorTime(const Trace& trace, const CounterNames& names, const std::vector<PhaseCut>& cuts = {});

}  // namespace farscale
