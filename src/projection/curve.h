// Projected curves between their points.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "projection/projection.h"

namespace farscale {

// A projected factor at any core count within its curve, over the logarithms of cores and values; nothing outside.
std::optional<ProjectedValue> ReadCurve(const FactorProjection& projection, double cores);

// The largest efficiency shown at a target: the value as far as it is reliable, the low end of its interval while it is
// uncertain; 0 without any.
double LargestProjected(const PhaseProjection& projection);

// Why factors of a phase are above 110 %, measured or projected; empty where none is. `projection` may be null.
std::string WhySuperlinear(const std::vector<FactorRow>& rows, const PhaseProjection* projection);

}  // namespace farscale
