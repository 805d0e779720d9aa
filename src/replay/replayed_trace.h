// A run as it would have been on another network, or with other computation: a trace that later stages take like a
// measured one.
#pragma once

#include <string>
#include <utility>

#include "phases/phase_cut.h"
#include "replay/matching.h"
#include "replay/network.h"
#include "trace/trace.h"
#include "trace/trace_builder.h"

namespace farscale {

struct ReplayResult;

// The trace at the times of a replay of its whole run, which kept the times of all calls. Threads move with their main
// threads. Regions and counters keep their place in the computation, whose length changes evenly between two calls;
// what lies inside calls does so in the call. `bursts`: what was replayed; nothing: the computation as measured.
Trace ReplayedTrace(const Trace& trace, const ReplayResult& result, const BurstLengths* bursts = nullptr);

// Puts the calls of a rank at other times, those that `times` has alone, and all else that it did where it was between
// them; `begin` and `end`: of the rank. Threads and devices move with their main threads. For several ranks at a time.
void MoveRank(std::size_t rank, NewTimes times, Tick begin, Tick end, Trace& trace);

// A rank with a part of the run at the times of its replay, and that part. The rank is in it; the replay kept the times
// of all calls. What is before the part stays as it was measured, what is behind moves along. Only within the part do
// messages take the time that the replay gave them. `origin`: where the part begins, cut.begin().
std::pair<NewTimes, RankCut> ReplayedPart(const Trace& trace, const PhaseCut& cut, Tick origin,
                                          const ReplayResult& result, std::size_t rank);

// The same part of the run in its replayed trace.
PhaseCut MoveCut(const Trace& trace, const Trace& replayed, const PhaseCut& cut);

// Lengths when computation runs `speed` times as fast: all of it, or what lies within regions of that name.
BurstLengths SpeedUp(const Trace& trace, const BurstLengths& bursts, double speed, const std::string& region = "");

// A trace of its own out of a phase, to keep, send or analyse without the rest of the run.

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
