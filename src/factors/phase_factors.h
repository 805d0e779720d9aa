// The efficiency factors of one phase of one run, measured [docs/formulas.md, factors].
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor.h"
#include "factors/phase_totals.h"
#include "phases/phase_spec.h"
#include "replay/network.h"
#include "replay/unknown_waits.h"
#include "trace/names.h"

namespace farscale {

struct Matching;
struct PhaseCut;
struct RankGroup;
struct Trace;

// One iteration of a phase by itself, in seconds: how long it takes, how much of that is useful, and how long it takes
// on the ideal network [Huck10; docs/formulas.md, iterations]. Ranks need not begin and end it together. Where
// occurrences count (span `each`), the two lengths are those of the rank that takes longest. In one window (span
// `whole`) they are how far the iteration moves the end of the run: from when the last rank is through with the one
// before until the last rank is through with this one, less what lies between the two on every rank. Without such gaps
// they add up to T and T_ideal.
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

struct PhaseFactors {
  PhaseId phase;
  Span span = Span::kWhole;
  std::size_t iterations = 1;
  PhaseTotals totals;
  FactorValues values;                     // those that need no reference run
  UnknownWaits unknown_waits;              // any: why there are no serialization and transfer
  std::optional<LoadDistribution> loads;   // over the ranks; nothing for a single one
  std::optional<BlockSamples> samples;     // their variation; nothing with too few iterations
  std::vector<IterationProfile> profiles;  // one an iteration; empty for a phase that has none
  Diagnostics diagnostics;
};

struct FactorOptions {
  ReplayRules rules;
  CounterNames counters;
};

// Throws an input error when the replay cannot complete.
PhaseFactors MeasurePhase(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                          const FactorOptions& options);

// A phase, and the groups of its ranks by themselves, from one replay of all ranks [Huck10]. T and T_ideal of a group
// are those of its ranks: max e - min b, and the same in the replay.
struct GroupedFactors {
  PhaseFactors whole;
  // One a group; nothing for one that computes nothing in the phase. Their diagnostics repeat parts of the whole's.
  std::vector<std::optional<PhaseFactors>> groups;
};

GroupedFactors MeasurePhase(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                            const std::vector<RankGroup>& groups, const FactorOptions& options);

// Iterations of a phase that were disturbed from outside the program: by the operating system, other jobs, or a slow
// clock. In [Rosas14, section 2.1] an expert selects them by the duration of bursts, cycles per microsecond and MPI
// calls; the same measures are used here [docs/formulas.md, clean cuts].

// Time lost in one iteration, as shares of the median iteration; 0 where unknown.
struct Disturbance {
  double bursts = 0;  // computation beyond the usual between the same calls, on the rank that has most
  std::size_t bursts_rank = 0;
  double clock = 0;  // the same for cycles (or CPU time) per microsecond below what is usual on a rank
  std::size_t clock_rank = 0;
  // Time in MPI that the ideal replay does not explain, beyond the usual; mean of all ranks.
  double calls = 0;
  // Beyond the usual length of iterations with the same calls and place in a cycle; mean of all ranks. The rest is
  // waiting.
  double longer = 0;
  bool is_judged = true;  // most ranks make the same calls, at that place in a cycle, in two other iterations
  bool is_alone = false;  // most ranks make calls in it that they make in no other
  double odd = 0;         // time beyond the median iteration, or difference in computation
  // Its length without disturbances: its work at the usual rate, and the usual time in MPI of iterations with the same
  // calls; mean of all ranks. The measured length where no iteration is comparable.
  double regular = 0;

  double Total() const { return (bursts > clock ? bursts : clock) + calls; }
};

// One entry an iteration; empty when ranks differ in how many they have, or when there are fewer than three to compare.
std::vector<Disturbance> MeasureDisturbance(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                                            const FactorOptions& options);

// Which iterations are clean, and which are kept.
struct CleanChoice {
  std::vector<Disturbance> iterations;  // empty: not judged, all are kept
  std::vector<std::string> reasons;     // why an iteration is not clean; empty for clean ones
  std::vector<bool> kept;
  bool too_many_differ = false;  // more than a third stand out: that is the program, so all count as clean

  std::size_t Kept() const;
  bool KeepsAll() const { return Kept() == kept.size(); }
  // Mean undisturbed length of the iterations kept compared with that of all, as a share of the latter. It differs from
  // 0 where the choice leaves out work of the program and not only noise.
  double RegularWorkLost() const;
};

// Keeps the longest run of consecutive clean iterations, or the cleanest ones, depending on the spec of the cut.
CleanChoice ChooseClean(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                        const FactorOptions& options);

// The phase without the iterations that its spec excludes; unchanged if the spec keeps all. The diagnostics of the cut
// list the excluded iterations.
PhaseCut CutClean(const Trace& trace, const Matching& matching, const PhaseCut& cut, const FactorOptions& options);
// The same for a choice already made.
PhaseCut KeepClean(const Trace& trace, const PhaseCut& cut, const CleanChoice& choice);

}  // namespace farscale
