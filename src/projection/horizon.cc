#include "projection/horizon.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "projection/projection.h"

namespace farscale {
namespace {

using Reach = EvidenceHorizon::Reach;

std::optional<double> WidthOf(const ProjectedValue& value) {
  return value.interval80 ? std::optional(value.interval80->high - value.interval80->low) : std::nullopt;
}

// Where the width passes the limit between two points of the curve.
double Crossing(const ProjectedValue& before, const ProjectedValue& behind, double width) {
  const std::optional<double> a = WidthOf(before), b = WidthOf(behind);
  if (!b) return before.cores;
  const double share = (width - *a) / (*b - *a);
  return before.cores * std::pow(behind.cores / before.cores, share);
}

EvidenceHorizon HorizonOf(const FactorProjection& projection, double largest, double width) {
  EvidenceHorizon horizon{projection.factor, width, largest, Reach::kOnlyMeasured};
  const ProjectedValue* before = nullptr;
  for (const ProjectedValue& value : projection.curve) {
    if (value.cores < largest) continue;
    const std::optional<double> here = WidthOf(value);
    if (!here || *here > width) {
      if (before == nullptr) return horizon;
      horizon.cores = std::max(largest, WholeCores(Crossing(*before, value, width)));
      horizon.reach = Reach::kUpTo;
      return horizon;
    }
    before = &value;
  }
  if (before == nullptr) return horizon;
  horizon.cores = before->cores;
  horizon.reach = Reach::kAtLeast;
  return horizon;
}

// Whose interval tells: one, or several of which the first to get too wide does.
std::vector<const FactorProjection*> Witnesses(const PhaseProjection& phase) {
  std::vector<const FactorProjection*> others;
  for (const Factor factor : {Factor::kParallelEfficiency, Factor::kGlobalEfficiency}) {
    const FactorProjection* found = phase.Find(factor);
    if (found != nullptr && !found->curve.empty()) return {found};
  }
  for (const FactorProjection& projection : phase.factors) {
    if (projection.factor != Factor::kSpeedup && !projection.curve.empty()) others.push_back(&projection);
  }
  return others;
}

// Measured only, then crossed at fewer cores, then not crossed.
bool IsNearer(const EvidenceHorizon& a, const EvidenceHorizon& b) {
  const auto is_open = [](const EvidenceHorizon& horizon) { return horizon.reach == Reach::kAtLeast; };
  if (is_open(a) != is_open(b)) return is_open(b);
  if (a.cores != b.cores) return a.cores < b.cores;
  return a.reach == Reach::kOnlyMeasured && b.reach != Reach::kOnlyMeasured;
}

}  // namespace

double WholeCores(double cores) { return std::floor(cores * (1 + 1e-12)); }

std::optional<EvidenceHorizon> FindHorizon(const PhaseProjection& phase, double width) {
  std::optional<EvidenceHorizon> nearest;
  if (!phase.obstacle.empty() || phase.fitted_cores.empty()) return nearest;
  for (const FactorProjection* projection : Witnesses(phase)) {
    const EvidenceHorizon horizon = HorizonOf(*projection, phase.fitted_cores.back(), width);
    if (!nearest || IsNearer(horizon, *nearest)) nearest = horizon;
  }
  return nearest;
}

bool IsEvidence(const PhaseProjection& projection, double cores) {
  return !projection.horizon || cores <= projection.horizon->cores;
}

}  // namespace farscale
