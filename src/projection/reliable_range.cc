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

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Half the width of the interval over the most that is reliable; at most 1 where it is, infinite where it is unknown.
double WidthOverLimit(Factor factor, double value, const std::optional<IntervalBounds>& interval,
                      const ReliabilityLimits& limits) {
  if (!interval) return kInfinity;
  const double half = (interval->high - interval->low) / 2;
  double limit = limits.share * value;
  if (factor != Factor::kSpeedup) limit = std::min(limit, limits.absolute * std::max(1.0, value));
  if (half == 0) return 0;
  return limit > 0 ? half / limit : kInfinity;
}

// How far the ends of the interval lie from the value, in doublings; at most 1 where the value is not unknown.
double DoublingsFrom(double value, const std::optional<IntervalBounds>& interval) {
  if (!interval) return kInfinity;
  if (interval->low == value && interval->high == value) return 0;
  if (!(value > 0 && interval->low > 0)) return kInfinity;
  return std::max(std::log2(interval->high / value), std::log2(value / interval->low));
}

// Rounding of the logarithms in DoublingsFrom and of differences in WidthOverLimit.
bool IsWithin(double measure) { return measure <= 1 + 1e-12; }

struct CurveEnd {
  double cores = 0;
  Reach reach = Reach::kOnlyMeasured;
};

// Walks up the curve from the largest fitted count to where a measure of the intervals first exceeds 1.
template <typename Measure>
CurveEnd WalkUp(const FactorProjection& projection, double largest, const Measure& measure) {
  const ProjectedValue* before = nullptr;
  double last = 0;
  for (const ProjectedValue& value : projection.curve) {
    if (value.cores < largest) continue;
    const double here = measure(value);
    if (!IsWithin(here)) {
      if (before == nullptr) return {largest, Reach::kOnlyMeasured};
      const double share = std::isfinite(here) ? std::max(0.0, 1 - last) / (here - last) : 0;
      const double crossing = before->cores * std::pow(value.cores / before->cores, share);
      return {std::max(largest, WholeCores(crossing)), Reach::kUpTo};
    }
    before = &value;
    last = here;
  }
  if (before == nullptr) return {largest, Reach::kOnlyMeasured};
  return {before->cores, Reach::kAtLeast};
}

ReliableRange RangeOf(const FactorProjection& projection, double largest, const ReliabilityLimits& limits) {
  if (FindMisfit(projection, largest)) return {projection.factor, limits, largest, Reach::kMisfit};
  const CurveEnd end = WalkUp(projection, largest, [&](const ProjectedValue& value) {
    return WidthOverLimit(projection.factor, value.value, value.interval80, limits);
  });
  const double farthest = WholeCores(kFarthestChecked * largest);
  if (end.cores > farthest) return {projection.factor, limits, farthest, Reach::kUpTo};
  return {projection.factor, limits, end.cores, end.reach};
}

// Intervals of a curve that the runs contradict say nothing.
double KnownUpTo(const FactorProjection& projection, double largest) {
  if (FindMisfit(projection, largest)) return largest;
  return WalkUp(projection, largest,
                [](const ProjectedValue& value) { return DoublingsFrom(value.value, value.interval80); })
      .cores;
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

std::string ToString(Reliability level) {
  switch (level) {
    case Reliability::kReliable: return "reliable";
    case Reliability::kUncertain: return "uncertain";
    case Reliability::kUnknown: return "unknown";
  }
  return "";
}

double WholeCores(double cores) { return std::floor(cores * (1 + 1e-12)); }

Reliability LevelOf(Factor factor, double value, const std::optional<IntervalBounds>& interval80,
                    const ReliabilityLimits& limits) {
  if (IsWithin(WidthOverLimit(factor, value, interval80, limits))) return Reliability::kReliable;
  return IsWithin(DoublingsFrom(value, interval80)) ? Reliability::kUncertain : Reliability::kUnknown;
}

std::optional<ReliableRange> FindReliableRange(const PhaseProjection& phase, const ReliabilityLimits& limits) {
  std::optional<ReliableRange> nearest;
  if (!phase.obstacle.empty() || phase.fitted_cores.empty()) return nearest;
  for (const FactorProjection* projection : LimitingFactors(phase)) {
    const ReliableRange range = RangeOf(*projection, phase.fitted_cores.back(), limits);
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

Reliability ReliabilityOf(const PhaseProjection& projection, double cores) {
  if (!projection.reliable_range || cores <= projection.reliable_range->cores) return Reliability::kReliable;
  return cores <= UncertainUpTo(projection) ? Reliability::kUncertain : Reliability::kUnknown;
}

Reliability ReliabilityOf(const PhaseProjection& projection, Factor factor, double cores) {
  if (cores <= ReliableUpTo(projection, factor)) return Reliability::kReliable;
  return cores <= UncertainUpTo(projection, factor) ? Reliability::kUncertain : Reliability::kUnknown;
}

bool IsReliable(const PhaseProjection& projection, double cores) {
  return ReliabilityOf(projection, cores) == Reliability::kReliable;
}

bool IsReliable(const PhaseProjection& projection, Factor factor, double cores) {
  return ReliabilityOf(projection, factor, cores) == Reliability::kReliable;
}

double ReliableUpTo(const PhaseProjection& projection, Factor factor) {
  if (!projection.reliable_range) return kInfinity;
  const FactorProjection* found = ReliableAs(projection, factor);
  if (found == nullptr || found->curve.empty()) return projection.reliable_range->cores;
  const ReliableRange own = RangeOf(*found, projection.fitted_cores.back(), projection.reliable_range->limits);
  return std::min(own.cores, projection.reliable_range->cores);
}

double UncertainUpTo(const PhaseProjection& projection) {
  if (!projection.reliable_range) return kInfinity;
  const ReliableRange& range = *projection.reliable_range;
  const FactorProjection* limiting = projection.Find(range.factor);
  if (limiting == nullptr || limiting->curve.empty()) return range.cores;
  // Limits of the user may be wider than a factor of two.
  return std::max(range.cores, KnownUpTo(*limiting, projection.fitted_cores.back()));
}

double UncertainUpTo(const PhaseProjection& projection, Factor factor) {
  const double phase = UncertainUpTo(projection);
  const FactorProjection* found = ReliableAs(projection, factor);
  if (!projection.reliable_range || found == nullptr || found->curve.empty()) return phase;
  const double own = KnownUpTo(*found, projection.fitted_cores.back());
  return std::min(phase, std::max(own, ReliableUpTo(projection, factor)));
}

}  // namespace farscale
