#include "projection/factor_predictor.h"

#include <algorithm>
#include <cmath>

namespace farscale {
namespace {

constexpr double kLeastCurveLoss = 1e-6;  // whose logarithm counts in the average; chosen: below what can be measured

}  // namespace

std::optional<double> FactorPredictor::ByGrowthAt(double cores) const {
  return grown_.Contains(factor_) ? std::optional(grown_.ValueAt(factor_, cores)) : std::nullopt;
}

// Logarithms of losses are averaged, as those of curves are.
double FactorPredictor::ByCurvesAt(double cores) const {
  const double by_curves = curves_.ValueAt(cores);
  if (loads_ == nullptr) return by_curves;
  const auto logarithm_of_loss = [](double value) { return std::log(std::max(-std::log(value), kLeastCurveLoss)); };
  return std::exp(-std::exp(kWeightOfLoads * logarithm_of_loss(loads_->ValueAt(cores)) +
                            (1 - kWeightOfLoads) * logarithm_of_loss(by_curves)));
}

double FactorPredictor::ValueAt(double cores) const {
  const double weight = GrownWeightAt(cores), by_curves = ByCurvesAt(cores);
  if (weight == 0) return by_curves;
  return std::pow(grown_.ValueAt(factor_, cores), weight) * std::pow(by_curves, 1 - weight);
}

std::vector<double> FactorPredictor::DrawsAt(double cores) const {
  std::vector<double> draws = draws_.At(cores);
  // Draws have no order, so the last are as good as any. Grown runs replace the first.
  if (loads_ != nullptr) {
    const std::vector<double> of_loads = loads_->DrawsAt(cores);
    std::copy_n(of_loads.rbegin(), std::llround(kWeightOfLoads * static_cast<double>(draws.size())), draws.rbegin());
  }
  const double weight = GrownWeightAt(cores);
  if (weight == 0) return draws;
  // Draws have no order, so the first are as good as any. The same ones of every factor: where a program was
  // understood wrong, all factors of its grown runs are.
  const std::vector<double> of_grown = grown_.DrawsAt(factor_, cores);
  const auto count = static_cast<std::ptrdiff_t>(std::llround(weight * static_cast<double>(draws.size())));
  std::copy(of_grown.begin(), of_grown.begin() + count, draws.begin());
  return draws;
}

}  // namespace farscale
