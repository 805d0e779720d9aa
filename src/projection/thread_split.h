// How a number of cores is best divided into processes and threads [docs/formulas.md, processes and threads].
//
// Parallel efficiency of a hybrid run is MPI's times OpenMP's times that of device offload. Each of them is separable,
// y(n, m) = f(n) g(m) for n processes of m threads, with g = 1 at the fewest threads: f is fitted to the numbers of
// processes that were run, g to those of threads; where one of both does not vary, there is no curve over it.
// Computation scalability is taken to depend on n m alone, so that it is the same for all splits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "models/scaling_model.h"
#include "projection/intervals.h"
#include "projection/projection.h"

namespace farscale {

struct ThreadSplit {
  std::int64_t processes = 1, threads = 1;
  double efficiency = 0;  // parallel
  IntervalBounds interval80;
  double time = 1;      // of an iteration, over that of the best split
  bool is_run = false;  // the number of threads and that of processes were both run
};

struct ThreadSplits {
  std::string series;
  PhaseId phase;
  std::vector<ThreadSplit> splits;  // by rising threads
  std::size_t best = 0;             // the highest efficiency
  // The splits that are the best in at least a tenth of the draws: fewest and most threads.
  std::int64_t fewest = 1, most = 1;
  std::string obstacle;  // why there are none; empty when there are
};

// Of every phase with hybrid rows, all splits of so many cores into as many threads a process as divide them, up to
// twice as many as were run. Where processes do not vary, only that number of them is asked for, and so with threads.
// Throws a usage error when no row is hybrid.
std::vector<ThreadSplits> SplitCores(const FactorTable& table, const ModelLibrary& library,
                                     const ProjectionOptions& options, std::int64_t cores);

}  // namespace farscale
