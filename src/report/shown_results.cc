#include "report/shown_results.h"

#include <algorithm>

namespace farscale {
namespace {

constexpr double kLargestGain = 10;  // chosen: more than that is no loss that somebody removes

// Those of any factor; all have the same.
std::vector<double> TargetsOf(const PhaseProjection& projection) {
  std::vector<double> targets;
  for (const FactorProjection& factor : projection.factors) {
    if (!factor.targets.empty() && targets.empty()) {
      for (const ProjectedValue& target : factor.targets) targets.push_back(target.cores);
    }
  }
  return targets;
}

// How many of the targets a report shows.
std::size_t CountShown(const PhaseProjection& projection, const std::vector<double>& targets) {
  const bool is_asked_for =
      projection.fitted_cores.empty() || targets != DefaultTargets(projection.fitted_cores.back());
  if (is_asked_for || !projection.reliable_range) return targets.size();
  const auto beyond = std::ranges::upper_bound(targets, projection.reliable_range->cores);
  return std::min(targets.size(), static_cast<std::size_t>(beyond - targets.begin()) + 1);
}

bool MeansSomething(const PerfectFactor& perfect) {
  const bool may_be_any = perfect.gain80 && (!perfect.gain80->high || *perfect.gain80->high > kLargestGain);
  return perfect.gain <= kLargestGain && !may_be_any;
}

void KeepMeaningful(KeyResults& key_results, double last) {
  std::erase_if(key_results.perfect, [&](const PerfectAtTarget& at) { return at.cores > last; });
  for (PerfectAtTarget& at : key_results.perfect) {
    std::erase_if(at.factors, [](const PerfectFactor& perfect) { return !MeansSomething(perfect); });
  }
  std::erase_if(key_results.perfect, [](const PerfectAtTarget& at) { return at.factors.empty(); });
  if (!key_results.time) return;
  std::erase_if(key_results.time->targets, [&](const ProjectedTime& target) { return target.cores > last; });
  key_results.time->iterations = 1;
}

}  // namespace

PhaseProjection ShownProjection(const PhaseProjection& projection) {
  PhaseProjection shown = projection;
  const std::vector<double> targets = TargetsOf(projection);
  if (targets.empty()) return shown;
  const std::size_t count = CountShown(projection, targets);
  const double last = targets[count - 1];
  for (FactorProjection& factor : shown.factors) {
    factor.targets.resize(std::min(factor.targets.size(), count));
    for (CandidateModel& candidate : factor.candidates) {
      candidate.values.resize(std::min(candidate.values.size(), count));
    }
    std::erase_if(factor.predictors, [&](const PredictorValues& at) { return at.cores > last; });
  }
  std::erase_if(shown.dominant_at, [&](const auto& at) { return at.first > last; });
  if (shown.key_results) KeepMeaningful(*shown.key_results, last);
  return shown;
}

Results ShownResults(Results results) {
  for (PhaseProjection& projection : results.projections) projection = ShownProjection(projection);
  for (Variant& variant : results.variants) {
    for (PhaseProjection& projection : variant.projections) projection = ShownProjection(projection);
  }
  return results;
}

double ShownUpTo(const PhaseProjection& shown) {
  double end = 0;
  for (const FactorProjection& factor : shown.factors) {
    for (const DataPoint& point : factor.measured) end = std::max(end, point.cores);
    for (const DataPoint& point : factor.grown) end = std::max(end, point.cores);
  }
  if (const std::vector<double> targets = TargetsOf(shown); !targets.empty()) end = std::max(end, targets.back());
  return shown.reliable_range ? std::max(end, 2 * shown.reliable_range->cores) : end;
}

}  // namespace farscale
