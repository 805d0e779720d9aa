// A run of a program at a number of ranks that nobody has run, as a trace.
#pragma once

#include <cstdint>
#include <string>

#include "growth/growth_model.h"
#include "growth/rank_grid.h"
#include "trace/trace.h"

namespace farscale {

// The iterations of the largest run, on the ranks of a grid. Calls take no time: when they are left is up to a replay.
// Throws an error of kind kNotEnoughData where the grid has ranks that are like none of the runs.
Trace GrowTrace(const GrowthModel& model, const RankGrid& grid, std::uint64_t seed);

}  // namespace farscale
