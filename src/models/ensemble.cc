#include "models/ensemble.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace farscale {
namespace {

constexpr double kLeastLoss = 1e-6;  // whose logarithm counts in the average; chosen: below what can be measured

bool HasSeveralCounts(const std::vector<DataPoint>& points) {
  return std::any_of(points.begin(), points.end(),
                     [&](const DataPoint& point) { return point.cores != points.front().cores; });
}

bool StaysInRange(const Member& member, const std::vector<double>& reach) {
  const auto value_at = [&](double cores) {
    return member.model->Evaluate(cores, member.fit.dimension, member.fit.parameters);
  };
  const bool is_positive = std::all_of(
      reach.begin(), reach.end(), [&](double cores) { return std::isfinite(value_at(cores)) && value_at(cores) > 0; });
  return is_positive && std::all_of(member.fit.points.begin(), member.fit.points.end(), [&](const DataPoint& point) {
           return !member.limit || value_at(point.cores) <= *member.limit * (1 + 1e-9);
         });
}

std::vector<double> EndsOf(const std::vector<double>& reach) {
  if (reach.empty()) return {};
  const auto [first, last] = std::minmax_element(reach.begin(), reach.end());
  return {*first, *last};
}

// Weights from logarithms that may be minus infinity. Where all are, no draw of any member was possible: their fits
// still are, and all count alike.
void Weigh(std::vector<Member>& members, std::vector<double> logarithms) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  double largest = kNever;
  for (const double logarithm : logarithms) largest = std::max(largest, logarithm);
  double sum = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!IsUsable(members[i].fit.outcome)) continue;
    if (largest == kNever) {
      members[i].posterior.draws = {{members[i].fit.parameters, kUsualScatter}};
      members[i].posterior.weights = {1};
    }
    members[i].weight = largest == kNever ? 1 : std::exp(logarithms[i] - largest);
    sum += members[i].weight;
  }
  for (Member& member : members) member.weight = sum > 0 ? member.weight / sum : 0;
}

}  // namespace

bool Ensemble::IsUsable() const { return !members.empty() && members.front().weight > 0; }

double Ensemble::ValueAt(double cores) const {
  double sum = 0;
  for (const Member& member : members) {
    if (member.weight == 0) continue;
    const double logarithm = std::log(member.Evaluate(cores, member.fit.parameters));
    sum += member.weight * (limit ? std::log(std::max(-logarithm, kLeastLoss)) : logarithm);
  }
  if (members.size() == 1) return members.front().Evaluate(cores, members.front().fit.parameters);
  return limit ? std::exp(-std::exp(sum)) : std::exp(sum);
}

Ensemble FitEnsemble(const std::vector<Candidate>& candidates, const std::vector<DataPoint>& points,
                     std::optional<double> limit, const std::vector<double>& reach, std::uint64_t seed,
                     PointWeights weights) {
  Ensemble ensemble;
  ensemble.limit = limit;
  std::vector<double> logarithms;
  const bool has_several = HasSeveralCounts(points);
  const std::vector<double> ends = EndsOf(reach);
  for (const Candidate& candidate : candidates) {
    for (const int dimension : candidate.dimensions) {
      Member member{candidate.model, FitModel(*candidate.model, dimension, points, limit, weights), 0, {}, limit};
      if (!has_several) member.fit.outcome = FitOutcome::kTooFewPoints;
      if (IsUsable(member.fit.outcome) && !StaysInRange(member, reach)) {
        member.fit.outcome = FitOutcome::kLeavesRange;
      }
      member.posterior.log_evidence = -std::numeric_limits<double>::infinity();
      if (IsUsable(member.fit.outcome)) {
        Random random(SeedFor(seed, candidate.model->id + ":" + std::to_string(dimension)));
        member.posterior = SamplePosterior(*candidate.model, member.fit, limit, ends, random);
      }
      logarithms.push_back(std::log(candidate.model->PriorOf(dimension, candidate.prior)) +
                           member.posterior.log_evidence);
      ensemble.members.push_back(std::move(member));
    }
  }
  Weigh(ensemble.members, logarithms);
  std::stable_sort(ensemble.members.begin(), ensemble.members.end(),
                   [](const Member& a, const Member& b) { return a.weight > b.weight; });
  return ensemble;
}

}  // namespace farscale
