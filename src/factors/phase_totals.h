// Sums over a phase of one run, and the efficiency factors that follow from them [docs/formulas.md, factors].
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "factors/factor.h"
#include "factors/formulas.h"

namespace farscale {

enum class RuleSet;

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

// The inefficiencies of the additive scheme [POP hybrid, additive], shares of N · T that sum up to 1 less the parallel
// efficiency.
struct AdditiveLosses {
  double mpi_load_balance = 0, mpi_serialization = 0, mpi_transfer = 0;  // processes only
  double parallel_regions = 0;  // threads in parallel regions that do nothing useful
  double serial_regions = 0;    // threads outside of them
  double device_runtime = 0;

  friend bool operator==(const AdditiveLosses&, const AdditiveLosses&) = default;
};

// The additive scheme from the same times; nothing of a run without threads. Without an ideal time, transfer holds
// serialization.
std::optional<AdditiveLosses> AdditiveLossesOf(const PhaseTotals& totals);

// The ideal time by phase profiles within the range it must lie in, [max t, T].
double ClampEstimate(double estimated_ideal, const PhaseTotals& totals);

// The largest mean load of the ranks, or processors, of any node; `nodes` of each.
double LargestNodeLoad(const std::vector<double>& loads, const std::vector<std::int32_t>& nodes);

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
// [Searle92]. `loads`: of every rank in every iteration, t_ik / avg t_k; equally many on all ranks. Leaves the
// distribution as it is for fewer than two ranks or iterations.
void SplitVariation(const std::vector<std::vector<double>>& loads, LoadDistribution& distribution);

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

}  // namespace farscale
