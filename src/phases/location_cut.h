// A phase of a run in the trace of its threads.
#pragma once

#include <cstdint>
#include <vector>

#include "phases/phase_cut.h"
#include "phases/rank_groups.h"
#include "trace/trace.h"

namespace farscale {

// The same phase in LocationTrace(trace): thread 0 has the edges of its rank. The other threads have them at the same
// times, but for the end of what they do: where a thread is idle at the end of the phase or of an iteration, waiting
// for a fork behind it, its part ends with its last team.
PhaseCut CutOfLocations(const Trace& trace, const PhaseCut& cut, const Trace& locations);

// The groups with all threads of their ranks.
std::vector<RankGroup> GroupsOfLocations(const std::vector<RankGroup>& groups, const Trace& locations);

// Counters are sampled at the edges of calls and regions; an edge of a phase may lie between two samples.

// The value of a counter at an edge that lies outside any call, in counts; between samples it grows evenly with time.
// The rank must have the counter.
double CounterAt(const RankTimeline& timeline, std::size_t counter, const Edge& edge);

// The same as samples are recorded: an integer, rounded where the edge lies between two, or the bits of a double.
std::int64_t RawCounterAt(const RankTimeline& timeline, std::size_t counter, bool is_double, const Edge& edge);

}  // namespace farscale
