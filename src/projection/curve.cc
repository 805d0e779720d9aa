#include "projection/projection.h"

#include <algorithm>
#include <cmath>

#include "factors/table_check.h"

namespace farscale {
namespace {

constexpr double kSame = 1e-9;  // relative, of core counts; chosen: rounding

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

double LargestProjected(const PhaseProjection& projection) {
  double largest = 0;
  for (const Factor factor : {Factor::kGlobalEfficiency, Factor::kComputationScalability}) {
    const FactorProjection* projected = projection.Find(factor);
    if (projected == nullptr) continue;
    for (const ProjectedValue& target : projected->targets) {
      const Reliability level = ReliabilityOf(projection, factor, target.cores);
      if (level == Reliability::kReliable) {
        largest = std::max(largest, target.value);
      } else if (level == Reliability::kUncertain && target.interval80) {
        largest = std::max(largest, target.interval80->low);
      }
    }
  }
  return largest;
}

std::string WhySuperlinear(const std::vector<FactorRow>& rows, const PhaseProjection* projection) {
  std::string measured = WhySuperlinear(rows);
  if (!measured.empty() || projection == nullptr) return measured;
  return WhySuperlinear(rows, LargestProjected(*projection));
}

}  // namespace farscale
