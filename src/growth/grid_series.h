// The layout of a larger run, after those of the runs there are.
#pragma once

#include <cstdint>
#include <vector>

#include "growth/rank_grid.h"

namespace farscale {

// The grid with so many ranks whose extents are to each other most like those of the largest grid of the series;
// between equals, the earlier dimensions are as much larger as they are there. Grids less even than any of the series
// are no continuation of it: then that of the nearest number of ranks which has one.
RankGrid ContinueSeries(const std::vector<RankGrid>& series, std::int64_t ranks);

}  // namespace farscale
