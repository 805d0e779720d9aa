// Advice on better choices: how often and how finely, another strategy, and what states of tasks change.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "balance/strategy.h"
#include "base/text.h"
#include "report/balance/pages.h"
#include "report/figures.h"

namespace farscale {
namespace {

constexpr double kHeavy = 0.05;  // share of a makespan that is worth saving; chosen

using Data = ReportData;

// A configuration on as many processors was replayed or refused.
bool WasTried(const WhatIf& what_if, const BalanceConfiguration& best, auto is_beyond) {
  const auto is_it = [&](const auto& one) {
    return one.configuration.processors == best.processors && is_beyond(one.configuration);
  };
  return std::ranges::any_of(what_if.outcomes, is_it) || std::ranges::any_of(what_if.left_out, is_it);
}

// There are values beyond, above or below, that nobody asked for: of intervals between balancing after every
// iteration and not at all.
bool IsOpen(const WhatIf& what_if, const BalanceConfiguration& best, BalanceAxis axis, bool above) {
  if (axis == BalanceAxis::kLevel) {
    return above && !WasTried(what_if, best, [&](const auto& other) { return other.tasks > best.tasks; });
  }
  if (above ? best.interval + 1 >= what_if.runs[best.run].iterations : best.interval < 2) return false;
  return !WasTried(what_if, best, [&](const BalanceConfiguration& other) {
    const bool is_beyond =
        above ? other.interval > best.interval : other.interval > 0 && other.interval < best.interval;
    return is_beyond && other.run == best.run && other.strategy == best.strategy;
  });
}

std::string NameOfValue(BalanceAxis axis, double x) {
  if (axis == BalanceAxis::kInterval) return x == 1 ? "after every iteration" : fmt::format("every {:g} iterations", x);
  return x == 1 ? "with one task a processor" : fmt::format("with {:g} tasks a processor", x);
}

// Another value of the same axis, with the part of its makespan that is larger by most, if any.
Data Neighbour(const WhatIf& what_if, BalanceAxis axis, const std::pair<const double, std::size_t>& point,
               const BalanceOutcome& best) {
  const BalanceOutcome& other = what_if.outcomes[point.second];
  const std::vector<NamedPart> parts = NamedParts(other.parts), of_best = NamedParts(best.parts);
  std::size_t worst = 0;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].seconds - of_best[i].seconds > parts[worst].seconds - of_best[worst].seconds) worst = i;
  }
  const double more = parts[worst].seconds - of_best[worst].seconds;
  const bool is_more = other.makespan > best.makespan && more > 0;
  return {{"at", NameOfValue(axis, point.first)},
          {"iteration", FormatSeconds(LongRunIterationOf(what_if, other))},
          {"part", is_more ? parts[worst].name : ""},
          {"seconds", is_more ? FormatSeconds(more) : ""}};
}

// The effect of one choice on a long run with the strategy of the best outcome. With a range it is small.
Data AdviceOn(const WhatIf& what_if, const BalanceCase& one, BalanceAxis axis) {
  const auto time_of = [&](std::size_t i) { return LongRunIterationOf(what_if, what_if.outcomes[i]); };
  const BalanceOutcome& best = what_if.outcomes[one.ranking.front()];
  for (const auto& [strategy, points] : SweepOver(what_if, one, axis)) {
    const auto at =
        std::ranges::find_if(points, [&](const auto& point) { return point.second == one.ranking.front(); });
    if (at == points.end() || points.size() < 2) continue;
    const double shortest = time_of(one.ranking.front());
    double longest = shortest;
    for (const auto& [x, outcome] : points) longest = std::max(longest, time_of(outcome));
    Data advice = {{"strategy", StrategyById(strategy).name}, {"range", ""}};
    if (longest < (1 + kMatters) * shortest) {
      advice["range"] = fmt::format("{:g} and {:g}", points.begin()->first, points.rbegin()->first);
      advice["change"] = FormatPercent(longest / shortest - 1);
      return advice;
    }
    const bool is_lowest = at == points.begin(), is_highest = std::next(at) == points.end();
    Data neighbours = Data::array();
    if (!is_lowest) neighbours.push_back(Neighbour(what_if, axis, *std::prev(at), best));
    if (!is_highest) neighbours.push_back(Neighbour(what_if, axis, *std::next(at), best));
    advice["best"] = NameOfValue(axis, at->first);
    advice["neighbours"] = std::move(neighbours);
    advice["isLowestOpen"] = is_lowest && IsOpen(what_if, best.configuration, axis, false);
    advice["isHighestOpen"] = is_highest && IsOpen(what_if, best.configuration, axis, true);
    return advice;
  }
  return false;
}

std::string WithTasks(const BalanceConfiguration& configuration) {
  return fmt::format("{} with {}", NameOfBalancing(configuration), CountOfTasks(configuration));
}

Data OtherStrategy(const WhatIf& what_if, const BalanceCase& one) {
  const BalanceOutcome& best = what_if.outcomes[one.ranking.front()];
  for (const std::size_t i : one.ranking) {
    const BalanceOutcome& next = what_if.outcomes[i];
    if (next.configuration.strategy == best.configuration.strategy) continue;
    const double iteration = LongRunIterationOf(what_if, next), shortest = LongRunIterationOf(what_if, best);
    const bool is_close = iteration < (1 + kMatters) * shortest;
    return {{"name", WithTasks(next.configuration)},
            {"iteration", FormatSeconds(iteration)},
            {"excess", is_close ? "" : FormatPercent(iteration / shortest - 1)}};
  }
  return false;
}

// A gain with a stated cost times a factor, and whether that differs from the gain without.
void AddGain(double gain, double with_costs, double factor, Data& text) {
  text["matter"] = text["matter"] == true || std::fabs(with_costs - gain) >= kMatters;
  text["gains"].push_back({{"isFirst", text["gains"].empty()},
                           {"value", FormatPercent(with_costs)},
                           {"factor", factor == 0 ? "" : FormatRatio(factor)}});
}

}  // namespace

bool DependsOnState(const WhatIf& what_if) {
  if (what_if.state_costs.empty() || what_if.by_time.empty()) return false;
  if (!(what_if.outcomes[what_if.by_time.front()].parts.migration > 0)) return false;
  return std::ranges::any_of(what_if.state_costs, [&](const StateCost& cost) {
    return cost.makespan != what_if.state_costs.front().makespan;
  });
}

Sentences DescribeProduction(const WhatIf& what_if, const Partials& templates) {
  if (what_if.outcomes.empty()) return {};
  const bool is_balanced = !what_if.by_time.empty();
  const BalanceOutcome& best = what_if.outcomes[is_balanced ? what_if.by_time.front() : 0];
  if (what_if.runs[best.configuration.run].is_unexplained) return {};
  Data production = false, costs = Data::array();
  if (const auto& run = what_if.production) {
    production = {{"iterations", CountText(run->iterations, "iteration")},
                  {"repeats", FormatCount(run->repeats)},
                  {"name", WithTasks(best.configuration)},
                  {"makespan", FormatSeconds(run->makespan)},
                  {"baseline", is_balanced ? FormatSeconds(run->baseline) : ""},
                  {"gain", SayGain(run->gain.value)},
                  {"drifts", run->drifts}};
  }
  for (const OverheadCost& cost : what_if.overhead_costs) {
    const bool is_switching = cost.overhead == "switching";
    if (costs.empty() || costs.back()["isSwitching"] != is_switching) {
      costs.push_back({{"isSwitching", is_switching},
                       {"matter", false},
                       {"name", WithTasks(best.configuration)},
                       {"gain", FormatPercent(best.gain.value)},
                       {"gains", Data::array()}});
    }
    AddGain(best.gain.value, cost.gain.value, cost.factor, costs.back());
  }
  return RenderSentences(templates, "balance_production.txt", {{"production", production}, {"costs", costs}});
}

Sentences Advice(const WhatIf& what_if, const BalanceCase& one, const Partials& templates) {
  const bool has_choice = one.lead && !IsUnbalanced(what_if.outcomes[*one.lead]);
  if (!has_choice || VerdictOf(what_if, one) == BalanceVerdict::kUnexplained) return {};
  const BalanceOutcome& best = what_if.outcomes[one.ranking.front()];
  Data advice = {{"intervals", AdviceOn(what_if, one, BalanceAxis::kInterval)},
                 {"levels", AdviceOn(what_if, one, BalanceAxis::kLevel)},
                 {"other", OtherStrategy(what_if, one)},
                 {"robust", ""},
                 {"migration", false},
                 {"states", false}};
  if (what_if.noise_replicas > 0 && one.robust && *one.robust != one.ranking.front()) {
    advice["robust"] = WithTasks(what_if.outcomes[*one.robust].configuration);
  }
  if (best.parts.migration >= kHeavy * best.makespan) {
    advice["migration"] = {{"share", ShareOrDash(best.parts.migration, best.makespan)},
                           {"state", SayBytes(what_if.runs[best.configuration.run].task_bytes)}};
  }
  // States are often only estimated.
  if (DependsOnState(what_if) && one.ranking.front() == what_if.by_time.front()) {
    Data& states =
        advice["states"] = {{"gain", FormatPercent(best.gain.value)}, {"matter", false}, {"gains", Data::array()}};
    for (const StateCost& cost : what_if.state_costs) AddGain(best.gain.value, cost.gain.value, cost.factor, states);
  }
  return RenderSentences(templates, "balance_advice.txt", advice);
}

}  // namespace farscale
