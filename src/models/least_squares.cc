#include "models/least_squares.h"

#include <ceres/ceres.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "models/free_search.h"
#include "models/residuals.h"

namespace farscale {
namespace {

// Relative distance from a bound at which a parameter counts as at it; chosen: above the rounding of the solver.
constexpr double kBoundTolerance = 1e-9;
// Of a search, relative to the width of the bounds: nearer ones are held there in the refinement, which finds out
// whether they belong there. Chosen: above what a search leaves open.
constexpr double kNearBound = 1e-5;
constexpr double kSameMinimum = 1e-3;  // relative distance of searched parameters, and of costs, that are one; chosen
// What Ceres has to say about a start that leads nowhere is no concern of the user: another start may, or the outcome
// of the fit says that none did.
void SilenceCeres() {
  static const bool silenced = [] {
    FLAGS_minloglevel = google::GLOG_FATAL;
    return true;
  }();
  static_cast<void>(silenced);
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

// One residual for ceres::Problem.
struct ResidualOfPoint {
  const Residuals* residuals;
  std::size_t index;
  std::size_t parameters;

  bool operator()(double const* const* at, double* residual) const {
    residual[0] = residuals->At(index, {at[0], at[0] + parameters});
    return std::isfinite(residual[0]);
  }
};

// Solves with the bounds as they are, from solution.parameters on, with the parameters of `held` kept where they are.
void SolveBounded(const Residuals& residuals, const std::vector<ParameterBounds>& bounds, const std::vector<int>& held,
                  LeastSquares& solution) {
  ceres::Problem problem;
  double* parameters = solution.parameters.data();
  for (std::size_t i = 0; i < residuals.count(); ++i) {
    using Cost = ceres::DynamicNumericDiffCostFunction<ResidualOfPoint, ceres::CENTRAL>;
    auto* cost = new Cost(new ResidualOfPoint{&residuals, i, bounds.size()});
    cost->AddParameterBlock(static_cast<int>(bounds.size()));
    cost->SetNumResiduals(1);
    problem.AddResidualBlock(cost, nullptr, parameters);
  }
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

// A step that ends at a bound is shortened for all parameters, so the others may have stopped short of their best: the
// ones at their bounds are held, and the rest is solved for.
LeastSquares RefineBounded(const Residuals& residuals, const std::vector<ParameterBounds>& bounds,
                           LeastSquares solution) {
  SolveBounded(residuals, bounds, {}, solution);
  std::vector<int> held;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (IsAtBound(solution.parameters[i], bounds[i])) held.push_back(static_cast<int>(i));
  }
  if (!solution.converged || held.empty() || held.size() == bounds.size()) return solution;
  LeastSquares refined = solution;
  SolveBounded(residuals, bounds, held, refined);
  return refined.converged && refined.cost < solution.cost ? refined : solution;
}

// Whether the cost falls when a parameter at its bound moves inwards.
bool WantsInside(const Residuals& residuals, const std::vector<ParameterBounds>& bounds, std::size_t parameter,
                 std::vector<double> parameters) {
  double gradient = 0;
  for (std::size_t i = 0; i < residuals.count(); ++i) {
    gradient += residuals.At(i, parameters) * residuals.DerivativeAt(i, parameter, parameters);
  }
  const bool at_lower =
      parameters[parameter] - bounds[parameter].lower < bounds[parameter].upper - parameters[parameter];
  return at_lower ? gradient < 0 : gradient > 0;
}

// The minimum near what a search has found. Where the parameters near their bounds belong there, the others are free
// and need no bounds; else Ceres solves with bounds.
LeastSquares Refine(const Residuals& residuals, const std::vector<ParameterBounds>& bounds,
                    const LeastSquares& searched) {
  std::vector<double> start = searched.parameters;
  std::vector<std::size_t> free, held;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const double width = std::isfinite(bounds[i].upper) ? bounds[i].upper - bounds[i].lower : 1;
    const bool low = start[i] - bounds[i].lower < kNearBound * width,
               high = bounds[i].upper - start[i] < kNearBound * width;
    (low || high ? held : free).push_back(i);
    if (low || high) start[i] = low ? bounds[i].lower : bounds[i].upper;
  }
  LeastSquares refined;
  refined.parameters = start;
  if (!free.empty()) {
    refined = MinimizeFree(residuals, start, free);
  } else {
    refined.cost = residuals.CostOf(start);
    refined.converged = std::isfinite(refined.cost);
  }
  bool fits = refined.converged && refined.cost <= searched.cost * (1 + kSameMinimum) + 1e-24;
  for (const std::size_t i : free) {
    fits = fits && refined.parameters[i] >= bounds[i].lower && refined.parameters[i] <= bounds[i].upper;
  }
  for (const std::size_t i : held) fits = fits && !WantsInside(residuals, bounds, i, refined.parameters);
  return fits ? refined : RefineBounded(residuals, bounds, searched);
}

// Straight line through (g(x), transform(y)), weighted so that equal errors of y count as they do in the fit: an error
// of 1/y is one of y divided by y².
std::optional<std::vector<double>> StartFromLine(const ScalingModel& model, int dimension,
                                                 const std::vector<WeightedPoint>& points) {
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

// One between every two neighbours of the x of the points, their geometric mean: a curve with a kink at a parameter is
// smooth between them, so that each of these stretches has a minimum of its own.
std::vector<double> StartsBetween(int dimension, const std::vector<WeightedPoint>& points,
                                  const ParameterBounds& bounds) {
  std::set<double> places;
  for (const WeightedPoint& point : points) places.insert(ScalingModel::XOf(point.point.cores, dimension));
  std::vector<double> starts;
  for (auto place = places.begin(); place != places.end() && std::next(place) != places.end(); ++place) {
    starts.push_back(std::clamp(std::sqrt(*place * *std::next(place)), bounds.lower, bounds.upper));
  }
  return starts;
}

// Every combination of the starts of the parameters.
std::vector<std::vector<double>> GridOfStarts(const ScalingModel& model, int dimension,
                                              const std::vector<WeightedPoint>& points,
                                              const std::vector<ParameterBounds>& bounds) {
  std::vector<std::vector<double>> starts = {{}};
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    const std::vector<double> of_points =
        model.parameters[i].starts.empty() ? StartsBetween(dimension, points, bounds[i]) : std::vector<double>();
    std::vector<std::vector<double>> longer;
    for (const std::vector<double>& start : starts) {
      for (const double value : of_points.empty() ? model.parameters[i].starts : of_points) {
        longer.push_back(start);
        longer.back().push_back(value);
      }
    }
    starts = std::move(longer);
  }
  return starts;
}

bool AreOne(const LeastSquares& a, const LeastSquares& b, const std::vector<ParameterBounds>& bounds) {
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const double size = std::max({kSameMinimum, std::fabs(a.parameters[i]), std::fabs(b.parameters[i])});
    if (std::fabs(a.parameters[i] - b.parameters[i]) > kSameMinimum * size) return false;
  }
  return true;
}

}  // namespace

std::vector<ParameterBounds> BoundsOf(const ScalingModel& model, std::optional<double> limit) {
  std::vector<ParameterBounds> bounds;
  for (const ModelParameter& parameter : model.parameters) {
    const double unlimited = std::numeric_limits<double>::infinity();
    bounds.push_back({parameter.lower, parameter.upper ? *parameter.upper : limit.value_or(unlimited)});
  }
  return bounds;
}

bool IsAtBound(double value, const ParameterBounds& bounds) {
  const double width = std::isfinite(bounds.upper) ? bounds.upper - bounds.lower : 1;
  return std::min(value - bounds.lower, bounds.upper - value) <= kBoundTolerance * width;
}

LeastSquares SolveLeastSquares(const ScalingModel& model, int dimension, const std::vector<WeightedPoint>& points,
                               const std::vector<ParameterBounds>& bounds) {
  const Residuals residuals(model, dimension, points);
  std::vector<std::vector<double>> starts = GridOfStarts(model, dimension, points, bounds);
  if (const auto line = StartFromLine(model, dimension, points)) starts.insert(starts.begin(), *line);
  std::vector<LeastSquares> minima;
  for (const std::vector<double>& start : starts) {
    LeastSquares found = SearchFree(residuals, bounds, start);
    const auto is_known = [&](const LeastSquares& other) { return AreOne(found, other, bounds); };
    if (found.converged && std::none_of(minima.begin(), minima.end(), is_known)) minima.push_back(std::move(found));
  }
  double least = std::numeric_limits<double>::infinity();
  for (const LeastSquares& minimum : minima) least = std::min(least, minimum.cost);
  LeastSquares best;
  for (const LeastSquares& minimum : minima) {
    if (minimum.cost > least * (1 + kSameMinimum) + 1e-16) continue;
    LeastSquares refined = Refine(residuals, bounds, minimum);
    // The first start keeps its place unless another is better by more than rounding.
    if (refined.converged && (!best.converged || refined.cost < best.cost * (1 - 1e-9) - 1e-18)) {
      best = std::move(refined);
    }
  }
  return best;
}

Eigen::MatrixXd JacobianOf(const ScalingModel& model, int dimension, const std::vector<WeightedPoint>& points,
                           const std::vector<double>& parameters) {
  const Residuals residuals(model, dimension, points);
  std::vector<double> moved = parameters;
  Eigen::MatrixXd jacobian(points.size(), parameters.size());
  for (std::size_t row = 0; row < points.size(); ++row) {
    for (std::size_t column = 0; column < parameters.size(); ++column) {
      jacobian(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(column)) =
          residuals.DerivativeAt(row, column, moved);
    }
  }
  return jacobian;
}

}  // namespace farscale
