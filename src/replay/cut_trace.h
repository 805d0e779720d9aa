// Makes a trace of its own out of a phase, to keep, send or analyse without the rest of the run.
#pragma once

#include "phases/phase_cut.h"
#include "replay/matching.h"
#include "trace/trace.h"

namespace farscale {

// The window of the phase on every rank, gaps between its occurrences included: calls, records, region events, counters
// and interruptions, at their ticks. What the window's edge cuts is cut there: a region or call is entered at the
// window's begin or left at its end, and what counters counted in a call that is cut is left out. Ranks without the
// phase stay as ranks that do nothing. Where nothing else marks an edge of the window, a region named kWindowRegion
// around it does.
//
// Replay and factors of the whole new trace are those of the phase in the old one (span `whole`). For that, every
// message and collective that has a part in some rank's window keeps its other parts too, outside the calls of the rank
// that posted or completed them (see trace.h): they are matched as before, and lie outside the window as before. A
// window that begins or ends between two samples of an integer counter rounds the counter's value there.
Trace CutTrace(const Trace& trace, const Matching& matching, const PhaseCut& cut);

inline constexpr const char* kWindowRegion = "cut window";

}  // namespace farscale
