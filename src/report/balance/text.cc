#include "report/balance/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "balance/strategy.h"
#include "base/diagnostics.h"
#include "base/format.h"
#include "base/text.h"
#include "pages/text_table.h"
#include "planning/balance_cases.h"
#include "report/balance/sentences.h"

namespace farscale {
namespace {

constexpr std::size_t kMostNamed = 3;  // configurations by name that were left out for one reason
constexpr double kShown = 0.0005;      // shares below are 0.0 %

constexpr double kLargestCount = 9e18;  // bytes that an integer holds
constexpr double kExbibyte = 1152921504606846976.0;

std::string RanksOf(const WhatIf& what_if) {
  std::vector<std::string> ranks;
  for (const BalanceRun& run : what_if.runs) ranks.push_back(FormatCount(run.ranks));
  if (ranks.size() < 2) return Join(ranks, "");
  const std::string last = ranks.back();
  ranks.pop_back();
  return Join(ranks, ", ") + " and " + last;
}

std::string NameOfLeftOut(const BalanceConfiguration& configuration) {
  return fmt::format("{} with {}", NameOfBalancing(configuration), TasksOn(configuration));
}

}  // namespace

std::string NameOfPlacement(Placement placement) {
  switch (placement) {
    case Placement::kAsMeasured: return "as measured";
    case Placement::kBlock: return "in blocks";
    case Placement::kRoundRobin: break;
  }
  return "round robin";
}

std::string CountOf(std::size_t count, const std::string& one) {
  return fmt::format("{} {}{}", FormatCount(count), one, count == 1 ? "" : "s");
}

std::string TasksOn(const BalanceConfiguration& configuration) {
  return fmt::format("{} on {}", CountOf(configuration.tasks, "task"), CountOf(configuration.processors, "processor"));
}

std::string NameInCase(const WhatIf& what_if, const BalanceCase& one, const BalanceConfiguration& configuration) {
  const std::string name = NameOfBalancing(configuration);
  return HasSeveralPlacements(what_if, one) ? name + ", placed " + NameOfPlacement(configuration.placement) : name;
}

std::string NameWithTasks(const WhatIf& what_if, const BalanceCase& one, const BalanceConfiguration& configuration) {
  const std::string name =
      fmt::format("{} with {}", NameOfBalancing(configuration), CountOf(configuration.tasks, "task"));
  return HasSeveralPlacements(what_if, one) ? name + " placed " + NameOfPlacement(configuration.placement) : name;
}

std::string ShortName(const BalanceConfiguration& configuration) {
  std::string name = configuration.interval == 0
                         ? "no balancing"
                         : fmt::format("{} every {}", StrategyById(configuration.strategy).name, configuration.interval);
  return fmt::format("{}, {} a processor", name,
                     configuration.level() == 1 ? "one task" : FormatCores(configuration.level()) + " tasks");
}

std::string NameOfCase(const WhatIf& what_if, const BalanceCase& one) {
  std::string name = CountOf(one.processors, "processor");
  if (one.run && what_if.runs.size() > 1)
    name += fmt::format(" (run on {})", CountOf(what_if.runs[*one.run].ranks, "rank"));
  return name;
}

std::string SayGain(double gain) {
  if (std::fabs(gain) < kShown) return "no change";
  return FormatPercent(std::fabs(gain)) + (gain > 0 ? " less" : " more");
}

std::string SayChange(double makespan, double reference) {
  const std::string change = SayGain(1 - makespan / reference);
  return change == "no change" ? "no more and no less" : change;
}

std::string SayBytes(double bytes) {
  if (bytes < kLargestCount) return FormatBytes(static_cast<std::uint64_t>(std::max(0.0, bytes)));
  return fmt::format("{:.3g} EiB", bytes / kExbibyte);
}

bool HasInterval(const Gain& gain) { return gain.low < gain.high; }

std::string SayGain(const Gain& gain) {
  if (!HasInterval(gain)) return SayGain(gain.value);
  const bool is_loss = gain.value <= -kShown;
  const double low = is_loss ? -gain.high : gain.low, high = is_loss ? -gain.low : gain.high;
  return fmt::format("{} (80 % of the replicas between {} and {})", SayGain(gain.value), FormatPercent(low),
                     FormatPercent(high));
}

std::string GainInterval(const Gain& gain) {
  return HasInterval(gain) ? FormatPercent(gain.low) + " – " + FormatPercent(gain.high) : "";
}

std::vector<NamedPart> PartsOf(const MakespanParts& parts) {
  std::vector<NamedPart> named = {{"computation, shared out evenly", parts.computation, 0},
                                  {"imbalance", parts.imbalance, 1},
                                  {"communication and waiting", parts.communication, 4},
                                  {"migration", parts.migration, 3},
                                  {"strategy", parts.strategy, 5},
                                  {"barriers", parts.barriers, 7}};
  // What is left of a difference of doubles is no time.
  for (NamedPart& part : named) {
    if (std::fabs(part.seconds) < 1e-12 * parts.Total()) part.seconds = 0;
  }
  return named;
}

std::optional<NamedPart> LimitOf(const BalanceOutcome& outcome) {
  const std::vector<NamedPart> parts = PartsOf(outcome.parts);
  const auto largest = std::max_element(parts.begin() + 1, parts.end(),
                                        [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  if (!(outcome.makespan > 0) || largest->seconds < kShown * outcome.makespan) return std::nullopt;
  return *largest;
}

std::string DescribeWhatIf(const WhatIf& what_if) {
  if (what_if.runs.empty()) return "No run was replayed.";
  const std::size_t balanced = what_if.by_time.size();
  return fmt::format("{} of {} on {} ranks, replayed in {}, {} of them with balancing.",
                     what_if.phase.empty() ? "All" : "Phase " + what_if.phase, CountOf(what_if.runs.size(), "run"),
                     RanksOf(what_if), CountOf(what_if.outcomes.size(), "configuration"),
                     balanced == 0 ? "none" : FormatCount(balanced));
}

std::vector<std::pair<std::string, std::string>> DescribeMethod(const WhatIf& what_if) {
  std::vector<std::pair<std::string, std::string>> method;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) method.emplace_back(name, value);
  };
  add("Tasks",
      "Ranks of a run are tasks; a processor runs one ready task at a time and takes the next where it waits.");
  add("Network", what_if.network);
  add("Computation", what_if.computation);
  add("State of a task", what_if.task_bytes_source);
  add("Loads that strategies are given", what_if.predictor);
  add("Costs of balancing", what_if.cost_model);
  add("Noise", what_if.noise_replicas == 0
                   ? "No replicas: how much noise changes is not known."
                   : fmt::format("{} with the noise of the run in another order, of the best configurations and of "
                                 "what they are compared with.",
                                 CountOf(what_if.noise_replicas, "replica")));
  add("Problem",
      what_if.runs.size() < 2
          ? ""
          : (what_if.same_problem ? "The runs solve the same problem, so their makespans compare."
                                  : "The problem grows with the ranks: only makespans of the same run compare."));
  return method;
}

std::vector<std::string> DescribeLeftOut(const WhatIf& what_if) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const LeftOut& one : what_if.left_out) {
    auto found =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto& reason) { return reason.first == one.why; });
    if (found == reasons.end()) found = reasons.insert(reasons.end(), {one.why, {}});
    found->second.push_back(NameOfLeftOut(one.configuration));
  }
  std::vector<std::string> sentences;
  for (auto& [why, names] : reasons) {
    const std::size_t count = names.size();
    std::string more;
    if (count > kMostNamed) {
      names.resize(kMostNamed);
      more = fmt::format(" and {} more", FormatCount(count - kMostNamed));
    }
    sentences.push_back(fmt::format("{}{}: {}", Join(names, ", "), more, why));
  }
  return sentences;
}

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string Lines(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += sentence + "\n";
  return text;
}

// Parts of a text are a line apart.
void AddBlock(const std::string& block, std::string& text) {
  if (block.empty()) return;
  text += (text.empty() ? "" : "\n") + block;
}

// A column that has something to say: its heading and its cell of an outcome.
struct OutcomeColumn {
  std::string heading;
  std::string (*cell)(const WhatIf&, const BalanceOutcome&);
};

std::string GainCell(const Gain& gain) {
  const std::string interval = GainInterval(gain);
  return FormatPercent(gain.value) + (interval.empty() ? "" : fmt::format(" ({})", interval));
}

std::vector<OutcomeColumn> ColumnsOf(const WhatIf& what_if, const BalanceCase& one) {
  std::vector<OutcomeColumn> columns = {
      {"tasks", [](const WhatIf&, const BalanceOutcome& outcome) { return FormatCount(outcome.configuration.tasks); }},
      {"a processor",
       [](const WhatIf&, const BalanceOutcome& outcome) { return FormatCores(outcome.configuration.level()); }}};
  const auto any = [&](auto condition) {
    return std::any_of(one.outcomes.begin(), one.outcomes.end(),
                       [&](std::size_t i) { return condition(what_if.outcomes[i]); });
  };
  if (HasSeveralPlacements(what_if, one)) {
    columns.push_back({"placed", [](const WhatIf&, const BalanceOutcome& outcome) {
                         return NameOfPlacement(outcome.configuration.placement);
                       }});
  }
  columns.push_back({"iteration of a long run", [](const WhatIf& all, const BalanceOutcome& outcome) {
                       return FormatSeconds(LongRunIterationOf(all, outcome));
                     }});
  columns.push_back(
      {"makespan", [](const WhatIf&, const BalanceOutcome& outcome) { return FormatSeconds(outcome.makespan); }});
  columns.push_back({"gain", [](const WhatIf&, const BalanceOutcome& outcome) {
                       return IsUnbalanced(outcome) ? std::string("-") : GainCell(outcome.gain);
                     }});
  if (any([](const BalanceOutcome& outcome) { return outcome.gain_over_original.has_value(); })) {
    columns.push_back({"over the original run", [](const WhatIf&, const BalanceOutcome& outcome) {
                         return outcome.gain_over_original ? GainCell(*outcome.gain_over_original) : "-";
                       }});
  }
  columns.push_back({"load balance",
                     [](const WhatIf&, const BalanceOutcome& outcome) { return FormatFactor(outcome.load_balance); }});
  columns.push_back({"migrations", [](const WhatIf&, const BalanceOutcome& outcome) {
                       return IsUnbalanced(outcome) ? std::string("-") : FormatCount(outcome.migrations);
                     }});
  columns.push_back({"limited by", [](const WhatIf&, const BalanceOutcome& outcome) {
                       const std::optional<NamedPart> limit = LimitOf(outcome);
                       return limit
                                  ? fmt::format("{} {}", limit->name, FormatPercent(limit->seconds / outcome.makespan))
                                  : std::string("-");
                     }});
  return columns;
}

std::string TableOfCase(const WhatIf& what_if, const BalanceCase& one, std::size_t top) {
  const std::vector<OutcomeColumn> columns = ColumnsOf(what_if, one);
  Rows rows = {{"Balancing"}};
  for (const OutcomeColumn& column : columns) rows[0].push_back(column.heading);
  const auto add = [&](std::size_t i) {
    const BalanceOutcome& outcome = what_if.outcomes[i];
    rows.push_back({NameOfBalancing(outcome.configuration)});
    for (const OutcomeColumn& column : columns) rows.back().push_back(column.cell(what_if, outcome));
  };
  std::size_t place = 0;
  for (const std::size_t i : RowsOf(what_if, one)) {
    if (IsUnbalanced(what_if.outcomes[i]) || place++ < top) add(i);
  }
  std::string text = FormatTable(rows);
  if (one.ranking.size() > top) {
    text += fmt::format("{} more\n", CountOf(one.ranking.size() - top, "configuration"));
  }
  return text;
}

// Of several cases, each in a line.
std::string CaseTable(const WhatIf& what_if, const std::vector<BalanceCase>& cases) {
  if (cases.size() < 2) return "";
  Rows rows = {{"Case", "", "tasks", "iteration of a long run", "instead of", "gain"}};
  for (const BalanceCase& one : cases) {
    rows.push_back({NameOfCase(what_if, one)});
    if (!one.lead) {
      rows.back().insert(rows.back().end(), {"nothing was balanced", "-", "-", "-", "-"});
      continue;
    }
    const BalanceOutcome& lead = what_if.outcomes[*one.lead];
    rows.back().insert(rows.back().end(),
                       {NameInCase(what_if, one, lead.configuration), FormatCount(lead.configuration.tasks),
                        FormatSeconds(LongRunIterationOf(what_if, lead)),
                        FormatSeconds(LongRunIterationOf(what_if, what_if.outcomes[ReferenceOf(what_if, one, lead)])),
                        GainCell(GainThatCounts(what_if, one, lead))});
  }
  return FormatTable(rows);
}

std::string MappingTable(const WhatIf& what_if) {
  if (what_if.mappings.empty()) return "";
  Rows rows = {
      {"Ranks on nodes", "ranks", "nodes", "balance within", "between", "remote messages", "makespan", "gain"}};
  for (const NodeMapping& mapping : what_if.mappings) {
    rows.push_back({NameOfPlacement(mapping.placement), FormatCount(what_if.runs[mapping.run].ranks),
                    FormatCount(mapping.nodes), FormatFactor(mapping.load_balance_in),
                    FormatFactor(mapping.load_balance_out), FormatPercent(mapping.remote_share),
                    FormatSeconds(mapping.makespan),
                    mapping.placement == Placement::kAsMeasured ? "-" : GainCell(mapping.gain)});
  }
  return FormatTable(rows) + Lines(SayMappings(what_if));
}

// Those in which most is gained, in full.
void AddCases(const WhatIf& what_if, const std::vector<BalanceCase>& cases, std::size_t top, std::string& text) {
  const std::vector<bool> is_detailed = ChooseDetailed(what_if, cases);
  std::size_t others = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!is_detailed[i] && cases.size() > 1) {
      ++others;
      continue;
    }
    const BalanceCase& one = cases[i];
    AddBlock(AnswerOf(what_if, one) + "\n" + Lines(ReasonsOf(what_if, one)) + Lines(AdviceOf(what_if, one)), text);
    AddBlock(TableOfCase(what_if, one, top), text);
  }
  if (others == 0) return;
  AddBlock(fmt::format("{} more {} in the table above; -o FOLDER or -o FILE.json has all configurations of all.\n",
                       CountOf(others, "case"), others == 1 ? "is" : "are"),
           text);
}

std::string MethodText(const WhatIf& what_if) {
  std::string text = DescribeWhatIf(what_if) + "\n";
  for (const auto& [name, value] : DescribeMethod(what_if)) text += fmt::format("{}: {}\n", name, value);
  return text;
}

}  // namespace

std::string FormatWhatIf(const WhatIf& what_if, std::size_t top) {
  const std::vector<BalanceCase> cases = CasesOf(what_if);
  std::string text;
  AddBlock((what_if.title.empty() ? "" : what_if.title + "\n") + MethodText(what_if), text);
  AddBlock(Lines(SayFidelity(what_if)), text);
  if (cases.empty()) AddBlock(Lines(AnswersOf(what_if)), text);
  AddBlock(CaseTable(what_if, cases), text);
  AddCases(what_if, cases, top, text);
  AddBlock(MappingTable(what_if), text);
  std::vector<std::string> left_out = DescribeLeftOut(what_if);
  if (!left_out.empty()) AddBlock("Left out:\n" + Lines(left_out), text);
  std::string findings;
  for (const Finding& finding : what_if.findings) {
    if (finding.severity == Severity::kWarning) findings += ToSentence(finding) + "\n";
  }
  AddBlock(findings, text);
  return text;
}

}  // namespace farscale
