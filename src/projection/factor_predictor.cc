#include "projection/factor_predictor.h"

#include <algorithm>
#include <cmath>

#include "stats/distributions.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

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

// Of the logarithms of draws, by the middle four fifths of them, as if they were normal.
double DeviationOf(std::vector<double> draws) {
  for (double& value : draws) value = std::log(std::max(value, kNothing));
  std::ranges::sort(draws);
  return (QuantileOfSorted(draws, 0.9) - QuantileOfSorted(draws, 0.1)) / (2 * NormalReach(0.8));
}

}  // namespace

GrownCurve::GrownCurve(Ensemble ensemble, GrowthError error, double largest, std::uint64_t seed)
    : ensemble_(std::move(ensemble)), draws_(ensemble_, seed), error_(error), largest_(largest) {
  Random random(SeedFor(seed, "growth"));
  for (std::size_t i = 0; i < kFactorDraws; ++i) errors_.push_back(random.Normal());
  std::vector<DataPoint> points = ensemble_.members.front().fit.points;
  std::ranges::stable_sort(points, {}, &DataPoint::cores);
  for (std::size_t i = 0, end = 0; i < points.size(); i = end) {
    double sum = 0;
    for (end = i; end < points.size() && points[end].cores == points[i].cores; ++end)
      sum += std::log(points[end].value);
    corrections_.emplace_back(std::log(points[i].cores),
                              sum / static_cast<double>(end - i) - std::log(ensemble_.ValueAt(points[i].cores)));
  }
}

double GrownCurve::Correction(double cores) const { return Between(corrections_, std::log(cores)); }

double GrownCurve::ValueAt(double cores) const {
  const double value = ensemble_.ValueAt(cores) * std::exp(Correction(cores));
  return ensemble_.limit ? std::min(value, *ensemble_.limit) : value;
}

double GrownCurve::ErrorAt(double cores) const { return error_.At(ValueAt(cores), Doublings(cores, largest_)); }

std::vector<double> GrownCurve::DrawsAt(double cores) const {
  std::vector<double> values = draws_.At(cores);
  const double correction = Correction(cores), error = ErrorAt(cores);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] *= std::exp(correction + error * errors_[i]);
    if (ensemble_.limit) values[i] = std::min(values[i], *ensemble_.limit);
  }
  return values;
}

void FactorPredictor::AddGrown(const GrownCurve& grown, const std::vector<double>& grid) {
  grown_ = &grown;
  for (const double cores : grid) {
    const double own = DeviationOf(grown.DrawsAt(cores)), of_curves = DeviationOf(draws_.At(cores));
    const double both = own * own + of_curves * of_curves;
    const double near = std::min(1.0, Doublings(cores, grown.Largest()));
    weights_.emplace_back(std::log(cores), both > 0 ? near * of_curves * of_curves / both : 0);
  }
}

double FactorPredictor::GrownWeightAt(double cores) const {
  return grown_ == nullptr ? 0 : Between(weights_, std::log(cores));
}

std::optional<double> FactorPredictor::ByGrowthAt(double cores) const {
  return grown_ == nullptr ? std::nullopt : std::optional(grown_->ValueAt(cores));
}

double FactorPredictor::ValueAt(double cores) const {
  const double weight = GrownWeightAt(cores), by_curves = curves_.ValueAt(cores);
  if (weight == 0) return by_curves;
  return std::pow(grown_->ValueAt(cores), weight) * std::pow(by_curves, 1 - weight);
}

std::vector<double> FactorPredictor::DrawsAt(double cores) const {
  std::vector<double> draws = draws_.At(cores);
  const double weight = GrownWeightAt(cores);
  if (weight == 0) return draws;
  // Draws have no order, so the first are as good as any. The same ones of every factor: where a program was
  // understood wrong, all factors of its grown runs are.
  const std::vector<double> of_grown = grown_->DrawsAt(cores);
  const auto count = static_cast<std::ptrdiff_t>(std::llround(weight * static_cast<double>(draws.size())));
  std::copy(of_grown.begin(), of_grown.begin() + count, draws.begin());
  return draws;
}

}  // namespace farscale
