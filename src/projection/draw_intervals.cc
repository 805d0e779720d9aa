#include "projection/draw_intervals.h"

#include <algorithm>
#include <stdexcept>

#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

constexpr double kNothing = 1e-6;  // lower bounds of efficiencies below this are none

}  // namespace

std::vector<Candidate> CandidatesOf(const ModelChoice& choice, const ModelLibrary& library) {
  std::vector<Candidate> candidates;
  for (const ModelChoice::Option& option : choice.options) {
    const ScalingModel& model = library.Get(option.model, choice.where);
    candidates.push_back({&model, option.dimensions.empty() ? model.dimensions : option.dimensions});
  }
  return candidates;
}

IntervalBounds IntervalOf(const std::vector<double>& sorted, double coverage, double value) {
  if (!(coverage >= 0 && coverage <= 1)) throw std::domain_error("the coverage of an interval must lie between 0 and 1");
  const double low = std::min(value, QuantileOfSorted(sorted, 0.5 - coverage / 2));
  return {low < kNothing ? 0 : low, std::max(value, QuantileOfSorted(sorted, 0.5 + coverage / 2))};
}

}  // namespace farscale
