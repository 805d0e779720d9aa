#include "report/balance/pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.h"
#include "base/text.h"
#include "base/version.h"
#include "planning/balance_cases.h"
#include "report/balance/figures.h"
#include "report/balance/names.h"
#include "report/balance/sentences.h"
#include "report/cells.h"
#include "report/figures.h"

namespace farscale {
namespace {

using Data = ReportData;

constexpr const char* kNone = "–";

// A case in a line.
struct CaseLine {
  std::string name, best, tasks, iteration, instead, gain, interval;
  bool is_balanced = false;
  FARSCALE_TAGS(name, best, tasks, iteration, instead, gain, interval, is_balanced)
};

CaseLine LineOf(const WhatIf& what_if, const BalanceCase& one) {
  CaseLine line{.name = NameOfCase(what_if, one)};
  if (!one.lead) return line;
  const BalanceOutcome& best = what_if.outcomes[*one.lead];
  const Gain gain = GainThatCounts(what_if, one, best);
  line.best = NameInCase(what_if, one, best.configuration);
  line.tasks = FormatCount(best.configuration.tasks) + (best.configuration.is_grown ? ", grown" : "");
  line.iteration = FormatSeconds(LongRunIterationOf(what_if, best));
  line.instead = FormatSeconds(LongRunIterationOf(what_if, what_if.outcomes[ReferenceOf(what_if, one, best)]));
  line.gain = FormatPercent(gain.value);
  line.interval = GainInterval(gain);
  line.is_balanced = true;
  const BalanceVerdict verdict = VerdictOf(what_if, one);
  if (verdict == BalanceVerdict::kUnexplained) {
    line.gain = "unknown";
    line.interval.clear();
  }
  // Whatever it gains is not of balancing.
  if (verdict == BalanceVerdict::kNothingMoved) {
    line.best = "nothing worth moving";
    line.iteration = line.instead;
    line.gain = "none";
    line.interval.clear();
  }
  return line;
}

// A configuration of a case.
struct ConfigurationRow {
  std::string name, processors, tasks, level, placement, iteration, makespan;
  std::string gain = kNone, interval, original = kNone, original_interval;
  std::string load_balance, parallel_efficiency, migrations = kNone, moved = kNone;
  std::string later = kNone, later_without, limit = kNone, limit_name;
  bool is_top = false, is_balanced = false;
  FARSCALE_TAGS(name, processors, tasks, level, placement, iteration, makespan, gain, interval, original,
                original_interval, load_balance, parallel_efficiency, migrations, moved, later, later_without, limit,
                limit_name, is_top, is_balanced)
};

ConfigurationRow RowOf(const WhatIf& what_if, const BalanceOutcome& outcome, bool is_top) {
  const BalanceConfiguration& configuration = outcome.configuration;
  ConfigurationRow row{.name = NameOfBalancing(configuration),
                       .processors = FormatCount(configuration.processors),
                       .tasks = FormatCount(configuration.tasks) + (configuration.is_grown ? ", grown" : ""),
                       .level = FormatCores(configuration.level()),
                       .placement = NameOfPlacement(configuration.placement),
                       .iteration = FormatSeconds(LongRunIterationOf(what_if, outcome)),
                       .makespan = FormatSeconds(outcome.makespan),
                       .load_balance = FormatFactor(outcome.load_balance),
                       .parallel_efficiency = FormatFactor(outcome.parallel_efficiency),
                       .is_top = is_top,
                       .is_balanced = !IsUnbalanced(outcome)};
  if (row.is_balanced) {
    row.gain = FormatPercent(outcome.gain.value);
    row.interval = GainInterval(outcome.gain);
    row.migrations = FormatCount(outcome.migrations);
    row.moved = SayBytes(outcome.migrated_bytes);
  }
  if (outcome.gain_over_original) {
    row.original = FormatPercent(outcome.gain_over_original->value);
    row.original_interval = GainInterval(*outcome.gain_over_original);
  }
  if (outcome.later_iteration) row.later = FormatSeconds(*outcome.later_iteration);
  if (outcome.later_iteration && outcome.later_iteration_without) {
    row.later_without = FormatSeconds(*outcome.later_iteration_without);
  }
  if (const std::optional<NamedPart> limit = LimitOf(outcome)) {
    row.limit = FormatPercent(limit->seconds / outcome.makespan);
    row.limit_name = limit->name;
  }
  return row;
}

// What the case is told by, best first, then what is not balanced.
std::vector<ConfigurationRow> ConfigurationsOf(const WhatIf& what_if, const BalanceCase& one, std::size_t top) {
  std::vector<ConfigurationRow> rows;
  std::size_t place = 0;
  for (const std::size_t i : RowsOf(what_if, one)) {
    const bool is_unbalanced = IsUnbalanced(what_if.outcomes[i]);
    rows.push_back(RowOf(what_if, what_if.outcomes[i], is_unbalanced || place < top));
    place += is_unbalanced ? 0 : 1;
  }
  return rows;
}

// One of the cases in which most is gained.
struct CaseDetail {
  std::string name, anchor;
  bool is_one_of_many = false, has_advice = false, has_figures = false;
  Sentences answer, reasons, advice;
  Data figures;
  std::vector<ConfigurationRow> configurations;
  std::string more_configurations;
  FARSCALE_TAGS(name, anchor, is_one_of_many, has_advice, has_figures, answer, reasons, advice, figures, configurations,
                more_configurations)
};

struct MappingRow {
  std::string name, ranks, nodes, within, between, remote, makespan, gain = kNone, interval;
  FARSCALE_TAGS(name, ranks, nodes, within, between, remote, makespan, gain, interval)
};

std::vector<MappingRow> MappingsOf(const WhatIf& what_if) {
  std::vector<MappingRow> rows;
  for (const NodeMapping& mapping : what_if.mappings) {
    rows.push_back({NameOfPlacement(mapping.placement), RanksOf(what_if.runs[mapping.run]), FormatCount(mapping.nodes),
                    FormatFactor(mapping.load_balance_in), FormatFactor(mapping.load_balance_out),
                    FormatPercent(mapping.remote_share), FormatSeconds(mapping.makespan)});
    if (mapping.placement == Placement::kAsMeasured) continue;
    rows.back().gain = FormatPercent(mapping.gain.value);
    rows.back().interval = GainInterval(mapping.gain);
  }
  return rows;
}

struct RunRow {
  FARSCALE_TEXTS(path, ranks, nodes, iterations, measured, replayed, load_balance, heaviest, state)
};

std::vector<RunRow> RunsOf(const WhatIf& what_if) {
  std::vector<RunRow> rows;
  for (const BalanceRun& run : what_if.runs) {
    rows.push_back({run.path, RanksOf(run), run.nodes > 0 ? FormatCount(run.nodes) : kNone, FormatCount(run.iterations),
                    FormatSeconds(run.measured), FormatSeconds(run.replayed), FormatFactor(run.load_balance),
                    run.heaviest_task > 0 ? FormatPercent(run.heaviest_task) : kNone, SayBytes(run.task_bytes)});
  }
  return rows;
}

// The best configuration with other states of its tasks.
Data StateCostsOf(const WhatIf& what_if) {
  Data rows = Data::array();
  if (!DependsOnState(what_if)) return rows;
  for (const StateCost& cost : what_if.state_costs) {
    rows.push_back({{"factor", cost.factor == 0 ? "none" : FormatRatio(cost.factor)},
                    {"makespan", FormatSeconds(cost.makespan)},
                    {"gain", FormatPercent(cost.gain.value)}});
  }
  return rows;
}

Data FindingsOf(const WhatIf& what_if) {
  Data list = Data::array();
  for (const Finding& finding : what_if.findings) {
    list.push_back({{"id", finding.id},
                    {"severity", finding.severity == Severity::kWarning ? "warning" : "note"},
                    {"isWarning", finding.severity == Severity::kWarning},
                    {"sentence", finding.sentence},
                    {"detail", DetailOf(finding)}});
  }
  return list;
}

Data MethodOf(const WhatIf& what_if, const Partials& templates) {
  Data list = Data::array();
  for (const auto& [name, value] : DescribeMethod(what_if, templates))
    list.push_back({{"name", name}, {"value", value}});
  return list;
}

struct BalancedCell {
  std::string text = kNone, interval, color = kNoColor, tone = kNoTone;
  FARSCALE_TAGS(text, interval, color, tone)
};

BalancedCell CellOf(Factor factor, const std::optional<BalancedValue>& value) {
  if (!value) return {};
  const std::string number = FormatValue(factor, value->value), bounds = FormatBounds(factor, value->interval80);
  const std::string level = ToString(value->reliability);
  if (value->reliability == Reliability::kUnknown) return {level, "", kUncertainColor, kUncertainTone};
  if (value->reliability == Reliability::kUncertain) {
    return {fmt::format("{} ({})", level, bounds), "", kUncertainColor, kUncertainTone};
  }
  return {number, value->is_replayed ? "" : bounds, PopColor(value->value), PopTone(value->value)};
}

// Ways to run need not be replayed on as many processors: one can be projected where another was replayed.
Data RowOf(Factor factor, const BalancedFactor::Row& row) {
  Data cells = Data::array();
  bool has_replayed = false, has_projected = false;
  for (const std::optional<BalancedValue>& value : row.ways) {
    has_replayed = has_replayed || (value && value->is_replayed);
    has_projected = has_projected || (value && !value->is_replayed);
    cells.push_back(farscale::ToData(CellOf(factor, value)));
  }
  const char* both = has_projected ? "replayed, or projected with an interval" : "replayed";
  return {{"cores", FormatCores(row.cores)},
          {"isProjected", !has_replayed},
          {"kind", has_replayed ? both : "projected"},
          {"cells", std::move(cells)}};
}

Data ProjectionsOf(const std::vector<BalancedProjection>& list) {
  Data tables = Data::array();
  const std::vector<BalancedFactor> all = TabulateBalanced(list);
  for (const BalancedFactor& one : all) {
    if (one.rows.empty()) continue;
    std::string caption = Name(one.factor);
    if (all.size() > 2)
      caption += fmt::format(" of {}{}{}", one.series, one.series.empty() ? "" : ", ", one.phase.Text());
    Data columns = Data::array(), rows = Data::array();
    for (const BalancedProjection& way : list) columns.push_back({{"name", way.label}});
    for (const BalancedFactor::Row& row : one.rows) rows.push_back(RowOf(one.factor, row));
    tables.push_back({{"caption", caption}, {"columns", std::move(columns)}, {"rows", std::move(rows)}});
  }
  return tables;
}

std::string RanksOf(const WhatIf& what_if) {
  std::vector<std::string> ranks;
  for (const BalanceRun& run : what_if.runs)
    ranks.push_back(FormatCount(run.ranks) + (run.grown_from ? " (grown)" : ""));
  if (ranks.size() < 2) return Join(ranks, "");
  const std::string last = ranks.back();
  ranks.pop_back();
  return Join(ranks, ", ") + " and " + last;
}

bool AnyOutcome(const WhatIf& what_if, auto condition) { return std::ranges::any_of(what_if.outcomes, condition); }

void AddCases(const WhatIf& what_if, const Partials& templates, std::size_t top, ReportModel& model) {
  const std::vector<BalanceCase> cases = CasesOf(what_if);
  const std::vector<bool> is_detailed = ChooseDetailed(what_if, cases);
  std::vector<CaseLine> lines;
  std::vector<CaseDetail> details;
  std::vector<ConfigurationRow> configurations;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    lines.push_back(LineOf(what_if, cases[i]));
    const std::vector<ConfigurationRow> rows = ConfigurationsOf(what_if, cases[i], top);
    configurations.insert(configurations.end(), rows.begin(), rows.end());
    if (!is_detailed[i]) continue;
    const std::string slug = fmt::format("balance-case-{}", i + 1);
    CaseDetail detail{.name = NameOfCase(what_if, cases[i]),
                      .anchor = slug,
                      .is_one_of_many = cases.size() > 1,
                      .answer = AnswerOf(what_if, cases[i], templates),
                      .reasons = ReasonsOf(what_if, cases[i], templates),
                      .advice = AdviceOf(what_if, cases[i], templates),
                      .figures = FiguresOfCase(what_if, cases[i], slug, model),
                      .configurations = rows};
    detail.has_advice = !detail.advice.empty();
    detail.has_figures = !detail.figures.empty();
    if (cases[i].ranking.size() > top) {
      detail.more_configurations = CountOf(cases[i].ranking.size() - top, "configuration");
    }
    details.push_back(std::move(detail));
  }
  const bool has_more = std::ranges::any_of(configurations, [](const auto& row) { return !row.is_top; });
  const std::size_t others = cases.size() - details.size();
  model.data["cases"] = farscale::ToData(lines);
  model.data["hasSeveralCases"] = cases.size() > 1;
  model.data["otherCases"] = !details.empty() && others > 0 ? CountOf(others, "case") : "";
  model.data["details"] = farscale::ToData(details);
  model.data["configurations"] = farscale::ToData(configurations);
  model.data["hasMoreConfigurations"] = has_more;
}

}  // namespace

ReportModel BuildBalanceModel(const WhatIf& what_if, const Partials& templates,
                              const std::vector<BalancedProjection>& projections, std::size_t top) {
  ReportModel model;
  const std::size_t balanced = what_if.by_time.size();
  Data& data = model.data;
  data = {{"title", what_if.title},
          {"generator", Generator()},
          {"phase", what_if.phase},
          {"anchor", "balance"},
          {"ranks", RanksOf(what_if)},
          {"runCount", CountOf(what_if.runs.size(), "run")},
          {"configurationCount", CountOf(what_if.outcomes.size(), "configuration")},
          {"balancedCount", balanced == 0 ? "" : FormatCount(balanced)},
          {"answers", AnswersOf(what_if, templates)},
          {"hasReplicas", what_if.noise_replicas > 0}};
  data["hasSeveralPlacements"] = AnyOutcome(what_if, [&](const BalanceOutcome& outcome) {
    return outcome.configuration.placement != what_if.outcomes.front().configuration.placement;
  });
  data["hasOriginal"] = AnyOutcome(what_if, [](const auto& outcome) { return outcome.gain_over_original.has_value(); });
  data["hasLaterIterations"] =
      AnyOutcome(what_if, [](const auto& outcome) { return outcome.later_iteration.has_value(); });
  AddCases(what_if, templates, top, model);
  data["maps"] = LoadMaps(what_if, "balance", model);
  data["averages"] = AverageLoadFigures(what_if, "balance", model);
  data["projections"] = ProjectionsOf(projections);
  data["projectionSentences"] = DescribeProjections(projections, templates);
  data["mappings"] = farscale::ToData(MappingsOf(what_if));
  data["mappingSentences"] = DescribeMappings(what_if, templates);
  data["productionSentences"] = DescribeProduction(what_if, templates);
  data["leftOut"] = DescribeLeftOut(what_if);
  data["runs"] = farscale::ToData(RunsOf(what_if));
  data["stateCosts"] = StateCostsOf(what_if);
  data["fidelity"] = DescribeFidelity(what_if, templates);
  data["method"] = MethodOf(what_if, templates);
  data["diagnostics"] = FindingsOf(what_if);
  AddWhetherFilled(data, {"details", "configurations", "maps", "averages", "projections", "mappings", "leftOut", "runs",
                          "stateCosts", "fidelity", "diagnostics", "productionSentences"});
  return model;
}

std::string WriteBalanceText(const ReportModel& model, const Partials& templates, std::size_t width) {
  return RenderText(templates, "balance.txt", model.data, width);
}

}  // namespace farscale
