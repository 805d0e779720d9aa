#include "projection/reliable_range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "projection/projection.h"

namespace farscale {
namespace {

using Reach = ReliableRange::Reach;

constexpr double kRounding = 1e-6;  // chosen: measured values in tables have six digits; less is no misfit

// Of what may exceed 1 the width counts relative to that; of speedup, which is no share of anything, to the value.
std::optional<double> WidthOf(const FactorProjection& projection, const ProjectedValue& value) {
  if (!value.interval80) return std::nullopt;
  const double unit = projection.factor == Factor::kSpeedup ? value.value : std::max(1.0, value.value);
  return (value.interval80->high - value.interval80->low) / unit;
}

// Where the width passes the limit between two points of the curve.
double Crossing(const FactorProjection& projection, const ProjectedValue& before, const ProjectedValue& behind,
                double width) {
  const std::optional<double> a = WidthOf(projection, before), b = WidthOf(projection, behind);
  if (!b) return before.cores;
  const double share = (width - *a) / (*b - *a);
  return before.cores * std::pow(behind.cores / before.cores, share);
}

ReliableRange RangeOf(const FactorProjection& projection, double largest, double width) {
  ReliableRange range{projection.factor, width, largest, Reach::kOnlyMeasured};
  if (FindMisfit(projection, largest)) {
    range.reach = Reach::kMisfit;
    return range;
  }
  const ProjectedValue* before = nullptr;
  for (const ProjectedValue& value : projection.curve) {
    if (value.cores < largest) continue;
    const std::optional<double> here = WidthOf(projection, value);
    if (!here || *here > width) {
      if (before == nullptr) return range;
      range.cores = std::max(largest, WholeCores(Crossing(projection, *before, value, width)));
      range.reach = Reach::kUpTo;
      return range;
    }
    before = &value;
  }
  if (before == nullptr) return range;
  range.cores = before->cores;
  range.reach = Reach::kAtLeast;
  return range;
}

// Factors whose intervals limit the range: one, or several of which the first to get too wide does.
std::vector<const FactorProjection*> LimitingFactors(const PhaseProjection& phase) {
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
bool IsNearer(const ReliableRange& a, const ReliableRange& b) {
  const auto is_open = [](const ReliableRange& range) { return range.reach == Reach::kAtLeast; };
  const auto is_closed = [](const ReliableRange& range) {
    return range.reach == Reach::kOnlyMeasured || range.reach == Reach::kMisfit;
  };
  if (is_open(a) != is_open(b)) return is_open(b);
  if (a.cores != b.cores) return a.cores < b.cores;
  return is_closed(a) && !is_closed(b);
}

// Speedup is as reliable as the efficiency it is a multiple of.
const FactorProjection* ReliableAs(const PhaseProjection& phase, Factor factor) {
  const FactorProjection* global = phase.Find(Factor::kGlobalEfficiency);
  return factor == Factor::kSpeedup && global != nullptr && !global->curve.empty() ? global : phase.Find(factor);
}

}  // namespace

double WholeCores(double cores) { return std::floor(cores * (1 + 1e-12)); }

std::optional<ReliableRange> FindReliableRange(const PhaseProjection& phase, double width) {
  std::optional<ReliableRange> nearest;
  if (!phase.obstacle.empty() || phase.fitted_cores.empty()) return nearest;
  for (const FactorProjection* projection : LimitingFactors(phase)) {
    const ReliableRange range = RangeOf(*projection, phase.fitted_cores.back(), width);
    if (!nearest || IsNearer(range, *nearest)) nearest = range;
  }
  return nearest;
}

std::optional<Misfit> FindMisfit(const FactorProjection& projection, double largest) {
  Misfit misfit;
  double runs = 0;
  for (const DataPoint& point : projection.measured) {
    if (point.cores != largest) continue;
    misfit.measured += point.value;
    ++runs;
  }
  misfit.measured /= runs;
  for (const ProjectedValue& value : projection.curve) {
    if (value.cores != largest || !value.interval95 || runs == 0) continue;
    misfit.fitted95 = *value.interval95;
    const double slack = kRounding * std::max(1.0, misfit.measured);
    if (misfit.measured < misfit.fitted95.low - slack || misfit.measured > misfit.fitted95.high + slack) return misfit;
  }
  return std::nullopt;
}

bool IsReliable(const PhaseProjection& projection, double cores) {
  return !projection.reliable_range || cores <= projection.reliable_range->cores;
}

double ReliableUpTo(const PhaseProjection& projection, Factor factor) {
  if (!projection.reliable_range) return std::numeric_limits<double>::infinity();
  const FactorProjection* found = ReliableAs(projection, factor);
  if (found == nullptr || found->curve.empty()) return projection.reliable_range->cores;
  const ReliableRange own = RangeOf(*found, projection.fitted_cores.back(), projection.reliable_range->width);
  return std::min(own.cores, projection.reliable_range->cores);
}

bool IsReliable(const PhaseProjection& projection, Factor factor, double cores) {
  return cores <= ReliableUpTo(projection, factor);
}

}  // namespace farscale
