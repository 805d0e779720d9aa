// Every iteration of a phase by itself: how long it takes and how much of that is useful [Huck10].
#pragma once

#include <vector>

#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

// Of one iteration, in seconds. Ranks that do not run it count with nothing.
struct IterationProfile {
  double begin = 0;                     // earliest on any rank, since the begin of the run
  double mean_begin = 0, mean_end = 0;  // of the ranks that run it, since the same
  double elapsed = 0;  // mean length over the ranks: iterations overlap, so that no begin and end are common
  double average_useful = 0;
  double largest_useful = 0;

  double LoadBalance() const { return largest_useful > 0 ? average_useful / largest_useful : 0; }
  double ParallelEfficiency() const { return elapsed > 0 ? average_useful / elapsed : 0; }
};

std::vector<IterationProfile> ProfileIterations(const Trace& trace, const PhaseCut& cut);

}  // namespace farscale
