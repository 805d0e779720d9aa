#include "report/balance/pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.h"
#include "base/text.h"
#include "base/files.h"
#include "report/figures.h"

namespace farscale {
namespace {

using Data = ReportData;

constexpr const char* kNone = "–";

// A case in a line.
Data CaseLine(const WhatIf& what_if, const BalanceCase& one) {
  Data line = {{"name", NameOfCase(what_if, one)}, {"isBalanced", one.lead.has_value()}};
  if (!one.lead) return line;
  const BalanceOutcome& best = what_if.outcomes[*one.lead];
  const BalanceOutcome& reference = what_if.outcomes[ReferenceOf(what_if, one, best)];
  const Gain gain = GainThatCounts(what_if, one, best);
  const BalanceVerdict verdict = VerdictOf(what_if, one);
  // Whatever it gains where nothing moved is not of balancing.
  const bool is_unexplained = verdict == BalanceVerdict::kUnexplained,
             is_still = verdict == BalanceVerdict::kNothingMoved;
  const std::string instead = FormatSeconds(LongRunIterationOf(what_if, reference));
  line.update({{"best", is_still ? "nothing worth moving" : NameInCase(what_if, one, best.configuration)},
               {"tasks", FormatCount(best.configuration.tasks) + (best.configuration.is_grown ? ", grown" : "")},
               {"iteration", is_still ? instead : FormatSeconds(LongRunIterationOf(what_if, best))},
               {"instead", instead},
               {"gain", is_still         ? "none"
                        : is_unexplained ? "unknown"
                                         : FormatPercent(gain.value)},
               {"interval", is_still || is_unexplained ? "" : GainInterval(gain)}});
  return line;
}

// The configurations that describe the case, best first, then what is not balanced.
Data Configurations(const WhatIf& what_if, const BalanceCase& one, std::size_t top) {
  Data rows = Data::array();
  std::size_t place = 0;
  for (const std::size_t i : RowsOf(what_if, one)) {
    const BalanceOutcome& outcome = what_if.outcomes[i];
    const BalanceConfiguration& configuration = outcome.configuration;
    const bool is_balanced = !IsUnbalanced(outcome);
    const std::optional<Gain>& original = outcome.gain_over_original;
    const std::optional<NamedPart> limit = MainLimit(outcome);
    const bool has_without = outcome.later_iteration && outcome.later_iteration_without;
    rows.push_back({{"name", NameOfBalancing(configuration)},
                    {"processors", FormatCount(configuration.processors)},
                    {"tasks", FormatCount(configuration.tasks) + (configuration.is_grown ? ", grown" : "")},
                    {"level", FormatCores(configuration.level())},
                    {"placement", NameOfPlacement(configuration.placement)},
                    {"iteration", FormatSeconds(LongRunIterationOf(what_if, outcome))},
                    {"makespan", FormatSeconds(outcome.makespan)},
                    {"gain", is_balanced ? FormatPercent(outcome.gain.value) : kNone},
                    {"interval", is_balanced ? GainInterval(outcome.gain) : ""},
                    {"original", original ? FormatPercent(original->value) : kNone},
                    {"originalInterval", original ? GainInterval(*original) : ""},
                    {"loadBalance", FormatFactor(outcome.load_balance)},
                    {"parallelEfficiency", FormatFactor(outcome.parallel_efficiency)},
                    {"migrations", is_balanced ? FormatCount(outcome.migrations) : kNone},
                    {"moved", is_balanced ? SayBytes(outcome.migrated_bytes) : kNone},
                    {"later", outcome.later_iteration ? FormatSeconds(*outcome.later_iteration) : kNone},
                    {"laterWithout", has_without ? FormatSeconds(*outcome.later_iteration_without) : ""},
                    {"limit", limit ? FormatPercent(limit->seconds / outcome.makespan) : kNone},
                    {"limitName", limit ? limit->name : ""},
                    {"isTop", !is_balanced || place < top},
                    {"isBalanced", is_balanced}});
    place += is_balanced ? 1 : 0;
  }
  return rows;
}

Data Mappings(const WhatIf& what_if) {
  Data rows = Data::array();
  for (const NodeMapping& mapping : what_if.mappings) {
    const bool is_measured = mapping.placement == Placement::kAsMeasured;
    rows.push_back({{"name", NameOfPlacement(mapping.placement)},
                    {"ranks", RanksText(what_if.runs[mapping.run])},
                    {"nodes", FormatCount(mapping.nodes)},
                    {"within", FormatFactor(mapping.load_balance_in)},
                    {"between", FormatFactor(mapping.load_balance_out)},
                    {"remote", FormatPercent(mapping.remote_share)},
                    {"makespan", FormatSeconds(mapping.makespan)},
                    {"gain", is_measured ? kNone : FormatPercent(mapping.gain.value)},
                    {"interval", is_measured ? "" : GainInterval(mapping.gain)}});
  }
  return rows;
}

Data Runs(const WhatIf& what_if) {
  Data rows = Data::array();
  for (const BalanceRun& run : what_if.runs) {
    rows.push_back({{"path", run.path},
                    {"ranks", RanksText(run)},
                    {"nodes", run.nodes > 0 ? FormatCount(run.nodes) : kNone},
                    {"iterations", FormatCount(run.iterations)},
                    {"measured", FormatSeconds(run.measured)},
                    {"replayed", FormatSeconds(run.replayed)},
                    {"loadBalance", FormatFactor(run.load_balance)},
                    {"heaviest", run.heaviest_task > 0 ? FormatPercent(run.heaviest_task) : kNone},
                    {"state", SayBytes(run.task_bytes)}});
  }
  return rows;
}

// The best configuration with other states of its tasks.
Data StateCosts(const WhatIf& what_if) {
  Data rows = Data::array();
  if (!DependsOnState(what_if)) return rows;
  for (const StateCost& cost : what_if.state_costs) {
    rows.push_back({{"factor", cost.factor == 0 ? "none" : FormatRatio(cost.factor)},
                    {"makespan", FormatSeconds(cost.makespan)},
                    {"gain", FormatPercent(cost.gain.value)}});
  }
  return rows;
}

// Ways to run need not be replayed on as many processors: one can be projected where another was replayed.
Data ProjectionTables(const std::vector<BalancedProjection>& list) {
  Data tables = Data::array();
  const std::vector<BalancedFactor> all = TabulateBalanced(list);
  for (const BalancedFactor& one : all) {
    if (one.rows.empty()) continue;
    std::string caption = Name(one.factor);
    if (all.size() > 2)
      caption += fmt::format(" of {}{}{}", one.series, one.series.empty() ? "" : ", ", one.phase.Text());
    Data columns = Data::array(), rows = Data::array();
    for (const BalancedProjection& way : list) columns.push_back({{"name", way.label}});
    for (const auto& [cores, ways] : one.rows) {
      Data cells = Data::array();
      bool has_replayed = false, has_projected = false;
      for (const std::optional<BalancedValue>& value : ways) {
        has_replayed = has_replayed || (value && value->is_replayed);
        has_projected = has_projected || (value && !value->is_replayed);
        std::string text = kNone, interval, color = kNoColor, tone = kNoTone;
        if (value) {
          const std::string bounds = FormatBounds(one.factor, value->interval80), level = ToString(value->reliability);
          const bool is_reliable = value->reliability == Reliability::kReliable;
          color = is_reliable ? PopColor(value->value) : kUncertainColor;
          tone = is_reliable ? PopTone(value->value) : kUncertainTone;
          interval = is_reliable && !value->is_replayed ? bounds : "";
          text = is_reliable                                     ? FormatValue(one.factor, value->value)
                 : value->reliability == Reliability::kUncertain ? fmt::format("{} ({})", level, bounds)
                                                                 : level;
        }
        cells.push_back({{"text", text}, {"interval", interval}, {"color", color}, {"tone", tone}});
      }
      const char* both = has_projected ? "replayed, or projected with an interval" : "replayed";
      rows.push_back({{"cores", FormatCores(cores)},
                      {"isProjected", !has_replayed},
                      {"kind", has_replayed ? both : "projected"},
                      {"cells", std::move(cells)}});
    }
    tables.push_back({{"caption", caption}, {"columns", std::move(columns)}, {"rows", std::move(rows)}});
  }
  return tables;
}

bool AnyOutcome(const WhatIf& what_if, auto condition) { return std::ranges::any_of(what_if.outcomes, condition); }

void AddCases(const WhatIf& what_if, const Partials& templates, std::size_t top, ReportModel& model) {
  const std::vector<BalanceCase> cases = CasesOf(what_if);
  const std::vector<bool> is_detailed = ChooseDetailed(what_if, cases);
  Data lines = Data::array(), details = Data::array(), configurations = Data::array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    lines.push_back(CaseLine(what_if, cases[i]));
    const Data rows = Configurations(what_if, cases[i], top);
    configurations.insert(configurations.end(), rows.begin(), rows.end());
    if (!is_detailed[i]) continue;
    const std::string slug = fmt::format("balance-case-{}", i + 1);
    const std::size_t ranked = cases[i].ranking.size();
    details.push_back({{"name", NameOfCase(what_if, cases[i])},
                       {"anchor", slug},
                       {"isOneOfMany", cases.size() > 1},
                       {"answer", CaseAnswer(what_if, cases[i], templates)},
                       {"reasons", Reasons(what_if, cases[i], templates)},
                       {"advice", Advice(what_if, cases[i], templates)},
                       {"figures", FiguresOfCase(what_if, cases[i], slug, model)},
                       {"configurations", rows},
                       {"moreConfigurations", ranked > top ? CountText(ranked - top, "configuration") : ""}});
    AddWhetherFilled(details.back(), {"advice", "figures"});
  }
  const bool has_more =
      std::any_of(configurations.begin(), configurations.end(), [](const Data& row) { return row["isTop"] == false; });
  const std::size_t others = cases.size() - details.size();
  model.data["otherCases"] = !details.empty() && others > 0 ? CountText(others, "case") : "";
  model.data["cases"] = std::move(lines);
  model.data["hasSeveralCases"] = cases.size() > 1;
  model.data["details"] = std::move(details);
  model.data["configurations"] = std::move(configurations);
  model.data["hasMoreConfigurations"] = has_more;
}

}  // namespace

ReportModel BuildBalanceModel(const WhatIf& what_if, const Partials& templates,
                              const std::vector<BalancedProjection>& projections, std::size_t top) {
  ReportModel model;
  const std::size_t balanced = what_if.by_time.size();
  std::vector<std::string> ranks;
  for (const BalanceRun& run : what_if.runs)
    ranks.push_back(FormatCount(run.ranks) + (run.grown_from ? " (grown)" : ""));
  Data& data = model.data;
  data = {{"title", what_if.title},
          {"generator", Generator()},
          {"phase", what_if.phase},
          {"anchor", "balance"},
          {"ranks", ListInWords(std::move(ranks))},
          {"runCount", CountText(what_if.runs.size(), "run")},
          {"configurationCount", CountText(what_if.outcomes.size(), "configuration")},
          {"balancedCount", balanced == 0 ? "" : FormatCount(balanced)},
          {"answers", Answers(what_if, templates)},
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
  data["projections"] = ProjectionTables(projections);
  data["projectionSentences"] = DescribeProjections(projections, templates);
  data["mappings"] = Mappings(what_if);
  data["mappingSentences"] = DescribeMappings(what_if, templates);
  data["productionSentences"] = DescribeProduction(what_if, templates);
  data["leftOut"] = DescribeLeftOut(what_if);
  data["runs"] = Runs(what_if);
  data["stateCosts"] = StateCosts(what_if);
  data["fidelity"] = DescribeFidelity(what_if, templates);
  data["method"] = Data::array();
  for (const auto& [name, value] : DescribeMethod(what_if, templates))
    data["method"].push_back({{"name", name}, {"value", value}});
  data["diagnostics"] = Data::array();
  for (const Finding& finding : what_if.findings) data["diagnostics"].push_back(FindingText(finding));
  AddWhetherFilled(data, {"details", "configurations", "maps", "averages", "projections", "mappings", "leftOut", "runs",
                          "stateCosts", "fidelity", "diagnostics", "productionSentences"});
  return model;
}

std::string WriteBalanceText(const ReportModel& model, const Partials& templates, std::size_t width) {
  return RenderText(templates, "balance.txt", model.data, width);
}

}  // namespace farscale
