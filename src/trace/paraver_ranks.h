// The timelines of all ranks of a Paraver trace, built by one process or by several.
#pragma once

#include <vector>

#include "base/diagnostics.h"
#include "trace/paraver_cursors.h"
#include "trace/paraver_timeline.h"
#include "trace/trace.h"

namespace farscale {

struct ParaverRank {
  RankTimeline timeline;
  Diagnostics diagnostics;
};

// In the order of the tasks. `definitions`: the trace without timelines. Where other processes of the job may be asked
// [trace/shared_reading.h], they build some of the ranks.
std::vector<ParaverRank> BuildParaverRanks(const Trace& definitions, const std::vector<ParaverTaskParts>& tasks,
                                           const ParaverTraceFacts& facts);

}  // namespace farscale
