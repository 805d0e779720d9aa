#include "models/selection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace farscale {
namespace {

constexpr double kTieShare = 0.1;
constexpr double kTieFloor = 0.001;

struct Trial {
  FittedModel fit;
  std::size_t parameters = 0;
  double error = std::numeric_limits<double>::infinity();
};

double LargestCores(const std::vector<DataPoint>& points) {
  double largest = 0;
  for (const DataPoint& point : points) largest = std::max(largest, point.cores);
  return largest;
}

std::size_t CountCores(const std::vector<DataPoint>& points) {
  std::set<double> cores;
  for (const DataPoint& point : points) cores.insert(point.cores);
  return cores.size();
}

// Mean absolute error at the largest core count, predicted from the others.
std::optional<double> LeftOutError(const ScalingModel& model, int dimension, const std::vector<DataPoint>& points,
                                   std::optional<double> limit) {
  const double largest = LargestCores(points);
  std::vector<DataPoint> smaller;
  for (const DataPoint& point : points) {
    if (point.cores < largest) smaller.push_back(point);
  }
  const FittedModel fit = FitModel(model, dimension, smaller, limit);
  if (!IsUsable(fit.outcome)) return std::nullopt;
  double sum = 0;
  int count = 0;
  for (const DataPoint& point : points) {
    if (point.cores < largest) continue;
    sum += std::fabs(point.value - model.Evaluate(point.cores, dimension, fit.parameters));
    ++count;
  }
  const double error = sum / count;
  return std::isfinite(error) ? std::optional(error) : std::nullopt;
}

bool StaysInRange(const ScalingModel& model, const FittedModel& fit, std::optional<double> limit,
                  const std::vector<double>& reach) {
  return std::all_of(reach.begin(), reach.end(), [&](double cores) {
    const double value = model.Evaluate(cores, fit.dimension, fit.parameters);
    return std::isfinite(value) && value > 0 && (!limit || value <= *limit * (1 + 1e-9));
  });
}

std::vector<Trial> TryAll(const std::vector<Candidate>& candidates, const std::vector<DataPoint>& points,
                          std::optional<double> limit, const std::vector<double>& reach, bool leave_out) {
  std::vector<Trial> trials;
  for (const Candidate& candidate : candidates) {
    for (const int dimension : candidate.dimensions) {
      Trial trial;
      trial.fit = FitModel(*candidate.model, dimension, points, limit);
      trial.parameters = candidate.model->parameters.size();
      if (IsUsable(trial.fit.outcome) && !StaysInRange(*candidate.model, trial.fit, limit, reach)) {
        trial.fit.outcome = FitOutcome::kLeavesRange;
      }
      if (leave_out && IsUsable(trial.fit.outcome)) {
        trial.fit.left_out_error = LeftOutError(*candidate.model, dimension, points, limit);
        if (trial.fit.left_out_error) trial.error = *trial.fit.left_out_error;
      }
      trials.push_back(std::move(trial));
    }
  }
  return trials;
}

// Best first. Ties are judged against the smallest error, so that the order does not depend on who is compared first.
void SortByPreference(std::vector<Trial>& trials, bool leave_out) {
  double best = std::numeric_limits<double>::infinity();
  for (const Trial& trial : trials) best = std::min(best, trial.error);
  const double tied = std::isfinite(best) ? std::max(best * (1 + kTieShare), best + kTieFloor) : best;
  const auto akaike = [](const Trial& trial) {
    return trial.fit.aicc.value_or(std::numeric_limits<double>::infinity());
  };
  std::stable_sort(trials.begin(), trials.end(), [&](const Trial& a, const Trial& b) {
    if (IsUsable(a.fit.outcome) != IsUsable(b.fit.outcome)) return IsUsable(a.fit.outcome);
    if (!leave_out) return a.parameters > b.parameters;
    const bool a_tied = a.error <= tied, b_tied = b.error <= tied;
    if (a_tied != b_tied) return a_tied;
    if (!a_tied) return a.error < b.error;
    if (akaike(a) != akaike(b)) return akaike(a) < akaike(b);
    return a.parameters < b.parameters;
  });
}

}  // namespace

FittedModel SelectModel(const std::vector<Candidate>& candidates, const std::vector<DataPoint>& points,
                        std::optional<double> limit, const std::vector<double>& reach) {
  const std::size_t counts = CountCores(points);
  if (candidates.empty() || counts < 2) {
    FittedModel none;
    if (!candidates.empty()) none.model = candidates.front().model->id;
    none.points = points;
    return none;
  }
  const bool leave_out = counts >= 3;
  std::vector<Trial> trials = TryAll(candidates, points, limit, reach, leave_out);
  SortByPreference(trials, leave_out);
  FittedModel chosen = trials.front().fit;
  for (const Trial& trial : trials) {
    chosen.rivals.push_back(
        {trial.fit.model, trial.fit.dimension, trial.fit.outcome, trial.fit.left_out_error, trial.fit.aicc});
  }
  return chosen;
}

}  // namespace farscale
