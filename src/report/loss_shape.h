// Shapes of loads in words: templates/loss_shape.txt.mustache.
#pragma once

#include <string>

#include "imbalance/load_shape.h"
#include "report/loss_ranks.h"

namespace farscale {

// "2 overloaded ranks (3, 17) with 1.8× the load of the others, the same ranks all the time".
std::string DescribeShape(const LoadShape& shape, const LossRanks& ranks, const Partials& texts);

}  // namespace farscale
