// Clocks that contradict the order of events, found and put right before anything is computed from their times:
// messages that arrive before they were sent, collectives that ranks leave before the last one enters [Becker09].
#pragma once

#include "replay/matching.h"
#include "trace/trace.h"

namespace farscale {

// Matches a trace. Where clocks contradict messages or collectives, all times of the trace are corrected: by an offset
// and a drift of every clock [replay/clock_fit.h], then by a controlled logical clock for what is left. A trace without
// contradictions stays as it is. Where no offsets and drifts explain them, or clocks are not tied to each other in both
// directions, times stay and `clocks_unknown` of the result says why.
Matching MatchSynchronised(Trace& trace);

// True for a trace without contradictions, for tests.
bool ClocksAgree(const Trace& trace);

// Throws an error of kind kNotEnoughData where the clocks are unknown.
void RequireClocks(const Trace& trace, const Matching& matching);

}  // namespace farscale
