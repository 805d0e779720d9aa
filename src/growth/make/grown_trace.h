// A run of a program at a number of ranks that nobody has run, as a trace.
#pragma once

#include <cstdint>
#include <optional>

#include "growth/growth_model.h"
#include "growth/read/rank_grid.h"
#include "trace/trace.h"

namespace farscale {

// The iterations of the largest run, on the ranks of a grid. Calls take no time: when they are left is up to a replay.
// Throws an error of kind kNotEnoughData where the grid has ranks that are like none of the runs.
Trace GrowTrace(const GrowthModel& model, const RankGrid& grid, std::uint64_t seed);

// How many calls all ranks of such a run make, in all iterations.
double CountCalls(const GrowthModel& model, const RankGrid& grid);

// One of the runs by its own rules, with its own computation: how far its replay is from what was measured says how
// far those of grown runs can be. Nothing where ranks of it follow no rules.
std::optional<Trace> RepeatRun(const GrowthModel& model, std::size_t run);

}  // namespace farscale
