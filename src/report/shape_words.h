// Shapes of loads in words.
#pragma once

#include <string>

#include "imbalance/load_shape.h"
#include "imbalance/process_grid.h"
#include "report/loss_ranks.h"

namespace farscale {

// "2 overloaded ranks (3, 17) with 1.8× the load of the others, the same ranks all the time".
std::string DescribeShape(const LoadShape& shape, const LossRanks& names);

// "a grid of 4 × 8 ranks, read off the messages".
std::string DescribeGrid(const ProcessGrid& grid);

}  // namespace farscale
