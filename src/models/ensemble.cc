#include "models/ensemble.h"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include "base/random.h"
#include "models/least_squares.h"
#include "stats/distributions.h"

namespace farscale {
namespace {

constexpr int kDraws = 400;   // draws a model; chosen, to bound the time of a fit
constexpr double kTails = 4;  // degrees of freedom of the proposal: heavy enough for what is no ellipse
// The prior of the scatter is log-normal around kUsualScatter, on a grid. Two core counts cannot tell a smooth series
// from one that is not, so more is expected of them. Chosen so that intervals hold on measured series of many codes
// [docs/formulas.md, posterior; docs/accuracy.md].
constexpr double kUntoldScatter = 5 * kUsualScatter;
constexpr int kScatters = 10;
constexpr double kLargestScatter = 0.6;
constexpr double kSpreadOfScatter = 1.2;
constexpr double kNever = -std::numeric_limits<double>::infinity();

double LogSumExp(const std::vector<double>& logarithms) {
  const double largest = logarithms.empty() ? kNever : std::ranges::max(logarithms);
  if (largest == kNever) return kNever;
  double sum = 0;
  for (const double logarithm : logarithms) sum += std::exp(logarithm - largest);
  return largest + std::log(sum);
}

class Sampler {
 public:
  Sampler(const ScalingModel& model, const FittedModel& fit, std::optional<double> limit,
          const std::vector<double>& reach)
      : model_(model),
        fit_(fit),
        limit_(limit),
        bounds_(BoundsOf(model, limit)),
        log_limit_(std::log(limit.value_or(1))),
        parameters_(fit.parameters.size()),
        density_(parameters_, kTails) {
    const double usual = CountCores(fit.points) > 2 ? kUsualScatter : kUntoldScatter;
    double sum = 0;
    for (int i = 0; i < kScatters; ++i) {
      const double scatter = kSmallestScatter * std::pow(kLargestScatter / kSmallestScatter, i / (kScatters - 1.0));
      const double z = std::log(scatter / usual) / kSpreadOfScatter;
      grid_.emplace_back(scatter, -z * z / 2);
      sum += std::exp(-z * z / 2);
    }
    for (auto& [scatter, log_prior] : grid_) log_prior -= std::log(sum);
    const std::vector<double> errors = ErrorsForWeights(fit.points), shapes = ShapesOf(fit.points);
    double widest = 0;
    for (std::size_t i = 0; i < fit.points.size(); ++i) {
      const double value = std::max(fit.points[i].value, 1e-9);
      Point& point = points_.emplace_back(Point{At(fit.points[i].cores), std::log(value), {}, {}});
      for (const auto& [scatter, log_prior] : grid_) {
        const double error = errors[i] / value, shape = shapes[i] / value;
        point.variances.push_back(error * error + scatter * scatter * shape * shape);
        point.logarithms.push_back(std::log(2 * std::numbers::pi * point.variances.back()));
      }
      widest = std::max(widest, std::fabs(1 / value - 1));
    }
    log_width_ = std::log(std::max(kNarrowest, kNarrowest + widest / 2));
    for (std::size_t i = 0; i < parameters_; ++i) {
      if (!model.parameters[i].prior_deviation) free_.push_back(i);
    }
    // The prior is flat at core counts spread over the measured ones, as many as parameters.
    std::set<double> distinct;
    for (const DataPoint& point : fit.points) distinct.insert(point.cores);
    const std::vector<double> cores(distinct.begin(), distinct.end());
    const std::size_t gaps = free_.size() - 1, last = cores.size() - 1;
    for (std::size_t i = 0; i < free_.size(); ++i) reference_.push_back(At(cores[gaps > 0 ? i * last / gaps : last]));
    for (const double place : reach) reach_.push_back(At(place));
  }

  Posterior Run(Random& random) {
    MakeProposals();
    DrawWithinBounds(random);
    AddLikelihoods();
    AddPriors();
    Posterior posterior;
    std::vector<double> logarithms;
    for (const Drawn& draw : drawn_) logarithms.push_back(draw.logarithm);
    const double sum = LogSumExp(logarithms);
    posterior.log_evidence = sum - std::log(static_cast<double>(kDraws));
    if (sum == kNever) return {kNever, {}, {}};
    for (std::size_t i = 0; i < drawn_.size(); ++i) {
      CurveDraw& draw = posterior.draws.emplace_back(CurveDraw{{}, grid_[drawn_[i].of_grid].first});
      for (const std::vector<double>& column : columns_) draw.parameters.push_back(column[i]);
      posterior.weights.push_back(std::exp(logarithms[i] - sum));
    }
    return posterior;
  }

 private:
  static constexpr double kNarrowest = 0.02;  // chosen, of 1/y: no curve is known better before it is measured

  // The measured ln y and its variance, from its own error and its scatter, for each scatter of the grid.
  struct Point {
    PlacedModel curve;
    double log_value;
    std::vector<double> variances;
    std::vector<double> logarithms;  // logarithms of 2 pi variance
  };

  // A draw that the bounds, and what has been looked at since, allow.
  struct Drawn {
    std::size_t of_grid = 0;
    double log_proposal = 0;
    double logarithm = 0;  // its likelihood, in the end its weight
  };

  PlacedModel At(double cores) const { return {model_, cores, fit_.dimension}; }

  // Logarithm of the probability of a point, where the curve has `log_curve`.
  double LogLikelihoodOf(const Point& point, double log_curve, std::size_t of_grid) const {
    if (limit_ && log_curve > log_limit_ + 1e-9) return kNever;
    const double residual = point.log_value - log_curve;
    return -(residual * residual / point.variances[of_grid] + point.logarithms[of_grid]) / 2;
  }

  // Log-likelihood of the points; minus infinity where the curve is not defined or leaves its range.
  double LogLikelihood(const std::vector<double>& parameters, std::size_t of_grid) const {
    double sum = 0;
    for (const Point& point : points_) sum += LogLikelihoodOf(point, std::log(point.curve(parameters)), of_grid);
    for (const PlacedModel& curve : reach_) {
      if (!(curve(parameters) > 0)) return kNever;
    }
    return std::isfinite(sum) ? sum : kNever;
  }

  static double StepAt(double parameter) { return 1e-6 * std::max(1e-3, std::fabs(parameter)); }

  // Small ones at once; most models have two parameters.
  static double DeterminantOf(const Eigen::MatrixXd& matrix) {
    if (matrix.rows() == 1) return matrix(0, 0);
    if (matrix.rows() == 2) return Eigen::Matrix2d(matrix).determinant();
    if (matrix.rows() == 3) return Eigen::Matrix3d(matrix).determinant();
    return matrix.determinant();
  }

  // Derivatives of ln y at the points, around the fit.
  Eigen::MatrixXd LogDerivatives() const {
    Eigen::MatrixXd derivatives(ToIndex(points_.size()), ToIndex(parameters_));
    std::vector<double> moved = fit_.parameters;
    for (std::size_t row = 0; row < points_.size(); ++row) {
      for (std::size_t i = 0; i < parameters_; ++i) {
        const double parameter = moved[i], step = StepAt(parameter);
        moved[i] = parameter + step;
        const double up = std::log(points_[row].curve(moved));
        moved[i] = parameter - step;
        derivatives(ToIndex(row), ToIndex(i)) = (up - std::log(points_[row].curve(moved))) / (2 * step);
        moved[i] = parameter;
      }
    }
    return derivatives;
  }

  // One proposal for each scatter: an ellipse around the fit, wider with more scatter; and how often to take it.
  void MakeProposals() {
    const Eigen::MatrixXd jacobian = LogDerivatives();
    std::vector<double> logarithms;
    for (std::size_t of_grid = 0; of_grid < grid_.size(); ++of_grid) {
      Eigen::MatrixXd precision = Eigen::MatrixXd::Zero(jacobian.cols(), jacobian.cols());
      for (Eigen::Index row = 0; row < jacobian.rows(); ++row) {
        const double variance = points_[static_cast<std::size_t>(row)].variances[of_grid];
        if (jacobian.row(row).allFinite()) precision += jacobian.row(row).transpose() * jacobian.row(row) / variance;
      }
      // The ellipse lies around the fit, moved to where priors of parameters draw it.
      Eigen::VectorXd pull = Eigen::VectorXd::Zero(jacobian.cols());
      for (std::size_t i = 0; i < parameters_; ++i) {
        const ModelParameter& parameter = model_.parameters[i];
        const double own = 1 / Square(parameter.prior_deviation ? *parameter.prior_deviation : RangeOf(i));
        precision(ToIndex(i), ToIndex(i)) += own;
        if (parameter.prior_deviation) pull(ToIndex(i)) = own * (parameter.prior_mean - fit_.parameters[i]);
      }
      const Eigen::LLT<Eigen::MatrixXd> decomposition(precision);
      centres_.push_back(decomposition.solve(pull));
      factors_.push_back(decomposition.matrixL());
      double log_volume = 0;
      for (Eigen::Index i = 0; i < precision.rows(); ++i) log_volume -= std::log(factors_.back()(i, i));
      log_volumes_.push_back(log_volume);
      std::vector<double> centre = fit_.parameters;
      for (std::size_t i = 0; i < parameters_; ++i) centre[i] += centres_.back()(ToIndex(i));
      const double likely = std::max(LogLikelihood(centre, of_grid), LogLikelihood(fit_.parameters, of_grid));
      logarithms.push_back(grid_[of_grid].second + likely + log_volume);
    }
    const double sum = LogSumExp(logarithms);
    for (std::size_t i = 0; i < grid_.size(); ++i) {
      const double believed = sum == kNever ? 0 : std::exp(logarithms[i] - sum);
      share_.push_back(kBlind * std::exp(grid_[i].second) + (1 - kBlind) * believed);
    }
    if (sum == kNever) share_.assign(grid_.size(), 1.0 / static_cast<double>(grid_.size()));
  }

  static Eigen::Index ToIndex(std::size_t i) { return static_cast<Eigen::Index>(i); }
  static double Square(double value) { return value * value; }

  // Far enough for any value of the parameter; keeps the proposal an ellipse where the points say nothing about it.
  double RangeOf(std::size_t i) const {
    const auto [low, high] = bounds_[i];
    return std::isfinite(high) ? high - low : 10 * std::max(1.0, std::fabs(fit_.parameters[i]));
  }

  // From each proposal its share of the draws; those beyond the bounds of the parameters are left out.
  void DrawWithinBounds(Random& random) {
    columns_.resize(parameters_);
    std::size_t of_grid = 0;
    double passed = share_.front();
    std::vector<double> parameters(parameters_);
    Eigen::VectorXd step(ToIndex(parameters_));
    for (int i = 0; i < kDraws; ++i) {
      const double position = (i + 0.5) / kDraws;
      while (of_grid + 1 < share_.size() && passed < position) passed += share_[++of_grid];
      for (double& one : step) one = random.Normal();
      const double chi_squared = 2 * (random.Exponential() + random.Exponential());  // with kTails degrees of freedom
      step *= std::sqrt(kTails / chi_squared);
      const double log_proposal = density_.Log(step.squaredNorm()) - log_volumes_[of_grid];
      factors_[of_grid].triangularView<Eigen::Lower>().transpose().solveInPlace(step);
      bool is_beyond = false;
      for (std::size_t k = 0; k < parameters_; ++k) {
        parameters[k] = fit_.parameters[k] + (centres_[of_grid](ToIndex(k)) + step(ToIndex(k)));
        is_beyond |= parameters[k] < bounds_[k].low || parameters[k] > bounds_[k].high;
      }
      if (is_beyond) continue;
      drawn_.push_back({of_grid, log_proposal, 0});
      for (std::size_t k = 0; k < parameters_; ++k) columns_[k].push_back(parameters[k]);
    }
  }

  // Values of all draws at one place.
  std::vector<double> ValuesAt(const PlacedModel& place) const {
    std::vector<double> values(drawn_.size());
    place.Evaluate(ColumnsOf(columns_), values.size(), values.data());
    return values;
  }

  // Those whose logarithm is minus infinity cannot be.
  void LeaveOutNever() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < drawn_.size(); ++i) {
      if (drawn_[i].logarithm == kNever) continue;
      for (std::vector<double>& column : columns_) column[kept] = column[i];
      drawn_[kept++] = drawn_[i];
    }
    drawn_.resize(kept);
    for (std::vector<double>& column : columns_) column.resize(kept);
  }

  // As LogLikelihood, of all draws.
  void AddLikelihoods() {
    for (const Point& point : points_) {
      const std::vector<double> values = ValuesAt(point.curve);
      for (std::size_t i = 0; i < values.size(); ++i) {
        drawn_[i].logarithm += LogLikelihoodOf(point, std::log(values[i]), drawn_[i].of_grid);
      }
    }
    for (const PlacedModel& place : reach_) {
      const std::vector<double> values = ValuesAt(place);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (!(values[i] > 0)) drawn_[i].logarithm = kNever;
      }
    }
    for (Drawn& draw : drawn_) draw.logarithm = std::isfinite(draw.logarithm) ? draw.logarithm : kNever;
    LeaveOutNever();
  }

  // The factor from likelihoods to weights: the density of the prior, over that of the proposal.
  void AddPriors() {
    const std::vector<double> log_volumes = LogVolumes();
    for (std::size_t i = 0; i < drawn_.size(); ++i) {
      Drawn& draw = drawn_[i];
      double prior = 0;
      for (std::size_t k = 0; k < parameters_; ++k) {
        if (const auto& deviation = model_.parameters[k].prior_deviation) {
          prior -= Square((columns_[k][i] - model_.parameters[k].prior_mean) / *deviation) / 2 +
                   std::log(*deviation * std::sqrt(2 * std::numbers::pi));
        }
      }
      if (!free_.empty()) prior = prior + log_volumes[i] - static_cast<double>(free_.size()) * log_width_;
      draw.logarithm =
          grid_[draw.of_grid].second - std::log(share_[draw.of_grid]) + draw.logarithm + prior - draw.log_proposal;
    }
    LeaveOutNever();
  }

  // The change of the reciprocals at the reference core counts with the free parameters: the logarithm of the
  // determinant of their derivatives, which is the density of the prior but for its width.
  std::vector<double> LogVolumes() {
    const std::size_t size = free_.size();
    std::vector<std::vector<double>> derivatives(size * size);
    for (std::size_t column = 0; column < size; ++column) {
      std::vector<double>& of_parameter = columns_[free_[column]];
      const std::vector<double> middle = of_parameter;
      const auto reciprocals_beside = [&](std::size_t row, double side) {
        for (std::size_t i = 0; i < middle.size(); ++i) of_parameter[i] = middle[i] + side * StepAt(middle[i]);
        std::vector<double> values = ValuesAt(reference_[row]);
        for (double& value : values) value = 1 / value;
        return values;
      };
      for (std::size_t row = 0; row < size; ++row) {
        std::vector<double> up = reciprocals_beside(row, 1);
        const std::vector<double> down = reciprocals_beside(row, -1);
        for (std::size_t i = 0; i < up.size(); ++i) up[i] = (up[i] - down[i]) / (2 * StepAt(middle[i]));
        derivatives[row * size + column] = std::move(up);
      }
      of_parameter = middle;
    }
    std::vector<double> logarithms;
    Eigen::MatrixXd of_draw(ToIndex(size), ToIndex(size));
    for (std::size_t i = 0; i < drawn_.size(); ++i) {
      for (std::size_t k = 0; k < derivatives.size(); ++k) {
        of_draw(ToIndex(k / size), ToIndex(k % size)) = derivatives[k][i];
      }
      const double volume = std::fabs(DeterminantOf(of_draw));
      logarithms.push_back(volume > 0 && std::isfinite(volume) ? std::log(volume) : kNever);
    }
    return logarithms;
  }

  static constexpr double kBlind = 0.1;  // share of the draws that do not trust the ellipse about the scatter

  const ScalingModel& model_;
  const FittedModel& fit_;
  const std::optional<double> limit_;
  const std::vector<IntervalBounds> bounds_;  // one a parameter
  const double log_limit_;
  std::vector<PlacedModel> reach_;
  const std::size_t parameters_;
  std::vector<std::pair<double, double>> grid_;  // scatters, and logarithms of their priors
  std::vector<Point> points_;
  std::vector<std::size_t> free_;  // parameters without a prior of their own
  std::vector<PlacedModel> reference_;
  const StudentDensity density_;
  double log_width_ = 0;
  std::vector<Eigen::VectorXd> centres_;  // centres of the ellipses, from the fit, one a scatter
  std::vector<Eigen::MatrixXd> factors_;  // factors of the precisions, one a scatter
  std::vector<double> log_volumes_;
  std::vector<double> share_;
  std::vector<std::vector<double>> columns_;  // the parameters of the draws, a column a parameter
  std::vector<Drawn> drawn_;
};

}  // namespace

Posterior SamplePosterior(const ScalingModel& model, const FittedModel& fit, std::optional<double> limit,
                          const std::vector<double>& reach, Random& random) {
  return Sampler(model, fit, limit, reach).Run(random);
}

namespace {

std::vector<double> ResidualsOf(const ScalingModel& model, int dimension, const std::vector<DataPoint>& points,
                                const std::vector<double>& parameters) {
  std::vector<double> residuals;
  for (const DataPoint& point : points) {
    residuals.push_back(point.value - model.Evaluate(point.cores, dimension, parameters));
  }
  return residuals;
}

// Sets how much the points count; leaves it when they count alike, or nothing can be found.
void FindWeights(const ScalingModel& model, const std::vector<IntervalBounds>& bounds, FittedModel& fit) {
  const std::vector<double> errors = ErrorsForWeights(fit.points), shapes = ShapesOf(fit.points);
  std::vector<double> found = WeightsOf(errors, shapes, kUsualScatter);
  double scatter = 0;
  if (std::any_of(errors.begin(), errors.end(), [](double error) { return error > 0; })) {
    const LeastSquares first = SolveLeastSquares(model, fit.dimension, fit.points, found, bounds);
    if (!first.converged) return;
    const Eigen::MatrixXd jacobian = JacobianOf(model, fit.dimension, fit.points, found, first.parameters);
    if (jacobian.rows() == 0 || !jacobian.allFinite()) return;
    // The diagonal of J (JᵀJ)⁻¹ Jᵀ, for as many parameters as the points determine.
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> decomposition(jacobian);
    const Eigen::MatrixXd basis =
        decomposition.householderQ() * Eigen::MatrixXd::Identity(jacobian.rows(), decomposition.rank());
    std::vector<double> leverages;
    for (Eigen::Index row = 0; row < jacobian.rows(); ++row) leverages.push_back(basis.row(row).squaredNorm());
    const auto residuals = ResidualsOf(model, fit.dimension, fit.points, first.parameters);
    scatter = ScatterOf(errors, shapes, found, residuals, leverages);
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
                     std::optional<double> limit, bool weighs_alike) {
  FittedModel fit;
  fit.model = model.id;
  fit.dimension = dimension;
  fit.points = points;
  const std::size_t count = model.parameters.size();
  if (CountCores(points) < count) return fit;

  const std::vector<IntervalBounds> bounds = BoundsOf(model, limit);
  if (points.size() > count && !weighs_alike) FindWeights(model, bounds, fit);
  const LeastSquares solution = SolveLeastSquares(model, dimension, points, fit.weights, bounds);
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
    const double weight = fit.weights.empty() ? 1 : fit.weights[i];
    fit.sum_of_squares += weight * fit.residuals[i] * fit.residuals[i];
  }
  fit.degrees_of_freedom = static_cast<int>(points.size() - std::min(points.size(), count));
  fit.sigma_is_assumed = fit.degrees_of_freedom == 0;
  fit.sigma = fit.sigma_is_assumed ? kAssumedSigma
                                   : std::max(kSmallestSigma, std::sqrt(fit.sum_of_squares / fit.degrees_of_freedom));
  // The covariance is σ² (JᵀWJ)⁻¹, with the weights W. Parameters at a bound take part: they could still be elsewhere.
  const Eigen::MatrixXd jacobian = JacobianOf(model, dimension, points, fit.weights, fit.parameters);
  if (jacobian.rows() == 0 || !jacobian.allFinite()) return fit;
  const Eigen::FullPivLU<Eigen::MatrixXd> decomposition(jacobian.transpose() * jacobian);
  if (!decomposition.isInvertible()) return fit;
  const Eigen::MatrixXd covariance = fit.sigma * fit.sigma * decomposition.inverse();
  if (!covariance.allFinite()) return fit;
  for (Eigen::Index row = 0; row < covariance.rows(); ++row) {
    for (Eigen::Index k = 0; k < covariance.cols(); ++k) fit.covariance.push_back(covariance(row, k));
  }
  return fit;
}

namespace {

// Losses far below it count alike in the average. Of 0.0001 to 0.1, it moves the errors of predictions little
// [docs/accuracy.md, calibration].
constexpr double kSmallLoss = 0.01;
constexpr int kCurves = 250;  // the number of averaged curves of all members; chosen: bounds the time of a prediction

// Weights from logarithms that may be minus infinity. Where all are, no draw of any member was possible: their fits
// still are, and all count alike.
void Weigh(std::vector<Member>& members, std::vector<double> logarithms) {
  double largest = kNever;
  for (const double logarithm : logarithms) largest = std::max(largest, logarithm);  // passes over what is no number
  double sum = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!IsUsable(members[i].fit.outcome)) continue;
    if (largest == kNever) {
      members[i].posterior.draws = {{members[i].fit.parameters, kUsualScatter}};
      members[i].posterior.weights = {1};
    }
    members[i].weight = largest == kNever ? 1 : std::exp(logarithms[i] - largest);
    sum += members[i].weight;
  }
  for (Member& member : members) {
    member.weight = sum > 0 ? member.weight / sum : 0;
    // Curves evenly spaced through the weights of the draws, about as many as the member weighs.
    const Posterior& posterior = member.posterior;
    const auto count = static_cast<int>(std::ceil(member.weight * kCurves));
    double passed = 0;
    for (std::size_t i = 0; i < posterior.draws.size(); ++i) {
      passed += posterior.weights[i];
      while (static_cast<int>(member.curves.size()) < count &&
             (static_cast<double>(member.curves.size()) + 0.5) / count < passed) {
        member.curves.push_back(i);
      }
    }
  }
}

}  // namespace

bool Ensemble::IsUsable() const { return !members.empty() && members.front().weight > 0; }

double Ensemble::ValueAt(double cores) const {
  if (members.size() == 1) return members.front().Evaluate(cores, members.front().fit.parameters);
  double sum = 0;
  for (const Member& member : members) {
    if (member.weight == 0) continue;
    const PlacedModel curve = member.At(cores);
    const auto term = [&](const std::vector<double>& parameters) {
      const double logarithm = std::log(member.CutOff(curve(parameters)));
      return limit ? std::log(kSmallLoss - logarithm) : logarithm;
    };
    double of_member = 0;
    for (const std::size_t i : member.curves) of_member += term(member.posterior.draws[i].parameters);
    of_member =
        member.curves.empty() ? term(member.fit.parameters) : of_member / static_cast<double>(member.curves.size());
    sum += member.weight * of_member;
  }
  return limit ? std::min(1.0, std::exp(kSmallLoss - std::exp(sum))) : std::exp(sum);
}

Ensemble FitEnsemble(const std::vector<Candidate>& candidates, const std::vector<DataPoint>& points,
                     std::optional<double> limit, const std::vector<double>& reach, std::uint64_t seed,
                     bool weighs_alike) {
  Ensemble ensemble;
  ensemble.limit = limit;
  std::vector<double> logarithms;
  const bool has_several = CountCores(points) > 1;
  std::vector<double> ends;
  if (!reach.empty()) ends = {std::ranges::min(reach), std::ranges::max(reach)};
  for (const Candidate& candidate : candidates) {
    for (const int dimension : candidate.dimensions) {
      Member member{candidate.model, FitModel(*candidate.model, dimension, points, limit, weighs_alike), 0, {}, limit};
      if (!has_several) member.fit.outcome = FitOutcome::kTooFewPoints;
      if (IsUsable(member.fit.outcome)) {
        const auto value_at = [&](double cores) {
          return member.model->Evaluate(cores, member.fit.dimension, member.fit.parameters);
        };
        const auto is_possible = [&](double cores) { return std::isfinite(value_at(cores)) && value_at(cores) > 0; };
        const auto is_in_limit = [&](const DataPoint& p) { return !limit || value_at(p.cores) <= *limit * (1 + 1e-9); };
        const bool stays = std::ranges::all_of(reach, is_possible) && std::ranges::all_of(points, is_in_limit);
        if (!stays) member.fit.outcome = FitOutcome::kLeavesRange;
      }
      member.posterior.log_evidence = kNever;
      if (IsUsable(member.fit.outcome)) {
        Random random(SeedFor(seed, candidate.model->id + ":" + std::to_string(dimension)));
        member.posterior = SamplePosterior(*candidate.model, member.fit, limit, ends, random);
      }
      logarithms.push_back(std::log(candidate.model->PriorOf(dimension, candidate.is_of_times)) +
                           member.posterior.log_evidence);
      ensemble.members.push_back(std::move(member));
    }
  }
  Weigh(ensemble.members, logarithms);
  std::stable_sort(ensemble.members.begin(), ensemble.members.end(),
                   [](const Member& a, const Member& b) { return a.weight > b.weight; });
  return ensemble;
}

}  // namespace farscale
