// Weighted least squares of one model with bounds on its parameters, from several starts.
#pragma once

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
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

// The input of least squares: differences between points and a curve, and their derivatives.

// The step of a numeric derivative by a parameter of that value, relative [Press07, 5.7].
inline double StepOfDerivative(double value) {
  constexpr double kStep = 1e-6;
  static const double smallest = std::sqrt(std::numeric_limits<double>::epsilon());
  return std::max(smallest, kStep * std::fabs(value));
}

// Residuals of all points, each times the root of its weight, and their derivatives, numeric because formulas come from
// files.
class Residuals {
 public:
  Residuals(const ScalingModel& model, int dimension, const std::vector<DataPoint>& points,
            const std::vector<double>& weights)
      : points_(points), roots_(points.size(), 1) {
    for (const DataPoint& point : points) curves_.emplace_back(model, point.cores, dimension);
    for (std::size_t i = 0; i < weights.size(); ++i) roots_[i] = std::sqrt(weights[i]);
  }

  std::size_t count() const { return points_.size(); }

  double At(std::size_t i, const std::vector<double>& parameters) const {
    return roots_[i] * (points_[i].value - curves_[i](parameters));
  }

  // For `size` values of the parameters, a column each.
  void At(std::size_t i, const std::vector<const double*>& columns, std::size_t size, double* results) const {
    curves_[i].Evaluate(columns, size, results);
    for (std::size_t k = 0; k < size; ++k) results[k] = roots_[i] * (points_[i].value - results[k]);
  }

  double DerivativeAt(std::size_t i, std::size_t parameter, std::vector<double>& parameters) const {
    const double value = parameters[parameter], step = StepOfDerivative(value);
    parameters[parameter] = value + step;
    const double up = At(i, parameters);
    parameters[parameter] = value - step;
    const double down = At(i, parameters);
    parameters[parameter] = value;
    return (up - down) / (2 * step);
  }

  double CostOf(const std::vector<double>& parameters) const {
    double sum = 0;
    for (std::size_t i = 0; i < count(); ++i) sum += At(i, parameters) * At(i, parameters);
    return std::isfinite(sum) ? sum / 2 : std::numeric_limits<double>::infinity();
  }

 private:
  const std::vector<DataPoint>& points_;
  std::vector<PlacedModel> curves_;
  std::vector<double> roots_;  // square roots of the weights
};

}  // namespace farscale
