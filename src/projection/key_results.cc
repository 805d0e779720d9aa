#include "projection/key_results.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "factors/scaling.h"
#include "projection/projection.h"

namespace farscale {
namespace {

using Kind = CountBound::Kind;
using Curve = std::vector<ProjectedValue>;
using Accessor = std::function<double(const ProjectedValue&)>;

// The part of a curve that begins at the smallest run: below it nobody has looked.
Curve FromSmallestRun(const PhaseProjection& phase, const FactorProjection& projection) {
  Curve curve;
  for (const ProjectedValue& value : projection.curve) {
    if (value.cores >= phase.fitted_cores.front()) curve.push_back(value);
  }
  return curve;
}

bool HasIntervals(const Curve& curve) {
  return std::all_of(curve.begin(), curve.end(), [](const ProjectedValue& value) { return value.interval80; });
}

// Where a quantity that is `at` at one point and `next` at the following one is `level`, over the logarithm of cores.
double CoresAt(const ProjectedValue& point, const ProjectedValue& following, double at, double next, double level) {
  return point.cores * std::pow(following.cores / point.cores, (at - level) / (at - next));
}

// The largest count at which the value is at least `level`: from the runs on, to where it first falls below. What
// rises again far behind, as wide intervals may, does not count.
CountBound LastReaching(const Curve& curve, double level, double largest_run, const Accessor& read) {
  const auto reaches = [&](std::size_t i) { return read(curve[i]) >= level; };
  std::size_t last = curve.size();
  for (std::size_t i = 0; i < curve.size() && (curve[i].cores <= largest_run || last == curve.size()); ++i) {
    if (reaches(i)) last = i;
  }
  if (last == curve.size()) return {Kind::kBelow, curve.front().cores};
  while (last + 1 < curve.size() && reaches(last + 1)) ++last;
  if (last + 1 == curve.size()) return {Kind::kMoreThan, curve[last].cores};
  const double at = read(curve[last]), next = read(curve[last + 1]);
  return {Kind::kAt, WholeCores(CoresAt(curve[last], curve[last + 1], at, next, level))};
}

// The smallest count at which the value is at least `level`; it is so somewhere.
CountBound FirstReaching(const Curve& curve, double level, const Accessor& read) {
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const double at = read(curve[i]);
    if (!(at >= level)) continue;
    if (i == 0) return {Kind::kAt, curve[i].cores};
    return {Kind::kAt, std::ceil(CoresAt(curve[i - 1], curve[i], read(curve[i - 1]), at, level) * (1 - 1e-12))};
  }
  return {Kind::kMoreThan, curve.back().cores};
}

double ValueOf(const ProjectedValue& value) { return value.value; }
double LowOf(const ProjectedValue& value) { return value.interval80->low; }
double HighOf(const ProjectedValue& value) { return value.interval80->high; }

// `scale` turns values of the curve into the efficiency that is asked for.
CountEstimate LargestCount(const Curve& curve, double level, double largest_run, const Accessor& scale) {
  const auto last = [&](double (*bound)(const ProjectedValue&)) {
    return LastReaching(curve, level, largest_run,
                        [&](const ProjectedValue& value) { return bound(value) * scale(value); });
  };
  CountEstimate result{last(ValueOf), std::nullopt, std::nullopt};
  if (!HasIntervals(curve)) return result;
  result.low = last(LowOf);
  result.high = last(HighOf);
  return result;
}

// Means of what the fitted runs measured, times `scale` over the cores to the power `power`.
std::map<double, double> MeasuredMeans(const PhaseProjection& phase, Factor factor, double scale, int power) {
  std::map<double, double> sums, counts;
  for (const DataPoint& point : phase.Find(factor)->measured) {
    if (point.cores > phase.fitted_cores.back()) continue;
    sums[point.cores] += point.value * scale / std::pow(point.cores, power);
    ++counts[point.cores];
  }
  for (auto& [cores, sum] : sums) sum /= counts[cores];
  return sums;
}

double LowestOf(const CountBound& bound) { return bound.kind == Kind::kBelow ? 0 : bound.cores; }

// Measurements override the curve: the count is none below the largest run that reaches the level, and
// none from the next run on, which does not.
void RespectRuns(const std::map<double, double>& measured, double level, CountEstimate& result) {
  auto reaching = measured.end();
  for (auto run = measured.begin(); run != measured.end(); ++run) {
    if (run->second >= level) reaching = run;
  }
  const auto failing = reaching == measured.end() ? measured.begin() : std::next(reaching);
  CountBound& value = result.value;
  const bool passes = failing != measured.end() && value.kind != Kind::kBelow && value.cores >= failing->first;
  if (passes && reaching == measured.end()) {
    value = {Kind::kBelow, failing->first};
  } else if (passes) {
    value = {Kind::kAt, failing->first - 1};
  } else if (reaching != measured.end() && LowestOf(value) < reaching->first) {
    value = {Kind::kAt, reaching->first};
  }
  if (result.low && LowestOf(*result.low) > LowestOf(value)) result.low = value;
  const bool is_open = result.high && result.high->kind == Kind::kMoreThan;
  if (result.high && !is_open && LowestOf(*result.high) < LowestOf(value)) result.high = value;
}

// Where the parabola through a point and its neighbours is largest, between these, over logarithms of both.
double TopOfParabola(const ProjectedValue& before, const ProjectedValue& top, const ProjectedValue& behind) {
  const double left = std::log(top.cores / before.cores), right = std::log(behind.cores / top.cores);
  const double rise = std::log(top.value / before.value) / left;
  const double fall = std::log(top.value / behind.value) / right;
  const double curvature = (rise + fall) / (left + right);
  if (!(curvature > 0)) return top.cores;
  const double shift = (rise * right - fall * left) / (left + right) / (2 * curvature);
  return top.cores * std::exp(std::clamp(shift, -left, right));
}

std::optional<SpeedupPeak> FindPeak(const Curve& curve) {
  if (curve.empty()) return std::nullopt;
  std::size_t top = 0;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (curve[i].value > curve[top].value) top = i;
  }
  SpeedupPeak peak;
  peak.speedup = curve[top].value;
  peak.speedup80 = curve[top].interval80;
  if (top + 1 == curve.size()) {
    peak.count.value = {Kind::kMoreThan, curve[top].cores};
  } else if (top == 0) {
    peak.count.value = {Kind::kAt, curve[top].cores};
  } else {
    peak.count.value = {Kind::kAt, std::round(TopOfParabola(curve[top - 1], curve[top], curve[top + 1]))};
  }
  if (!HasIntervals(curve)) return peak;
  // Counts that no other surely beats: their upper bound reaches the largest lower bound.
  double sure = 0;
  for (const ProjectedValue& value : curve) sure = std::max(sure, LowOf(value));
  peak.count.low = FirstReaching(curve, sure, HighOf);
  peak.count.high = LastReaching(curve, sure, curve[top].cores, HighOf);
  return peak;
}

// The runs that the others are compared with: at the reference, or at the smallest count of a phase without that.
struct ReferenceRuns {
  double cores = 0;
  double speedup = 1;      // their mean, against whatever the table compares with
  double iterations = 1;   // mean
  double reach = 0;        // mean of seconds an iteration times speedup
  bool has_times = false;  // `reach` is known
};

std::optional<ReferenceRuns> FindReference(const std::vector<FactorRow>& rows, std::optional<std::int64_t> reference) {
  if (rows.empty()) return std::nullopt;
  std::int64_t cores = rows.front().cores;  // rows are in their order
  for (const FactorRow& row : rows) {
    if (row.cores == reference) cores = row.cores;
  }
  ReferenceRuns runs{static_cast<double>(cores), 0, 0, 0, true};
  double count = 0;
  for (const FactorRow& row : rows) {
    if (row.cores != cores) continue;
    const double speedup = row.values[Factor::kSpeedup].value_or(1);
    runs.speedup += speedup;
    runs.iterations += row.iterations;
    runs.has_times = runs.has_times && row.runtime && row.values[Factor::kSpeedup];
    runs.reach += row.runtime.value_or(0) / row.iterations * speedup;
    ++count;
  }
  runs.speedup /= count;
  runs.iterations /= count;
  runs.reach /= count;
  return runs;
}

// T = T_0 S_0 / S, with weak scaling times P / P_0 [docs/formulas.md, key results].
double SecondsFrom(double speedup, double cores, const ReferenceRuns& runs, Scaling scaling) {
  return runs.reach / speedup * (scaling == Scaling::kWeak ? cores / runs.cores : 1);
}

// The bounds of what falls where a value rises; the upper one may be infinite.
std::optional<OpenBounds> Turned(const std::optional<IntervalBounds>& bounds,
                                 const std::function<double(double)>& turn) {
  if (!bounds || !std::isfinite(turn(bounds->high))) return std::nullopt;
  const double most = turn(bounds->low);
  return OpenBounds{turn(bounds->high), std::isfinite(most) ? std::optional(most) : std::nullopt};
}

// An efficiency divided by one of its parts; nothing where it has no such part.
std::optional<double> Without(Factor part, Factor whole, const PhaseProjection& phase,
                              const std::vector<Factor>& fitted, std::size_t target) {
  const std::vector<Factor> parts = PartsOf(whole, fitted);
  const FactorProjection* projection = phase.Find(whole);
  if (projection == nullptr || std::ranges::find(parts, part) == parts.end()) return std::nullopt;
  return projection->targets[target].value / phase.Find(part)->targets[target].value;
}

// The gains if the fitted factors were 1, one at a time, at every target.
std::vector<PerfectAtTarget> PerfectFactors(const PhaseProjection& phase, const std::optional<TimeEstimate>& times) {
  std::vector<Factor> fitted;
  for (const FactorProjection& projection : phase.factors) {
    if (!projection.is_product && !projection.targets.empty()) fitted.push_back(projection.factor);
  }
  std::vector<PerfectAtTarget> list;
  if (fitted.empty()) return list;
  const std::vector<Factor> losses = LossesAmong(fitted);
  for (std::size_t i = 0; i < phase.Find(losses.front())->targets.size(); ++i) {
    PerfectAtTarget& at = list.emplace_back();
    at.cores = phase.Find(losses.front())->targets[i].cores;
    for (const Factor factor : losses) {
      const ProjectedValue& value = phase.Find(factor)->targets[i];
      PerfectFactor perfect{factor,
                            1 / value.value - 1,
                            Turned(value.interval80, [](double factor_there) { return 1 / factor_there - 1; }),
                            Without(factor, Factor::kParallelEfficiency, phase, fitted, i),
                            Without(factor, Factor::kGlobalEfficiency, phase, fitted, i),
                            std::nullopt};
      if (perfect.parallel_efficiency) perfect.parallel_efficiency = std::min(1.0, *perfect.parallel_efficiency);
      for (const ProjectedTime& time : times ? times->targets : std::vector<ProjectedTime>()) {
        if (perfect.global_efficiency && time.cores == value.cores) perfect.seconds = time.seconds * value.value;
      }
      if (std::isfinite(perfect.gain)) at.factors.push_back(perfect);
    }
    std::ranges::stable_sort(at.factors, std::greater(), &PerfectFactor::gain);
  }
  return list;
}

}  // namespace

std::optional<KeyResults> FindKeyResults(const PhaseProjection& phase, const FactorTable& table,
                                         const std::vector<double>& levels) {
  if (!phase.obstacle.empty() || phase.fitted_cores.empty()) return std::nullopt;
  KeyResults key_results;
  const auto curve_of = [&](Factor factor) {
    const FactorProjection* projection = phase.Find(factor);
    return projection == nullptr ? Curve() : FromSmallestRun(phase, *projection);
  };
  const Curve parallel = curve_of(Factor::kParallelEfficiency), speedup = curve_of(Factor::kSpeedup);
  const std::vector<FactorRow> rows = table.Rows(phase.series, phase.phase);
  const std::optional<ReferenceRuns> runs = FindReference(rows, table.reference);
  const bool compares = runs && !speedup.empty();
  if (compares) key_results.reference = runs->cores;
  for (const double level : levels) {
    LevelCounts result{level, std::nullopt, std::nullopt};
    const double largest = phase.fitted_cores.back();
    if (!parallel.empty()) {
      result.parallel = LargestCountKeeping(phase, *phase.Find(Factor::kParallelEfficiency), level,
                                            MeasuredMeans(phase, Factor::kParallelEfficiency, 1, 0));
    }
    if (compares) {
      result.relative = LargestCount(speedup, level, largest, [&](const ProjectedValue& value) {
        return runs->cores / (runs->speedup * value.cores);
      });
      RespectRuns(MeasuredMeans(phase, Factor::kSpeedup, runs->cores / runs->speedup, 1), level, *result.relative);
    }
    if (result.parallel || result.relative) key_results.levels.push_back(result);
  }
  key_results.peak = FindPeak(speedup);
  const std::optional<Scaling> scaling = ScalingOf(table, rows);
  if (compares && runs->has_times && scaling) {
    TimeEstimate time{runs->iterations, {}};
    for (const ProjectedValue& target : phase.Find(Factor::kSpeedup)->targets) {
      const auto seconds = [&](double at) { return SecondsFrom(at, target.cores, *runs, *scaling); };
      const double value = seconds(target.value);
      if (!std::isfinite(value)) continue;
      time.targets.push_back(
          {target.cores, target.ratio, value, Turned(target.interval80, seconds), Turned(target.interval95, seconds)});
    }
    if (!time.targets.empty()) key_results.time = std::move(time);
  }
  key_results.perfect = PerfectFactors(phase, key_results.time);
  return key_results;
}

void AddCosts(PhaseProjection& projection, const FactorTable& table) {
  const FactorProjection* speedup = projection.Find(Factor::kSpeedup);
  if (!projection.next_runs || speedup == nullptr) return;
  const std::vector<FactorRow> rows = table.Rows(projection.series, projection.phase);
  const std::optional<ReferenceRuns> runs = FindReference(rows, table.reference);
  const std::optional<Scaling> scaling = ScalingOf(table, rows);
  if (!runs || !runs->has_times || !scaling) return;
  for (RunChoice& choice : projection.next_runs->choices) {
    for (const ProjectedValue& value : speedup->curve) {
      if (value.cores != choice.cores) continue;
      const double seconds = SecondsFrom(value.value, value.cores, *runs, *scaling) * runs->iterations;
      if (std::isfinite(seconds)) choice.core_hours = CoreHours(value.cores, seconds);
    }
  }
}

CountEstimate LargestCountWith(const PhaseProjection& projection, const FactorProjection& factor, double level,
                               const std::function<double(double cores)>& scale) {
  return LargestCount(FromSmallestRun(projection, factor), level, projection.fitted_cores.back(),
                      [&](const ProjectedValue& value) { return scale(value.cores); });
}

CountEstimate LargestCountKeeping(const PhaseProjection& projection, const FactorProjection& factor, double level,
                                  const std::map<double, double>& measured) {
  CountEstimate count = LargestCountWith(projection, factor, level, [](double) { return 1.0; });
  RespectRuns(measured, level, count);
  return count;
}

double CoreHours(double cores, double seconds) { return cores * seconds / 3600; }

Reliability ReliabilityOf(const PhaseProjection& projection, Factor factor, const CountBound& value) {
  if (value.kind == Kind::kBelow) return Reliability::kReliable;
  return ReliabilityOf(projection, factor, value.cores);
}

}  // namespace farscale
