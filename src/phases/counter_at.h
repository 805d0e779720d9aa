// Counters are sampled at the edges of calls and regions; an edge of a phase may lie between two samples.
#pragma once

#include <cstdint>

#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

// The value of a counter at an edge that lies outside any call, in counts; between samples it grows evenly with time.
// The rank must have the counter.
double CounterAt(const RankTimeline& timeline, std::size_t counter, const Edge& edge);

// The same as samples are recorded: an integer, rounded where the edge lies between two, or the bits of a double.
std::int64_t RawCounterAt(const RankTimeline& timeline, std::size_t counter, bool is_double, const Edge& edge);

}  // namespace farscale
