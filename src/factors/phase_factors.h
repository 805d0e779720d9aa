// The efficiency factors of one phase of one run, measured [docs/formulas.md, factors].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor.h"
#include "factors/iteration_profile.h"
#include "factors/load_distribution.h"
#include "factors/phase_totals.h"
#include "phases/phase_cut.h"
#include "phases/rank_groups.h"
#include "replay/matching.h"
#include "replay/replay.h"
#include "trace/counters.h"
#include "trace/trace.h"

namespace farscale {

// The phase without one block of its iterations, once for every block.
struct BlockSamples {
  std::size_t iterations = 0;
  std::size_t block_size = 1;
  std::vector<FactorValues> values;  // those that need no reference run
  // What an iteration takes on average, as share of what it takes on average in the whole phase.
  std::vector<double> elapsed, useful;
  std::vector<double> instructions, cycles;  // empty when not known

  friend bool operator==(const BlockSamples&, const BlockSamples&) = default;
};

struct PhaseFactors {
  PhaseId phase;
  Span span = Span::kWhole;
  std::size_t iterations = 1;
  PhaseTotals totals;
  FactorValues values;                     // those that need no reference run
  UnknownWaits unknown_waits;              // any: why there are no serialization and transfer
  std::optional<LoadDistribution> loads;   // over the ranks; nothing for a single one
  std::optional<BlockSamples> samples;     // how they vary; nothing with too few iterations
  std::vector<IterationProfile> profiles;  // of every iteration; empty for a phase that has none
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
