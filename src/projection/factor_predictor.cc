#include "projection/factor_predictor.h"

#include <algorithm>
#include <cmath>

namespace farscale {

std::optional<double> FactorPredictor::ByGrowthAt(double cores) const {
  return grown_.Contains(factor_) ? std::optional(grown_.ValueAt(factor_, cores)) : std::nullopt;
}

double FactorPredictor::ValueAt(double cores) const {
  const double weight = GrownWeightAt(cores), by_curves = curves_.ValueAt(cores);
  if (weight == 0) return by_curves;
  return std::pow(grown_.ValueAt(factor_, cores), weight) * std::pow(by_curves, 1 - weight);
}

std::vector<double> FactorPredictor::DrawsAt(double cores) const {
  std::vector<double> draws = draws_.At(cores);
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
