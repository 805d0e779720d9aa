#include "models/least_squares.h"

#include <ceres/ceres.h>
#include <ceres/tiny_solver.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <span>
#include <utility>

namespace farscale {
namespace {

// The step of a numeric derivative by a parameter of that value, relative [Press07, 5.7].
double StepOfDerivative(double value) {
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
  std::span<const DataPoint> points_;
  std::vector<PlacedModel> curves_;
  std::vector<double> roots_;  // square roots of the weights
};

// Minima of least squares in parameters without bounds, by Levenberg and Marquardt's method.

constexpr double kFromBound = 1e-3;  // a start at a bound is moved by this share of the width or of 1; chosen

// A parameter between bounds as a function of one without, and its derivative [James75].
struct Transform {
  explicit Transform(const IntervalBounds& bounds) : bounds_(bounds) {}

  double Outer(double inner) const {
    if (!IsOpen()) return bounds_.low + Width() / 2 * (std::sin(inner) + 1);
    return bounds_.low - 1 + std::sqrt(inner * inner + 1);
  }
  double Slope(double inner) const {
    return IsOpen() ? inner / std::sqrt(inner * inner + 1) : Width() / 2 * std::cos(inner);
  }
  // A bound itself has no slope, from which no search gets away: it begins a little beside.
  double Inner(double outer) const {
    const double margin = kFromBound * (IsOpen() ? 1 : std::min(1.0, Width()));
    if (outer <= bounds_.low) outer = bounds_.low + margin;
    if (outer >= bounds_.high) outer = bounds_.high - margin;
    if (!IsOpen()) return std::asin(2 * (outer - bounds_.low) / Width() - 1);
    const double above = outer - bounds_.low + 1;
    return std::sqrt(above * above - 1);
  }

 private:
  bool IsOpen() const { return !std::isfinite(bounds_.high); }
  double Width() const { return bounds_.high - bounds_.low; }

  IntervalBounds bounds_;
};

// The function that ceres::TinySolver minimizes: the parameters that are free, transformed or as they are. Each free
// parameter is also moved a step up and down, for residuals and their derivatives at once.
class FreeProblem {
 public:
  using Scalar = double;
  static constexpr int NUM_RESIDUALS = Eigen::Dynamic, NUM_PARAMETERS = Eigen::Dynamic;

  // `transforms`: of all parameters; nothing: as they are.
  FreeProblem(const Residuals& residuals, const std::vector<double>& parameters, std::vector<std::size_t> free,
              const std::vector<Transform>* transforms)
      : residuals_(residuals),
        free_(std::move(free)),
        transforms_(transforms),
        count_(1 + 2 * free_.size()),
        values_(parameters.size() * count_),
        results_(count_),
        steps_(free_.size()),
        slopes_(free_.size(), 1) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      columns_.push_back(values_.data() + i * count_);
      std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(i * count_), count_, parameters[i]);
    }
  }
  FreeProblem(const FreeProblem&) = delete;

  int NumResiduals() const { return static_cast<int>(residuals_.count()); }
  int NumParameters() const { return static_cast<int>(free_.size()); }

  // The derivatives column by column. Where the curve is not defined the residuals are infinite, and the step is
  // refused.
  bool operator()(const double* inner, double* residuals, double* jacobian) const {
    for (std::size_t k = 0; k < free_.size(); ++k) {
      Set(k, inner[k]);
      if (jacobian != nullptr && transforms_ != nullptr) slopes_[k] = (*transforms_)[free_[k]].Slope(inner[k]);
    }
    const std::size_t count = residuals_.count();
    for (std::size_t i = 0; i < count; ++i) {
      residuals_.At(i, columns_, jacobian != nullptr ? count_ : 1, results_.data());
      residuals[i] = std::isfinite(results_[0]) ? results_[0] : std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < free_.size() && jacobian != nullptr; ++k) {
        const double derivative = slopes_[k] * ((results_[1 + 2 * k] - results_[2 + 2 * k]) / (2 * steps_[k]));
        jacobian[k * count + i] = std::isfinite(derivative) ? derivative : 0;
      }
    }
    return true;
  }

  // The search for a minimum from the parameters on, or from what the transforms make of them.
  LeastSquares Minimize(int iterations, double parameter_tolerance) const {
    Eigen::VectorXd inner(NumParameters());
    for (std::size_t k = 0; k < free_.size(); ++k) {
      const double outer = *columns_[free_[k]];
      inner(static_cast<Eigen::Index>(k)) = transforms_ != nullptr ? (*transforms_)[free_[k]].Inner(outer) : outer;
    }
    ceres::TinySolver<FreeProblem> solver;
    solver.options.max_num_iterations = iterations;
    solver.options.gradient_tolerance = 1e-16;
    solver.options.parameter_tolerance = parameter_tolerance;
    solver.options.function_tolerance = 0;
    solver.options.cost_threshold = 1e-28;
    solver.Solve(*this, &inner);
    LeastSquares solution;
    for (std::size_t k = 0; k < free_.size(); ++k) Set(k, inner(static_cast<Eigen::Index>(k)));
    for (const double* column : columns_) solution.parameters.push_back(*column);
    solution.cost = residuals_.CostOf(solution.parameters);
    solution.converged = std::isfinite(solution.cost);
    return solution;
  }

 private:
  // Sets the free parameter k.
  void Set(std::size_t k, double inner) const {
    const double value = transforms_ != nullptr ? (*transforms_)[free_[k]].Outer(inner) : inner;
    double* column = values_.data() + free_[k] * count_;
    std::fill_n(column, count_, value);
    steps_[k] = StepOfDerivative(value);
    column[1 + 2 * k] = value + steps_[k];
    column[2 + 2 * k] = value - steps_[k];
  }

  const Residuals& residuals_;
  const std::vector<std::size_t> free_;
  const std::vector<Transform>* transforms_;
  const std::size_t count_;
  std::vector<const double*> columns_;
  // The solver asks a constant problem, again and again.
  mutable std::vector<double> values_;  // a column a parameter: its value, then what the steps make of it
  mutable std::vector<double> results_, steps_;
  mutable std::vector<double> slopes_;  // derivatives of the transforms of the free parameters
};

// Relative distance from a bound at which a parameter counts as at it; chosen: above the rounding of the solver.
constexpr double kBoundTolerance = 1e-9;
// Tolerance of a search, relative to the width of the bounds: nearer ones are held there in the refinement, which finds
// out whether they belong there. Chosen: above what a search leaves open.
constexpr double kNearBound = 1e-5;
constexpr double kSameMinimum = 1e-3;  // relative distance of searched parameters, and of costs, that are one; chosen
// Solves with the bounds as they are, from solution.parameters on, with the parameters of `held` kept where they are.
void SolveBounded(const Residuals& residuals, const std::vector<IntervalBounds>& bounds, const std::vector<int>& held,
                  LeastSquares& solution) {
  ceres::Problem problem;
  double* parameters = solution.parameters.data();
  for (std::size_t i = 0; i < residuals.count(); ++i) {
    const auto residual_at = [&residuals, i, count = bounds.size()](double const* const* at, double* residual) {
      residual[0] = residuals.At(i, {at[0], at[0] + count});
      return std::isfinite(residual[0]);
    };
    using Cost = ceres::DynamicNumericDiffCostFunction<const decltype(residual_at), ceres::CENTRAL>;
    auto* cost = new Cost(new auto(residual_at));
    cost->AddParameterBlock(static_cast<int>(bounds.size()));
    cost->SetNumResiduals(1);
    problem.AddResidualBlock(cost, nullptr, parameters);
  }
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const int index = static_cast<int>(i);
    problem.SetParameterLowerBound(parameters, index, bounds[i].low);
    if (std::isfinite(bounds[i].high)) problem.SetParameterUpperBound(parameters, index, bounds[i].high);
  }
  if (!held.empty()) {
    problem.SetManifold(parameters, new ceres::SubsetManifold(static_cast<int>(bounds.size()), held));
  }
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_QR;
  options.max_num_iterations = 200;
  options.function_tolerance = 1e-15;
  options.gradient_tolerance = 1e-15;
  options.parameter_tolerance = 1e-14;
  options.logging_type = ceres::SILENT;
  options.num_threads = 1;
  // Messages of Ceres about a start that leads nowhere do not concern the user: another start may, or the outcome of
  // the fit says that none did.
  static const bool is_silent = [] {
    FLAGS_minloglevel = google::GLOG_FATAL;
    return true;
  }();
  static_cast<void>(is_silent);
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  solution.converged = summary.IsSolutionUsable();
  solution.cost = summary.final_cost;
}

// The minimum near what a search has found. Where the parameters near their bounds belong there, the others are free
// and need no bounds; else Ceres solves with bounds.
LeastSquares Refine(const Residuals& residuals, const std::vector<IntervalBounds>& bounds,
                    const LeastSquares& searched) {
  std::vector<double> start = searched.parameters;
  std::vector<std::size_t> free, held;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const double width = std::isfinite(bounds[i].high) ? bounds[i].high - bounds[i].low : 1;
    const bool low = start[i] - bounds[i].low < kNearBound * width,
               high = bounds[i].high - start[i] < kNearBound * width;
    (low || high ? held : free).push_back(i);
    if (low || high) start[i] = low ? bounds[i].low : bounds[i].high;
  }
  LeastSquares refined;
  refined.parameters = start;
  if (!free.empty()) {
    constexpr int kIterations = 200;
    constexpr double kTolerance = 1e-13;  // chosen: above rounding
    refined = FreeProblem(residuals, start, free, nullptr).Minimize(kIterations, kTolerance);
  } else {
    refined.cost = residuals.CostOf(start);
    refined.converged = std::isfinite(refined.cost);
  }
  bool fits = refined.converged && refined.cost <= searched.cost * (1 + kSameMinimum) + 1e-24;
  for (const std::size_t i : free) {
    fits = fits && refined.parameters[i] >= bounds[i].low && refined.parameters[i] <= bounds[i].high;
  }
  for (const std::size_t parameter : held) {
    // The cost must not fall when a parameter at its bound moves inwards.
    std::vector<double>& at = refined.parameters;
    double gradient = 0;
    for (std::size_t i = 0; fits && i < residuals.count(); ++i) {
      gradient += residuals.At(i, at) * residuals.DerivativeAt(i, parameter, at);
    }
    const bool at_lower = at[parameter] - bounds[parameter].low < bounds[parameter].high - at[parameter];
    fits = fits && !(at_lower ? gradient < 0 : gradient > 0);
  }
  if (fits) return refined;
  // A step that ends at a bound is shortened for all parameters, so the others may have stopped short of their best:
  // the ones at their bounds are held, and the rest is solved for.
  LeastSquares bounded = searched;
  SolveBounded(residuals, bounds, {}, bounded);
  std::vector<int> at_bounds;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (IsAtBound(bounded.parameters[i], bounds[i])) at_bounds.push_back(static_cast<int>(i));
  }
  if (!bounded.converged || at_bounds.empty() || at_bounds.size() == bounds.size()) return bounded;
  refined = bounded;
  SolveBounded(residuals, bounds, at_bounds, refined);
  return refined.converged && refined.cost < bounded.cost ? refined : bounded;
}

// Straight line through (g(x), transform(y)), weighted so that equal errors of y count as they do in the fit: an error
// of 1/y is one of y divided by y².
std::optional<std::vector<double>> StartFromLine(const ScalingModel& model, int dimension,
                                                 const std::vector<DataPoint>& points,
                                                 const std::vector<double>& weights) {
  if (!model.start) return std::nullopt;
  double sw = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const DataPoint& point = points[i];
    const double g = model.start->basis({std::pow(point.cores, 1.0 / dimension)});
    const double z = model.start->transform({point.value});
    const double step = 1e-6 * point.value;
    const double slope = (model.start->transform({point.value + step}) - z) / step;
    const double weight = (weights.empty() ? 1 : weights[i]) / (slope * slope);
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
std::vector<std::vector<double>> GridOfStarts(const ScalingModel& model, int dimension,
                                              const std::vector<DataPoint>& points,
                                              const std::vector<IntervalBounds>& bounds) {
  std::vector<std::vector<double>> starts = {{}};
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    std::vector<double> of_parameter = model.parameters[i].starts;
    if (of_parameter.empty()) {
      // One between every two neighbours of the x of the points, their geometric mean: a curve with a kink at a
      // parameter is smooth between them, so that each of these stretches has a minimum of its own.
      std::set<double> places;
      for (const DataPoint& point : points) places.insert(ScalingModel::XOf(point.cores, dimension));
      for (auto place = places.begin(); place != places.end() && std::next(place) != places.end(); ++place) {
        of_parameter.push_back(std::clamp(std::sqrt(*place * *std::next(place)), bounds[i].low, bounds[i].high));
      }
    }
    std::vector<std::vector<double>> longer;
    for (const std::vector<double>& start : starts) {
      for (const double value : of_parameter) {
        longer.push_back(start);
        longer.back().push_back(value);
      }
    }
    starts = std::move(longer);
  }
  return starts;
}

}  // namespace

std::vector<IntervalBounds> BoundsOf(const ScalingModel& model, std::optional<double> limit) {
  std::vector<IntervalBounds> bounds;
  for (const ModelParameter& parameter : model.parameters) {
    const double unlimited = std::numeric_limits<double>::infinity();
    bounds.push_back({parameter.lower, parameter.upper ? *parameter.upper : limit.value_or(unlimited)});
  }
  return bounds;
}

bool IsAtBound(double value, const IntervalBounds& bounds) {
  const double width = std::isfinite(bounds.high) ? bounds.high - bounds.low : 1;
  return std::min(value - bounds.low, bounds.high - value) <= kBoundTolerance * width;
}

LeastSquares SolveLeastSquares(const ScalingModel& model, int dimension, const std::vector<DataPoint>& points,
                               const std::vector<double>& weights, const std::vector<IntervalBounds>& bounds) {
  const Residuals residuals(model, dimension, points, weights);
  std::vector<std::vector<double>> starts = GridOfStarts(model, dimension, points, bounds);
  if (const auto line = StartFromLine(model, dimension, points, weights)) starts.insert(starts.begin(), *line);
  std::vector<LeastSquares> minima;
  for (const std::vector<double>& start : starts) {
    // Roughly, in parameters that are transformed so that they need no bounds [James75]; not where the curve is not
    // defined.
    std::vector<Transform> transforms;
    std::vector<double> moved;
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      all.push_back(i);
      transforms.emplace_back(bounds[i]);
      moved.push_back(transforms.back().Outer(transforms.back().Inner(start[i])));
    }
    if (!std::isfinite(residuals.CostOf(moved))) continue;
    constexpr int kIterations = 60;      // chosen: searches that need more creep along a bound
    constexpr double kTolerance = 1e-6;  // relative, on the parameters; chosen: the refinement does the rest
    LeastSquares found = FreeProblem(residuals, start, std::move(all), &transforms).Minimize(kIterations, kTolerance);
    const auto is_known = [&](const LeastSquares& other) {
      bool is_one = true;
      for (std::size_t i = 0; i < bounds.size(); ++i) {
        const double a = found.parameters[i], b = other.parameters[i];
        is_one &= !(std::fabs(a - b) > kSameMinimum * std::max({kSameMinimum, std::fabs(a), std::fabs(b)}));
      }
      return is_one;
    };
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

Eigen::MatrixXd JacobianOf(const ScalingModel& model, int dimension, const std::vector<DataPoint>& points,
                           const std::vector<double>& weights, const std::vector<double>& parameters) {
  const Residuals residuals(model, dimension, points, weights);
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
