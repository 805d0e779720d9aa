#include "models/fit.h"

#include <ceres/ceres.h>
#include <glog/logging.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace farscale {
namespace {

// Relative distance from a bound at which a parameter counts as at it; chosen: above the rounding of the solver.
constexpr double kBoundTolerance = 1e-9;

struct Bounds {
  double lower, upper;
};

std::vector<Bounds> BoundsOf(const ScalingModel& model, std::optional<double> limit) {
  std::vector<Bounds> bounds;
  for (const ModelParameter& parameter : model.parameters) {
    const double unlimited = std::numeric_limits<double>::infinity();
    bounds.push_back({parameter.lower, parameter.upper ? *parameter.upper : limit.value_or(unlimited)});
  }
  return bounds;
}

// A point with its weight in the sum of squares.
struct Weighted {
  DataPoint point;
  double weight = 1;
};

std::vector<Weighted> Weigh(const std::vector<DataPoint>& points, const std::vector<double>& weights) {
  std::vector<Weighted> weighted;
  for (std::size_t i = 0; i < points.size(); ++i) weighted.push_back({points[i], weights.empty() ? 1 : weights[i]});
  return weighted;
}

// Residual of one point, for numeric differentiation: formulas come from files.
struct Residual {
  const ScalingModel* model;
  int dimension;
  DataPoint point;
  double root_of_weight;

  bool operator()(double const* const* parameters, double* residual) const {
    const std::size_t count = model->parameters.size();
    const double value = model->Evaluate(point.cores, dimension, {parameters[0], parameters[0] + count});
    residual[0] = root_of_weight * (point.value - value);
    return std::isfinite(residual[0]);
  }
};

struct Solution {
  std::vector<double> parameters;
  double cost = std::numeric_limits<double>::infinity();
  bool converged = false;
};

void BuildProblem(const ScalingModel& model, int dimension, const std::vector<Weighted>& points,
                  std::vector<double>& parameters, ceres::Problem& problem) {
  for (const auto& [point, weight] : points) {
    using Cost = ceres::DynamicNumericDiffCostFunction<Residual, ceres::CENTRAL>;
    auto* cost = new Cost(new Residual{&model, dimension, point, std::sqrt(weight)});
    cost->AddParameterBlock(static_cast<int>(parameters.size()));
    cost->SetNumResiduals(1);
    problem.AddResidualBlock(cost, nullptr, parameters.data());
  }
}

ceres::Solver::Options SolverOptions() {
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_QR;
  options.max_num_iterations = 200;
  options.function_tolerance = 1e-15;
  options.gradient_tolerance = 1e-15;
  options.parameter_tolerance = 1e-14;
  options.logging_type = ceres::SILENT;
  options.num_threads = 1;
  return options;
}

bool IsAtBound(double value, const Bounds& bounds) {
  const double width = std::isfinite(bounds.upper) ? bounds.upper - bounds.lower : 1;
  return std::min(value - bounds.lower, bounds.upper - value) <= kBoundTolerance * width;
}

// What Ceres has to say about a start that leads nowhere is no concern of the user: another start may, or the outcome
// of the fit says that none did.
void SilenceCeres() {
  static const bool silenced = [] {
    FLAGS_minloglevel = google::GLOG_FATAL;
    return true;
  }();
  static_cast<void>(silenced);
}

// Solves from solution.parameters on, with the parameters of `held` kept where they are.
void Solve(const ScalingModel& model, int dimension, const std::vector<Weighted>& points,
           const std::vector<Bounds>& bounds, const std::vector<int>& held, Solution& solution) {
  ceres::Problem problem;
  BuildProblem(model, dimension, points, solution.parameters, problem);
  double* parameters = solution.parameters.data();
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const int index = static_cast<int>(i);
    problem.SetParameterLowerBound(parameters, index, bounds[i].lower);
    if (std::isfinite(bounds[i].upper)) problem.SetParameterUpperBound(parameters, index, bounds[i].upper);
  }
  if (!held.empty()) {
    problem.SetManifold(parameters, new ceres::SubsetManifold(static_cast<int>(bounds.size()), held));
  }
  SilenceCeres();
  ceres::Solver::Summary summary;
  ceres::Solve(SolverOptions(), &problem, &summary);
  solution.converged = summary.IsSolutionUsable();
  solution.cost = summary.final_cost;
}

Solution SolveFrom(const ScalingModel& model, int dimension, const std::vector<Weighted>& points,
                   const std::vector<Bounds>& bounds, const std::vector<double>& start) {
  Solution solution;
  solution.parameters = start;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    solution.parameters[i] = std::clamp(solution.parameters[i], bounds[i].lower, bounds[i].upper);
  }
  Solve(model, dimension, points, bounds, {}, solution);
  // A step that ends at a bound is shortened for all parameters, so the others may have stopped short of their best:
  // hold the ones at their bounds and solve for the rest.
  std::vector<int> held;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (IsAtBound(solution.parameters[i], bounds[i])) held.push_back(static_cast<int>(i));
  }
  if (!solution.converged || held.empty() || held.size() == bounds.size()) return solution;
  Solution polished = solution;
  Solve(model, dimension, points, bounds, held, polished);
  return polished.converged && polished.cost < solution.cost ? polished : solution;
}

// Straight line through (g(x), transform(y)), weighted so that equal errors of y count as they do in the fit: an error
// of 1/y is one of y divided by y².
std::optional<std::vector<double>> StartFromLine(const ScalingModel& model, int dimension,
                                                 const std::vector<Weighted>& points) {
  if (!model.start) return std::nullopt;
  double sw = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const auto& [point, weight_in_fit] : points) {
    const double g = model.start->basis({std::pow(point.cores, 1.0 / dimension)});
    const double z = model.start->transform({point.value});
    const double step = 1e-6 * point.value;
    const double slope = (model.start->transform({point.value + step}) - z) / step;
    const double weight = weight_in_fit / (slope * slope);
    if (!std::isfinite(g) || !std::isfinite(z) || !std::isfinite(weight)) return std::nullopt;
    sw += weight;
    sx += weight * g;
    sy += weight * z;
    sxx += weight * g * g;
    sxy += weight * g * z;
  }
  const double determinant = sw * sxx - sx * sx;
  if (!(std::fabs(determinant) > 1e-14 * sw * sxx)) return std::nullopt;
  const double b = (sw * sxy - sx * sy) / determinant;
  const double a = (sy - b * sx) / sw;
  std::vector<double> parameters;
  for (const ModelParameter& parameter : model.parameters) {
    parameters.push_back(model.start->parameters.at(parameter.name)({a, b}));
    if (!std::isfinite(parameters.back())) return std::nullopt;
  }
  return parameters;
}

// Every combination of the starts of the parameters.
std::vector<std::vector<double>> GridOfStarts(const ScalingModel& model) {
  std::vector<std::vector<double>> starts = {{}};
  for (const ModelParameter& parameter : model.parameters) {
    std::vector<std::vector<double>> longer;
    for (const std::vector<double>& start : starts) {
      for (const double value : parameter.starts) {
        longer.push_back(start);
        longer.back().push_back(value);
      }
    }
    starts = std::move(longer);
  }
  return starts;
}

Solution SolveBest(const ScalingModel& model, int dimension, const std::vector<Weighted>& points,
                   const std::vector<Bounds>& bounds) {
  std::vector<std::vector<double>> starts = GridOfStarts(model);
  if (const auto line = StartFromLine(model, dimension, points)) starts.insert(starts.begin(), *line);
  Solution best;
  for (const std::vector<double>& start : starts) {
    Solution solution = SolveFrom(model, dimension, points, bounds, start);
    // The first start keeps its place unless another is better by more than rounding.
    if (solution.converged && (!best.converged || solution.cost < best.cost * (1 - 1e-9) - 1e-18)) {
      best = std::move(solution);
    }
  }
  return best;
}

// Derivatives of the curve at the points by the parameters, every row times the root of its weight.
Eigen::MatrixXd JacobianOf(const ScalingModel& model, int dimension, const std::vector<Weighted>& points,
                           std::vector<double> parameters) {
  ceres::Problem problem;
  BuildProblem(model, dimension, points, parameters, problem);
  ceres::CRSMatrix sparse;
  std::vector<double> residuals;
  if (!problem.Evaluate(ceres::Problem::EvaluateOptions(), nullptr, &residuals, nullptr, &sparse)) return {};
  Eigen::MatrixXd jacobian = Eigen::MatrixXd::Zero(sparse.num_rows, sparse.num_cols);
  for (int row = 0; row < sparse.num_rows; ++row) {
    for (int k = sparse.rows[static_cast<std::size_t>(row)]; k < sparse.rows[static_cast<std::size_t>(row) + 1]; ++k) {
      jacobian(row, sparse.cols[static_cast<std::size_t>(k)]) = sparse.values[static_cast<std::size_t>(k)];
    }
  }
  return jacobian;
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

// Says how much the points count; leaves it when they count alike, or nothing can be found.
void FindWeights(const ScalingModel& model, const std::vector<Bounds>& bounds, FittedModel& fit) {
  const std::vector<double> errors = ErrorsForWeights(fit.points), shapes = ShapesOf(fit.points);
  std::vector<double> found = WeightsOf(errors, shapes, kUsualScatter);
  double scatter = 0;
  if (std::any_of(errors.begin(), errors.end(), [](double error) { return error > 0; })) {
    const std::vector<Weighted> points = Weigh(fit.points, found);
    const Solution first = SolveBest(model, fit.dimension, points, bounds);
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

  const std::vector<Bounds> bounds = BoundsOf(model, limit);
  if (points.size() > count && weights == PointWeights::kByScatter) FindWeights(model, bounds, fit);
  const std::vector<Weighted> weighted = Weigh(points, fit.weights);
  const Solution solution = SolveBest(model, dimension, weighted, bounds);
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
