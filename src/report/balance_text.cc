#include "report/balance_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.h"
#include "base/format.h"
#include "report/balance_answers.h"
#include "report/balance_cases.h"
#include "report/balance_reasons.h"
#include "report/balance_words.h"
#include "pages/text_table.h"

namespace farscale {
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
struct Column {
  std::string heading;
  std::string (*cell)(const WhatIf&, const BalanceOutcome&);
};

std::string GainCell(const Gain& gain) {
  const std::string interval = GainInterval(gain);
  return FormatPercent(gain.value) + (interval.empty() ? "" : fmt::format(" ({})", interval));
}

std::vector<Column> ColumnsOf(const WhatIf& what_if, const BalanceCase& one) {
  std::vector<Column> columns = {
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
  const std::vector<Column> columns = ColumnsOf(what_if, one);
  Rows rows = {{"Balancing"}};
  for (const Column& column : columns) rows[0].push_back(column.heading);
  const auto add = [&](std::size_t i) {
    const BalanceOutcome& outcome = what_if.outcomes[i];
    rows.push_back({NameOfBalancing(outcome.configuration)});
    for (const Column& column : columns) rows.back().push_back(column.cell(what_if, outcome));
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
