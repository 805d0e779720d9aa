#include "models/ensemble.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/random.h"

namespace farscale {
namespace {

// Losses far below it count alike in the average. Of 0.0001 to 0.1, it moves the errors of predictions little
// [docs/accuracy.md, calibration].
constexpr double kSmallLoss = 0.01;
constexpr int kCurves = 250;  // the number of averaged curves of all members; chosen: bounds the time of a prediction

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

// Picks curves of every member, evenly spaced through the weights of its draws, about as many as it weighs.
void PickCurves(std::vector<Member>& members) {
  for (Member& member : members) {
    const Posterior& posterior = member.posterior;
    const auto count = static_cast<int>(std::ceil(member.weight * kCurves));
    double passed = 0;
    for (std::size_t i = 0; i < posterior.draws.size(); ++i) {
      passed += posterior.weights[i];
      while (static_cast<int>(member.curves.size()) < count &&
             (static_cast<double>(member.curves.size()) + 0.5) / count < passed) {
        member.curves.push_back(i);
      }
    }
  }
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
  if (members.size() == 1) return members.front().Evaluate(cores, members.front().fit.parameters);
  double sum = 0;
  for (const Member& member : members) {
    if (member.weight == 0) continue;
    const PlacedModel curve = member.At(cores);
    const auto term = [&](const std::vector<double>& parameters) {
      const double logarithm = std::log(member.CutOff(curve(parameters)));
      return limit ? std::log(kSmallLoss - logarithm) : logarithm;
    };
    double of_member = 0;
    for (const std::size_t i : member.curves) of_member += term(member.posterior.draws[i].parameters);
    of_member =
        member.curves.empty() ? term(member.fit.parameters) : of_member / static_cast<double>(member.curves.size());
    sum += member.weight * of_member;
  }
  return limit ? std::min(1.0, std::exp(kSmallLoss - std::exp(sum))) : std::exp(sum);
}

Ensemble FitEnsemble(const std::vector<Candidate>& candidates, const std::vector<DataPoint>& points,
                     std::optional<double> limit, const std::vector<double>& reach, std::uint64_t seed,
                     bool weighs_alike) {
  Ensemble ensemble;
  ensemble.limit = limit;
  std::vector<double> logarithms;
  const bool has_several = HasSeveralCounts(points);
  const std::vector<double> ends = EndsOf(reach);
  for (const Candidate& candidate : candidates) {
    for (const int dimension : candidate.dimensions) {
      Member member{candidate.model, FitModel(*candidate.model, dimension, points, limit, weighs_alike), 0, {}, limit};
      if (!has_several) member.fit.outcome = FitOutcome::kTooFewPoints;
      if (IsUsable(member.fit.outcome) && !StaysInRange(member, reach)) {
        member.fit.outcome = FitOutcome::kLeavesRange;
      }
      member.posterior.log_evidence = -std::numeric_limits<double>::infinity();
      if (IsUsable(member.fit.outcome)) {
        Random random(SeedFor(seed, candidate.model->id + ":" + std::to_string(dimension)));
        member.posterior = SamplePosterior(*candidate.model, member.fit, limit, ends, random);
      }
      logarithms.push_back(std::log(candidate.model->PriorOf(dimension, candidate.is_of_times)) +
                           member.posterior.log_evidence);
      ensemble.members.push_back(std::move(member));
    }
  }
  Weigh(ensemble.members, logarithms);
  PickCurves(ensemble.members);
  std::stable_sort(ensemble.members.begin(), ensemble.members.end(),
                   [](const Member& a, const Member& b) { return a.weight > b.weight; });
  return ensemble;
}

}  // namespace farscale
