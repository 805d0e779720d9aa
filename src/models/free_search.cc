#include "models/free_search.h"

#include <ceres/tiny_solver.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace farscale {
namespace {

constexpr double kFromBound = 1e-3;  // how far a start at a bound is moved, of the width or of 1; chosen

// A parameter between bounds as a function of one without, and its derivative [James75].
struct Transform {
  explicit Transform(const ParameterBounds& bounds) : bounds_(bounds) {}

  double Outer(double inner) const {
    if (!IsOpen()) return bounds_.lower + Width() / 2 * (std::sin(inner) + 1);
    return bounds_.lower - 1 + std::sqrt(inner * inner + 1);
  }
  double Slope(double inner) const {
    return IsOpen() ? inner / std::sqrt(inner * inner + 1) : Width() / 2 * std::cos(inner);
  }
  // A bound itself has no slope, from which no search gets away: it begins a little beside.
  double Inner(double outer) const {
    const double margin = kFromBound * (IsOpen() ? 1 : std::min(1.0, Width()));
    if (outer <= bounds_.lower) outer = bounds_.lower + margin;
    if (outer >= bounds_.upper) outer = bounds_.upper - margin;
    if (!IsOpen()) return std::asin(2 * (outer - bounds_.lower) / Width() - 1);
    const double above = outer - bounds_.lower + 1;
    return std::sqrt(above * above - 1);
  }

 private:
  bool IsOpen() const { return !std::isfinite(bounds_.upper); }
  double Width() const { return bounds_.upper - bounds_.lower; }

  ParameterBounds bounds_;
};

// Parameters, and each of the free ones moved a step up and down, for residuals and their derivatives at once.
class MovedParameters {
 public:
  MovedParameters(const Residuals& residuals, const std::vector<double>& parameters,
                  const std::vector<std::size_t>& free)
      : residuals_(residuals),
        free_(free),
        count_(1 + 2 * free.size()),
        values_(parameters.size() * count_),
        results_(count_),
        steps_(free.size()) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      columns_.push_back(values_.data() + i * count_);
      std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(i * count_), count_, parameters[i]);
    }
  }
  MovedParameters(const MovedParameters&) = delete;

  // Of the free parameter k.
  void Set(std::size_t k, double value) {
    double* column = values_.data() + free_[k] * count_;
    std::fill_n(column, count_, value);
    steps_[k] = StepOfDerivative(value);
    column[1 + 2 * k] = value + steps_[k];
    column[2 + 2 * k] = value - steps_[k];
  }

  void Evaluate(std::size_t point, bool with_derivatives) {
    residuals_.At(point, columns_, with_derivatives ? count_ : 1, results_.data());
  }
  // Of the point that was evaluated.
  double value() const { return results_[0]; }
  double Derivative(std::size_t k) const { return (results_[1 + 2 * k] - results_[2 + 2 * k]) / (2 * steps_[k]); }

  std::vector<double> parameters() const {
    std::vector<double> parameters;
    for (const double* column : columns_) parameters.push_back(*column);
    return parameters;
  }

 private:
  const Residuals& residuals_;
  std::vector<std::size_t> free_;
  std::size_t count_;
  std::vector<double> values_;  // a column a parameter: its value, then what the steps make of it
  std::vector<const double*> columns_;
  std::vector<double> results_;
  std::vector<double> steps_;
};

// What ceres::TinySolver minimizes: the parameters that are free, transformed or as they are.
class FreeProblem {
 public:
  using Scalar = double;
  enum { NUM_RESIDUALS = Eigen::Dynamic, NUM_PARAMETERS = Eigen::Dynamic };

  // `transforms`: of all parameters; nothing: as they are.
  FreeProblem(const Residuals& residuals, const std::vector<double>& parameters, std::vector<std::size_t> free,
              const std::vector<Transform>* transforms)
      : residuals_(residuals),
        free_(std::move(free)),
        transforms_(transforms),
        moved_(residuals, parameters, free_),
        slopes_(free_.size(), 1) {}

  int NumResiduals() const { return static_cast<int>(residuals_.count()); }
  int NumParameters() const { return static_cast<int>(free_.size()); }

  // The derivatives column by column. Where the curve is not defined the residuals are infinite, and the step is
  // refused.
  bool operator()(const double* inner, double* residuals, double* jacobian) const {
    for (std::size_t k = 0; k < free_.size(); ++k) {
      moved_.Set(k, OuterOf(k, inner[k]));
      if (jacobian != nullptr && transforms_ != nullptr) slopes_[k] = (*transforms_)[free_[k]].Slope(inner[k]);
    }
    const std::size_t count = residuals_.count();
    for (std::size_t i = 0; i < count; ++i) {
      moved_.Evaluate(i, jacobian != nullptr);
      residuals[i] = std::isfinite(moved_.value()) ? moved_.value() : std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < free_.size() && jacobian != nullptr; ++k) {
        const double derivative = slopes_[k] * moved_.Derivative(k);
        jacobian[k * count + i] = std::isfinite(derivative) ? derivative : 0;
      }
    }
    return true;
  }

  // The search for a minimum from `inner` on.
  LeastSquares Minimize(Eigen::VectorXd inner, int iterations, double parameter_tolerance) const {
    ceres::TinySolver<FreeProblem> solver;
    solver.options.max_num_iterations = iterations;
    solver.options.gradient_tolerance = 1e-16;
    solver.options.parameter_tolerance = parameter_tolerance;
    solver.options.function_tolerance = 0;
    solver.options.cost_threshold = 1e-28;
    solver.Solve(*this, &inner);
    LeastSquares solution;
    for (std::size_t k = 0; k < free_.size(); ++k) moved_.Set(k, OuterOf(k, inner(static_cast<Eigen::Index>(k))));
    solution.parameters = moved_.parameters();
    solution.cost = residuals_.CostOf(solution.parameters);
    solution.converged = std::isfinite(solution.cost);
    return solution;
  }

 private:
  double OuterOf(std::size_t k, double inner) const {
    return transforms_ != nullptr ? (*transforms_)[free_[k]].Outer(inner) : inner;
  }

  const Residuals& residuals_;
  std::vector<std::size_t> free_;
  const std::vector<Transform>* transforms_;
  // The solver asks a constant problem, again and again.
  mutable MovedParameters moved_;
  mutable std::vector<double> slopes_;  // of the transforms of the free parameters
};

// Minimizes the parameters of `free`, the others as they are, from `start` on; with `transforms`, from what they make
// of it.
LeastSquares MinimizeMoved(const Residuals& residuals, const std::vector<double>& start,
                           const std::vector<std::size_t>& free, const std::vector<Transform>* transforms,
                           int iterations, double parameter_tolerance) {
  Eigen::VectorXd inner(static_cast<Eigen::Index>(free.size()));
  for (std::size_t k = 0; k < free.size(); ++k) {
    const double outer = start[free[k]];
    inner(static_cast<Eigen::Index>(k)) = transforms != nullptr ? (*transforms)[free[k]].Inner(outer) : outer;
  }
  return FreeProblem(residuals, start, free, transforms).Minimize(std::move(inner), iterations, parameter_tolerance);
}

}  // namespace

LeastSquares SearchFree(const Residuals& residuals, const std::vector<ParameterBounds>& bounds,
                        const std::vector<double>& start) {
  std::vector<Transform> transforms;
  std::vector<double> moved;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    all.push_back(i);
    transforms.emplace_back(bounds[i]);
    moved.push_back(transforms.back().Outer(transforms.back().Inner(start[i])));
  }
  if (!std::isfinite(residuals.CostOf(moved))) return {};
  constexpr int kIterations = 60;      // chosen: searches that need more creep along a bound
  constexpr double kTolerance = 1e-6;  // of the parameters; chosen: the refinement does the rest
  return MinimizeMoved(residuals, start, all, &transforms, kIterations, kTolerance);
}

LeastSquares MinimizeFree(const Residuals& residuals, const std::vector<double>& start,
                          const std::vector<std::size_t>& free) {
  constexpr int kIterations = 200;
  constexpr double kTolerance = 1e-13;  // chosen: above rounding
  return MinimizeMoved(residuals, start, free, nullptr, kIterations, kTolerance);
}

}  // namespace farscale
