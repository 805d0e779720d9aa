// Projections as CSV, one row a factor and target [docs/file-formats.md].
#pragma once

#include <string>
#include <vector>

#include "projection/projection.h"

namespace farscale {

// Columns series,phase,factor,model,dimension,cores,ratio,value,low80,high80,low95,high95. Products have the model
// `product` and no dimension; bounds are empty where there is no interval.
std::string WriteProjectionCsv(const std::vector<PhaseProjection>& projections);

}  // namespace farscale
