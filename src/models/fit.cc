#include "models/fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "models/least_squares.h"

namespace farscale {
namespace {

std::vector<WeightedPoint> Weigh(const std::vector<DataPoint>& points, const std::vector<double>& weights) {
  std::vector<WeightedPoint> weighted;
  for (std::size_t i = 0; i < points.size(); ++i) weighted.push_back({points[i], weights.empty() ? 1 : weights[i]});
  return weighted;
}

// σ² (JᵀWJ)⁻¹, with the weights W. Parameters at a bound take part: they could still be elsewhere.
void AddCovariance(const ScalingModel& model, FittedModel& fit) {
  const Eigen::MatrixXd jacobian = JacobianOf(model, fit.dimension, Weigh(fit.points, fit.weights), fit.parameters);
  const auto count = static_cast<Eigen::Index>(fit.parameters.size());
  if (jacobian.rows() == 0 || !jacobian.allFinite()) return;
  const Eigen::FullPivLU<Eigen::MatrixXd> decomposition(jacobian.transpose() * jacobian);
  if (!decomposition.isInvertible()) return;
  const Eigen::MatrixXd covariance = fit.sigma * fit.sigma * decomposition.inverse();
  if (!covariance.allFinite()) return;
  for (Eigen::Index row = 0; row < count; ++row) {
    for (Eigen::Index column = 0; column < count; ++column) fit.covariance.push_back(covariance(row, column));
  }
}

std::vector<double> ResidualsOf(const ScalingModel& model, int dimension, const std::vector<DataPoint>& points,
                                const std::vector<double>& parameters) {
  std::vector<double> residuals;
  for (const DataPoint& point : points) {
    residuals.push_back(point.value - model.Evaluate(point.cores, dimension, parameters));
  }
  return residuals;
}

// The diagonal of J (JᵀJ)⁻¹ Jᵀ, for as many parameters as the points determine.
std::vector<double> LeveragesOf(const Eigen::MatrixXd& jacobian) {
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> decomposition(jacobian);
  const Eigen::MatrixXd basis =
      decomposition.householderQ() * Eigen::MatrixXd::Identity(jacobian.rows(), decomposition.rank());
  std::vector<double> leverages;
  for (Eigen::Index row = 0; row < jacobian.rows(); ++row) leverages.push_back(basis.row(row).squaredNorm());
  return leverages;
}

// Sets how much the points count; leaves it when they count alike, or nothing can be found.
void FindWeights(const ScalingModel& model, const std::vector<ParameterBounds>& bounds, FittedModel& fit) {
  const std::vector<double> errors = ErrorsForWeights(fit.points), shapes = ShapesOf(fit.points);
  std::vector<double> found = WeightsOf(errors, shapes, kUsualScatter);
  double scatter = 0;
  if (std::any_of(errors.begin(), errors.end(), [](double error) { return error > 0; })) {
    const std::vector<WeightedPoint> points = Weigh(fit.points, found);
    const LeastSquares first = SolveLeastSquares(model, fit.dimension, points, bounds);
    if (!first.converged) return;
    const Eigen::MatrixXd jacobian = JacobianOf(model, fit.dimension, points, first.parameters);
    if (jacobian.rows() == 0 || !jacobian.allFinite()) return;
    scatter = ScatterOf(errors, shapes, found, ResidualsOf(model, fit.dimension, fit.points, first.parameters),
                        LeveragesOf(jacobian));
    found = WeightsOf(errors, shapes, scatter);
  }
  if (HardlyDiffer(found)) return;
  fit.weights = std::move(found);
  fit.scatter = scatter;
}

}  // namespace

std::size_t CountCores(const std::vector<DataPoint>& points) {
  std::set<double> cores;
  for (const DataPoint& point : points) cores.insert(point.cores);
  return cores.size();
}

std::string ToString(FitOutcome outcome) {
  switch (outcome) {
    case FitOutcome::kConverged: return "converged";
    case FitOutcome::kAtBound: return "at a bound";
    case FitOutcome::kTooFewPoints: return "too few core counts";
    case FitOutcome::kNotConverged: return "not converged";
    case FitOutcome::kLeavesRange: return "leaves the possible range";
  }
  return "";
}

bool IsUsable(FitOutcome outcome) { return outcome == FitOutcome::kConverged || outcome == FitOutcome::kAtBound; }

FittedModel FitModel(const ScalingModel& model, int dimension, const std::vector<DataPoint>& points,
                     std::optional<double> limit, PointWeights weights) {
  FittedModel fit;
  fit.model = model.id;
  fit.dimension = dimension;
  fit.points = points;
  const std::size_t count = model.parameters.size();
  if (CountCores(points) < count) return fit;

  const std::vector<ParameterBounds> bounds = BoundsOf(model, limit);
  if (points.size() > count && weights == PointWeights::kByScatter) FindWeights(model, bounds, fit);
  const std::vector<WeightedPoint> weighted = Weigh(points, fit.weights);
  const LeastSquares solution = SolveLeastSquares(model, dimension, weighted, bounds);
  fit.outcome = solution.converged ? FitOutcome::kConverged : FitOutcome::kNotConverged;
  if (!solution.converged) return fit;
  fit.parameters = solution.parameters;
  for (const ModelParameter& parameter : model.parameters) fit.names.push_back(parameter.name);
  for (std::size_t i = 0; i < count; ++i) {
    fit.at_bound.push_back(IsAtBound(fit.parameters[i], bounds[i]));
    if (fit.at_bound.back()) fit.outcome = FitOutcome::kAtBound;
  }
  fit.residuals = ResidualsOf(model, dimension, points, fit.parameters);
  for (std::size_t i = 0; i < points.size(); ++i) {
    fit.sum_of_squares += weighted[i].weight * fit.residuals[i] * fit.residuals[i];
  }
  fit.degrees_of_freedom = static_cast<int>(points.size() - std::min(points.size(), count));
  fit.sigma_is_assumed = fit.degrees_of_freedom == 0;
  fit.sigma = fit.sigma_is_assumed ? kAssumedSigma
                                   : std::max(kSmallestSigma, std::sqrt(fit.sum_of_squares / fit.degrees_of_freedom));
  AddCovariance(model, fit);
  return fit;
}

}  // namespace farscale
