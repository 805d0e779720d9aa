#include "report/report_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/format.h"
#include "base/text.h"
#include "base/version.h"
#include "factors/scaling.h"
#include "report/figures.h"
#include "report/phase_section.h"
#include "report/readings.h"
#include "report/timelines.h"

namespace farscale {
namespace {

using Data = ReportData;

Data Setting(const std::string& name, const std::string& value) { return {{"name", name}, {"value", value}}; }

std::string RulesInWords(const std::string& rules) {
  if (rules == "bsc") {
    return "bsc: ideal network as simulated by the BSC tools (Dimemas), so that numbers compare with POP reports";
  }
  if (rules == "causal") return "causal: ideal network that keeps only what data dependencies force";
  return rules;
}

Data Settings(const Results& results) {
  Data settings = Data::array();
  const FactorTable& table = results.table;
  if (table.scaling) {
    std::string scaling = ToString(*table.scaling) + " scaling";
    if (table.scaling_source == "study") scaling += ", as the study says";
    if (table.scaling_source == "command line") scaling += ", as asked for";
    if (table.scaling_source == "instructions" || table.scaling_source == "useful time") {
      scaling += ", decided from the growth of " + table.scaling_source + " with the number of cores";
    }
    settings.push_back(Setting("Scaling", scaling));
  }
  if (table.reference) settings.push_back(Setting("Reference run", fmt::format("{} cores", *table.reference)));
  if (!table.rules.empty()) settings.push_back(Setting("Ideal replay", RulesInWords(table.rules)));
  if (!results.models.empty()) settings.push_back(Setting("Models", results.models));
  return settings;
}

Data Runs(const Results& results) {
  Data runs = Data::array();
  for (const RunRecord& run : results.runs) {
    if (!run.error.empty()) continue;
    runs.push_back({{"cores", FormatCores(static_cast<double>(run.cores))},
                    {"ranks", FormatCores(static_cast<double>(run.ranks))},
                    {"threads", std::to_string(run.threads)},
                    {"nodes", FormatCores(static_cast<double>(run.nodes))},
                    {"repeat", std::to_string(run.repeat)},
                    {"program", run.program},
                    {"format", run.format},
                    {"creator", run.creator},
                    {"duration", FormatSeconds(run.seconds)},
                    {"coverage", FormatPercent(run.coverage)},
                    {"events", FormatCount(run.events)},
                    {"size", FormatBytes(run.bytes)},
                    {"path", run.path},
                    {"fingerprint", run.fingerprint},
                    {"shortFingerprint", run.fingerprint.substr(0, 12)}});
  }
  return runs;
}

Data Failures(const Results& results) {
  Data failures = Data::array();
  for (const RunRecord& run : results.runs) {
    if (run.error.empty()) continue;
    std::string error = run.error;  // which usually begins with the path
    if (error.compare(0, run.path.size(), run.path) == 0) error = error.substr(run.path.size());
    while (!error.empty() && (error.front() == ':' || error.front() == ',' || error.front() == ' ')) error.erase(0, 1);
    failures.push_back({{"path", run.path}, {"error", error}});
  }
  return failures;
}

void AddFindings(const std::string& where, const std::vector<Finding>& findings, Data& list) {
  for (const Finding& finding : findings) {
    const std::string detail = DetailOf(finding);
    list.push_back({{"where", where},
                    {"id", finding.id},
                    {"severity", finding.severity == Severity::kWarning ? "warning" : "note"},
                    {"isWarning", finding.severity == Severity::kWarning},
                    {"sentence", finding.sentence},
                    {"detail", detail},
                    {"hasDetail", !detail.empty()}});
  }
}

Data AllFindings(const Results& results) {
  Data list = Data::array();
  AddFindings("study", results.table.findings, list);
  for (const RunRecord& run : results.runs) {
    std::string where = FormatCores(static_cast<double>(run.cores)) + " cores";
    if (run.repeat > 0) where += fmt::format(", repeat {}", run.repeat);
    AddFindings(where, run.findings, list);
  }
  return list;
}

Data Glossary(const std::set<Factor>& used) {
  Data list = Data::array();
  for (const FactorType& type : AllFactors()) {
    if (used.count(type.factor) == 0) continue;
    list.push_back({{"name", std::string(type.name)},
                    {"id", std::string(type.id)},
                    {"depth", std::to_string(DepthOf(type.factor))},
                    {"formula", std::string(type.formula)},
                    {"source", std::string(type.source)},
                    {"meaning", std::string(type.meaning)},
                    {"advice", std::string(type.advice)},
                    {"hasAdvice", !type.advice.empty()}});
  }
  return list;
}

const PhaseProjection* ProjectionOf(const Results& results, const std::string& series, const PhaseId& phase) {
  for (const PhaseProjection& projection : results.projections) {
    if (projection.series == series && projection.phase == phase) return &projection;
  }
  return nullptr;
}

}  // namespace

ReportModel BuildReportModel(const Results& results) {
  ReportModel model;
  std::set<Factor> used;
  // Ids that the page has besides its phases.
  std::set<std::string> anchors = {"choices", "glossary", "measured", "readout", "report", "theme", "timelines"};
  Data& data = model.data;
  data = {{"title", results.title},
          {"description", results.description},
          {"hasDescription", !results.description.empty()},
          {"generator", Generator()}};
  data["settings"] = Settings(results);
  data["runs"] = Runs(results);
  data["hasRuns"] = !data["runs"].empty();
  data["failures"] = Failures(results);
  data["hasFailures"] = !data["failures"].empty();
  data["doubts"] = Data::array();
  for (const std::string& doubt : DoubtsOf(results.table.findings)) data["doubts"].push_back(doubt);
  data["phases"] = Data::array();
  Data choices = Data::array();
  const ReportParts parts{model, used, anchors, choices};
  for (const std::string& series : results.table.Series()) {
    for (const PhaseId& phase : results.table.Phases(series)) {
      const PhaseProjection* projection = ProjectionOf(results, series, phase);
      data["phases"].push_back(SectionOfPhase(results, projection, series, phase, parts));
    }
  }
  data["severalPhases"] = data["phases"].size() > 1;
  AddTimelines(results, model);
  data["diagnostics"] = AllFindings(results);
  data["hasDiagnostics"] = !data["diagnostics"].empty();
  data["glossary"] = Glossary(used);
  data["choices"] = ToScriptJson({{"phases", choices}});
  return model;
}

}  // namespace farscale
