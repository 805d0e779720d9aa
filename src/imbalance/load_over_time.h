// Whether the same ranks are slow in every iteration [docs/formulas.md, shapes of imbalance].
#pragma once

#include "imbalance/load_matrix.h"
#include "imbalance/load_shape.h"

namespace farscale {

// Fills in the shape over time and its parts. Iterations without any load are left out.
void DescribeOverTime(const LoadMatrix& load, LoadShape& shape);

}  // namespace farscale
