// The best division of a number of cores into processes and threads [docs/formulas.md, processes and threads].
//
// Parallel efficiency of a hybrid run is MPI's times OpenMP's times that of device offload. Each of them is separable,
// y(n, m) = f(n) g(m) for n processes of m threads, with g = 1 at the fewest threads: f is fitted to the numbers of
// processes that were run, g to those of threads; where one of both does not vary, there is no curve over it.
// Computation scalability is a curve over n m, or separable where that explains the runs better.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "projection/model_settings.h"
#include "projection/projection.h"
#include "projection/reliable_range.h"

namespace farscale {

class ModelLibrary;
struct FactorTable;
struct PhaseKey;

// A value with its 80 % interval.
struct SplitValue {
  double value = 0;
  IntervalBounds interval80;
};

struct ThreadSplit {
  std::int64_t processes = 1, threads = 1;
  // Over the most that were run; above 1 the split is extrapolated in that number.
  double processes_ratio = 1, threads_ratio = 1;
  SplitValue efficiency;  // parallel
  Reliability reliability = Reliability::kUnknown;
  SplitValue time;                                // an iteration, over that of the best split, drawn jointly with it
  std::optional<SplitValue> speedup;              // over the reference; nothing without computation scalability
  std::optional<SplitValue> seconds;              // an iteration
  Factor limit = Factor::kMpiParallelEfficiency;  // the smallest part of the efficiency
  bool is_run = false;                            // the number of threads and that of processes were both run
  bool may_be_best = false;                       // the interval of its time contains that of the best
};

// The gain from more threads a process: the speedup over fewer threads of as many processes.
struct ThreadGain {
  std::int64_t processes = 1, from = 1, to = 2;
  SplitValue speedup;
};

struct ThreadSplits {
  std::string series;
  PhaseId phase;
  std::vector<ThreadSplit> splits;  // the fewest threads first
  std::size_t best = 0;             // the shortest time
  // For the most processes that were run, once they have twice the most threads; nothing where threads do not vary.
  std::optional<ThreadGain> gain;
  std::string obstacle;  // why there are none; empty when there are
};

// For every phase with hybrid rows, all splits of so many cores into as many threads a process as divide them, up to
// twice as many as were run. Where processes do not vary, only that number of them is asked for, and so with threads.
// There is an obstacle where the effect of processes cannot be separated from that of threads, since no chain of runs
// that share one of both connects all runs. Throws a usage error when no row is hybrid. `cpus_of_node`: a process has
// no more threads; 0: any number.
std::vector<ThreadSplits> SplitCores(const FactorTable& table, const ModelLibrary& library,
                                     const ProjectionOptions& options, std::int64_t cores,
                                     std::int64_t cpus_of_node = 0);

// The splits of one number of cores.
struct SplitsOfCores {
  std::int64_t cores = 1;
  std::vector<ThreadSplits> phases;
};

// Null where the phase has none.
const ThreadSplits* FindSplits(const SplitsOfCores& splits, const PhaseKey& key);
// True if the splits of a phase are known at some number of cores.
bool KnowsSplits(const std::vector<SplitsOfCores>& splits, const PhaseKey& key);

// The same at every target of the options, or the default ones, of the phases whose runs vary both processes and
// threads. Empty where none do.
std::vector<SplitsOfCores> SplitTargets(const FactorTable& table, const ModelLibrary& library,
                                        const ProjectionOptions& options);

}  // namespace farscale
