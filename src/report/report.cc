#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "base/version.h"
#include "factors/scaling.h"
#include "report/overview.h"
#include "report/phase_section.h"
#include "report/phase_share.h"
#include "report/sampled_values.h"
#include "report/shown_results.h"
#include "report/timelines.h"
#include "results/factor_table_files.h"
#include "results/projection_files.h"
#include "results/results_json.h"

namespace farscale {
namespace {

struct RunText {
  FARSCALE_TEXTS(cores, ranks, threads, nodes, repeat, program, format, creator, duration, coverage, events, size, path,
                 fingerprint, short_fingerprint)
};

struct FailureText {
  FARSCALE_TEXTS(path, error)
};

struct DiagnosticText {
  std::string where, id, severity, sentence, detail;
  bool is_warning = false;
  FARSCALE_TAGS(where, id, severity, sentence, detail, is_warning)
};

struct GlossaryEntry {
  FARSCALE_TEXTS(name, id, depth, formula, source, meaning, advice)
};

// How the results came about.
struct SettingsText {
  std::string scaling, scaling_source, reference, rules, models;
  bool is_bsc = false, is_causal = false;  // the rules
  FARSCALE_TAGS(scaling, scaling_source, reference, rules, models, is_bsc, is_causal)
};

// The tags at the top of a report; RenderHtml adds style and script.
struct ReportText {
  std::string title, description, generator;
  std::string outside;  // of the phases: shares of the run time
  SettingsText settings;
  bool has_runs = false, has_failures = false, has_diagnostics = false, has_timelines = false, several_phases = false,
       is_much_outside = false;
  std::vector<RunText> runs;
  std::vector<FailureText> failures;
  std::vector<std::string> doubts;
  std::vector<ReportData> phases;
  std::vector<TimelineText> timelines;
  std::string shown_timelines, all_timelines;  // how many, where not all are shown
  std::vector<DiagnosticText> diagnostics;
  std::vector<GlossaryEntry> glossary;
  std::string choices;
  FARSCALE_TAGS(title, description, generator, outside, is_much_outside, settings, has_runs, has_failures,
                has_diagnostics, has_timelines, several_phases, runs, failures, doubts, phases, timelines,
                shown_timelines, all_timelines, diagnostics, glossary, choices)
};

SettingsText SettingsOf(const Results& results) {
  const FactorTable& table = results.table;
  SettingsText settings;
  if (table.scaling) settings.scaling = ToString(*table.scaling) + " scaling";
  if (table.scaling_source == "study") settings.scaling_source = "as declared in the study";
  if (table.scaling_source == "command line") settings.scaling_source = "as declared on the command line";
  if (table.scaling_source == "instructions" || table.scaling_source == "useful time") {
    settings.scaling_source = "inferred from the growth of " + table.scaling_source + " with the number of cores";
  }
  if (table.reference) settings.reference = fmt::format("{} cores", *table.reference);
  settings.rules = table.rules;
  settings.is_bsc = table.rules == "bsc";
  settings.is_causal = table.rules == "causal";
  settings.models = results.models;
  return settings;
}

std::vector<RunText> RunsOf(const Results& results) {
  std::vector<RunText> runs;
  const auto count = [](auto number) { return FormatCores(static_cast<double>(number)); };
  for (const RunRecord& run : results.runs) {
    if (!run.error.empty()) continue;
    runs.push_back({count(run.cores), count(run.ranks), std::to_string(run.threads), count(run.nodes),
                    std::to_string(run.repeat), run.program, run.format, run.creator, FormatSeconds(run.seconds),
                    FormatPercent(run.coverage), FormatCount(run.events), FormatBytes(run.bytes), run.path,
                    run.fingerprint, run.fingerprint.substr(0, 12)});
  }
  return runs;
}

std::vector<FailureText> FailuresOf(const Results& results) {
  std::vector<FailureText> failures;
  for (const RunRecord& run : results.runs) {
    if (run.error.empty()) continue;
    std::string error = run.error;  // which usually begins with the path
    if (error.starts_with(run.path)) error = error.substr(run.path.size());
    failures.push_back({run.path, error.substr(std::min(error.size(), error.find_first_not_of(":, ")))});
  }
  return failures;
}

void AddFindings(const std::string& where, const std::vector<Finding>& findings, std::vector<DiagnosticText>& list) {
  for (const Finding& finding : findings) {
    const bool is_warning = finding.severity == Severity::kWarning;
    list.push_back(
        {where, finding.id, is_warning ? "warning" : "note", finding.sentence, DetailOf(finding), is_warning});
  }
}

std::vector<DiagnosticText> DiagnosticsOf(const Results& results) {
  std::vector<DiagnosticText> list;
  AddFindings("study", results.table.findings, list);
  for (const RunRecord& run : results.runs) {
    std::string where = FormatCoreCount(static_cast<double>(run.cores));
    if (run.repeat > 0) where += fmt::format(", repeat {}", run.repeat);
    AddFindings(where, run.findings, list);
  }
  return list;
}

std::vector<GlossaryEntry> GlossaryOf(const std::set<Factor>& used) {
  std::vector<GlossaryEntry> list;
  const FactorTree tree = TreeOf(std::vector<Factor>(used.begin(), used.end()));
  for (const FactorType& type : AllFactors()) {
    if (!used.contains(type.factor)) continue;
    list.push_back({std::string(type.name), std::string(type.id), std::to_string(DepthOf(type.factor, tree)),
                    std::string(FormulaOf(type.factor, tree)), std::string(type.source), std::string(type.meaning),
                    std::string(type.advice)});
  }
  return list;
}

const PhaseProjection* ProjectionOf(const Results& results, const std::string& series, const PhaseId& phase) {
  for (const PhaseProjection& projection : results.projections) {
    if (projection.series == series && projection.phase == phase) return &projection;
  }
  return nullptr;
}

NamedTexts DataFiles(const Results& results, const std::set<ReportFormat>& formats) {
  NamedTexts files;
  if (formats.count(ReportFormat::kCsv) > 0) {
    files.emplace_back("factors.csv", WriteFactorCsv(results.table));
    files.emplace_back("projection.csv", WriteProjectionCsv(results.projections));
    for (const Variant& variant : results.variants) {
      files.emplace_back("factors-" + variant.id + ".csv", WriteFactorCsv(variant.table));
      files.emplace_back("projection-" + variant.id + ".csv", WriteProjectionCsv(variant.projections));
    }
  }
  if (formats.count(ReportFormat::kJson) > 0) files.emplace_back("results.json", WriteResultsJson(results));
  return files;
}

NamedTexts RenderedFiles(const Results& results, const ReportTemplates& templates,
                         const std::set<ReportFormat>& formats) {
  const ReportModel model = BuildReportModel(results, templates.partials);
  NamedTexts files;
  if (formats.count(ReportFormat::kHtml) > 0) {
    files.emplace_back("report.html", RenderHtml(model, templates));
  }
  if (formats.count(ReportFormat::kMarkdown) > 0) {
    files.emplace_back("report.md", RenderMarkdown(model, templates));
    files.emplace_back("appendix.md", RenderTemplate(templates.partials.at("report_appendix.md"), model.data,
                                                     OutputForm::kMarkdown, templates.partials));
    for (const auto& [name, svg] : model.figures) {
      files.emplace_back(std::filesystem::path("figures") / name, svg + "\n");
    }
  }
  return files;
}

}  // namespace

ReportModel BuildReportModel(const Results& all_results, const Partials& texts) {
  const Results results = ShownResults(all_results);
  ReportModel model;
  std::set<Factor> used;
  // Ids that the page has besides its phases.
  std::set<std::string> anchors = {"choices", "glossary", "measured", "readout", "report", "theme", "timelines"};
  ReportData choices = ReportData::array();
  ReportText text{.title = results.title, .description = results.description, .generator = Generator()};
  text.settings = SettingsOf(results);
  text.runs = RunsOf(results);
  text.failures = FailuresOf(results);
  text.doubts = DoubtsOf(results.table.findings);
  const ReportParts parts{texts, model, used, anchors, choices, CommonTarget({&results})};
  text.outside = OutsideOfPhases(results, 0.01);
  text.is_much_outside = !OutsideOfPhases(results, kMuchOutside).empty();
  for (const std::string& series : results.table.Series()) {
    for (const PhaseId& phase : results.table.Phases(series)) {
      text.phases.push_back(SectionOfPhase(results, ProjectionOf(results, series, phase), series, phase, parts));
    }
  }
  std::size_t timelines = 0, shown = 0;
  text.timelines = TimelinesOf(results, model, timelines, shown);
  if (shown < timelines) {
    text.shown_timelines = std::to_string(shown);
    text.all_timelines = std::to_string(timelines);
  }
  text.diagnostics = DiagnosticsOf(results);
  text.glossary = GlossaryOf(used);
  text.choices = ToScriptJson({{"phases", choices}, {"names", NamesById(used)}});
  text.has_runs = !text.runs.empty();
  text.has_failures = !text.failures.empty();
  text.has_diagnostics = !text.diagnostics.empty();
  text.has_timelines = !text.timelines.empty();
  text.several_phases = text.phases.size() > 1;
  model.data = ToData(text);
  return model;
}

std::vector<std::filesystem::path> WriteReport(const Results& results, const ReportTemplates& templates,
                                               const std::filesystem::path& folder,
                                               const std::set<ReportFormat>& formats) {
  NamedTexts files = RenderedFiles(results, templates, formats);
  for (auto& file : DataFiles(results, formats)) files.push_back(std::move(file));
  return WriteFiles(folder, files);
}

}  // namespace farscale
