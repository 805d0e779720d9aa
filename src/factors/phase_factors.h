// The efficiency factors of one phase of one run, measured [docs/formulas.md, factors].
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor.h"
#include "factors/useful_time.h"
#include "factors/phase_totals.h"
#include "phases/phase_cut.h"
#include "phases/rank_groups.h"
#include "replay/matching.h"
#include "replay/replay.h"
#include "trace/counters.h"
#include "trace/trace.h"

namespace farscale {

// Distribution of useful time over the ranks of a phase, and the part of it that is the same in every iteration
// [docs/formulas.md, distribution of loads].

// The load of a rank is its useful time over the mean of the ranks, t_i / avg t. So loads have the mean 1, and the
// largest is the reciprocal of load balance. Tables from elsewhere may know only some of the values.
struct LoadDistribution {
  std::optional<double> deviation;  // standard deviation over the ranks, with P - 1
  std::optional<double> skewness;   // m3 / m2^(3/2) with the central moments m; 0 where all loads are equal
  std::optional<double> kurtosis;   // m4 / m2² - 3; the same
  std::optional<double> quantile5, quantile25, quantile50, quantile75, quantile95;
  std::optional<double> largest_of_half;  // mean for half of the ranks, chosen at random
  // Loads within an iteration, t_ik / avg t_k. Nothing with one iteration, or where ranks differ in how many they
  // run.
  std::optional<double> persistent;  // standard deviation over the ranks of what is the same in all iterations
  std::optional<double> noise;       // standard deviation of what differs, of one iteration

  bool IsKnown() const { return *this != LoadDistribution(); }

  friend bool operator==(const LoadDistribution&, const LoadDistribution&) = default;
};

// `useful`: times in any unit, one a rank. Leaves out `persistent` and `noise`. Nothing for a single rank, and where
// the mean is 0.
std::optional<LoadDistribution> DistributionOf(std::vector<double> useful);

// The mean of the largest of `count` values that are chosen at random, each at most once; `count` from 1 to as many as
// there are.
double ExpectedLargestOf(const std::vector<double>& sorted, std::size_t count);

// Splits the variance of loads into that of the ranks and that of a rank's iterations, by analysis of variance
// [Searle92].
class LoadVariation {
 public:
  // Loads of one rank in every iteration, t_ik / avg t_k; equally many on all ranks.
  void AddRank(const std::vector<double>& loads);

  // Nothing for fewer than two ranks or iterations.
  void Set(LoadDistribution& distribution) const;

 private:
  std::size_t iterations_ = 0;
  double squares_within_ = 0;  // Σ (x_ik - mean of rank i)²
  std::vector<double> means_;  // one a rank
};

// The phase without one block of its iterations, once for every block.
struct BlockSamples {
  std::size_t iterations = 0;
  std::size_t block_size = 1;
  std::vector<FactorValues> values;  // those that need no reference run
  // The mean length of an iteration without the block, as share of the mean in the whole phase.
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
