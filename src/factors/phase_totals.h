// Sums over a phase of one run, and the efficiency factors that follow from them [docs/formulas.md, factors].
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "factors/factor.h"
#include "factors/formulas.h"
#include "factors/thread_times.h"
#include "phases/phase_cut.h"
#include "replay/replay.h"
#include "trace/trace.h"

namespace farscale {

// Standard errors of what an iteration of a phase takes, as shares of it: what runs are compared by has these errors
// whichever run it is compared with [docs/formulas.md, spread].
struct RelativeErrors {
  double elapsed = 0;                  // T
  double useful = 0;                   // Σ t
  std::optional<double> instructions;  // Σ ins
  std::optional<double> ipc;
  std::optional<double> frequency;

  friend bool operator==(const RelativeErrors&, const RelativeErrors&) = default;
};

// Sums over one phase of one run, in seconds and counts. In a hybrid run, useful time of a rank is the mean of what its
// threads are outside MPI without waiting for it, and averages weigh ranks by their threads: factors of MPI follow as
// in a run without threads.
struct PhaseTotals {
  double elapsed = 0;         // T; 0 where clocks of ranks contradict each other
  double ideal_elapsed = 0;   // T_ideal; 0 where it is not known: without a trace, or with waits it does not tell
  double average_useful = 0;  // avg t
  double largest_useful = 0;  // max t
  double total_useful = 0;    // Σ t
  double total_mpi = 0;       // useful + paused + MPI = length of the windows
  double total_paused = 0;    // outside MPI, but not running
  // The largest of any rank, outside MPI whether running or not; in a whole run since its begin, also on late ranks.
  double largest_computation = 0;
  double largest_node_load = 0;
  std::optional<double> instructions;  // inside useful time
  std::optional<double> cycles;
  std::optional<double> estimated_ideal;  // Σ over iterations of max t [Huck10], clamped to [max t, T]
  std::optional<RelativeErrors> errors;   // in rows of a table; nothing with too few iterations
  std::optional<ThreadTimes> threads;     // in hybrid runs
  std::optional<DeviceTimes> devices;     // in runs with devices that computed

  // Σ t of all threads.
  double UsefulOfAll() const { return threads ? threads->useful : total_useful; }

  friend bool operator==(const PhaseTotals&, const PhaseTotals&) = default;
};

// The factors that need no reference run, and the estimate of serialization where it is known.
FactorValues FactorsOf(const PhaseTotals& totals, RuleSet rules);

// The additive scheme from the same times; nothing of a run without threads. Without an ideal time, transfer holds
// serialization.
std::optional<AdditiveLosses> AdditiveLossesOf(const PhaseTotals& totals);

// Puts what the threads of every rank do into totals of main threads. A run takes no less on an ideal network than any
// of its threads is outside MPI, which a replay of main threads does not know.
void UseThreads(const Trace& trace, const PhaseCut& cut, const std::vector<ThreadTicks>& of_ranks, PhaseTotals& totals);

// The ideal time by phase profiles within the range it must lie in, [max t, T].
double ClampEstimate(double estimated_ideal, const PhaseTotals& totals);

// The largest mean load of the ranks, or processors, of any node; `nodes` of each.
double LargestNodeLoad(const std::vector<double>& loads, const std::vector<std::int32_t>& nodes);

// Sums that follow from the useful and paused ticks of every rank: everything but T, T_ideal, MPI time and counts.
PhaseTotals SumRanks(const Trace& trace, const PhaseCut& cut, const std::vector<Tick>& useful,
                     const std::vector<Tick>& paused);

}  // namespace farscale
