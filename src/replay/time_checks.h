// Checks of the times in a trace: they may not fit each other though nothing runs backwards, and ranks may lack a
// processor while they compute.
#pragma once

#include <vector>

#include "base/diagnostics.h"
#include "phases/phase_cut.h"
#include "trace/names.h"
#include "trace/trace.h"

namespace farscale {

// Warns of edges of MPI calls that lie apart from the same edges of other iterations of the rank, and of the other
// ranks, by a hundredth of the largest useful time or more, while what lies before and after them takes as long as
// usual. Programs that do not repeat what they do give no reason to doubt.
Diagnostics FindDisplacedTimes(const Trace& trace);

// Names the ranks that had a core for less than 95 % of their time outside MPI, by CPU time, else by cycles at the
// highest clock on the node; says nothing where the trace has neither. Of the phases cut, or of the whole run where
// there are none. Only what is missing in bursts of 100 us and more counts: a preempted burst is long, and in short
// ones the errors at the ends of the samples look like it [docs/formulas.md, processor time].
//
// Also names the ranks that count more than a processor can in their whole time, or from one edge to the next by more
// than a percent of all: 1.05 seconds of CPU time a second, 10 GHz, 100 instructions a nanosecond, for each thread.
Diagnostics CheckProcessorTime(const Trace& trace, const CounterNames& names, const std::vector<PhaseCut>& cuts = {});

}  // namespace farscale
