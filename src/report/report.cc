#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "factors/scaling.h"
#include "projection/model_settings.h"
#include "report/sections.h"
#include "report/figures.h"
#include "report/imbalance/losses.h"
#include "results/factor_table_files.h"
#include "results/results_json.h"

namespace farscale {
namespace {

using Data = ReportData;

// Tables with their sentence; nothing without tables.
Data ResultTables(Data tables, const std::string& sentence = "") {
  if (tables.empty()) return false;
  return {{"sentence", sentence}, {"tables", std::move(tables)}};
}

// Without a factor, a row that is not in the tree.
Data MeasuredRow(const std::string& name, Data cells) {
  return {{"name", name}, {"factor", ""},    {"formula", ""},
          {"depth", "0"}, {"isPlain", true}, {"cells", std::move(cells)}};
}

Data MeasuredFactors(const std::vector<FactorRow>& runs, std::set<Factor>& used) {
  Data rows = Data::array();
  const FactorTree tree = TreeOf(runs);
  for (const FactorType& type : AllFactors()) {
    if (!IsShown(type.factor, runs)) continue;
    used.insert(type.factor);
    Data cells = Data::array();
    for (const FactorRow& run : runs) {
      const std::optional<double>& value = run.values[type.factor];
      cells.push_back(ColoredCell(value ? FormatValue(type.factor, *value) : "–",
                                  type.IsEfficiency() ? value : std::nullopt,
                                  value ? FormatError(type.factor, *value, run.standard_errors[type.factor]) : ""));
    }
    Data row = MeasuredRow(std::string(type.name), std::move(cells));
    row["factor"] = type.id;
    row["formula"] = FormulaOf(type.factor, tree);
    row["depth"] = std::to_string(DepthOf(type.factor, tree));
    row["isPlain"] = type.kind == FactorKind::kCheck;
    rows.push_back(std::move(row));
  }
  Data times = Data::array(), iterations = Data::array(), spans = Data::array();
  for (const FactorRow& run : runs) {
    times.push_back(ColoredCell(run.runtime ? FormatSeconds(*run.runtime) : "–", {},
                                run.runtime ? FormatSecondsError(*run.runtime, run.runtime_error) : ""));
    iterations.push_back(ColoredCell(fmt::format("{:g}", run.iterations), {}));
    spans.push_back(ColoredCell(run.span ? ToString(*run.span) : "–", {}));
  }
  rows.push_back(MeasuredRow("Run time of the phase", std::move(times)));
  rows.push_back(MeasuredRow("Iterations", std::move(iterations)));
  if (std::ranges::any_of(runs, [](const FactorRow& run) { return run.span.has_value(); })) {
    rows.push_back(MeasuredRow("Span", std::move(spans)));
  }
  bool has_errors = false;
  for (const Data& row : rows) {
    for (const Data& cell : row["cells"]) has_errors = has_errors || cell["error"] != "";
  }
  return {{"columns", RunColumns(runs)}, {"rows", std::move(rows)}, {"hasErrors", has_errors}};
}

Data FactorColumn(const FactorProjection& projection) {
  return {{"name", Name(projection.factor)},
          {"factor", Describe(projection.factor).id},
          {"model", projection.is_product ? "product" : WeighedModel(projection)}};
}

Data Targets(const PhaseProjection& phase, const std::vector<const FactorProjection*>& columns) {
  Data rows = Data::array();
  const std::size_t count = columns.empty() ? 0 : columns.front()->targets.size();
  for (std::size_t i = 0; i < count; ++i) {
    const ProjectedValue& first = columns.front()->targets[i];
    Data cells = Data::array();
    for (const FactorProjection* column : columns) {
      cells.push_back(FormatCell(phase, column->factor, column->targets[i], column->factor != Factor::kSpeedup));
    }
    std::string largest = "–";
    if (const auto dominant = phase.dominant_at.find(first.cores); dominant != phase.dominant_at.end()) {
      const Reliability level = ReliabilityOf(phase, dominant->second, first.cores);
      largest = level == Reliability::kReliable    ? Name(dominant->second)
                : level == Reliability::kUncertain ? ToString(level)
                                                   : UnknownText(phase, first.cores);
    }
    rows.push_back({{"cores", FormatCores(first.cores)},
                    {"ratio", FormatRatio(first.ratio)},
                    {"dominant", largest},
                    {"reliability", ReliabilityLabel(ReliabilityOf(phase, first.cores))},
                    {"cells", std::move(cells)}});
  }
  return rows;
}

Data ProjectionSection(const Results& results, const PhaseProjection& phase, const PhaseNames& names,
                       const ReportParts& parts) {
  const std::vector<const FactorProjection*> charted = ChartedFactors(phase);
  const FactorProjection* headline = Headline(phase);
  const bool is_grown = std::ranges::any_of(charted, [](const auto* factor) { return !factor->predictors.empty(); });
  Data chart_columns = Data::array(), columns = Data::array();
  for (const FactorProjection* factor : charted) chart_columns.push_back(FactorColumn(*factor));
  std::vector<SampledMachine> machines = {{kProjected, &phase}};
  for (const Variant& variant : results.variants)
    machines.push_back({variant.name, FindPhase(variant.projections, {phase.series, phase.phase})});
  auto [sampled, choices] = SampleValues(machines, names.anchor);
  if (sampled != false) parts.choices.push_back(std::move(choices));
  std::vector<const FactorProjection*> shown;
  std::vector<std::string> weights;
  for (const FactorProjection& projection : phase.factors) {
    const bool is_shown = projection.is_product || IsPartOfTheWhole(phase, projection.factor);
    if (projection.targets.empty() || !is_shown) continue;
    shown.push_back(&projection);
    parts.used.insert(projection.factor);
    columns.push_back(FactorColumn(projection));
    if (!projection.is_product) weights.push_back(NameInSentence(projection.factor) + ": " + WeighedModel(projection));
  }
  Data dominance = Data::array();
  const auto [ranges, end] = DominanceWithinReliableRange(phase);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const bool is_last = i + 1 == ranges.size();
    const std::string from = FormatCores(ranges[i].cores);
    std::string range = from + " cores and more";
    if (!is_last || end) {
      const std::string to = FormatCores(is_last ? *end : ranges[i + 1].cores - 1);
      range = (from == to ? from : from + " to " + to) + " cores" + (is_last ? ", the reliable range" : "");
    }
    const FactorType& type = Describe(ranges[i].factor);
    dominance.push_back({{"range", range}, {"factor", type.name}, {"advice", type.advice}});
  }
  // For the caption: whose intervals are drawn, which curves end early.
  return {{"headline", headline == nullptr ? "" : NameInSentence(headline->factor)},
          {"earlyEnds", ListEarlyEnds(phase, charted)},
          {"modelWeights", Join(weights, "; ")},
          {"isGrown", is_grown},
          {"chartColumns", std::move(chart_columns)},
          {"chartRows", RowsBehindChart(phase, charted)},
          {"sampled", std::move(sampled)},
          {"columns", std::move(columns)},
          {"targets", Targets(phase, shown)},
          {"predictors", TabulatePredictors(phase)},
          {"dominance", std::move(dominance)}};
}

Data SettingsText(const Results& results) {
  const FactorTable& table = results.table;
  const std::string& source = table.scaling_source;
  const bool is_inferred = source == "instructions" || source == "useful time";
  return {{"scaling", table.scaling ? ToString(*table.scaling) + " scaling" : ""},
          {"scalingSource", source == "study"          ? "as declared in the study"
                            : source == "command line" ? "as declared on the command line"
                            : is_inferred ? "inferred from the growth of " + source + " with the number of cores"
                                          : ""},
          {"reference", table.reference ? fmt::format("{} cores", *table.reference) : ""},
          {"rules", table.rules},
          {"isBsc", table.rules == "bsc"},
          {"isCausal", table.rules == "causal"},
          {"models", results.models}};
}

Data RunTexts(const Results& results) {
  Data runs = Data::array();
  const auto count = [](auto number) { return FormatCores(static_cast<double>(number)); };
  for (const RunRecord& run : results.runs) {
    if (!run.error.empty()) continue;
    runs.push_back({{"cores", count(run.cores)},
                    {"ranks", count(run.ranks)},
                    {"threads", std::to_string(run.threads)},
                    {"nodes", count(run.nodes)},
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

Data DiagnosticTexts(const Results& results) {
  Data list = Data::array();
  const auto add = [&](const std::string& where, const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
      list.push_back(FindingText(finding));
      list.back()["where"] = where;
    }
  };
  add("study", results.table.findings);
  for (const RunRecord& run : results.runs) {
    const std::string repeat = run.repeat > 0 ? fmt::format(", repeat {}", run.repeat) : "";
    add(FormatCoreCount(static_cast<double>(run.cores)) + repeat, run.findings);
  }
  return list;
}

Data Glossary(const std::set<Factor>& used) {
  Data list = Data::array();
  const FactorTree tree = TreeOf(std::vector<Factor>(used.begin(), used.end()));
  for (const FactorType& type : AllFactors()) {
    if (!used.contains(type.factor)) continue;
    list.push_back({{"name", type.name},
                    {"id", type.id},
                    {"depth", std::to_string(DepthOf(type.factor, tree))},
                    {"formula", FormulaOf(type.factor, tree)},
                    {"source", type.source},
                    {"meaning", type.meaning},
                    {"advice", type.advice}});
  }
  return list;
}

// The tags of a phase in docs/templates.md. `projection` is null where none was made.
Data PhaseSection(const Results& results, const PhaseProjection* projection, const std::string& series,
                  const PhaseId& phase, const ReportParts& parts) {
  const std::string text = phase.Text();
  const std::string title = series.empty() ? text : series + (text.empty() ? "" : ", " + text);
  const PhaseNames names{title.empty() ? "All runs" : title,
                         UniqueSlug(series.empty() ? text : series + "-" + text, parts.anchors)};
  const std::vector<FactorRow> rows = results.table.Rows(series, phase);
  const auto record = std::ranges::find(results.phases, phase, &PhaseRecord::id);
  const std::string obstacle = projection != nullptr ? projection->obstacle : "no projection was made";
  const bool is_projected = obstacle.empty();
  Data section = {{"heading", names.heading},
                  {"anchor", names.anchor},
                  {"description", record != results.phases.end() ? record->description : ""},
                  {"share", ShareOfRun(results, rows, phase)},
                  {"overview", OverviewWithFigures(results, rows, projection, names, parts)},
                  {"isFolded", !parts.choices.empty()},
                  {"measured", MeasuredFactors(rows, parts.used)},
                  {"superlinear", WhySuperlinear(rows, projection)}};
  section["splits"] = Splits(results, {series, phase}, names, parts.texts, parts.model);
  const bool has_splits = section["splits"] != false && section["splits"]["isKnown"];
  section["obstacle"] = has_splits ? "" : obstacle;  // splits stand in place of a projection
  section["projection"] = is_projected ? ProjectionSection(results, *projection, names, parts) : Data(false);
  section.update({{"outlook", false}, {"gains", false}, {"nextRuns", false}});
  if (is_projected) {
    section["outlook"] = ResultTables(TabulateOutlook(*projection), DescribePeak(*projection, parts.texts));
    section["gains"] = ResultTables(TabulateGains(*projection));
    section["nextRuns"] = ResultTables(TabulateNextRuns(*projection));
  }
  section["comparison"] = ComparePhase(results, series, phase, names, parts.texts, parts.model);
  section["backtest"] = BacktestSection(results, series, phase, parts.texts);
  section["losses"] = LossesInReport(results, series, phase, names.heading, parts.texts);
  section["iterations"] = Iterations(results, phase, names, parts.model);
  section["fits"] = Fits(projection, names.anchor, parts.used, parts.model);
  section["hasFits"] = !section["fits"].empty();
  return section;
}

}  // namespace

ReportModel BuildReportModel(const Results& all_results, const Partials& texts) {
  const Results results = ShownResults(all_results);
  ReportModel model;
  std::set<Factor> used;
  // Ids that the page has besides its phases.
  std::set<std::string> anchors = {"choices", "glossary", "measured", "readout", "report", "theme", "timelines"};
  Data choices = Data::array(), phases = Data::array();
  const ReportParts parts{texts, model, used, anchors, choices, CommonTarget({&results})};
  for (const std::string& series : results.table.Series()) {
    for (const PhaseId& phase : results.table.Phases(series)) {
      phases.push_back(PhaseSection(results, FindPhase(results.projections, {series, phase}), series, phase, parts));
    }
  }
  Data failures = Data::array();
  for (const RunRecord& run : results.runs) {
    if (run.error.empty()) continue;
    std::string error = run.error;  // which usually begins with the path
    if (error.starts_with(run.path)) error = error.substr(run.path.size());
    error = error.substr(std::min(error.size(), error.find_first_not_of(":, ")));
    failures.push_back(Data{{"path", run.path}, {"error", error}});
  }
  std::size_t all = 0, shown = 0;
  Data timelines = Timelines(results, model, all, shown);
  model.data = {{"title", results.title},
                {"description", results.description},
                {"generator", Generator()},
                {"outside", OutsideOfPhases(results, 0.01)},
                {"isMuchOutside", !OutsideOfPhases(results, kMuchOutside).empty()},
                {"settings", SettingsText(results)},
                {"runs", RunTexts(results)},
                {"failures", std::move(failures)},
                {"doubts", DoubtsOf(results.table.findings)},
                {"severalPhases", phases.size() > 1},
                {"phases", std::move(phases)},
                {"timelines", std::move(timelines)},
                {"shownTimelines", shown < all ? std::to_string(shown) : ""},
                {"allTimelines", shown < all ? std::to_string(all) : ""},
                {"diagnostics", DiagnosticTexts(results)},
                {"glossary", Glossary(used)},
                {"choices", ToScriptJson({{"phases", choices}, {"names", NamesById(used)}})}};
  AddWhetherFilled(model.data, {"runs", "failures", "diagnostics", "timelines"});
  return model;
}

std::vector<std::filesystem::path> WriteReport(const Results& results, const ReportTemplates& templates,
                                               const std::filesystem::path& folder,
                                               const std::set<ReportFormat>& formats) {
  const ReportModel model = BuildReportModel(results, templates.partials);
  NamedTexts files;
  if (formats.contains(ReportFormat::kHtml)) files.emplace_back("report.html", RenderHtml(model, templates));
  if (formats.contains(ReportFormat::kMarkdown)) {
    files.emplace_back("report.md", RenderMarkdown(model, templates));
    files.emplace_back("appendix.md", RenderTemplate(templates.partials.at("report_appendix.md"), model.data,
                                                     OutputForm::kMarkdown, templates.partials));
    AddFigureFiles(model, files);
  }
  if (formats.contains(ReportFormat::kCsv)) {
    files.emplace_back("factors.csv", WriteFactorCsv(results.table));
    files.emplace_back("projection.csv", WriteProjectionCsv(results.projections));
    for (const Variant& variant : results.variants) {
      files.emplace_back("factors-" + variant.id + ".csv", WriteFactorCsv(variant.table));
      files.emplace_back("projection-" + variant.id + ".csv", WriteProjectionCsv(variant.projections));
    }
  }
  if (formats.contains(ReportFormat::kJson)) files.emplace_back("results.json", WriteResultsJson(results));
  return WriteFiles(folder, files);
}

}  // namespace farscale
