#include "projection/reliable_range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "projection/load_balance_by_loads.h"
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

// Distance of the ends of the interval from the value, in doublings; at most 1 where the value is not unknown.
double DoublingsFrom(double value, const std::optional<IntervalBounds>& interval) {
  if (!interval) return kInfinity;
  if (interval->low == value && interval->high == value) return 0;
  if (!(value > 0 && interval->low > 0)) return kInfinity;
  return std::max(std::log2(interval->high / value), std::log2(value / interval->low));
}

// Rounding of the logarithms in DoublingsFrom and of differences in WidthOverLimit.
bool IsWithin(double measure) { return measure <= 1 + 1e-12; }

// Walks up the curve from the largest fitted count to where a measure of the intervals first exceeds 1.
template <typename Measure>
std::pair<double, Reach> WalkUp(const FactorProjection& projection, double largest, const Measure& measure) {
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
  const auto [cores, reach] = WalkUp(projection, largest, [&](const ProjectedValue& value) {
    return WidthOverLimit(projection.factor, value.value, value.interval80, limits);
  });
  const double farthest = WholeCores(kFarthestChecked * largest);
  if (cores > farthest) return {projection.factor, limits, farthest, Reach::kUpTo};
  return {projection.factor, limits, cores, reach};
}

// Intervals of a curve that the runs contradict say nothing.
double KnownUpTo(const FactorProjection& projection, double largest) {
  if (FindMisfit(projection, largest)) return largest;
  return WalkUp(projection, largest,
                [](const ProjectedValue& value) { return DoublingsFrom(value.value, value.interval80); })
      .first;
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
  // Factors whose intervals limit the range: one, or several of which the first to get too wide does.
  std::vector<const FactorProjection*> limiting;
  for (const Factor factor : {Factor::kParallelEfficiency, Factor::kGlobalEfficiency}) {
    const FactorProjection* found = phase.Find(factor);
    if (limiting.empty() && found != nullptr && !found->curve.empty()) limiting.push_back(found);
  }
  const bool is_one = !limiting.empty();
  for (const FactorProjection& projection : phase.factors) {
    if (!is_one && projection.factor != Factor::kSpeedup && !projection.curve.empty()) limiting.push_back(&projection);
  }
  for (const FactorProjection* projection : limiting) {
    const ReliableRange range = RangeOf(*projection, phase.fitted_cores.back(), limits);
    if (!nearest || IsNearer(range, *nearest)) nearest = range;
  }
  return nearest;
}

std::optional<std::pair<double, IntervalBounds>> FindMisfit(const FactorProjection& projection, double largest) {
  double measured = 0, runs = 0;
  for (const DataPoint& point : projection.measured) {
    if (point.cores != largest) continue;
    measured += point.value;
    ++runs;
  }
  measured /= runs;
  for (const ProjectedValue& value : projection.curve) {
    if (value.cores != largest || !value.interval95 || runs == 0) continue;
    const IntervalBounds& fitted = *value.interval95;
    const double slack = kRounding * std::max(1.0, measured);
    if (measured < fitted.low - slack || measured > fitted.high + slack) return std::pair(measured, fitted);
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

namespace {

constexpr std::size_t kAssumedOutcomes = 12;  // outcomes a run; chosen, to bound the time
constexpr std::size_t kMostChoices = 6;       // chosen: as many as reports list
constexpr double kLargestStep = 4;            // over the largest run; chosen: who has run that many can run these

bool ArePowers(const std::vector<double>& cores, int power) {
  return std::all_of(cores.begin(), cores.end(),
                     [&](double count) { return std::pow(std::round(std::pow(count, 1.0 / power)), power) == count; });
}

// Which draws stand for what is believed after a run with this outcome: as many as before, each as often as it agrees,
// evenly spaced through the weights. `deviations`: of outcomes from the logarithms of the curves.
std::vector<std::size_t> Agreeing(double log_outcome, const std::vector<double>& log_curves,
                                  const std::vector<double>& deviations) {
  std::vector<double> passed;
  passed.reserve(log_curves.size());
  double sum = 0;
  for (std::size_t i = 0; i < log_curves.size(); ++i) {
    const double distance = (log_outcome - log_curves[i]) / deviations[i];
    sum += std::exp(-distance * distance / 2) / deviations[i];
    passed.push_back(sum);
  }
  std::vector<std::size_t> chosen;
  chosen.reserve(passed.size());
  std::size_t at = 0;
  for (std::size_t i = 0; i < passed.size(); ++i) {
    const double position = (static_cast<double>(i) + 0.5) / static_cast<double>(passed.size()) * sum;
    while (at + 1 < passed.size() && !(passed[at] > position)) ++at;
    chosen.push_back(sum > 0 && std::isfinite(sum) ? at : i);
  }
  return chosen;
}

// The expected width of the interval at the target after a run; `at_target`: the losses there, one list a factor.
double WidthAfter(const std::vector<const FactorDraws*>& factors, const std::vector<std::vector<double>>& at_target,
                  double cores, double target) {
  std::vector<std::vector<double>> logarithms(kAssumedOutcomes, std::vector<double>(kFactorDraws, 0.0));
  for (std::size_t f = 0; f < factors.size(); ++f) {
    const std::vector<double> outcomes = factors[f]->At(cores), curves = factors[f]->CurvesAt(cores);
    std::vector<double> log_curves, deviations;  // one a draw
    std::vector<FactorDraws::Learning> learning;
    for (std::size_t i = 0; i < curves.size(); ++i) {
      log_curves.push_back(std::log(curves[i]));
      deviations.push_back(factors[f]->LogDeviation(i, curves[i], cores));
      learning.push_back(factors[f]->LearningAt(i, curves[i], cores));
    }
    for (std::size_t k = 0; k < kAssumedOutcomes; ++k) {
      const double log_outcome = std::log(outcomes[k * kFactorDraws / kAssumedOutcomes]);  // draws are in no order
      const std::vector<std::size_t> chosen = Agreeing(log_outcome, log_curves, deviations);
      std::vector<double> losses;  // in the chosen draws
      losses.reserve(chosen.size());
      std::size_t last = learning.size();
      for (const std::size_t i : chosen) {
        losses.push_back(i == last ? losses.back() : LossAfter(at_target[f][i], learning[i], -log_outcome));
        last = i;
      }
      const std::vector<double> after = factors[f]->AfterRun(losses, chosen, target, cores);
      for (std::size_t i = 0; i < kFactorDraws; ++i) logarithms[k][i] -= after[i];
    }
  }
  double sum = 0;
  for (std::vector<double>& draws : logarithms) {  // the width of the middle 80 %
    const auto at = [&](double share) {
      const auto place = draws.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(draws.size() - 1));
      std::nth_element(draws.begin(), place, draws.end());
      return std::exp(*place);
    };
    sum += at(0.9) - at(0.1);
  }
  return sum / kAssumedOutcomes;
}

}  // namespace

std::vector<double> CandidateRuns(const std::vector<double>& fitted_cores, double target) {
  const double smallest = fitted_cores.front(), largest = fitted_cores.back();
  const bool doubles = std::ranges::all_of(fitted_cores, [&](double count) {
    const double doublings = std::log2(count / smallest);
    return doublings == std::round(doublings);
  });
  // Where the program has run on cubes or squares of cores only, as some must.
  const int power = doubles ? 1 : ArePowers(fitted_cores, 3) ? 3 : ArePowers(fitted_cores, 2) ? 2 : 1;
  const auto nearest = [&](double cores) { return std::pow(std::round(std::pow(cores, 1.0 / power)), power); };
  std::set<double> candidates = {smallest, largest};
  for (double cores = 2 * smallest; cores < largest; cores *= 2) {
    if (nearest(cores) > smallest && nearest(cores) < largest) candidates.insert(nearest(cores));
  }
  for (double times = 2; times <= kLargestStep; times *= 2) {
    const double cores = nearest(largest * times);
    if (cores > largest && cores <= target) candidates.insert(cores);
  }
  return {candidates.begin(), candidates.end()};
}

std::vector<RunChoice> RankRuns(const std::vector<const FactorDraws*>& factors, const std::vector<double>& candidates,
                                const std::vector<double>& fitted_cores, double target) {
  std::vector<std::vector<double>> at_target;
  for (const FactorDraws* factor : factors) at_target.push_back(factor->LossesAt(target));
  std::vector<RunChoice> choices;
  for (const double cores : candidates) {
    const bool is_repeat = std::binary_search(fitted_cores.begin(), fitted_cores.end(), cores);
    if (is_repeat && cores != fitted_cores.front() && cores != fitted_cores.back()) continue;
    choices.push_back({cores, is_repeat, WidthAfter(factors, at_target, cores, target), std::nullopt});
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [](const RunChoice& a, const RunChoice& b) { return a.width < b.width; });
  if (choices.size() > kMostChoices) choices.resize(kMostChoices);
  return choices;
}

}  // namespace farscale
