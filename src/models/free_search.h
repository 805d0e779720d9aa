// Minima of least squares in parameters without bounds, by Levenberg and Marquardt's method.
#pragma once

#include <vector>

#include "models/residuals.h"

namespace farscale {

// The search for a minimum from `start` on, roughly: all parameters, transformed so that they need no bounds [James75].
// Not converged where the curve is not defined.
LeastSquares SearchFree(const Residuals& residuals, const std::vector<ParameterBounds>& bounds,
                        const std::vector<double>& start);

// The minimum over the parameters named by `free`, without bounds and as exactly as numbers allow, from `start` on;
// the other parameters stay as they are.
LeastSquares MinimizeFree(const Residuals& residuals, const std::vector<double>& start,
                          const std::vector<std::size_t>& free);

}  // namespace farscale
