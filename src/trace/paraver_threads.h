// Threads of the tasks of a Paraver trace other than the first, by their states.
#pragma once

#include <vector>

#include "trace/paraver_timeline.h"
#include "trace/paraver_tasks.h"
#include "trace/trace_builder.h"

namespace farscale {

// Regions of the states that a thread of a team has in the runtime, beside what it runs.
void AddParaverTeamRegions(TraceBuilder& builder, ParaverTraceFacts& facts);

// Adds the threads of every task with their teams, once the timelines of the ranks are there. A team lasts as long as
// any thread of the task but the first is neither idle nor missing; what a thread idles meanwhile is the runtime's.
// What counters count between two samples of a thread grows evenly with the time that it runs in between.
void AddParaverThreads(ParaverRecords& records, const ParaverTraceFacts& facts, TraceBuilder& builder);

}  // namespace farscale
