#include "growth/scaling_law.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace farscale {
namespace {

constexpr double kExact = 1e-3;  // chosen: sizes of local extents that do not divide evenly differ by more
// Local extents, faces and volumes of evenly divided domains; simple ones first.
constexpr double kExponents[] = {0, -1, -0.5, 1, 0.5, -2, 2};

// Largest relative distance from the best multiple of the law.
double ErrorOf(const ScalingLaw& law, const std::vector<LawPoint>& points) {
  double low = INFINITY, high = -INFINITY;
  for (const LawPoint& point : points) {
    const double offset = std::log(point.value) - std::log(law.Ratio(point.grid, RankGrid{}));
    low = std::min(low, offset);
    high = std::max(high, offset);
  }
  return std::expm1((high - low) / 2);
}

void TryExponents(const std::vector<LawPoint>& points, std::size_t dimension, ScalingLaw& law, double complexity,
                  double& best_score, ScalingLaw& best) {
  if (dimension == kMostDimensions || std::ranges::all_of(points, [&](const LawPoint& point) {
        return point.grid.extents[dimension] == points.front().grid.extents[dimension];
      })) {
    if (dimension < kMostDimensions) {
      law.exponents[dimension] = 0;
      return TryExponents(points, dimension + 1, law, complexity, best_score, best);
    }
    law.error = ErrorOf(law, points);
    const double score = std::max(law.error, kExact) * (1 + 0.2 * complexity);
    if (score < best_score) {
      best_score = score;
      best = law;
    }
    return;
  }
  for (const double exponent : kExponents) {
    law.exponents[dimension] = exponent;
    TryExponents(points, dimension + 1, law, complexity + std::abs(exponent), best_score, best);
  }
  law.exponents[dimension] = 0;
}

// The power of the number of ranks by least squares of the logarithms.
ScalingLaw FitPower(const std::vector<LawPoint>& points) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const LawPoint& point : points) {
    const double x = std::log(static_cast<double>(point.grid.size())), y = std::log(point.value);
    n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  ScalingLaw law;
  const double spread = n * sxx - sx * sx;
  law.power = spread > 0 ? (n * sxy - sx * sy) / spread : 0;
  law.error = ErrorOf(law, points);
  return law;
}

}  // namespace

double ScalingLaw::Ratio(const RankGrid& to, const RankGrid& from) const {
  double ratio = std::pow(static_cast<double>(to.size()) / static_cast<double>(from.size()), power);
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (exponents[d] != 0) ratio *= std::pow(static_cast<double>(to.extents[d]) / from.extents[d], exponents[d]);
  }
  return ratio;
}

std::string ScalingLaw::Text() const {
  std::vector<std::string> parts;
  if (power != 0) parts.push_back(fmt::format("P^{:.3g}", power));
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (exponents[d] != 0) parts.push_back(fmt::format("n{}^{:g}", "xyzt"[d], exponents[d]));
  }
  return parts.empty() ? "constant" : Join(parts, " ");
}

ScalingLaw FitScalingLaw(const std::vector<LawPoint>& points) {
  std::vector<LawPoint> positive;
  std::ranges::copy_if(points, std::back_inserter(positive), [](const LawPoint& point) { return point.value > 0; });
  ScalingLaw best;
  best.runs = positive.size();
  if (positive.size() < 2) return best;
  double score = INFINITY;
  ScalingLaw law;
  TryExponents(positive, 0, law, 0, score, best);
  const ScalingLaw power = FitPower(positive);
  if (std::max(power.error, kExact) * 1.5 < best.error) best = power;
  best.runs = positive.size();
  return best;
}

}  // namespace farscale
