// The layout of a larger run, after those of the runs there are.
#pragma once

#include <cstdint>
#include <vector>

#include "growth/call_rules.h"
#include "growth/rank_grid.h"

namespace farscale {

// The most even grid with so many ranks; between equals, the earlier dimensions are as much larger as they are in the
// series. Where this does not give the grids of the series themselves, but does when the extents that are the same in
// all of them are kept (two ranks in x, whatever their number), they are kept. Grids less even than any of the series
// are no continuation of it: then that of the nearest number of ranks which has one.
RankGrid ContinueSeries(const std::vector<RankGrid>& series, std::int64_t ranks);

// Whether each layout of the series is one that the others let expect.
bool IsRegular(const std::vector<RankGrid>& series);

// The layout for so many ranks, or the nearest number that has one: the next of the series, or copies of a lifted run.
RankGrid LayoutFor(const CallRules& rules, std::int64_t ranks);

}  // namespace farscale
