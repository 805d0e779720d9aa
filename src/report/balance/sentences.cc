#include "report/balance/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "balance/strategy.h"
#include "balance/outcome.h"
#include "base/text.h"
#include "report/figures.h"

namespace farscale {
namespace {

constexpr double kShown = 0.0005;  // shares below are printed as 0.0 %

constexpr double kLargestCount = 9e18;  // bytes that an integer holds
constexpr double kExbibyte = 1152921504606846976.0;

// Chosen: below these shares a reader has nothing to act on.
constexpr double kTooHeavy = 1.02;       // ratio of one task to the mean load of a processor
constexpr double kFarOff = 0.1;          // replayed against measured
constexpr double kSteady = 0.02;         // change of loads from one iteration to the next
constexpr double kUnsteady = 0.2;        // the same
constexpr double kMoreBalanced = 0.01;   // between nodes
constexpr std::size_t kMostAnswers = 4;  // cases
constexpr double kMostIterations = 1e6;  // iterations, of a run that anybody would make
constexpr std::size_t kMostNamed = 3;    // configurations that were left out for one reason

// There is an original run that is decomposed more coarsely.
bool IsFiner(const BalanceOutcome& outcome) {
  return outcome.gain_over_original && outcome.configuration.tasks != outcome.configuration.processors;
}

// "256 tasks on 16 processors".
std::string TasksOn(const BalanceConfiguration& configuration) {
  return fmt::format("{} on {}", CountOfTasks(configuration), CountText(configuration.processors, "processor"));
}

// A makespan beside the one that it is compared with.
std::string SayChange(double makespan, double reference) {
  const std::string change = SayGain(1 - makespan / reference);
  return change == "no change" ? "no more and no less" : change;
}

bool HasInterval(const Gain& gain) { return gain.low < gain.high; }

using Data = ReportData;

// A configuration of a case by its names, with its times.
Data Named(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& outcome) {
  const BalanceConfiguration& configuration = outcome.configuration;
  const bool has_several = HasSeveralPlacements(what_if, one);
  const std::string placement = has_several ? NameOfPlacement(configuration.placement) : "";
  return {{"inCase", NameInCase(what_if, one, configuration)},
          {"name", fmt::format("{} with {}{}", NameOfBalancing(configuration), CountOfTasks(configuration),
                               has_several ? " placed " + placement : "")},
          {"on", TasksOn(configuration)},
          {"placement", placement},
          {"iteration", FormatSeconds(LongRunIterationOf(what_if, outcome))},
          {"makespan", FormatSeconds(outcome.makespan)}};
}

// As in balance_answer.txt.mustache.
const char* VerdictName(BalanceVerdict verdict) {
  switch (verdict) {
    case BalanceVerdict::kNothingBalanced: return "nothingBalanced";
    case BalanceVerdict::kUnexplained: return "unexplained";
    case BalanceVerdict::kUnbalancedLeads: return "unbalanced";
    case BalanceVerdict::kNetworkDecides: return "networkDecides";
    case BalanceVerdict::kNothingMoved: return "nothingMoved";
    case BalanceVerdict::kGains: return "gain";
    case BalanceVerdict::kWithinNoise: return "withinNoise";
    case BalanceVerdict::kHardlyAnything: return "hardlyAnything";
    case BalanceVerdict::kCosts: return "cost";
  }
  return "";
}

// After how many iterations the costs of the first balancing point, and of the time before it, are recovered; empty
// where the trace shows it already.
std::string PaysAfter(const WhatIf& what_if, const BalanceOutcome& lead, const BalanceOutcome& reference) {
  const double iteration = LongRunIterationOf(what_if, lead), without = LongRunIterationOf(what_if, reference);
  const auto traced = static_cast<double>(what_if.runs[lead.configuration.run].iterations);
  if (!(iteration < without)) return "";
  const double pays = (lead.makespan - traced * iteration) / (without - iteration);
  return pays <= traced || pays > kMostIterations ? ""
                                                  : CountText(static_cast<std::size_t>(std::ceil(pays)), "iteration");
}

// Waiting for others that have more to do in an iteration, and for anything else.
Data IdleTime(const BalanceOutcome& outcome) {
  const double imbalance = NamedParts(outcome.parts)[1].seconds, communication = NamedParts(outcome.parts)[2].seconds;
  return {{"seconds", FormatSeconds(imbalance + communication)},
          {"makespan", FormatSeconds(outcome.makespan)},
          {"imbalance", FormatSeconds(imbalance)},
          {"communication", FormatSeconds(communication)}};
}

Data Idle(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& lead) {
  const BalanceOutcome& before = what_if.outcomes[ReferenceOf(what_if, one, lead)];
  const Placement first = before.configuration.placement, placement = lead.configuration.placement;
  const bool is_unbalanced = IsUnbalanced(lead), is_original = lead.gain_over_original.has_value();
  return {{"isOne", &before == &lead},
          {"isOverOriginal", is_original},
          {"isPlacedOnly", !is_original && is_unbalanced},
          {"isWithout", !is_original && !is_unbalanced},
          {"before", IdleTime(before)},
          {"after", IdleTime(lead)},
          {"ranks", CountText(one.processors, "rank")},
          {"tasks", is_unbalanced ? CountOfTasks(lead.configuration) : ""},
          {"firstPlacement", NameOfPlacement(first)},
          {"placement", NameOfPlacement(placement)},
          {"movedPlacement", is_original && first != placement ? NameOfPlacement(placement) : ""}};
}

// Loads that change go on doing so: right behind a balancing point they fit best.
Data LaterIterations(const WhatIf& what_if, const BalanceOutcome& best) {
  if (!best.later_iteration || !best.later_iteration_without || best.migrations == 0) return false;
  const BalanceRun& run = what_if.runs[best.configuration.run];
  const std::size_t later = run.iterations - std::min(run.iterations, best.configuration.interval);
  const bool is_short = later < best.configuration.interval && run.load_change.value_or(0) >= kSteady;
  return {{"with", FormatSeconds(*best.later_iteration)},
          {"without", FormatSeconds(*best.later_iteration_without)},
          {"gain", SayGain(1 - *best.later_iteration / *best.later_iteration_without)},
          {"remaining", is_short ? CountText(later, "iteration") : ""}};
}

Data CostsOfMoving(const BalanceOutcome& best) {
  const double total = CostsOfBalancing(best.parts);
  return {{"total", FormatSeconds(total)},
          {"share", ShareOrDash(total, best.makespan)},
          {"points", CountText(best.balancing_points, "balancing point")},
          {"barriers", FormatSeconds(best.parts.barriers)},
          {"strategy", FormatSeconds(best.parts.strategy)},
          {"migration", FormatSeconds(best.parts.migration)},
          {"migrations", CountText(best.migrations, "migration")},
          {"moved", SayBytes(best.migrated_bytes)}};
}

IntervalBounds Bounds(const BalancedValue& value) {
  return value.is_replayed ? IntervalBounds{value.value, value.value}
                           : value.interval80.value_or(IntervalBounds{-1e300, 1e300});
}

std::string WithBounds(const BalancedValue& value) {
  constexpr Factor kFactor = Factor::kParallelEfficiency;
  return fmt::format("{} ({})", FormatValue(kFactor, value.value),
                     value.is_replayed ? "replayed" : FormatBounds(kFactor, value.interval80));
}

}  // namespace

std::string NameOfPlacement(Placement placement) {
  switch (placement) {
    case Placement::kAsMeasured: return "as measured";
    case Placement::kBlock: return "in blocks";
    case Placement::kRoundRobin: return "round robin";
    case Placement::kByMessages: break;
  }
  return "by messages";
}

std::string CountText(std::size_t count, const std::string& one) {
  return fmt::format("{} {}{}", FormatCount(count), one, count == 1 ? "" : "s");
}

std::string NameInCase(const WhatIf& what_if, const BalanceCase& one, const BalanceConfiguration& configuration) {
  const std::string name = NameOfBalancing(configuration);
  return HasSeveralPlacements(what_if, one) ? name + ", placed " + NameOfPlacement(configuration.placement) : name;
}

std::string ShortName(const BalanceConfiguration& configuration) {
  std::string name = configuration.interval == 0 ? "no balancing"
                                                 : fmt::format("{} every {}", StrategyById(configuration.strategy).name,
                                                               configuration.interval);
  return fmt::format("{}, {} a processor", name,
                     configuration.level() == 1 ? "one task" : FormatCores(configuration.level()) + " tasks");
}

std::string NameOfCase(const WhatIf& what_if, const BalanceCase& one) {
  std::string name = CountText(one.processors, "processor");
  if (one.run && what_if.runs.size() > 1)
    name += fmt::format(" ({} on {})", what_if.runs[*one.run].grown_from ? "grown run" : "run",
                        CountText(what_if.runs[*one.run].ranks, "rank"));
  return name;
}

std::string CountOfTasks(const BalanceConfiguration& configuration) {
  return CountText(configuration.tasks, "task") + (configuration.is_grown ? " (grown)" : "");
}

std::string RanksText(const BalanceRun& run) { return FormatCount(run.ranks) + (run.grown_from ? ", grown" : ""); }

std::string SayGain(double gain) {
  if (std::fabs(gain) < kShown) return "no change";
  return FormatPercent(std::fabs(gain)) + (gain > 0 ? " less" : " more");
}

std::string SayBytes(double bytes) {
  if (bytes < kLargestCount) return FormatBytes(static_cast<std::uint64_t>(std::max(0.0, bytes)));
  return fmt::format("{:.3g} EiB", bytes / kExbibyte);
}

std::string SayGain(const Gain& gain) {
  if (!HasInterval(gain)) return SayGain(gain.value);
  const bool is_loss = gain.value <= -kShown;
  const double low = is_loss ? -gain.high : gain.low, high = is_loss ? -gain.low : gain.high;
  return fmt::format("{} (80 % of the replicas between {} and {})", SayGain(gain.value), FormatPercent(low),
                     FormatPercent(high));
}

std::string GainInterval(const Gain& gain) {
  return HasInterval(gain) ? FormatRange(FormatPercent(gain.low), FormatPercent(gain.high)) : "";
}

std::vector<NamedPart> NamedParts(const MakespanParts& parts) {
  std::vector<NamedPart> named = {{"computation, shared out evenly", parts.computation, 0},
                                  {"imbalance", parts.imbalance, 1},
                                  {"communication and waiting", parts.communication, 4},
                                  {"migration", parts.migration, 3},
                                  {"strategy", parts.strategy, 5},
                                  {"barriers", parts.barriers, 7}};
  // Rounding errors of a difference are no time.
  for (NamedPart& part : named) {
    if (std::fabs(part.seconds) < 1e-12 * parts.Total()) part.seconds = 0;
  }
  return named;
}

std::optional<NamedPart> MainLimit(const BalanceOutcome& outcome) {
  const std::vector<NamedPart> parts = NamedParts(outcome.parts);
  const auto largest = std::max_element(parts.begin() + 1, parts.end(),
                                        [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  if (!(outcome.makespan > 0) || largest->seconds < kShown * outcome.makespan) return std::nullopt;
  return *largest;
}

Sentences CaseAnswer(const WhatIf& what_if, const BalanceCase& one, const Partials& templates) {
  const BalanceVerdict verdict = VerdictOf(what_if, one);
  const bool is_judged = verdict != BalanceVerdict::kNothingBalanced && verdict != BalanceVerdict::kUnexplained;
  Data answer = {{"name", NameOfCase(what_if, one)},
                 {"ranks", CountText(one.processors, "rank")},
                 {"verdict", VerdictName(verdict)},
                 {"isAlone", one.processors == 1},
                 {"isUnbalanced", is_judged && IsUnbalanced(what_if.outcomes[*one.lead])},
                 {"isBalanced", false},
                 {"isAssumedSlow", false},
                 {"networks", false},
                 {"split", false}};
  if (verdict == BalanceVerdict::kUnexplained) {
    answer["ranks"] = CountText(what_if.runs[what_if.outcomes[*one.lead].configuration.run].ranks, "rank");
  }
  if (is_judged) {
    const BalanceOutcome &lead = what_if.outcomes[*one.lead], &best = what_if.outcomes[one.ranking.front()];
    const BalanceOutcome& reference = what_if.outcomes[ReferenceOf(what_if, one, lead)];
    const bool is_nothing_moved = verdict == BalanceVerdict::kNothingMoved;
    const auto moves_none = [&](std::size_t i) { return what_if.outcomes[i].migrations == 0; };
    answer.update(
        {{"lead", Named(what_if, one, lead)},
         {"reference", Named(what_if, one, reference)},
         {"best", Named(what_if, one, best)},
         {"isBalanced", !IsUnbalanced(lead) && !is_nothing_moved && verdict != BalanceVerdict::kNetworkDecides},
         {"isFiner", IsFiner(lead)},
         {"isOneTask", lead.configuration.tasks == 1},
         {"noneMoves", std::ranges::all_of(one.ranking, moves_none)},
         {"isMoving", best.migrations > 0},
         {"areMany", verdict == BalanceVerdict::kGains && lead.configuration.tasks != 1},
         {"isOverOriginal", lead.gain_over_original.has_value()},
         {"hasReference", &reference != &lead},
         {"isPlacedElsewhere", reference.configuration.placement != lead.configuration.placement},
         {"referencePlacement", NameOfPlacement(reference.configuration.placement)},
         {"iterations", CountText(what_if.runs[lead.configuration.run].iterations, "iteration")},
         {"bestChange", SayChange(LongRunIterationOf(what_if, best), LongRunIterationOf(what_if, lead))},
         {"longRunGain", SayGain(GainThatCounts(what_if, one, lead))},
         {"traceGain", SayGain(GainOverTrace(what_if, one, lead))},
         {"paysAfter", is_nothing_moved ? "" : PaysAfter(what_if, lead, reference)}});
    if (const auto range = NetworkRangeOf(what_if, *one.lead)) {
      const auto& [least, most] = *range;
      answer["networks"] = {{"least", SayGain(least->gain)},
                            {"slow", least->network},
                            {"most", SayGain(most->gain)},
                            {"fast", most->network}};
      answer["isAssumedSlow"] = IsUnbalanced(lead) || most->gain.value < kHardlyAGain;
    }
    if (IsFiner(lead) && !is_nothing_moved) {
      const double alone = what_if.outcomes[lead.baseline].makespan;
      answer["split"] = {{"makespan", FormatSeconds(alone)},
                         {"change", SayChange(alone, reference.makespan)},
                         {"balancing", SayChange(lead.makespan, alone)}};
    }
  }
  return RenderSentences(templates, "balance_answer.txt", answer);
}

Sentences Answers(const WhatIf& what_if, const Partials& templates) {
  const std::vector<BalanceCase> cases = CasesOf(what_if);
  if (cases.empty()) {
    return {what_if.left_out.empty() ? "Nothing was simulated."
                                     : "Nothing could be simulated: see below for what was left out, and why."};
  }
  const BalanceCase& first = MostTelling(what_if, cases);
  Sentences answers = CaseAnswer(what_if, first, templates);
  std::size_t told = 1;
  for (const BalanceCase& one : cases) {
    if (&one == &first || told == kMostAnswers) continue;
    for (std::string& sentence : CaseAnswer(what_if, one, templates)) {
      if (std::ranges::find(answers, sentence) == answers.end()) answers.push_back(std::move(sentence));
    }
    ++told;
  }
  if (cases.size() > told) answers.push_back(CountText(cases.size() - told, "case") + " more are in the table.");
  return answers;
}

Sentences Reasons(const WhatIf& what_if, const BalanceCase& one, const Partials& templates) {
  if (!one.lead || VerdictOf(what_if, one) == BalanceVerdict::kUnexplained) return {};
  const BalanceOutcome& best = what_if.outcomes[*one.lead];
  const BalanceOutcome& before = what_if.outcomes[ReferenceOf(what_if, one, best)];
  const BalanceRun& run = what_if.runs[best.configuration.run];
  std::vector<NamedPart> others = NamedParts(best.parts);  // without computation, largest first
  others.erase(others.begin());
  std::erase_if(others, [&](const NamedPart& part) { return part.seconds < kMatters * best.makespan; });
  std::ranges::stable_sort(others, std::ranges::greater(), &NamedPart::seconds);
  std::vector<std::string> rest;
  for (const NamedPart& part : others)
    rest.push_back(fmt::format("{} ({})", part.name, ShareOrDash(part.seconds, best.makespan)));
  Data reasons = {{"idle", Idle(what_if, one, best)},
                  {"loadChange", run.load_change ? FormatPercent(*run.load_change) : ""},
                  {"isSteady", run.load_change.value_or(1) < kSteady},
                  {"isUnsteady", run.load_change.value_or(0) >= kUnsteady},
                  {"later", LaterIterations(what_if, best)},
                  {"computation", FormatSeconds(best.parts.computation)},
                  {"computationShare", ShareOrDash(best.parts.computation, best.makespan)},
                  {"makespan", FormatSeconds(best.makespan)},
                  {"rest", Join(rest, ", ")},
                  {"costs", IsUnbalanced(best) ? Data(false) : CostsOfMoving(best)},
                  {"messages", false},
                  {"heaviest", false}};
  if (best.messages_between_processors != before.messages_between_processors) {
    reasons["messages"] = {{"now", CountText(best.messages_between_processors, "message")},
                           {"before", FormatCount(before.messages_between_processors)}};
  }
  // A task takes as long as it computes on every processor.
  const double heaviest = run.heaviest_task * static_cast<double>(best.configuration.processors);
  if (heaviest >= kTooHeavy) {
    reasons["heaviest"] = {{"seconds", FormatSeconds(heaviest * best.parts.computation)},
                           {"ratio", FormatRatio(heaviest)}};
  }
  return RenderSentences(templates, "balance_reasons.txt", reasons);
}

Sentences DescribeMappings(const WhatIf& what_if, const Partials& templates) {
  Data texts = Data::array();
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
    texts.push_back({{"ranks", FormatCount(run.ranks) + (run.grown_from ? " grown" : "")},
                     {"placement", NameOfPlacement(mapping.placement)},
                     {"nodes", CountText(mapping.nodes, "node")},
                     {"between", FormatFactor(mapping.load_balance_out)},
                     {"measuredBetween", FormatFactor(measured->load_balance_out)},
                     {"makespan", FormatSeconds(mapping.makespan)},
                     {"measuredMakespan", FormatSeconds(measured->makespan)},
                     {"gain", SayGain(mapping.gain)},
                     {"isConfirmed", gains},
                     {"isWorth", is_worth},
                     {"isInside", is_inside},
                     {"isUnconfirmed", !gains && !is_inside}});
  }
  return RenderSentences(templates, "balance_mappings.txt", {{"mappings", texts}});
}

Sentences DescribeFidelity(const WhatIf& what_if, const Partials& templates) {
  Data runs = Data::array();
  for (const BalanceRun& run : what_if.runs) {
    if (run.grown_from) continue;  // nothing is measured of it
    if (!(run.measured > 0) || std::fabs(run.replayed / run.measured - 1) < kFarOff) continue;
    runs.push_back({{"ranks", CountText(run.ranks, "rank")},
                    {"replayed", FormatSeconds(run.replayed)},
                    {"measured", FormatSeconds(run.measured)},
                    {"isUnexplained", run.is_unexplained}});
  }
  return RenderSentences(templates, "balance_fidelity.txt", {{"runs", runs}});
}

Sentences DescribeProjections(const std::vector<BalancedProjection>& list, const Partials& templates) {
  Data ways = Data::array();
  for (const BalancedFactor& table : TabulateBalanced(list)) {
    if (table.factor != Factor::kParallelEfficiency || !table.has_targets) continue;
    for (std::size_t way = 1; way < list.size(); ++way) {
      Data text = {{"label", list[way].label}, {"first", list.front().label}, {"processors", ""}};
      for (const auto& [cores, values] : table.rows) {  // the last that is known of both ways to run counts
        const std::optional<BalancedValue>&with = values[way], &without = values.front();
        if (!with || !without || std::max(with->reliability, without->reliability) > Reliability::kReliable) continue;
        const IntervalBounds a = Bounds(*with), b = Bounds(*without);
        text["processors"] = FormatCores(cores);
        text["with"] = WithBounds(*with);
        text["without"] = WithBounds(*without);
        text["overlap"] = a.high >= b.low && b.high >= a.low;
      }
      ways.push_back(std::move(text));
    }
  }
  return RenderSentences(templates, "balance_projections.txt", {{"ways", ways}});
}

LabelledTexts DescribeMethod(const WhatIf& what_if, const Partials& templates) {
  const auto grown = std::ranges::find_if(what_if.runs, [](const auto& run) { return run.grown_from.has_value(); });
  const bool is_grown = grown != what_if.runs.end();
  const Data method = {{"network", what_if.network},
                       {"computation", what_if.computation},
                       {"state", what_if.task_bytes_source},
                       {"predictor", what_if.predictor},
                       {"costs", what_if.cost_model},
                       {"replicas", what_if.noise_replicas == 0 ? "" : CountText(what_if.noise_replicas, "replica")},
                       {"grownFrom", is_grown ? FormatCoreCount(static_cast<double>(*grown->grown_from)) : ""},
                       {"hasSeveralRuns", what_if.runs.size() > 1},
                       {"isSameProblem", what_if.same_problem},
                       {"sharesTime", what_if.shares_time}};
  return RenderLabelledTexts(templates, "balance_method.txt", method);
}

Sentences DescribeLeftOut(const WhatIf& what_if) {
  std::vector<std::pair<std::string, Sentences>> reasons;
  for (const LeftOut& one : what_if.left_out) {
    auto found = std::ranges::find(reasons, one.why, &std::pair<std::string, Sentences>::first);
    if (found == reasons.end()) found = reasons.insert(reasons.end(), {one.why, {}});
    const BalanceConfiguration& configuration = one.configuration;
    // An interval that is too long for a run is left out whatever the strategy and the number of processors.
    const bool is_interval = configuration.interval > 0 && configuration.strategy.empty();
    found->second.push_back(
        is_interval ? fmt::format("balancing every {} with {}", CountText(configuration.interval, "iteration"),
                                  CountOfTasks(configuration))
                    : fmt::format("{} with {}", NameOfBalancing(configuration), TasksOn(configuration)));
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
