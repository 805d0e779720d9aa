// The efficiency factors of one phase of one run, measured [docs/formulas.md, factors].
#pragma once

#include <cstddef>
#include <optional>
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

}  // namespace farscale
