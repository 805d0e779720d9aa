// What to choose differently: how often and how finely, another strategy, and what states of tasks change.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "balance/strategy.h"
#include "base/text.h"
#include "report/balance/names.h"
#include "report/balance/sentences.h"
#include "report/cells.h"

namespace farscale {
namespace {

constexpr double kHeavy = 0.05;  // of a makespan, for what could be had for less; chosen

// Another value of the same axis.
struct Neighbour {
  std::string at, iteration, part, seconds;  // the part of its makespan that is larger by most, if any
  FARSCALE_TAGS(at, iteration, part, seconds)
};

// How one choice changes a long run with the strategy of the best outcome.
struct AxisAdvice {
  std::string strategy, range, change, best;  // with a range the choice hardly matters
  std::vector<Neighbour> neighbours;
  bool is_lowest_open = false, is_highest_open = false;  // nobody tried beyond
  FARSCALE_TAGS(strategy, range, change, best, neighbours, is_lowest_open, is_highest_open)
};

struct OtherStrategy {
  FARSCALE_TEXTS(name, iteration, excess)
};

struct MigrationShare {
  FARSCALE_TEXTS(share, state)
};

struct StateGain {
  bool is_first = false;
  std::string value, factor;
  FARSCALE_TAGS(is_first, value, factor)
};

struct StateGains {
  bool matter = false;
  std::string gain;
  std::vector<StateGain> gains;
  FARSCALE_TAGS(matter, gain, gains)
};

struct ProductionText {
  std::string iterations, repeats, name, makespan, baseline, gain;
  bool drifts = false;
  FARSCALE_TAGS(iterations, repeats, name, makespan, baseline, gain, drifts)
};

struct OverheadText {
  bool is_switching = false, matters = false;
  std::string name, gain;
  std::vector<StateGain> gains;
  FARSCALE_TAGS(is_switching, matters, name, gain, gains)
};

struct CaseAdvice {
  std::optional<AxisAdvice> intervals, levels;
  std::optional<OtherStrategy> other;
  std::string robust;
  std::optional<MigrationShare> migration;
  std::optional<StateGains> states;
  FARSCALE_TAGS(intervals, levels, other, robust, migration, states)
};

// Whether a configuration on as many processors was replayed or refused.
bool WasTried(const WhatIf& what_if, const BalanceConfiguration& best, auto is_beyond) {
  const auto is_it = [&](const auto& one) {
    return one.configuration.processors == best.processors && is_beyond(one.configuration);
  };
  return std::ranges::any_of(what_if.outcomes, is_it) || std::ranges::any_of(what_if.left_out, is_it);
}

// Whether there are values beyond, above or below, that nobody asked for: of intervals between balancing after every
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

Neighbour NeighbourOf(const WhatIf& what_if, BalanceAxis axis, const SweepPoint& point, const BalanceOutcome& best) {
  const BalanceOutcome& other = what_if.outcomes[point.outcome];
  Neighbour neighbour{NameOfValue(axis, point.x), FormatSeconds(LongRunIterationOf(what_if, other)), "", ""};
  const std::vector<NamedPart> parts = PartsOf(other.parts), of_best = PartsOf(best.parts);
  std::size_t worst = 0;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].seconds - of_best[i].seconds > parts[worst].seconds - of_best[worst].seconds) worst = i;
  }
  const double more = parts[worst].seconds - of_best[worst].seconds;
  if (other.makespan > best.makespan && more > 0) {
    neighbour.part = parts[worst].name;
    neighbour.seconds = FormatSeconds(more);
  }
  return neighbour;
}

std::optional<AxisAdvice> AdviceOn(const WhatIf& what_if, const BalanceCase& one, BalanceAxis axis) {
  const auto time_of = [&](std::size_t i) { return LongRunIterationOf(what_if, what_if.outcomes[i]); };
  const BalanceOutcome& best = what_if.outcomes[one.ranking.front()];
  for (const SweepLine& line : SweepOver(what_if, one, axis)) {
    const auto at = std::ranges::find(line.points, one.ranking.front(), &SweepPoint::outcome);
    if (at == line.points.end() || line.points.size() < 2) continue;
    const double shortest = time_of(one.ranking.front());
    double longest = shortest;
    for (const SweepPoint& point : line.points) longest = std::max(longest, time_of(point.outcome));
    AxisAdvice advice{.strategy = StrategyById(line.strategy).name};
    if (longest < (1 + kMatters) * shortest) {
      advice.range = fmt::format("{:g} and {:g}", line.points.front().x, line.points.back().x);
      advice.change = FormatPercent(longest / shortest - 1);
      return advice;
    }
    advice.best = NameOfValue(axis, at->x);
    const bool is_lowest = at == line.points.begin(), is_highest = std::next(at) == line.points.end();
    if (!is_lowest) advice.neighbours.push_back(NeighbourOf(what_if, axis, *std::prev(at), best));
    if (!is_highest) advice.neighbours.push_back(NeighbourOf(what_if, axis, *std::next(at), best));
    advice.is_lowest_open = is_lowest && IsOpen(what_if, best.configuration, axis, false);
    advice.is_highest_open = is_highest && IsOpen(what_if, best.configuration, axis, true);
    return advice;
  }
  return std::nullopt;
}

std::string WithTasks(const BalanceConfiguration& configuration) {
  return fmt::format("{} with {}", NameOfBalancing(configuration), CountOfTasks(configuration));
}

std::optional<OtherStrategy> OtherStrategyThan(const WhatIf& what_if, const BalanceCase& one) {
  const BalanceOutcome& best = what_if.outcomes[one.ranking.front()];
  for (const std::size_t i : one.ranking) {
    const BalanceOutcome& next = what_if.outcomes[i];
    if (next.configuration.strategy == best.configuration.strategy) continue;
    const double iteration = LongRunIterationOf(what_if, next), shortest = LongRunIterationOf(what_if, best);
    const bool is_close = iteration < (1 + kMatters) * shortest;
    return OtherStrategy{WithTasks(next.configuration), FormatSeconds(iteration),
                         is_close ? "" : FormatPercent(iteration / shortest - 1)};
  }
  return std::nullopt;
}

// The gain with other states of tasks, since states are often only estimated.
std::optional<StateGains> GainsOfStates(const WhatIf& what_if, const BalanceCase& one) {
  if (!DependsOnState(what_if) || one.ranking.front() != what_if.by_time.front()) return std::nullopt;
  const double gain = what_if.outcomes[one.ranking.front()].gain.value;
  StateGains states{.gain = FormatPercent(gain)};
  for (const StateCost& cost : what_if.state_costs) {
    states.matter = states.matter || std::fabs(cost.gain.value - gain) >= kMatters;
    states.gains.push_back(
        {states.gains.empty(), FormatPercent(cost.gain.value), cost.factor == 0 ? "" : FormatRatio(cost.factor)});
  }
  return states;
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
  std::vector<ProductionText> runs;
  if (const auto& run = what_if.production) {
    runs.push_back({CountOf(run->iterations, "iteration"), FormatCount(run->repeats), WithTasks(best.configuration),
                    FormatSeconds(run->makespan), is_balanced ? FormatSeconds(run->baseline) : "",
                    SayGain(run->gain.value), run->drifts});
  }
  std::vector<OverheadText> costs;
  for (const OverheadCost& cost : what_if.overhead_costs) {
    const bool is_switching = cost.overhead == "switching";
    if (costs.empty() || costs.back().is_switching != is_switching)
      costs.push_back({is_switching, false, WithTasks(best.configuration), FormatPercent(best.gain.value), {}});
    OverheadText& text = costs.back();
    text.matters = text.matters || std::fabs(cost.gain.value - best.gain.value) >= kMatters;
    text.gains.push_back(
        {text.gains.empty(), FormatPercent(cost.gain.value), cost.factor == 0 ? "" : FormatRatio(cost.factor)});
  }
  return RenderSentences(templates, "balance_production.txt", {{"production", ToData(runs)}, {"costs", ToData(costs)}});
}

Sentences AdviceOf(const WhatIf& what_if, const BalanceCase& one, const Partials& templates) {
  const bool has_choice = one.lead && !IsUnbalanced(what_if.outcomes[*one.lead]);
  if (!has_choice || VerdictOf(what_if, one) == BalanceVerdict::kUnexplained) return {};
  const BalanceOutcome& best = what_if.outcomes[one.ranking.front()];
  CaseAdvice advice{.intervals = AdviceOn(what_if, one, BalanceAxis::kInterval),
                    .levels = AdviceOn(what_if, one, BalanceAxis::kLevel),
                    .other = OtherStrategyThan(what_if, one),
                    .states = GainsOfStates(what_if, one)};
  if (what_if.noise_replicas > 0 && one.robust && *one.robust != one.ranking.front()) {
    advice.robust = WithTasks(what_if.outcomes[*one.robust].configuration);
  }
  if (best.parts.migration >= kHeavy * best.makespan) {
    advice.migration = {ShareOrDash(best.parts.migration, best.makespan),
                        SayBytes(what_if.runs[best.configuration.run].task_bytes)};
  }
  return RenderSentences(templates, "balance_advice.txt", ToData(advice));
}

}  // namespace farscale
