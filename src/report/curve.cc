#include "report/curve.h"

#include <cmath>
#include <vector>

namespace farscale {
namespace {

constexpr double kSame = 1e-9;

// Straight where one of both has no logarithm.
double Between(double a, double b, double share) {
  return a > 0 && b > 0 ? a * std::pow(b / a, share) : a + (b - a) * share;
}

std::optional<IntervalBounds> Between(const std::optional<IntervalBounds>& a, const std::optional<IntervalBounds>& b,
                                      double share) {
  if (!a || !b) return std::nullopt;
  return IntervalBounds{Between(a->low, b->low, share), Between(a->high, b->high, share)};
}

}  // namespace

std::optional<ProjectedValue> ReadCurve(const FactorProjection& projection, double cores) {
  const std::vector<ProjectedValue>& curve = projection.curve;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (std::fabs(curve[i].cores / cores - 1) < kSame) return curve[i];
    if (curve[i].cores < cores) continue;
    if (i == 0) return std::nullopt;
    const ProjectedValue &a = curve[i - 1], &b = curve[i];
    const double share = std::log(cores / a.cores) / std::log(b.cores / a.cores);
    return ProjectedValue{cores, a.ratio * cores / a.cores, Between(a.value, b.value, share),
                          Between(a.interval80, b.interval80, share), Between(a.interval95, b.interval95, share)};
  }
  return std::nullopt;
}

}  // namespace farscale
