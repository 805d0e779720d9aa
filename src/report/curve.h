// Projected curves between their points.
#pragma once

#include <optional>

#include "projection/projection.h"

namespace farscale {

// A projected factor at any core count within its curve, over the logarithms of cores and values; nothing outside.
std::optional<ProjectedValue> ReadCurve(const FactorProjection& projection, double cores);

}  // namespace farscale
