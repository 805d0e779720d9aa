// From the records of one task of a Paraver trace to the timeline of its rank.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/paraver_messages.h"
#include "trace/paraver_cursors.h"
#include "trace/trace.h"
#include "trace/trace_builder.h"

namespace farscale {

// Feeds the rank with all that its task recorded: a region around all of it; functions, the program's own events and
// stretches with tracing on as regions; MPI calls with their messages and collectives; counters, summed up; and the
// stretches outside MPI in which it did not run as pauses; where threads are known, as what the runtime of its team
// does. Without functions, regions of the callers of MPI calls:
// a region from the first to the last of the calls that follow each other and have the caller in common.
void BuildParaverRank(const Trace& trace, const ParaverTaskParts& parts, const ParaverTraceFacts& facts,
                      RankBuilder& rank);

}  // namespace farscale
