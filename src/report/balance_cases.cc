#include "report/balance_cases.h"

#include <algorithm>
#include <tuple>

namespace farscale {
namespace {

// Gains and losses below are nothing to act upon.
constexpr double kHardly = 0.005;

using Configuration = BalanceConfiguration;

bool IsInCase(const WhatIf& what_if, const BalanceCase& one, const Configuration& configuration) {
  return configuration.processors == one.processors && (what_if.same_problem || configuration.run == one.run);
}

double XOf(const Configuration& configuration, BalanceAxis axis) {
  switch (axis) {
    case BalanceAxis::kInterval: return static_cast<double>(configuration.interval);
    case BalanceAxis::kLevel: return configuration.level();
    case BalanceAxis::kProcessors: break;
  }
  return static_cast<double>(configuration.processors);
}

// Whether two outcomes differ in strategy and what the axis is about, and in nothing else.
bool IsComparable(const Configuration& a, const Configuration& best, BalanceAxis axis, bool is_unbalanced) {
  if (a.placement != best.placement) return false;
  const bool same_interval = is_unbalanced || a.interval == best.interval;
  switch (axis) {
    case BalanceAxis::kInterval: return a.run == best.run && a.processors == best.processors;
    case BalanceAxis::kLevel: return a.processors == best.processors && same_interval;
    case BalanceAxis::kProcessors: break;
  }
  return a.run == best.run && same_interval;
}

SweepLine& LineOf(const std::string& strategy, std::vector<SweepLine>& lines) {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.strategy == strategy; });
  return found != lines.end() ? *found : lines.emplace_back(SweepLine{strategy, {}});
}

// Without balancing nothing depends on the interval.
void SpreadOverIntervals(std::vector<SweepLine>& lines, const std::vector<double>& values, const WhatIf& what_if) {
  for (SweepLine& line : lines) {
    if (line.points.empty() || !IsUnbalanced(what_if.outcomes[line.points.front().outcome])) continue;
    const std::size_t outcome = line.points.front().outcome;
    line.points.clear();
    for (const double x : values) line.points.push_back({x, outcome});
  }
}

}  // namespace

std::vector<BalanceCase> CasesOf(const WhatIf& what_if) {
  std::vector<BalanceCase> cases;
  for (std::size_t i = 0; i < what_if.outcomes.size(); ++i) {
    const Configuration& configuration = what_if.outcomes[i].configuration;
    auto found = std::find_if(cases.begin(), cases.end(),
                              [&](const BalanceCase& one) { return IsInCase(what_if, one, configuration); });
    if (found == cases.end()) {
      BalanceCase one;
      if (!what_if.same_problem) one.run = configuration.run;
      one.processors = configuration.processors;
      found = cases.insert(cases.end(), std::move(one));
    }
    found->outcomes.push_back(i);
    if (IsUnbalanced(what_if.outcomes[i]) && configuration.tasks == configuration.processors && !found->original) {
      found->original = i;
    }
  }
  for (BalanceCase& one : cases) {
    for (const std::size_t i : what_if.by_time) {
      if (IsInCase(what_if, one, what_if.outcomes[i].configuration)) one.ranking.push_back(i);
    }
    for (const std::size_t i : what_if.by_robustness) {
      if (!one.robust && IsInCase(what_if, one, what_if.outcomes[i].configuration)) one.robust = i;
    }
  }
  std::stable_sort(cases.begin(), cases.end(), [](const BalanceCase& a, const BalanceCase& b) {
    return std::tuple(a.run.value_or(0), a.processors) < std::tuple(b.run.value_or(0), b.processors);
  });
  return cases;
}

bool IsUnbalanced(const BalanceOutcome& outcome) {
  return outcome.configuration.interval == 0 || outcome.configuration.strategy == "none";
}

const Gain& GainThatCounts(const BalanceOutcome& outcome) {
  return outcome.gain_over_original ? *outcome.gain_over_original : outcome.gain;
}

double MakespanComparedWith(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& outcome) {
  if (!outcome.gain_over_original) return what_if.outcomes[outcome.baseline].makespan;
  if (one.original) return what_if.outcomes[*one.original].makespan;
  return outcome.makespan / (1 - outcome.gain_over_original->value);
}

double CostsOfBalancing(const MakespanParts& parts) { return parts.barriers + parts.strategy + parts.migration; }

BalanceVerdict VerdictOf(const WhatIf& what_if, const BalanceCase& one) {
  if (one.ranking.empty()) return BalanceVerdict::kNothingBalanced;
  const Gain& gain = GainThatCounts(what_if.outcomes[one.ranking.front()]);
  if (gain.low < gain.high && gain.low <= 0 && gain.high >= 0) return BalanceVerdict::kWithinNoise;
  if (gain.value > -kHardly && gain.value < kHardly) return BalanceVerdict::kHardlyAnything;
  return gain.value > 0 ? BalanceVerdict::kGains : BalanceVerdict::kCosts;
}

const BalanceCase& MostTelling(const WhatIf& what_if, const std::vector<BalanceCase>& cases) {
  const auto gain = [&](const BalanceCase& one) {
    return one.ranking.empty() ? -1e9 : GainThatCounts(what_if.outcomes[one.ranking.front()]).value;
  };
  return *std::max_element(cases.begin(), cases.end(),
                           [&](const BalanceCase& a, const BalanceCase& b) { return gain(a) < gain(b); });
}

std::vector<SweepLine> SweepOver(const WhatIf& what_if, const BalanceCase& one, BalanceAxis axis) {
  if (one.ranking.empty() || (axis == BalanceAxis::kLevel && !what_if.same_problem)) return {};
  const Configuration& best = what_if.outcomes[one.ranking.front()].configuration;
  std::vector<SweepLine> lines, unbalanced;
  std::vector<double> values;
  for (std::size_t i = 0; i < what_if.outcomes.size(); ++i) {
    const BalanceOutcome& outcome = what_if.outcomes[i];
    const bool is_unbalanced = IsUnbalanced(outcome);
    if (!IsComparable(outcome.configuration, best, axis, is_unbalanced)) continue;
    const double x = XOf(outcome.configuration, axis);
    LineOf(outcome.configuration.strategy, is_unbalanced ? unbalanced : lines).points.push_back({x, i});
    if (!is_unbalanced || axis != BalanceAxis::kInterval) values.push_back(x);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() < 2) return {};
  if (axis == BalanceAxis::kInterval) SpreadOverIntervals(unbalanced, values, what_if);
  lines.insert(lines.end(), unbalanced.begin(), unbalanced.end());
  for (SweepLine& line : lines) {
    std::stable_sort(line.points.begin(), line.points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  }
  return lines;
}

std::vector<std::size_t> BestOfStrategies(const WhatIf& what_if, const BalanceCase& one) {
  if (one.ranking.empty()) return one.outcomes;
  std::vector<std::size_t> told;
  if (one.original) told.push_back(*one.original);
  const std::size_t baseline = what_if.outcomes[one.ranking.front()].baseline;
  if (one.original != baseline) told.push_back(baseline);
  for (const std::size_t i : one.ranking) {
    const std::string& strategy = what_if.outcomes[i].configuration.strategy;
    const bool is_told = std::any_of(told.begin(), told.end(), [&](std::size_t other) {
      return what_if.outcomes[other].configuration.strategy == strategy;
    });
    if (!is_told) told.push_back(i);
  }
  return told;
}

}  // namespace farscale
