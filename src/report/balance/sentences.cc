#include "report/balance/sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "balance/strategy.h"
#include "base/format.h"
#include "base/text.h"
#include "report/balance/names.h"
#include "report/figures.h"

namespace farscale {
namespace {

// Chosen: below these shares a reader has nothing to act on.
constexpr double kMatters = 0.01;        // of a makespan
constexpr double kHeavy = 0.05;          // of a makespan, for what could be had for less
constexpr double kTooHeavy = 1.02;       // of the mean load of a processor, for one task
constexpr double kFarOff = 0.1;          // replayed against measured
constexpr double kSteady = 0.02;         // change of loads from one iteration to the next
constexpr double kUnsteady = 0.2;        // the same
constexpr double kMoreBalanced = 0.01;   // between nodes
constexpr std::size_t kMostAnswers = 4;  // cases
constexpr double kLongestRun = 1e6;      // iterations, of a run that anybody would make
constexpr std::size_t kMostNamed = 3;    // configurations that were left out for one reason

std::string ShareOfMakespan(double part, double whole) { return whole > 0 ? FormatPercent(part / whole) : "–"; }

// Whether there is an original run that is decomposed more coarsely.
bool IsFiner(const BalanceOutcome& outcome) {
  return outcome.gain_over_original && outcome.configuration.tasks != outcome.configuration.processors;
}

// A configuration of a case by its names, with its times.
struct NamedOutcome {
  std::string in_case, name, on, placement, iteration, makespan;
  FARSCALE_TAGS(in_case, name, on, placement, iteration, makespan)
};

NamedOutcome Named(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& outcome) {
  const BalanceConfiguration& configuration = outcome.configuration;
  return {.in_case = NameInCase(what_if, one, configuration),
          .name = NameWithTasks(what_if, one, configuration),
          .on = TasksOn(configuration),
          .placement = HasSeveralPlacements(what_if, one) ? NameOfPlacement(configuration.placement) : "",
          .iteration = FormatSeconds(LongRunIterationOf(what_if, outcome)),
          .makespan = FormatSeconds(outcome.makespan)};
}

// The gain over the original run, divided among finer tasks and balancing.
struct SplitGain {
  std::string makespan, change, balancing;
  FARSCALE_TAGS(makespan, change, balancing)
};

struct CaseAnswer {
  std::string name, ranks, iterations;
  bool is_alone = false, is_one_task = false, are_many = false, is_finer = false, none_moves = false;
  bool is_nothing_balanced = false, is_unbalanced = false, is_balanced = false;  // exactly one
  bool is_nothing_moved = false, is_gain = false, is_within_noise = false, is_hardly_anything = false, is_cost = false;
  bool is_over_original = false, has_reference = false, is_placed_elsewhere = false, is_moving = false;
  NamedOutcome lead, reference, best;
  std::string reference_placement, best_change, long_run_gain, trace_gain, pays_after;
  std::optional<SplitGain> split;
  FARSCALE_TAGS(name, ranks, iterations, is_alone, is_one_task, are_many, is_finer, none_moves, is_nothing_balanced,
                is_unbalanced, is_balanced, is_nothing_moved, is_gain, is_within_noise, is_hardly_anything, is_cost,
                is_over_original, has_reference, is_placed_elsewhere, is_moving, lead, reference, best,
                reference_placement, best_change, long_run_gain, trace_gain, pays_after, split)
};

// After how many iterations the costs of the first balancing point, and of the time before it, are recovered; empty
// where the trace shows it already.
std::string PaysAfter(const WhatIf& what_if, const BalanceOutcome& lead, const BalanceOutcome& reference) {
  const double iteration = LongRunIterationOf(what_if, lead), without = LongRunIterationOf(what_if, reference);
  const auto traced = static_cast<double>(what_if.runs[lead.configuration.run].iterations);
  if (!(iteration < without)) return "";
  const double pays = (lead.makespan - traced * iteration) / (without - iteration);
  return pays <= traced || pays > kLongestRun ? "" : CountOf(static_cast<std::size_t>(std::ceil(pays)), "iteration");
}

// Waiting for others that have more to do in an iteration, and for anything else.
struct IdleTime {
  std::string seconds, makespan, imbalance, communication;
  FARSCALE_TAGS(seconds, makespan, imbalance, communication)
};

struct Idle {
  bool is_one = false, is_over_original = false, is_placed_only = false, is_without = false;
  IdleTime before, after;
  std::string ranks, tasks, first_placement, placement, moved_placement;
  FARSCALE_TAGS(is_one, is_over_original, is_placed_only, is_without, before, after, ranks, tasks, first_placement,
                placement, moved_placement)
};

IdleTime IdleTimeOf(const BalanceOutcome& outcome) {
  const double imbalance = PartsOf(outcome.parts)[1].seconds, communication = PartsOf(outcome.parts)[2].seconds;
  return {FormatSeconds(imbalance + communication), FormatSeconds(outcome.makespan), FormatSeconds(imbalance),
          FormatSeconds(communication)};
}

Idle IdleOf(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& lead) {
  const BalanceOutcome& before = what_if.outcomes[ReferenceOf(what_if, one, lead)];
  const Placement first = before.configuration.placement, placement = lead.configuration.placement;
  const bool is_unbalanced = IsUnbalanced(lead), is_original = lead.gain_over_original.has_value();
  return {.is_one = &before == &lead,
          .is_over_original = is_original,
          .is_placed_only = !is_original && is_unbalanced,
          .is_without = !is_original && !is_unbalanced,
          .before = IdleTimeOf(before),
          .after = IdleTimeOf(lead),
          .ranks = CountOf(one.processors, "rank"),
          .tasks = is_unbalanced ? CountOf(lead.configuration.tasks, "task") : "",
          .first_placement = NameOfPlacement(first),
          .placement = NameOfPlacement(placement),
          .moved_placement = is_original && first != placement ? NameOfPlacement(placement) : ""};
}

struct LaterIterations {
  std::string with, without, gain, remaining;
  FARSCALE_TAGS(with, without, gain, remaining)
};

// Loads that change go on doing so: right behind a balancing point they fit best.
std::optional<LaterIterations> LaterOf(const WhatIf& what_if, const BalanceOutcome& best) {
  if (!best.later_iteration || !best.later_iteration_without || best.migrations == 0) return std::nullopt;
  const BalanceRun& run = what_if.runs[best.configuration.run];
  const std::size_t later = run.iterations - std::min(run.iterations, best.configuration.interval);
  const bool is_short = later < best.configuration.interval && run.load_change.value_or(0) >= kSteady;
  return LaterIterations{FormatSeconds(*best.later_iteration), FormatSeconds(*best.later_iteration_without),
                         SayGain(1 - *best.later_iteration / *best.later_iteration_without),
                         is_short ? CountOf(later, "iteration") : ""};
}

struct CostsOfMoving {
  std::string total, share, points, barriers, strategy, migration, migrations, moved;
  FARSCALE_TAGS(total, share, points, barriers, strategy, migration, migrations, moved)
};

struct MessageCounts {
  std::string now, before;
  FARSCALE_TAGS(now, before)
};

struct HeaviestTask {
  std::string seconds, ratio;
  FARSCALE_TAGS(seconds, ratio)
};

struct CaseReasons {
  Idle idle;
  std::string load_change;
  bool is_steady = false, is_unsteady = false;
  std::optional<LaterIterations> later;
  std::optional<CostsOfMoving> costs;
  std::optional<MessageCounts> messages;
  std::string computation, computation_share, makespan, rest;
  std::optional<HeaviestTask> heaviest;
  FARSCALE_TAGS(idle, load_change, is_steady, is_unsteady, later, costs, messages, computation, computation_share,
                makespan, rest, heaviest)
};

CostsOfMoving CostsOf(const BalanceOutcome& best) {
  const double total = CostsOfBalancing(best.parts);
  return {FormatSeconds(total),
          ShareOfMakespan(total, best.makespan),
          CountOf(best.balancing_points, "balancing point"),
          FormatSeconds(best.parts.barriers),
          FormatSeconds(best.parts.strategy),
          FormatSeconds(best.parts.migration),
          CountOf(best.migrations, "migration"),
          SayBytes(best.migrated_bytes)};
}

// The parts of the makespan that are not computation, largest first.
std::string RestOf(const BalanceOutcome& best) {
  std::vector<NamedPart> parts = PartsOf(best.parts);
  parts.erase(parts.begin());
  std::erase_if(parts, [&](const NamedPart& part) { return part.seconds < kMatters * best.makespan; });
  std::ranges::stable_sort(parts, std::ranges::greater(), &NamedPart::seconds);
  std::vector<std::string> names;
  for (const NamedPart& part : parts) {
    names.push_back(fmt::format("{} ({})", part.name, ShareOfMakespan(part.seconds, best.makespan)));
  }
  return Join(names, ", ");
}

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
  std::string name, iteration, excess;
  FARSCALE_TAGS(name, iteration, excess)
};

struct MigrationShare {
  std::string share, state;
  FARSCALE_TAGS(share, state)
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
  return fmt::format("{} with {}", NameOfBalancing(configuration), CountOf(configuration.tasks, "task"));
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

struct MappingText {
  std::string ranks, placement, nodes, between, measured_between, makespan, measured_makespan, gain;
  bool is_confirmed = false, is_inside = false, is_unconfirmed = false;
  FARSCALE_TAGS(ranks, placement, nodes, between, measured_between, makespan, measured_makespan, gain, is_confirmed,
                is_inside, is_unconfirmed)
};

struct ReplayedRun {
  std::string ranks, replayed, measured;
  FARSCALE_TAGS(ranks, replayed, measured)
};

struct ProjectedWay {
  std::string label, first, processors, with, without;
  bool overlap = false;
  FARSCALE_TAGS(label, first, processors, with, without, overlap)
};

struct Method {
  std::string network, computation, state, predictor, costs, replicas;
  bool has_several_runs = false, is_same_problem = false;
  FARSCALE_TAGS(network, computation, state, predictor, costs, replicas, has_several_runs, is_same_problem)
};

IntervalBounds BoundsOf(const BalancedValue& value) {
  return value.is_replayed ? IntervalBounds{value.value, value.value}
                           : value.interval80.value_or(IntervalBounds{-1e300, 1e300});
}

std::string WithBounds(const BalancedValue& value) {
  constexpr Factor kFactor = Factor::kParallelEfficiency;
  return fmt::format("{} ({})", FormatValue(kFactor, value.value),
                     value.is_replayed ? "replayed" : FormatBounds(kFactor, value.interval80));
}

ProjectedWay WayOf(const std::vector<BalancedProjection>& list, const BalancedFactor& table, std::size_t way) {
  ProjectedWay text{.label = list[way].label, .first = list.front().label};
  for (const BalancedFactor::Row& row : table.rows) {
    const std::optional<BalancedValue>&with = row.ways[way], &without = row.ways.front();
    if (!with || !without || !with->is_reliable || !without->is_reliable) continue;
    text.processors = FormatCores(row.cores);
    text.with = WithBounds(*with);
    text.without = WithBounds(*without);
    const IntervalBounds a = BoundsOf(*with), b = BoundsOf(*without);
    text.overlap = a.high >= b.low && b.high >= a.low;
  }
  return text;
}

}  // namespace

Sentences AnswerOf(const WhatIf& what_if, const BalanceCase& one, const Partials& templates) {
  CaseAnswer answer{.name = NameOfCase(what_if, one), .ranks = CountOf(one.processors, "rank")};
  const BalanceVerdict verdict = VerdictOf(what_if, one);
  answer.is_alone = one.processors == 1;
  answer.is_nothing_balanced = verdict == BalanceVerdict::kNothingBalanced;
  if (!answer.is_nothing_balanced) {
    const BalanceOutcome &lead = what_if.outcomes[*one.lead], &best = what_if.outcomes[one.ranking.front()];
    const BalanceOutcome& reference = what_if.outcomes[ReferenceOf(what_if, one, lead)];
    answer.lead = Named(what_if, one, lead);
    answer.reference = Named(what_if, one, reference);
    answer.best = Named(what_if, one, best);
    answer.is_unbalanced = IsUnbalanced(lead);
    answer.is_balanced = !answer.is_unbalanced;
    answer.is_finer = IsFiner(lead);
    answer.is_one_task = lead.configuration.tasks == 1;
    answer.none_moves = std::ranges::all_of(one.ranking, [&](auto i) { return what_if.outcomes[i].migrations == 0; });
    answer.is_moving = best.migrations > 0;
    answer.is_nothing_moved = verdict == BalanceVerdict::kNothingMoved;
    answer.is_gain = verdict == BalanceVerdict::kGains;
    answer.is_within_noise = verdict == BalanceVerdict::kWithinNoise;
    answer.is_hardly_anything = verdict == BalanceVerdict::kHardlyAnything;
    answer.is_cost = verdict == BalanceVerdict::kCosts;
    answer.are_many = answer.is_gain && !answer.is_one_task;
    answer.is_over_original = lead.gain_over_original.has_value();
    answer.has_reference = &reference != &lead;
    answer.is_placed_elsewhere = reference.configuration.placement != lead.configuration.placement;
    answer.reference_placement = NameOfPlacement(reference.configuration.placement);
    answer.iterations = CountOf(what_if.runs[lead.configuration.run].iterations, "iteration");
    answer.best_change = SayChange(LongRunIterationOf(what_if, best), LongRunIterationOf(what_if, lead));
    answer.long_run_gain = SayGain(GainThatCounts(what_if, one, lead));
    answer.trace_gain = SayGain(GainOverTrace(what_if, one, lead));
    if (!answer.is_nothing_moved) answer.pays_after = PaysAfter(what_if, lead, reference);
    if (answer.is_finer && !answer.is_nothing_moved) {
      const double alone = what_if.outcomes[lead.baseline].makespan;
      answer.split = {FormatSeconds(alone), SayChange(alone, reference.makespan), SayChange(lead.makespan, alone)};
    }
  }
  return RenderSentences(templates, "balance_answer.txt", ToData(answer));
}

Sentences AnswersOf(const WhatIf& what_if, const Partials& templates) {
  const std::vector<BalanceCase> cases = CasesOf(what_if);
  if (cases.empty()) {
    return {what_if.left_out.empty() ? "Nothing was simulated."
                                     : "Nothing could be simulated: see below for what was left out, and why."};
  }
  const BalanceCase& first = MostTelling(what_if, cases);
  Sentences answers = AnswerOf(what_if, first, templates);
  std::size_t told = 1;
  for (const BalanceCase& one : cases) {
    if (&one == &first || told == kMostAnswers) continue;
    std::ranges::move(AnswerOf(what_if, one, templates), std::back_inserter(answers));
    ++told;
  }
  if (cases.size() > told) answers.push_back(CountOf(cases.size() - told, "case") + " more are in the table.");
  return answers;
}

bool DependsOnState(const WhatIf& what_if) {
  if (what_if.state_costs.empty() || what_if.by_time.empty()) return false;
  if (!(what_if.outcomes[what_if.by_time.front()].parts.migration > 0)) return false;
  return std::ranges::any_of(what_if.state_costs, [&](const StateCost& cost) {
    return cost.makespan != what_if.state_costs.front().makespan;
  });
}

Sentences ReasonsOf(const WhatIf& what_if, const BalanceCase& one, const Partials& templates) {
  if (!one.lead) return {};
  const BalanceOutcome& best = what_if.outcomes[*one.lead];
  const BalanceOutcome& before = what_if.outcomes[ReferenceOf(what_if, one, best)];
  const BalanceRun& run = what_if.runs[best.configuration.run];
  CaseReasons reasons{.idle = IdleOf(what_if, one, best),
                      .load_change = run.load_change ? FormatPercent(*run.load_change) : "",
                      .is_steady = run.load_change.value_or(1) < kSteady,
                      .is_unsteady = run.load_change.value_or(0) >= kUnsteady,
                      .later = LaterOf(what_if, best),
                      .computation = FormatSeconds(best.parts.computation),
                      .computation_share = ShareOfMakespan(best.parts.computation, best.makespan),
                      .makespan = FormatSeconds(best.makespan),
                      .rest = RestOf(best)};
  if (!IsUnbalanced(best)) reasons.costs = CostsOf(best);
  if (best.messages_between_processors != before.messages_between_processors) {
    reasons.messages = {CountOf(best.messages_between_processors, "message"),
                        FormatCount(before.messages_between_processors)};
  }
  // A task takes as long as it computes on every processor.
  const double heaviest = run.heaviest_task * static_cast<double>(best.configuration.processors);
  if (heaviest >= kTooHeavy) {
    reasons.heaviest = {FormatSeconds(heaviest * best.parts.computation), FormatRatio(heaviest)};
  }
  return RenderSentences(templates, "balance_reasons.txt", ToData(reasons));
}

Sentences AdviceOf(const WhatIf& what_if, const BalanceCase& one, const Partials& templates) {
  if (!one.lead || IsUnbalanced(what_if.outcomes[*one.lead])) return {};  // then there is none to choose
  const BalanceOutcome& best = what_if.outcomes[one.ranking.front()];
  CaseAdvice advice{.intervals = AdviceOn(what_if, one, BalanceAxis::kInterval),
                    .levels = AdviceOn(what_if, one, BalanceAxis::kLevel),
                    .other = OtherStrategyThan(what_if, one),
                    .states = GainsOfStates(what_if, one)};
  if (what_if.noise_replicas > 0 && one.robust && *one.robust != one.ranking.front()) {
    advice.robust = WithTasks(what_if.outcomes[*one.robust].configuration);
  }
  if (best.parts.migration >= kHeavy * best.makespan) {
    advice.migration = {ShareOfMakespan(best.parts.migration, best.makespan),
                        SayBytes(what_if.runs[best.configuration.run].task_bytes)};
  }
  return RenderSentences(templates, "balance_advice.txt", ToData(advice));
}

Sentences DescribeMappings(const WhatIf& what_if, const Partials& templates) {
  std::vector<MappingText> texts;
  for (const NodeMapping& mapping : what_if.mappings) {
    const auto measured = std::ranges::find_if(what_if.mappings, [&](const NodeMapping& other) {
      return other.run == mapping.run && other.placement == Placement::kAsMeasured;
    });
    if (measured == what_if.mappings.end() || mapping.placement == Placement::kAsMeasured) continue;
    const bool gains = mapping.gain.value >= kHardlyAGain && mapping.gain.low > 0;
    const bool is_inside = !gains && mapping.load_balance_out - measured->load_balance_out > kMoreBalanced;
    texts.push_back({FormatCount(what_if.runs[mapping.run].ranks), NameOfPlacement(mapping.placement),
                     CountOf(mapping.nodes, "node"), FormatFactor(mapping.load_balance_out),
                     FormatFactor(measured->load_balance_out), FormatSeconds(mapping.makespan),
                     FormatSeconds(measured->makespan), SayGain(mapping.gain), gains, is_inside, !gains && !is_inside});
  }
  return RenderSentences(templates, "balance_mappings.txt", {{"mappings", ToData(texts)}});
}

Sentences DescribeFidelity(const WhatIf& what_if, const Partials& templates) {
  std::vector<ReplayedRun> runs;
  for (const BalanceRun& run : what_if.runs) {
    if (!(run.measured > 0) || std::fabs(run.replayed / run.measured - 1) < kFarOff) continue;
    runs.push_back({CountOf(run.ranks, "rank"), FormatSeconds(run.replayed), FormatSeconds(run.measured)});
  }
  return RenderSentences(templates, "balance_fidelity.txt", {{"runs", ToData(runs)}});
}

Sentences DescribeProjections(const std::vector<BalancedProjection>& list, const Partials& templates) {
  std::vector<ProjectedWay> ways;
  for (const BalancedFactor& table : TabulateBalanced(list)) {
    if (table.factor != Factor::kParallelEfficiency || !table.has_targets) continue;
    for (std::size_t way = 1; way < list.size(); ++way) ways.push_back(WayOf(list, table, way));
  }
  return RenderSentences(templates, "balance_projections.txt", {{"ways", ToData(ways)}});
}

LabelledTexts DescribeMethod(const WhatIf& what_if, const Partials& templates) {
  const Method method{
      what_if.network,           what_if.computation,
      what_if.task_bytes_source, what_if.predictor,
      what_if.cost_model,        what_if.noise_replicas == 0 ? "" : CountOf(what_if.noise_replicas, "replica"),
      what_if.runs.size() > 1,   what_if.same_problem};
  return RenderLabelledTexts(templates, "balance_method.txt", ToData(method));
}

Sentences DescribeLeftOut(const WhatIf& what_if) {
  std::vector<std::pair<std::string, Sentences>> reasons;
  for (const LeftOut& one : what_if.left_out) {
    auto found = std::ranges::find(reasons, one.why, &std::pair<std::string, Sentences>::first);
    if (found == reasons.end()) found = reasons.insert(reasons.end(), {one.why, {}});
    found->second.push_back(fmt::format("{} with {}", NameOfBalancing(one.configuration), TasksOn(one.configuration)));
  }
  Sentences sentences;
  for (auto& [why, names] : reasons) {
    std::string more;
    if (names.size() > kMostNamed) more = fmt::format(" and {} more", FormatCount(names.size() - kMostNamed));
    names.resize(std::min(names.size(), kMostNamed));
    sentences.push_back(fmt::format("{}{}: {}", Join(names, ", "), more, why));
  }
  return sentences;
}

}  // namespace farscale
