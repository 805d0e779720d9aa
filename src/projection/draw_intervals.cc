#include "projection/draw_intervals.h"

#include <algorithm>

namespace farscale {
namespace {

constexpr double kNothing = 1e-6;  // lower bounds of efficiencies below this are none

// Of sorted values, between the two nearest.
double Quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

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
  const double low = std::min(value, Quantile(sorted, 0.5 - coverage / 2));
  return {low < kNothing ? 0 : low, std::max(value, Quantile(sorted, 0.5 + coverage / 2))};
}

}  // namespace farscale
