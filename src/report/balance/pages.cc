#include "report/balance/pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/version.h"
#include "pages/render.h"
#include "planning/balance_cases.h"
#include "report/balance/figures.h"
#include "report/balance/sentences.h"
#include "report/balance/text.h"

namespace farscale {
namespace {

using Data = ReportData;

Data Texts(const std::vector<std::string>& sentences) {
  Data list = Data::array();
  for (const std::string& sentence : sentences) list.push_back(sentence);
  return list;
}

void Add(const char* key, const char* has, Data list, Data& data) {
  data[has] = !list.empty();
  data[key] = std::move(list);
}

// A case in a line.
Data LineOf(const WhatIf& what_if, const BalanceCase& one) {
  Data line = {{"name", NameOfCase(what_if, one)}, {"isBalanced", one.lead.has_value()}};
  if (!one.lead) return line;
  const BalanceOutcome& best = what_if.outcomes[*one.lead];
  const Gain gain = GainThatCounts(what_if, one, best);
  line.update(
      {{"best", NameInCase(what_if, one, best.configuration)},
       {"tasks", FormatCount(best.configuration.tasks)},
       {"iteration", FormatSeconds(LongRunIterationOf(what_if, best))},
       {"instead", FormatSeconds(LongRunIterationOf(what_if, what_if.outcomes[ReferenceOf(what_if, one, best)]))},
       {"gain", FormatPercent(gain.value)},
       {"interval", GainInterval(gain)},
       {"hasInterval", HasInterval(gain)}});
  return line;
}

Data Detail(const WhatIf& what_if, const BalanceCase& one, bool is_only, const std::string& slug, ReportModel& model) {
  Data data = {{"heading", is_only ? "Why, and what limits the rest" : "On " + NameOfCase(what_if, one)},
               {"anchor", slug},
               {"isOneOfMany", !is_only},
               {"answer", AnswerOf(what_if, one)}};
  Add("reasons", "hasReasons", Texts(ReasonsOf(what_if, one)), data);
  Add("advice", "hasAdvice", Texts(AdviceOf(what_if, one)), data);
  Add("figures", "hasFigures", FiguresOfCase(what_if, one, slug, model), data);
  return data;
}

std::string SayLater(const std::optional<double>& seconds) { return seconds ? FormatSeconds(*seconds) : "–"; }

Data RowOf(const WhatIf& what_if, const BalanceOutcome& outcome, bool is_top) {
  const BalanceConfiguration& configuration = outcome.configuration;
  const bool is_unbalanced = IsUnbalanced(outcome);
  const std::optional<Gain>& original = outcome.gain_over_original;
  const std::optional<NamedPart> limit = LimitOf(outcome);
  return {{"name", NameOfBalancing(configuration)},
          {"isTop", is_top},
          {"isBalanced", !is_unbalanced},
          {"processors", FormatCount(configuration.processors)},
          {"tasks", FormatCount(configuration.tasks)},
          {"level", FormatCores(configuration.level())},
          {"placement", NameOfPlacement(configuration.placement)},
          {"iteration", FormatSeconds(LongRunIterationOf(what_if, outcome))},
          {"makespan", FormatSeconds(outcome.makespan)},
          {"gain", is_unbalanced ? "–" : FormatPercent(outcome.gain.value)},
          {"interval", is_unbalanced ? "" : GainInterval(outcome.gain)},
          {"hasInterval", HasInterval(outcome.gain) && !is_unbalanced},
          {"original", original ? FormatPercent(original->value) : "–"},
          {"originalInterval", original ? GainInterval(*original) : ""},
          {"hasOriginalInterval", original && HasInterval(*original)},
          {"loadBalance", FormatFactor(outcome.load_balance)},
          {"parallelEfficiency", FormatFactor(outcome.parallel_efficiency)},
          {"migrations", is_unbalanced ? "–" : FormatCount(outcome.migrations)},
          {"moved", is_unbalanced ? "–" : SayBytes(outcome.migrated_bytes)},
          {"later", SayLater(outcome.later_iteration)},
          {"laterWithout", SayLater(outcome.later_iteration_without)},
          {"hasLater", outcome.later_iteration && outcome.later_iteration_without},
          {"limit", limit ? FormatPercent(limit->seconds / outcome.makespan) : "–"},
          {"limitName", limit ? limit->name : ""}};
}

// Case by case: what it is told by, best first, then what is not balanced.
Data Configurations(const WhatIf& what_if, const std::vector<BalanceCase>& cases, std::size_t top) {
  Data rows = Data::array();
  for (const BalanceCase& one : cases) {
    std::size_t place = 0;
    for (const std::size_t i : RowsOf(what_if, one)) {
      const bool is_unbalanced = IsUnbalanced(what_if.outcomes[i]);
      rows.push_back(RowOf(what_if, what_if.outcomes[i], is_unbalanced || place < top));
      if (!is_unbalanced) ++place;
    }
  }
  return rows;
}

Data Mappings(const WhatIf& what_if) {
  Data rows = Data::array();
  for (const NodeMapping& mapping : what_if.mappings) {
    const bool is_measured = mapping.placement == Placement::kAsMeasured;
    rows.push_back({{"name", NameOfPlacement(mapping.placement)},
                    {"ranks", FormatCount(what_if.runs[mapping.run].ranks)},
                    {"nodes", FormatCount(mapping.nodes)},
                    {"within", FormatFactor(mapping.load_balance_in)},
                    {"between", FormatFactor(mapping.load_balance_out)},
                    {"remote", FormatPercent(mapping.remote_share)},
                    {"makespan", FormatSeconds(mapping.makespan)},
                    {"gain", is_measured ? "–" : FormatPercent(mapping.gain.value)},
                    {"interval", is_measured ? "" : GainInterval(mapping.gain)},
                    {"hasInterval", HasInterval(mapping.gain) && !is_measured}});
  }
  return rows;
}

Data Runs(const WhatIf& what_if) {
  Data rows = Data::array();
  for (const BalanceRun& run : what_if.runs) {
    rows.push_back({{"path", run.path},
                    {"ranks", FormatCount(run.ranks)},
                    {"nodes", run.nodes > 0 ? FormatCount(run.nodes) : "–"},
                    {"iterations", FormatCount(run.iterations)},
                    {"measured", FormatSeconds(run.measured)},
                    {"replayed", FormatSeconds(run.replayed)},
                    {"loadBalance", FormatFactor(run.load_balance)},
                    {"heaviest", run.heaviest_task > 0 ? FormatPercent(run.heaviest_task) : "–"},
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

Data Findings(const WhatIf& what_if) {
  Data list = Data::array();
  for (const Finding& finding : what_if.findings) {
    const std::string detail = DetailOf(finding);
    list.push_back({{"id", finding.id},
                    {"severity", finding.severity == Severity::kWarning ? "warning" : "note"},
                    {"isWarning", finding.severity == Severity::kWarning},
                    {"sentence", finding.sentence},
                    {"detail", detail}});
  }
  return list;
}

Data Method(const WhatIf& what_if) {
  Data list = Data::array();
  for (const auto& [name, value] : DescribeMethod(what_if)) list.push_back({{"name", name}, {"value", value}});
  return list;
}

bool HaveSeveralPlacements(const WhatIf& what_if) {
  return std::any_of(what_if.outcomes.begin(), what_if.outcomes.end(), [&](const BalanceOutcome& outcome) {
    return outcome.configuration.placement != what_if.outcomes.front().configuration.placement;
  });
}

}  // namespace

ReportData SectionOfBalance(const WhatIf& what_if, const std::vector<BalancedProjection>& projections, std::size_t top,
                            const std::string& slug, ReportModel& model) {
  const std::vector<BalanceCase> cases = CasesOf(what_if);
  Data data = {{"phase", what_if.phase},
               {"anchor", slug},
               {"description", DescribeWhatIf(what_if)},
               {"answers", Texts(AnswersOf(what_if))},
               {"hasSeveralCases", cases.size() > 1},
               {"hasSeveralPlacements", HaveSeveralPlacements(what_if)},
               {"hasReplicas", what_if.noise_replicas > 0}};
  data["hasOriginal"] =
      std::any_of(what_if.outcomes.begin(), what_if.outcomes.end(),
                  [](const BalanceOutcome& outcome) { return outcome.gain_over_original.has_value(); });
  data["hasLaterIterations"] =
      std::any_of(what_if.outcomes.begin(), what_if.outcomes.end(),
                  [](const BalanceOutcome& outcome) { return outcome.later_iteration.has_value(); });
  data["cases"] = Data::array();
  data["details"] = Data::array();
  const std::vector<bool> is_detailed = ChooseDetailed(what_if, cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    data["cases"].push_back(LineOf(what_if, cases[i]));
    if (!is_detailed[i]) continue;
    data["details"].push_back(
        Detail(what_if, cases[i], cases.size() == 1, fmt::format("{}-case-{}", slug, i + 1), model));
  }
  Add("maps", "hasMaps", LoadMaps(what_if, slug, model), data);
  Add("averages", "hasAverages", AverageLoadFigures(what_if, slug, model), data);
  Add("configurations", "hasConfigurations", Configurations(what_if, cases, top), data);
  data["configurationCount"] = CountOf(what_if.outcomes.size(), "configuration");
  const auto is_hidden = [](const Data& row) { return !row["isTop"].get<bool>(); };
  data["hasMoreConfigurations"] = std::any_of(data["configurations"].begin(), data["configurations"].end(), is_hidden);
  Add("projections", "hasProjections", TablesOfProjections(projections), data);
  data["projectionSentences"] = Texts(SayProjections(projections));
  Add("mappings", "hasMappings", Mappings(what_if), data);
  data["mappingSentences"] = Texts(SayMappings(what_if));
  Add("leftOut", "hasLeftOut", Texts(DescribeLeftOut(what_if)), data);
  Add("runs", "hasRuns", Runs(what_if), data);
  Add("stateCosts", "hasStateCosts", StateCosts(what_if), data);
  Add("fidelity", "hasFidelity", Texts(SayFidelity(what_if)), data);
  data["method"] = Method(what_if);
  Add("diagnostics", "hasDiagnostics", Findings(what_if), data);
  return data;
}


ReportModel BuildBalanceModel(const WhatIf& what_if, const std::vector<BalancedProjection>& projections,
                              std::size_t top) {
  ReportModel model;
  ReportData section = SectionOfBalance(what_if, projections, top, "balance", model);
  model.data = {{"title", what_if.title}, {"generator", Generator()}};
  model.data.update(section);
  return model;
}

std::string WriteBalanceHtml(const ReportModel& model, const ReportTemplates& templates) {
  return RenderHtml(model, templates);
}

std::string WriteBalanceMarkdown(const ReportModel& model, const ReportTemplates& templates) {
  return RenderTemplate(templates.markdown, model.data, Escape::kMarkdown, templates.partials);
}

}  // namespace farscale
