#include "report/balance/sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "planning/balance_cases.h"
#include "report/balance/names.h"
#include "report/cells.h"
#include "report/figures.h"

namespace farscale {
namespace {

// Chosen: below these shares a reader has nothing to act on.
constexpr double kTooHeavy = 1.02;       // of the mean load of a processor, for one task
constexpr double kFarOff = 0.1;          // replayed against measured
constexpr double kSteady = 0.02;         // change of loads from one iteration to the next
constexpr double kUnsteady = 0.2;        // the same
constexpr double kMoreBalanced = 0.01;   // between nodes
constexpr std::size_t kMostAnswers = 4;  // cases
constexpr double kLongestRun = 1e6;      // iterations, of a run that anybody would make
constexpr std::size_t kMostNamed = 3;    // configurations that were left out for one reason

// Whether there is an original run that is decomposed more coarsely.
bool IsFiner(const BalanceOutcome& outcome) {
  return outcome.gain_over_original && outcome.configuration.tasks != outcome.configuration.processors;
}

// A configuration of a case by its names, with its times.
struct NamedOutcome {
  FARSCALE_TEXTS(in_case, name, on, placement, iteration, makespan)
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
  FARSCALE_TEXTS(makespan, change, balancing)
};

// On which networks the lead of a case gains least and most, where that of the runs is unknown.
struct NetworkRangeText {
  FARSCALE_TEXTS(least, slow, most, fast)
};

struct CaseAnswer {
  std::string name, ranks, iterations;
  bool is_alone = false, is_one_task = false, are_many = false, is_finer = false, none_moves = false;
  bool is_unexplained = false, is_nothing_balanced = false, is_unbalanced = false, is_balanced = false;  // exactly one
  bool is_network_decides = false, is_assumed_slow = false;
  bool is_nothing_moved = false, is_gain = false, is_within_noise = false, is_hardly_anything = false, is_cost = false;
  bool is_over_original = false, has_reference = false, is_placed_elsewhere = false, is_moving = false;
  NamedOutcome lead, reference, best;
  std::string reference_placement, best_change, long_run_gain, trace_gain, pays_after;
  std::optional<SplitGain> split;
  std::optional<NetworkRangeText> networks;
  FARSCALE_TAGS(is_unexplained, is_network_decides, is_assumed_slow, networks, name, ranks, iterations, is_alone,
                is_one_task, are_many, is_finer, none_moves, is_nothing_balanced, is_unbalanced, is_balanced,
                is_nothing_moved, is_gain, is_within_noise, is_hardly_anything, is_cost, is_over_original,
                has_reference, is_placed_elsewhere, is_moving, lead, reference, best, reference_placement, best_change,
                long_run_gain, trace_gain, pays_after, split)
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
  FARSCALE_TEXTS(seconds, makespan, imbalance, communication)
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
          .tasks = is_unbalanced ? CountOfTasks(lead.configuration) : "",
          .first_placement = NameOfPlacement(first),
          .placement = NameOfPlacement(placement),
          .moved_placement = is_original && first != placement ? NameOfPlacement(placement) : ""};
}

struct LaterIterations {
  FARSCALE_TEXTS(with, without, gain, remaining)
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
  FARSCALE_TEXTS(total, share, points, barriers, strategy, migration, migrations, moved)
};

struct MessageCounts {
  FARSCALE_TEXTS(now, before)
};

struct HeaviestTask {
  FARSCALE_TEXTS(seconds, ratio)
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
          ShareOrDash(total, best.makespan),
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
    names.push_back(fmt::format("{} ({})", part.name, ShareOrDash(part.seconds, best.makespan)));
  }
  return Join(names, ", ");
}

struct MappingText {
  std::string ranks, placement, nodes, between, measured_between, makespan, measured_makespan, gain;
  bool is_confirmed = false, is_worth = false, is_inside = false, is_unconfirmed = false;
  FARSCALE_TAGS(ranks, placement, nodes, between, measured_between, makespan, measured_makespan, gain, is_confirmed,
                is_worth, is_inside, is_unconfirmed)
};

struct ReplayedRun {
  std::string ranks, replayed, measured;
  bool is_unexplained = false;
  FARSCALE_TAGS(ranks, replayed, measured, is_unexplained)
};

struct ProjectedWay {
  std::string label, first, processors, with, without;
  bool overlap = false;
  FARSCALE_TAGS(label, first, processors, with, without, overlap)
};

struct Method {
  std::string network, computation, state, predictor, costs, replicas;
  std::string grown_from;  // cores of the largest run that others are grown from; empty: all are measured
  bool has_several_runs = false, is_same_problem = false, shares_time = false;
  FARSCALE_TAGS(network, computation, state, predictor, costs, replicas, grown_from, has_several_runs, is_same_problem,
                shares_time)
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
    if (!with || !without || std::max(with->reliability, without->reliability) > Reliability::kReliable) continue;
    text.processors = FormatCores(row.cores);
    text.with = WithBounds(*with);
    text.without = WithBounds(*without);
    const IntervalBounds a = BoundsOf(*with), b = BoundsOf(*without);
    text.overlap = a.high >= b.low && b.high >= a.low;
  }
  return text;
}

// An interval that is too long for a run is left out whatever the strategy and the number of processors.
std::string NameOfLeftOut(const BalanceConfiguration& configuration) {
  if (configuration.interval > 0 && configuration.strategy.empty()) {
    return fmt::format("balancing every {} with {}", CountOf(configuration.interval, "iteration"),
                       CountOfTasks(configuration));
  }
  return fmt::format("{} with {}", NameOfBalancing(configuration), TasksOn(configuration));
}

}  // namespace

Sentences AnswerOf(const WhatIf& what_if, const BalanceCase& one, const Partials& templates) {
  CaseAnswer answer{.name = NameOfCase(what_if, one), .ranks = CountOf(one.processors, "rank")};
  const BalanceVerdict verdict = VerdictOf(what_if, one);
  answer.is_alone = one.processors == 1;
  answer.is_nothing_balanced = verdict == BalanceVerdict::kNothingBalanced;
  answer.is_unexplained = verdict == BalanceVerdict::kUnexplained;
  if (answer.is_unexplained) {
    answer.ranks = CountOf(what_if.runs[what_if.outcomes[*one.lead].configuration.run].ranks, "rank");
  } else if (!answer.is_nothing_balanced) {
    const BalanceOutcome &lead = what_if.outcomes[*one.lead], &best = what_if.outcomes[one.ranking.front()];
    const BalanceOutcome& reference = what_if.outcomes[ReferenceOf(what_if, one, lead)];
    answer.lead = Named(what_if, one, lead);
    answer.reference = Named(what_if, one, reference);
    answer.best = Named(what_if, one, best);
    answer.is_unbalanced = IsUnbalanced(lead);
    answer.is_balanced =
        !answer.is_unbalanced && verdict != BalanceVerdict::kNetworkDecides && verdict != BalanceVerdict::kNothingMoved;
    answer.is_finer = IsFiner(lead);
    answer.is_one_task = lead.configuration.tasks == 1;
    answer.none_moves = std::ranges::all_of(one.ranking, [&](auto i) { return what_if.outcomes[i].migrations == 0; });
    answer.is_moving = best.migrations > 0;
    answer.is_nothing_moved = verdict == BalanceVerdict::kNothingMoved;
    answer.is_gain = verdict == BalanceVerdict::kGains;
    answer.is_within_noise = verdict == BalanceVerdict::kWithinNoise;
    answer.is_hardly_anything = verdict == BalanceVerdict::kHardlyAnything;
    answer.is_cost = verdict == BalanceVerdict::kCosts;
    answer.is_network_decides = verdict == BalanceVerdict::kNetworkDecides;
    if (const auto range = NetworkRangeOf(what_if, *one.lead)) {
      answer.networks = {SayGain(range->least->gain), range->least->network, SayGain(range->most->gain),
                         range->most->network};
      answer.is_assumed_slow = answer.is_unbalanced || range->most->gain.value < kHardlyAGain;
    }
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
    for (std::string& sentence : AnswerOf(what_if, one, templates)) {
      if (std::ranges::find(answers, sentence) == answers.end()) answers.push_back(std::move(sentence));
    }
    ++told;
  }
  if (cases.size() > told) answers.push_back(CountOf(cases.size() - told, "case") + " more are in the table.");
  return answers;
}

Sentences ReasonsOf(const WhatIf& what_if, const BalanceCase& one, const Partials& templates) {
  if (!one.lead || VerdictOf(what_if, one) == BalanceVerdict::kUnexplained) return {};
  const BalanceOutcome& best = what_if.outcomes[*one.lead];
  const BalanceOutcome& before = what_if.outcomes[ReferenceOf(what_if, one, best)];
  const BalanceRun& run = what_if.runs[best.configuration.run];
  CaseReasons reasons{.idle = IdleOf(what_if, one, best),
                      .load_change = run.load_change ? FormatPercent(*run.load_change) : "",
                      .is_steady = run.load_change.value_or(1) < kSteady,
                      .is_unsteady = run.load_change.value_or(0) >= kUnsteady,
                      .later = LaterOf(what_if, best),
                      .computation = FormatSeconds(best.parts.computation),
                      .computation_share = ShareOrDash(best.parts.computation, best.makespan),
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

Sentences DescribeMappings(const WhatIf& what_if, const Partials& templates) {
  std::vector<MappingText> texts;
  for (const NodeMapping& mapping : what_if.mappings) {
    const auto measured = std::ranges::find_if(what_if.mappings, [&](const NodeMapping& other) {
      return other.run == mapping.run && other.placement == Placement::kAsMeasured;
    });
    if (measured == what_if.mappings.end() || mapping.placement == Placement::kAsMeasured) continue;
    if (what_if.runs[mapping.run].is_unexplained) continue;
    const bool gains = mapping.gain.value >= kHardlyAGain && mapping.gain.low > 0;
    const bool is_inside = !gains && mapping.load_balance_out - measured->load_balance_out > kMoreBalanced;
    const BalanceRun& run = what_if.runs[mapping.run];
    const bool is_worth = gains && mapping.gain.value >= kWorthMapping && !run.grown_from;
    texts.push_back({FormatCount(run.ranks) + (run.grown_from ? " grown" : ""), NameOfPlacement(mapping.placement),
                     CountOf(mapping.nodes, "node"), FormatFactor(mapping.load_balance_out),
                     FormatFactor(measured->load_balance_out), FormatSeconds(mapping.makespan),
                     FormatSeconds(measured->makespan), SayGain(mapping.gain), gains, is_worth, is_inside,
                     !gains && !is_inside});
  }
  return RenderSentences(templates, "balance_mappings.txt", {{"mappings", ToData(texts)}});
}

Sentences DescribeFidelity(const WhatIf& what_if, const Partials& templates) {
  std::vector<ReplayedRun> runs;
  for (const BalanceRun& run : what_if.runs) {
    if (run.grown_from) continue;  // nothing is measured of it
    if (!(run.measured > 0) || std::fabs(run.replayed / run.measured - 1) < kFarOff) continue;
    runs.push_back(
        {CountOf(run.ranks, "rank"), FormatSeconds(run.replayed), FormatSeconds(run.measured), run.is_unexplained});
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

// "16 cores": the largest run that others are grown from; empty where all are measured.
std::string GrownFrom(const WhatIf& what_if) {
  for (const BalanceRun& run : what_if.runs) {
    if (run.grown_from) return FormatCoreCount(static_cast<double>(*run.grown_from));
  }
  return "";
}

LabelledTexts DescribeMethod(const WhatIf& what_if, const Partials& templates) {
  const Method method{
      what_if.network,           what_if.computation,
      what_if.task_bytes_source, what_if.predictor,
      what_if.cost_model,        what_if.noise_replicas == 0 ? "" : CountOf(what_if.noise_replicas, "replica"),
      GrownFrom(what_if),        what_if.runs.size() > 1,
      what_if.same_problem,      what_if.shares_time};
  return RenderLabelledTexts(templates, "balance_method.txt", ToData(method));
}

Sentences DescribeLeftOut(const WhatIf& what_if) {
  std::vector<std::pair<std::string, Sentences>> reasons;
  for (const LeftOut& one : what_if.left_out) {
    auto found = std::ranges::find(reasons, one.why, &std::pair<std::string, Sentences>::first);
    if (found == reasons.end()) found = reasons.insert(reasons.end(), {one.why, {}});
    found->second.push_back(NameOfLeftOut(one.configuration));
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
