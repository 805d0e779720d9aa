// The computation of a rank between its MPI calls, as the clock and as a counter measured it, and its lengths without
// noise, which a replay can use in place of the measured ones [docs/formulas.md, computation noise removal; Rosas14,
// section 2.4.2]. Bursts are numbered by the call they come before; calls() is the one after the last call.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
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

// A median of fewer says nothing against one disturbed iteration.
inline constexpr std::size_t kFewestLikeIterations = 3;

// The source of the length of a burst of computation.
enum class ComputationSource {
  kMeasured,      // the clock of the trace
  kCycles,        // cycles at the clock of the processor; they do not advance while the process is preempted
  kCpuTime,       // CPU time, which does not either
  kIterations,    // the median of the same burst over the iterations of a phase: an estimate
  kInstructions,  // instructions at the mean rate of the whole run: a what-if, it also evens out the speed of ranks
};

// "measured", "cycles", "cpu-time", "iterations", "instructions".
std::string ToString(ComputationSource source);
std::optional<ComputationSource> ParseComputationSource(std::string_view name);

// Lengths of the computation of a whole run, in ticks and never negative: lengths[rank][call] is what comes before that
// call (from leaving the one before, or from the rank's first event), lengths[rank][calls] what follows the last one.
struct Computation {
  std::vector<std::vector<Tick>> lengths;
  ComputationSource source = ComputationSource::kMeasured;
  // For reports; names the source itself: "CPU time (CPU_TIME)".
  std::string description;
  double measured_seconds = 0;  // sums over all ranks
  double clean_seconds = 0;
  std::vector<double> clocks;  // with kCycles: counts per tick of every rank, by which lengths are taken; else empty
  Diagnostics diagnostics;
};

struct ComputationOptions {
  // Nothing: the best there is in the order cycles, CPU time, iterations; else as measured, and the description and
  // the diagnostics say why.
  std::optional<ComputationSource> source;
  CounterNames counters;
  const PhaseCut* iterations = nullptr;  // whose iterations kIterations compares; of this trace
};

// Throws a usage error naming what is missing when the trace cannot give the source asked for, or lacks a counter named
// in `options.counters`. The sums of a rank's lengths are its total counts by the rate, to the tick.
Computation CleanComputation(const Trace& trace, const ComputationOptions& options);
// From one source; nothing where the trace cannot give it.
std::optional<Computation> TryComputation(const Trace& trace, ComputationSource source, const CounterNames& counters);
Computation MeasuredComputation(const Trace& trace);

// The clock of the processor, from cycles and times of bursts of computation.
//
// Assumption about the data: a process that loses its core stops counting cycles while time goes on, so bursts show at
// most the rate of the clock and often less. Many bursts of a rank run undisturbed, though, and agree. So the clock is
// the highest rate at which bursts gather, not their mean, which interruptions lower, nor their maximum, which the
// resolution of timers raises.

struct CountedBurst {
  Tick ticks = 0;
  double counts = 0;
  // There are no counts where a gap in the recording interrupts a burst: in the gap the counter may have stood still,
  // or counted calls that were not recorded and the writing of buffers.
  bool is_interrupted = false;
};

struct ClockRate {
  double counts_per_tick = 0;
  double uncertainty = 0;  // relative; within it two estimates are one
  std::size_t bursts = 0;  // that the estimate rests on
};

// The upper mode of counts / ticks over the long bursts [docs/formulas.md, computation noise removal]; nothing
// when no burst has both. `long_from`: in ticks; bursts of this length and more are long. There are always some, since
// the longest bursts are taken until they hold a tenth of the counts.
std::optional<ClockRate> EstimateClockRate(std::vector<CountedBurst> bursts, Tick long_from);

}  // namespace farscale
