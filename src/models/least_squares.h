// Weighted least squares of one model with bounds on its parameters, from several starts.
#pragma once

#include <Eigen/Core>
#include <limits>
#include <optional>
#include <vector>

#include "models/scaling_model.h"
#include "models/weights.h"

namespace farscale {

struct ParameterBounds {
  double lower = 0, upper = 0;  // upper may be infinite
};

// The bounds of every parameter of the model; `limit`: the largest value the factor can have, nothing when it has none.
std::vector<ParameterBounds> BoundsOf(const ScalingModel& model, std::optional<double> limit);

// True if a parameter counts as at one of its bounds.
bool IsAtBound(double value, const ParameterBounds& bounds);

// A point with its weight in the sum of squares.
struct WeightedPoint {
  DataPoint point;
  double weight = 1;
};

struct LeastSquares {
  std::vector<double> parameters;
  double cost = std::numeric_limits<double>::infinity();  // half the weighted sum of squares
  bool converged = false;
};

// The best of what is reached from all starts of the model: the line through its transformed values, if it has one, and
// every combination of the starts of its parameters. All starts are searched in parameters without bounds, into which
// those with bounds are transformed [James75]. Each distinct minimum is then refined, with the parameters at their
// bounds held there.
LeastSquares SolveLeastSquares(const ScalingModel& model, int dimension, const std::vector<WeightedPoint>& points,
                               const std::vector<ParameterBounds>& bounds);

// Derivatives of minus the curve at the points by the parameters, every row times the root of its weight; a row a
// point. Not finite where the curve is not.
Eigen::MatrixXd JacobianOf(const ScalingModel& model, int dimension, const std::vector<WeightedPoint>& points,
                           const std::vector<double>& parameters);

}  // namespace farscale
