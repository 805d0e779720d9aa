// Weighted least squares of one model with bounds on its parameters, from several starts.
#pragma once

#include <Eigen/Core>

#include <limits>
#include <optional>
#include <vector>

#include "models/scaling_model.h"
#include "models/weights.h"

namespace farscale {

// The bounds of every parameter of the model, of which the upper may be infinite; `limit`: the largest value the factor
// can have, nothing when it has none.
std::vector<IntervalBounds> BoundsOf(const ScalingModel& model, std::optional<double> limit);

// True if a parameter counts as at one of its bounds.
bool IsAtBound(double value, const IntervalBounds& bounds);

struct LeastSquares {
  std::vector<double> parameters;
  double cost = std::numeric_limits<double>::infinity();  // half the weighted sum of squares
  bool converged = false;
};

// The best of what is reached from all starts of the model: the line through its transformed values, if it has one, and
// every combination of the starts of its parameters. All starts are searched in parameters without bounds, into which
// those with bounds are transformed [James75]. Each distinct minimum is then refined, with the parameters at their
// bounds held there. `weights`: of the points in the sum of squares; empty: they count alike.
LeastSquares SolveLeastSquares(const ScalingModel& model, int dimension, const std::vector<DataPoint>& points,
                               const std::vector<double>& weights, const std::vector<IntervalBounds>& bounds);

// Derivatives of minus the curve at the points by the parameters, every row times the root of its weight; a row a
// point. Not finite where the curve is not.
Eigen::MatrixXd JacobianOf(const ScalingModel& model, int dimension, const std::vector<DataPoint>& points,
                           const std::vector<double>& weights, const std::vector<double>& parameters);

}  // namespace farscale
