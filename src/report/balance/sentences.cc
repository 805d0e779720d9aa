#include "report/balance/sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "balance/strategy.h"
#include "base/format.h"
#include "base/text.h"
#include "report/balance/text.h"

namespace farscale {
namespace {

constexpr double kMatters = 0.01;   // of a makespan
constexpr double kHeavy = 0.05;     // of a makespan, for what could be had for less
constexpr double kTooHeavy = 1.02;  // of the mean load of a processor, for one task
constexpr double kFarOff = 0.1;     // replayed against measured
constexpr double kSteady = 0.02;    // change of loads from one iteration to the next
constexpr double kUnsteady = 0.2;

std::string Capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string ShareOfMakespan(double part, double whole) { return whole > 0 ? FormatPercent(part / whole) : "–"; }

// Waiting for others that have more to do in an iteration, and for anything else.
std::string SayImbalance(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& lead) {
  const auto say = [](const BalanceOutcome& outcome) {
    const std::vector<NamedPart> parts = PartsOf(outcome.parts);
    return fmt::format("for {} of {} ({} {}, {} {})", FormatSeconds(parts[1].seconds + parts[2].seconds),
                       FormatSeconds(outcome.makespan), FormatSeconds(parts[1].seconds), parts[1].name,
                       FormatSeconds(parts[2].seconds), parts[2].name);
  };
  const BalanceOutcome& before = what_if.outcomes[ReferenceOf(what_if, one, lead)];
  if (&before == &lead) return fmt::format("Processors do not compute {}.", say(lead));
  const std::string placed = "placed " + NameOfPlacement(lead.configuration.placement);
  std::string first = "Without balancing", with = "with balancing";
  if (lead.gain_over_original) {
    first = "In the run with " + CountOf(one.processors, "rank");
    if (IsUnbalanced(lead)) with = "with " + CountOf(lead.configuration.tasks, "task");
    if (before.configuration.placement != lead.configuration.placement) with += " " + placed;
  } else if (IsUnbalanced(lead)) {
    first = "Placed " + NameOfPlacement(before.configuration.placement);
    with = placed;
  }
  return fmt::format("{}, processors do not compute {}; {} {}.", first, say(before), with, say(lead));
}

// Loads that change go on doing so: right behind a balancing point they fit best.
std::string SayLater(const WhatIf& what_if, const BalanceOutcome& best) {
  if (!best.later_iteration || !best.later_iteration_without || best.migrations == 0) return "";
  std::string text = fmt::format(
      "After the first balancing point an iteration takes {} instead of {} without balancing, {}; so it does in a long "
      "run, as far as loads go on as in the trace.",
      FormatSeconds(*best.later_iteration), FormatSeconds(*best.later_iteration_without),
      SayGain(1 - *best.later_iteration / *best.later_iteration_without));
  const BalanceRun& run = what_if.runs[best.configuration.run];
  const std::size_t later = run.iterations - std::min(run.iterations, best.configuration.interval);
  if (later >= best.configuration.interval || run.load_change.value_or(0) < kSteady) return text;
  return text + fmt::format(
                    " The trace has only {} behind that point, in which loads change least from what was balanced: "
                    "a longer trace would tell more.",
                    CountOf(later, "iteration"));
}

std::string SayCosts(const BalanceOutcome& best) {
  return fmt::format(
      "Balancing itself takes {} ({}) at {}: {} for barriers, {} for the strategy, {} for {} of tasks that carry {} of "
      "state.",
      FormatSeconds(CostsOfBalancing(best.parts)), ShareOfMakespan(CostsOfBalancing(best.parts), best.makespan),
      CountOf(best.balancing_points, "balancing point"), FormatSeconds(best.parts.barriers),
      FormatSeconds(best.parts.strategy), FormatSeconds(best.parts.migration), CountOf(best.migrations, "migration"),
      SayBytes(best.migrated_bytes));
}

std::string SayMessages(const BalanceOutcome& before, const BalanceOutcome& best) {
  if (best.messages_between_processors == before.messages_between_processors) return "";
  return fmt::format("{} between processors instead of {}: what is migrated or finer has other neighbours.",
                     CountOf(best.messages_between_processors, "message"),
                     FormatCount(before.messages_between_processors));
}

std::string SayLimits(const BalanceOutcome& best) {
  std::vector<NamedPart> parts = PartsOf(best.parts);
  const double computation = parts.front().seconds;
  parts.erase(parts.begin());
  std::erase_if(parts, [&](const NamedPart& part) { return part.seconds < kMatters * best.makespan; });
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  const std::string text =
      fmt::format("Shared out evenly, computation alone would take {} ({} of {})", FormatSeconds(computation),
                  ShareOfMakespan(computation, best.makespan), FormatSeconds(best.makespan));
  if (parts.empty()) return text + ": there is next to nothing more to gain.";
  std::vector<std::string> names;
  for (const NamedPart& part : parts) {
    names.push_back(fmt::format("{} ({})", part.name, ShareOfMakespan(part.seconds, best.makespan)));
  }
  return fmt::format("{}. The rest is {}.", text, Join(names, ", "));
}

// A task cannot be shared out: it takes as long as it computes, wherever it is.
std::string SayHeaviest(const WhatIf& what_if, const BalanceOutcome& best) {
  const double share = what_if.runs[best.configuration.run].heaviest_task;
  const auto processors = static_cast<double>(best.configuration.processors);
  if (share * processors < kTooHeavy) return "";
  return fmt::format(
      "The heaviest task computes for {}, {} of what a processor has in perfect balance: no strategy gets below that, "
      "smaller tasks would.",
      FormatSeconds(share * processors * best.parts.computation), FormatRatio(share * processors));
}

// Whether what was measured tells what comes.
std::string SayLoadChange(const WhatIf& what_if, const BalanceOutcome& best) {
  const std::optional<double> change = what_if.runs[best.configuration.run].load_change;
  if (!change) return "";
  const std::string text =
      fmt::format("From one iteration to the next the load of a task changes by {} on average", FormatPercent(*change));
  if (*change < kSteady) return text + ": what was measured tells what comes, and balancing once goes a long way.";
  if (*change < kUnsteady) return text + ".";
  return text + ": what was measured tells little of what comes; --predictor exact shows what knowing it would bring.";
}

// Which part is larger by most in another outcome: ", with 800 ms more imbalance over the trace".
std::string WorstPart(const BalanceOutcome& other, const BalanceOutcome& best) {
  const std::vector<NamedPart> parts = PartsOf(other.parts), of_best = PartsOf(best.parts);
  std::size_t worst = 0;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].seconds - of_best[i].seconds > parts[worst].seconds - of_best[worst].seconds) worst = i;
  }
  const double more = parts[worst].seconds - of_best[worst].seconds;
  if (other.makespan <= best.makespan || more <= 0) return "";
  return fmt::format(", with {} more {} over the trace", FormatSeconds(more), parts[worst].name);
}

// The values of an axis in words.
struct AxisWords {
  const char* hardly;  // "How often tasks are balanced"
  const char* unit;
  const char* beyond_lowest;  // of the values that were tried
  const char* beyond_highest;
  std::string (*at)(double);  // "every 20 iterations", "with 4 tasks a processor"
  // Whether there are values beyond, above or below, that nobody asked for.
  bool (*is_open)(const WhatIf&, const BalanceConfiguration&, bool above);
};

// Whether a configuration of the same processors and tasks, or of any tasks, was replayed or refused.
bool WasTried(const WhatIf& what_if, const BalanceConfiguration& best, auto is_beyond) {
  const auto is_it = [&](const BalanceConfiguration& other) {
    return other.processors == best.processors && is_beyond(other);
  };
  return std::any_of(what_if.outcomes.begin(), what_if.outcomes.end(),
                     [&](const BalanceOutcome& outcome) { return is_it(outcome.configuration); }) ||
         std::any_of(what_if.left_out.begin(), what_if.left_out.end(),
                     [&](const LeftOut& left) { return is_it(left.configuration); });
}

// Between balancing after every iteration and not at all.
bool IsIntervalOpen(const WhatIf& what_if, const BalanceConfiguration& best, bool above) {
  if (above ? best.interval + 1 >= what_if.runs[best.run].iterations : best.interval < 2) return false;
  return !WasTried(what_if, best, [&](const BalanceConfiguration& other) {
    const bool is_beyond =
        above ? other.interval > best.interval : other.interval > 0 && other.interval < best.interval;
    return is_beyond && other.run == best.run && other.strategy == best.strategy;
  });
}

bool IsLevelOpen(const WhatIf& what_if, const BalanceConfiguration& best, bool above) {
  return above && !WasTried(what_if, best, [&](const BalanceConfiguration& other) { return other.tasks > best.tasks; });
}

constexpr AxisWords kIntervalWords = {
    "How often tasks are balanced",
    "iterations",
    " More often was not tried.",
    " More rarely was not tried.",
    [](double x) { return x == 1 ? "after every iteration" : fmt::format("every {:g} iterations", x); },
    IsIntervalOpen};
constexpr AxisWords kLevelWords = {
    "How finely the problem is decomposed",
    "tasks a processor",
    "",
    " More was not tried.",
    [](double x) { return x == 1 ? "with one task a processor" : fmt::format("with {:g} tasks a processor", x); },
    IsLevelOpen};

// The neighbours of the best value, and where the values end.
std::string SayPlace(const WhatIf& what_if, const SweepLine& line, std::vector<SweepPoint>::const_iterator at,
                     const AxisWords& words) {
  const BalanceOutcome& best = what_if.outcomes[at->outcome];
  std::string text = fmt::format("{} is best {}", StrategyById(line.strategy).name, words.at(at->x));
  const auto add = [&](const SweepPoint& point) {
    const BalanceOutcome& other = what_if.outcomes[point.outcome];
    text += fmt::format("; {} an iteration of a long run takes {}{}", words.at(point.x),
                        FormatSeconds(LongRunIterationOf(what_if, other)), WorstPart(other, best));
  };
  const bool is_lowest = at == line.points.begin(), is_highest = std::next(at) == line.points.end();
  const bool less_is_open = is_lowest && words.is_open(what_if, best.configuration, false);
  const bool more_is_open = is_highest && words.is_open(what_if, best.configuration, true);
  if (!is_lowest) add(*std::prev(at));
  if (!is_highest) add(*std::next(at));
  return Capital(text) + "." + (less_is_open ? words.beyond_lowest : "") + (more_is_open ? words.beyond_highest : "");
}

// What one thing does to a long run with the strategy of the best outcome.
std::string SaySweep(const WhatIf& what_if, const BalanceCase& one, BalanceAxis axis, const AxisWords& words) {
  const auto time_of = [&](std::size_t i) { return LongRunIterationOf(what_if, what_if.outcomes[i]); };
  const double shortest = time_of(one.ranking.front());
  for (const SweepLine& line : SweepOver(what_if, one, axis)) {
    const auto at = std::find_if(line.points.begin(), line.points.end(),
                                 [&](const SweepPoint& point) { return point.outcome == one.ranking.front(); });
    if (at == line.points.end() || line.points.size() < 2) continue;
    double longest = shortest;
    for (const SweepPoint& point : line.points) longest = std::max(longest, time_of(point.outcome));
    if (longest >= (1 + kMatters) * shortest) return SayPlace(what_if, line, at, words);
    return fmt::format("{} hardly matters: between {:g} and {:g} {}, {} changes a long run by no more than {}.",
                       words.hardly, line.points.front().x, line.points.back().x, words.unit,
                       StrategyById(line.strategy).name, FormatPercent(longest / shortest - 1));
  }
  return "";
}

std::string SayStrategies(const WhatIf& what_if, const BalanceCase& one) {
  const BalanceOutcome& best = what_if.outcomes[one.ranking.front()];
  for (const std::size_t i : one.ranking) {
    const BalanceOutcome& next = what_if.outcomes[i];
    if (next.configuration.strategy == best.configuration.strategy) continue;
    const double iteration = LongRunIterationOf(what_if, next), shortest = LongRunIterationOf(what_if, best);
    const bool is_close = iteration < (1 + kMatters) * shortest;
    return fmt::format("{}: {} with {} takes {} an iteration in a long run{}.",
                       is_close ? "Another strategy does as well" : "The next best strategy",
                       NameOfBalancing(next.configuration), CountOf(next.configuration.tasks, "task"),
                       FormatSeconds(iteration),
                       is_close ? "" : fmt::format(", {} more", FormatPercent(iteration / shortest - 1)));
  }
  return "";
}

std::string SayRobust(const WhatIf& what_if, const BalanceCase& one) {
  if (what_if.noise_replicas == 0 || !one.robust || *one.robust == one.ranking.front()) return "";
  const BalanceOutcome& robust = what_if.outcomes[*one.robust];
  return fmt::format("By the worst tenth of the replicas, {} with {} is ahead: it is the safer choice.",
                     NameOfBalancing(robust.configuration), CountOf(robust.configuration.tasks, "task"));
}

std::string SayMigration(const WhatIf& what_if, const BalanceOutcome& best) {
  if (best.parts.migration < kHeavy * best.makespan) return "";
  return fmt::format(
      "Migration takes {} of the makespan with {} of state a task: check that number first, then "
      "balance more rarely or by a strategy that moves less.",
      ShareOfMakespan(best.parts.migration, best.makespan), SayBytes(what_if.runs[best.configuration.run].task_bytes));
}

// "without any", "with 10× as much".
std::string SayFactor(double factor) {
  return factor == 0 ? "without any" : fmt::format("with {} as much", FormatRatio(factor));
}

// What other states of tasks would make of the gain, since states are often only estimated.
std::string SayStateCosts(const WhatIf& what_if, const BalanceCase& one) {
  if (!DependsOnState(what_if) || one.ranking.front() != what_if.by_time.front()) return "";
  const Gain& gain = what_if.outcomes[one.ranking.front()].gain;
  std::vector<std::string> gains;
  double farthest = 0;
  for (const StateCost& cost : what_if.state_costs) {
    farthest = std::max(farthest, std::fabs(cost.gain.value - gain.value));
    gains.push_back(fmt::format("{} {}", FormatPercent(cost.gain.value), SayFactor(cost.factor)));
  }
  return fmt::format("{}: over the trace, the gain of {} over no balancing becomes {}.",
                     farthest < kMatters ? "How much state tasks have hardly matters" : "The state of tasks matters",
                     FormatPercent(gain.value), Join(gains, ", "));
}

const NodeMapping* MeasuredMapping(const WhatIf& what_if, std::size_t run) {
  for (const NodeMapping& mapping : what_if.mappings) {
    if (mapping.run == run && mapping.placement == Placement::kAsMeasured) return &mapping;
  }
  return nullptr;
}

void AddIfAny(std::string sentence, std::vector<std::string>& sentences) {
  if (!sentence.empty()) sentences.push_back(std::move(sentence));
}

}  // namespace

bool DependsOnState(const WhatIf& what_if) {
  if (what_if.state_costs.empty() || what_if.by_time.empty()) return false;
  if (!(what_if.outcomes[what_if.by_time.front()].parts.migration > 0)) return false;
  return std::any_of(what_if.state_costs.begin(), what_if.state_costs.end(),
                     [&](const StateCost& cost) { return cost.makespan != what_if.state_costs.front().makespan; });
}

std::vector<std::string> ReasonsOf(const WhatIf& what_if, const BalanceCase& one) {
  if (!one.lead) return {};
  const BalanceOutcome& best = what_if.outcomes[*one.lead];
  std::vector<std::string> sentences = {SayImbalance(what_if, one, best)};
  AddIfAny(SayLoadChange(what_if, best), sentences);
  AddIfAny(SayLater(what_if, best), sentences);
  if (!IsUnbalanced(best)) sentences.push_back(SayCosts(best));
  AddIfAny(SayMessages(what_if.outcomes[ReferenceOf(what_if, one, best)], best), sentences);
  sentences.push_back(SayLimits(best));
  AddIfAny(SayHeaviest(what_if, best), sentences);
  return sentences;
}

std::vector<std::string> AdviceOf(const WhatIf& what_if, const BalanceCase& one) {
  if (!one.lead || IsUnbalanced(what_if.outcomes[*one.lead])) return {};  // then there is none to choose
  std::vector<std::string> sentences;
  AddIfAny(SaySweep(what_if, one, BalanceAxis::kInterval, kIntervalWords), sentences);
  AddIfAny(SaySweep(what_if, one, BalanceAxis::kLevel, kLevelWords), sentences);
  AddIfAny(SayStrategies(what_if, one), sentences);
  AddIfAny(SayRobust(what_if, one), sentences);
  AddIfAny(SayMigration(what_if, what_if.outcomes[one.ranking.front()]), sentences);
  AddIfAny(SayStateCosts(what_if, one), sentences);
  return sentences;
}

std::vector<std::string> SayMappings(const WhatIf& what_if) {
  std::vector<std::string> sentences;
  for (const NodeMapping& mapping : what_if.mappings) {
    const NodeMapping* measured = MeasuredMapping(what_if, mapping.run);
    if (measured == nullptr || mapping.placement == Placement::kAsMeasured) continue;
    const double change = mapping.load_balance_out - measured->load_balance_out;
    const bool gains = mapping.gain.value >= kHardlyAGain && mapping.gain.low > 0;
    std::string text =
        fmt::format("{} ranks {} over {}: balance between nodes {} (measured: {}), replayed in {} instead of {}, {}.",
                    FormatCount(what_if.runs[mapping.run].ranks), NameOfPlacement(mapping.placement),
                    CountOf(mapping.nodes, "node"), FormatFactor(mapping.load_balance_out),
                    FormatFactor(measured->load_balance_out), FormatSeconds(mapping.makespan),
                    FormatSeconds(measured->makespan), SayGain(mapping.gain));
    if (gains) {
      text += " That it helps is confirmed by replay.";
    } else if (change > 0.01) {
      text +=
          " It moves imbalance from between nodes into them, which pays only where processors of a node share work.";
    } else {
      text += " The replay does not confirm that it would help.";
    }
    sentences.push_back(std::move(text));
  }
  return sentences;
}

std::vector<std::string> SayFidelity(const WhatIf& what_if) {
  std::vector<std::string> sentences;
  for (const BalanceRun& run : what_if.runs) {
    if (!(run.measured > 0) || std::fabs(run.replayed / run.measured - 1) < kFarOff) continue;
    sentences.push_back(fmt::format(
        "Replayed without any change, the run on {} takes {} instead of {} as measured: differences between "
        "configurations tell more than times, and a calibrated network would tell them better.",
        CountOf(run.ranks, "rank"), FormatSeconds(run.replayed), FormatSeconds(run.measured)));
  }
  return sentences;
}

namespace {

constexpr std::size_t kMostAnswers = 4;  // sentences, one a case
constexpr double kMostIterations = 1e6;  // of a run that anybody would make

// Of what an outcome is compared with.
double Makespan(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& outcome) {
  return what_if.outcomes[ReferenceOf(what_if, one, outcome)].makespan;
}

// "the 15.6 s of the run with 16 ranks", or "15.6 s without balancing, placed in blocks".
std::string ComparedWith(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& outcome) {
  const std::string time = FormatSeconds(Makespan(what_if, one, outcome));
  if (outcome.gain_over_original)
    return fmt::format("the {} of the run with {}", time, CountOf(one.processors, "rank"));
  const BalanceConfiguration& reference = what_if.outcomes[ReferenceOf(what_if, one, outcome)].configuration;
  if (reference.placement == outcome.configuration.placement) return time + " without balancing";
  return fmt::format("{} {}placed {}", time, IsUnbalanced(outcome) ? "" : "without balancing, ",
                     NameOfPlacement(reference.placement));
}

// Whether there is an original run that is decomposed more coarsely.
bool IsFiner(const BalanceOutcome& outcome) {
  return outcome.gain_over_original && outcome.configuration.tasks != outcome.configuration.processors;
}

// What an outcome without balancing gains: by being finer than the original run, or by where tasks are placed.
std::string SayUnbalanced(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& lead) {
  const std::string placed =
      HasSeveralPlacements(what_if, one) ? ", placed " + NameOfPlacement(lead.configuration.placement) + "," : "";
  const std::string takes =
      fmt::format("take{} {}", lead.configuration.tasks == 1 || IsFiner(lead) ? "s" : "", FormatSeconds(lead.makespan));
  std::string text = IsFiner(lead)
                         ? fmt::format("Over-decomposition alone, {} without balancing{}{} {}",
                                       TasksOn(lead.configuration), placed, placed.empty() ? "," : "", takes)
                         : fmt::format("Without balancing, {}{} {}", TasksOn(lead.configuration), placed, takes);
  if (&what_if.outcomes[ReferenceOf(what_if, one, lead)] == &lead) return text + ".";
  return fmt::format("{} instead of {}: {}.", text, ComparedWith(what_if, one, lead),
                     SayGain(GainOverTrace(what_if, one, lead)));
}

// "205 ms an iteration in a long run instead of 250 ms: 18.0 % less. Over the 40 iterations of the trace they take
// ...".
std::string SayTimes(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& lead,
                     const std::string& they_take) {
  const BalanceOutcome& reference = what_if.outcomes[ReferenceOf(what_if, one, lead)];
  return fmt::format(
      "{} an iteration in a long run instead of {}: {}. Over the {} of the trace {} {} instead of {}: {}.",
      FormatSeconds(LongRunIterationOf(what_if, lead)), FormatSeconds(LongRunIterationOf(what_if, reference)),
      SayGain(GainThatCounts(what_if, one, lead)),
      CountOf(what_if.runs[lead.configuration.run].iterations, "iteration"), they_take, FormatSeconds(lead.makespan),
      ComparedWith(what_if, one, lead), SayGain(GainOverTrace(what_if, one, lead)));
}

// After how many iterations what the first balancing point costs, and what comes before it, is made up for; of interest
// where the trace is shorter.
std::string SayWhenItPays(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& lead) {
  const double iteration = LongRunIterationOf(what_if, lead);
  const double without = LongRunIterationOf(what_if, what_if.outcomes[ReferenceOf(what_if, one, lead)]);
  const auto traced = static_cast<double>(what_if.runs[lead.configuration.run].iterations);
  if (!(iteration < without)) return "";
  const double pays = (lead.makespan - traced * iteration) / (without - iteration);
  if (pays <= traced || pays > kMostIterations) return "";
  return fmt::format(" It pays after {}.", CountOf(static_cast<std::size_t>(std::ceil(pays)), "iteration"));
}

// What strategies do beside that.
std::string SayBestBalanced(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& lead) {
  const BalanceOutcome& best = what_if.outcomes[one.ranking.front()];
  const bool none_moves = std::all_of(one.ranking.begin(), one.ranking.end(),
                                      [&](std::size_t i) { return what_if.outcomes[i].migrations == 0; });
  const double iteration = LongRunIterationOf(what_if, best);
  const std::string takes = fmt::format("takes {} an iteration in a long run, {}", FormatSeconds(iteration),
                                        SayChange(iteration, LongRunIterationOf(what_if, lead)));
  const std::string name = NameWithTasks(what_if, one, best.configuration);
  if (best.migrations > 0) return fmt::format(" No strategy improves on that: the best, {}, {}.", name, takes);
  if (none_moves) return fmt::format(" No strategy finds anything worth moving: the best, {}, {}.", name, takes);
  return fmt::format(
      " No strategy gains by moving tasks: those that move some take longer, and the best, {}, moves none and {}.",
      name, takes);
}

// The gain over the original run, in what is finer and what is moved.
std::string SaySplit(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& best) {
  if (!IsFiner(best)) return "";
  const BalanceOutcome& alone = what_if.outcomes[best.baseline];
  const double original = Makespan(what_if, one, best);
  return fmt::format(" Over-decomposition alone, without balancing, takes {}: {}; balancing then makes it {}.",
                     FormatSeconds(alone.makespan), SayChange(alone.makespan, original),
                     SayChange(best.makespan, alone.makespan));
}

std::string SayNothingMoved(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& best) {
  const bool none_moves = std::all_of(one.ranking.begin(), one.ranking.end(),
                                      [&](std::size_t i) { return what_if.outcomes[i].migrations == 0; });
  return fmt::format("On {} no strategy {}: the best, {}, {}takes {}", NameOfCase(what_if, one),
                     none_moves ? "finds anything worth moving" : "gains by moving tasks",
                     NameWithTasks(what_if, one, best.configuration), none_moves ? "" : "moves none and ",
                     SayTimes(what_if, one, best, "it takes"));
}

}  // namespace

std::string AnswerOf(const WhatIf& what_if, const BalanceCase& one) {
  const std::string on = "On " + NameOfCase(what_if, one);
  const BalanceVerdict verdict = VerdictOf(what_if, one);
  if (verdict == BalanceVerdict::kNothingBalanced) {
    return on + (one.processors == 1 ? " there is nothing to balance." : " nothing was balanced.");
  }
  const BalanceOutcome& lead = what_if.outcomes[*one.lead];
  if (IsUnbalanced(lead)) return SayUnbalanced(what_if, one, lead) + SayBestBalanced(what_if, one, lead);
  if (verdict == BalanceVerdict::kNothingMoved) return SayNothingMoved(what_if, one, lead);
  const bool is_plural = verdict == BalanceVerdict::kGains && lead.configuration.tasks != 1;
  const std::string instead = SayTimes(what_if, one, lead, is_plural ? "they take" : "it takes") +
                              SayWhenItPays(what_if, one, lead) + SaySplit(what_if, one, lead);
  if (verdict == BalanceVerdict::kGains) {
    return fmt::format("With {}, {} take{} {}", NameInCase(what_if, one, lead.configuration),
                       TasksOn(lead.configuration), lead.configuration.tasks == 1 ? "s" : "", instead);
  }
  const std::string name = NameWithTasks(what_if, one, lead.configuration);
  const char* both = IsFiner(lead) ? "over-decomposition and balancing bring" : "balancing brings";
  if (verdict == BalanceVerdict::kWithinNoise) {
    return fmt::format("{} {} no more than noise: the best, {}, takes {}", on, both, name, instead);
  }
  if (verdict == BalanceVerdict::kHardlyAnything) {
    return fmt::format("{} {} next to nothing: the best, {}, takes {}", on, both, name, instead);
  }
  const std::string ahead = IsFiner(lead) ? fmt::format("the run with {} stays ahead", CountOf(one.processors, "rank"))
                                          : "balancing costs more than it brings";
  return fmt::format("{} {}: even the best, {}, takes {}", on, ahead, name, instead);
}

std::vector<std::string> AnswersOf(const WhatIf& what_if) {
  const std::vector<BalanceCase> cases = CasesOf(what_if);
  if (cases.empty()) {
    return {what_if.left_out.empty() ? "Nothing was simulated."
                                     : "Nothing could be simulated: see below for what was left out, and why."};
  }
  const BalanceCase& first = MostTelling(what_if, cases);
  std::vector<std::string> answers = {AnswerOf(what_if, first)};
  for (const BalanceCase& one : cases) {
    if (&one != &first && answers.size() < kMostAnswers) answers.push_back(AnswerOf(what_if, one));
  }
  if (cases.size() > answers.size()) {
    answers.push_back(fmt::format("{} more are in the table.", CountOf(cases.size() - answers.size(), "case")));
  }
  return answers;
}

}  // namespace farscale
