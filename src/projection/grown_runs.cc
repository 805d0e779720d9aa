#include "projection/phase_fits.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "factors/factor_table.h"
#include "projection/projection.h"
#include "stats/distributions.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Chosen: the errors of the programs of docs/growth.md hardly rise with the distance.
constexpr double kPower = 0.25;
// Losses smaller than this are as uncertain as if they were as large; chosen: what repeats of a run differ by.
constexpr double kLeastLoss = 0.01;
// The record of other programs counts as so many backtests; chosen: it differs more between programs than predictions
// for one program do.
constexpr double kRecordCounts = 1;

// The record in docs/growth.md, which `scripts/measure_growth` writes; chosen: a hundredth more for transfer and
// parallel efficiency, as few programs make it. One program copies ranks: its record, rounded up.
double OfDoubling(Factor factor, bool copies_ranks) {
  switch (factor) {
    case Factor::kLoadBalance: return copies_ranks ? 0.75 : 0.44;
    case Factor::kSerialization: return copies_ranks ? 0.40 : 0.20;
    case Factor::kParallelEfficiency: return copies_ranks ? 0.40 : 0.07;
    default: return copies_ranks ? 0.95 : 0.17;  // transfer, and products with it
  }
}

constexpr double kNothing = 1e-9;  // efficiencies below have no logarithm of use; chosen: rounding

// On the straight line between neighbours; that of the nearest end outside.
double Between(const std::vector<std::pair<double, double>>& points, double x) {
  const auto behind = std::ranges::lower_bound(points, x, {}, [](const auto& point) { return point.first; });
  if (behind == points.end()) return points.back().second;
  if (behind == points.begin()) return points.front().second;
  const auto before = behind - 1;
  const double share = (x - before->first) / (behind->first - before->first);
  return before->second + share * (behind->second - before->second);
}

// Standard deviation of the logarithms of draws, by the middle four fifths of them, as if they were normal.
double LogDeviation(std::vector<double> draws) {
  for (double& value : draws) value = std::log(std::max(value, kNothing));
  std::ranges::sort(draws);
  return (QuantileOfSorted(draws, 0.9) - QuantileOfSorted(draws, 0.1)) / (2 * NormalReach(0.8));
}

void MultiplyBy(const std::vector<double>& factors, std::vector<double>& products) {
  for (std::size_t i = 0; i < products.size(); ++i) products[i] *= factors[i];
}

}  // namespace

double GrowthError::At(double value, double doublings) const {
  return of_doubling * (std::abs(std::log(value)) + kLeastLoss) * std::pow(doublings, power);
}

GrowthError ErrorOfGrowth(Factor factor, const GrownPhase& grown, const std::vector<FactorRow>& measured,
                          double largest) {
  GrowthError error{OfDoubling(factor, grown.is_statistical), kPower};
  // All runs grown from the same runs share their mistakes, so together they count as one.
  std::map<double, std::pair<double, double>> squares;
  const auto rows = PointersTo(measured);
  for (const GrownRun& run : grown.runs) {
    if (run.cores > largest || run.cores <= run.learned_up_to || !run.values[factor]) continue;
    const std::optional<double> truth =
        MeanAt(rows, static_cast<std::int64_t>(run.cores), [&](const FactorRow& row) { return row.values[factor]; });
    if (!truth || *run.values[factor] <= 0) continue;
    const double own = error.At(*run.values[factor], Doublings(run.cores, run.learned_up_to));
    const double ratio = std::log(*run.values[factor] / *truth) / own;
    auto& [sum, count] = squares[run.learned_up_to];
    sum += ratio * ratio;
    ++count;
  }
  double sum = kRecordCounts, count = kRecordCounts;
  for (const auto& [learned, of] : squares) {
    sum += of.first / of.second;
    ++count;
  }
  error.of_doubling *= std::sqrt(sum / count);
  return error;
}

std::vector<DataPoint> GrownPoints(Factor factor, const std::vector<GrownRun>& grown, double largest) {
  std::vector<DataPoint> points;
  for (const GrownRun& run : grown) {
    if (run.learned_up_to != largest || run.cores <= largest || !run.values[factor]) continue;
    if (*run.values[factor] > 0) points.push_back({run.cores, *run.values[factor], std::nullopt});
  }
  std::ranges::sort(points, {}, &DataPoint::cores);
  return points;
}

GrownCurve::GrownCurve(Ensemble fitted, const IntervalConstants& intervals, GrowthError of_growth, std::uint64_t seed)
    : ensemble(std::move(fitted)), draws(ensemble, intervals, seed), error(of_growth) {
  Random random(SeedFor(seed, "growth"));
  for (std::size_t i = 0; i < kFactorDraws; ++i) standard_errors.push_back(random.Normal());
  std::vector<DataPoint> points = ensemble.members.front().fit.points;
  std::ranges::stable_sort(points, {}, &DataPoint::cores);
  for (std::size_t i = 0, end = 0; i < points.size(); i = end) {
    double sum = 0;
    for (end = i; end < points.size() && points[end].cores == points[i].cores; ++end)
      sum += std::log(points[end].value);
    corrections.emplace_back(std::log(points[i].cores),
                             sum / static_cast<double>(end - i) - std::log(ensemble.ValueAt(points[i].cores)));
  }
}

double GrownCurve::ValueAt(double cores) const {
  const double value = ensemble.ValueAt(cores) * std::exp(Between(corrections, std::log(cores)));
  return ensemble.limit ? std::min(value, *ensemble.limit) : value;
}

void GrownFactors::Add(Factor factor, Ensemble ensemble, GrowthError error, std::uint64_t seed) {
  factors_.try_emplace(factor, std::move(ensemble), intervals_, error, seed);
}

void GrownFactors::Weigh(const std::map<Factor, FactorDraws>& curves, const std::vector<double>& grid,
                         std::optional<GrowthError> of_product) {
  of_product_ = of_product;
  common_errors_.assign(kFactorDraws, 0);
  for (const auto& [factor, curve] : factors_) {
    for (std::size_t i = 0; i < kFactorDraws; ++i)
      common_errors_[i] += curve.standard_errors[i] / static_cast<double>(factors_.size());
  }
  for (const double cores : grid) {
    std::vector<double> grown(kFactorDraws, 1.0), by_curves(kFactorDraws, 1.0);
    for (const auto& [factor, curve] : factors_) {
      MultiplyBy(DrawsAt(factor, cores), grown);
      MultiplyBy(curves.at(factor).At(cores), by_curves);
    }
    const double own = LogDeviation(std::move(grown)), of_curves = LogDeviation(std::move(by_curves));
    const double both = own * own + of_curves * of_curves;
    const double near = std::min(1.0, Doublings(cores, largest_));
    weights_.emplace_back(std::log(cores), both > 0 ? near * of_curves * of_curves / both : 0);
  }
}

double GrownFactors::WeightAt(double cores) const { return Between(weights_, std::log(cores)); }

double GrownFactors::ErrorAt(Factor factor, double cores) const {
  const GrownCurve& curve = factors_.at(factor);
  return curve.error.At(curve.ValueAt(cores), Doublings(cores, largest_));
}

// With the deviations s_f of n factors and s of their product, s^2 = sum s_f^2 + r sum over pairs of 2 s_f s_g. No n
// numbers are correlated by less than -1/(n - 1).
double GrownFactors::CorrelationAt(double cores) const {
  if (!of_product_ || factors_.size() < 2) return 0;
  double product = 1, sum = 0, squares = 0;
  for (const auto& [factor, curve] : factors_) {
    product *= curve.ValueAt(cores);
    const double error = ErrorAt(factor, cores);
    sum += error;
    squares += error * error;
  }
  const double whole = of_product_->At(product, Doublings(cores, largest_)), pairs = sum * sum - squares;
  if (pairs <= 0) return 0;
  return std::clamp((whole * whole - squares) / pairs, -1 / static_cast<double>(factors_.size() - 1), 1.0);
}

std::vector<double> GrownFactors::DrawsAt(Factor factor, double cores) const {
  const GrownCurve& curve = factors_.at(factor);
  const std::vector<double>& errors = curve.standard_errors;
  std::vector<double> values = curve.draws.At(cores);
  const double correction = std::exp(Between(curve.corrections, std::log(cores)));
  const double error = ErrorAt(factor, cores), correlation = CorrelationAt(cores);
  // The difference of an error from the mean of all is independent of that mean; stretched like this they have the
  // deviation 1 still, and this correlation.
  const double own = std::sqrt(1 - correlation);
  const double common = std::sqrt(std::max(0.0, 1 + static_cast<double>(factors_.size() - 1) * correlation));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] *= correction;
    values[i] *= std::exp(error * (own * (errors[i] - common_errors_[i]) + common * common_errors_[i]));
    if (curve.ensemble.limit) values[i] = std::min(values[i], *curve.ensemble.limit);
  }
  return values;
}

}  // namespace farscale
