#include "report/phase_section.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "projection/curve.h"
#include "projection/model_settings.h"
#include "report/backtest.h"
#include "report/comparison.h"
#include "report/figures.h"
#include "report/fits.h"
#include "report/key_results.h"
#include "report/losses_section.h"
#include "report/overview.h"
#include "report/phase_share.h"
#include "report/predictors.h"
#include "report/reliability.h"
#include "report/sampled_values.h"
#include "report/splits_section.h"
#include "report/timelines.h"

namespace farscale {
namespace {

using Data = ReportData;

// Tables with their sentence; nothing without tables.
Data ResultTables(const std::vector<ResultTable>& tables, const std::string& sentence = "") {
  if (tables.empty()) return false;
  return {{"sentence", sentence}, {"tables", ToData(tables)}};
}

// Without a factor, a row that is not in the tree.
Data MeasuredRow(const std::string& name, const std::vector<FactorCell>& cells) {
  return {{"name", name}, {"factor", ""}, {"formula", ""}, {"depth", "0"}, {"isPlain", true}, {"cells", ToData(cells)}};
}

Data MeasuredRow(const FactorType& type, const std::vector<FactorRow>& runs) {
  const FactorTree tree = TreeOf(runs);
  std::vector<FactorCell> cells;
  for (const FactorRow& run : runs) {
    const std::optional<double>& value = run.values[type.factor];
    cells.push_back(
        ColoredCell(value ? FormatValue(type.factor, *value) : "–", type.IsEfficiency() ? value : std::nullopt));
    if (value) cells.back().error = FormatError(type.factor, *value, run.standard_errors[type.factor]);
  }
  Data row = MeasuredRow(std::string(type.name), cells);
  row["factor"] = type.id;
  row["formula"] = FormulaOf(type.factor, tree);
  row["depth"] = std::to_string(DepthOf(type.factor, tree));
  row["isPlain"] = type.kind == FactorKind::kCheck;
  return row;
}

Data MeasuredFactors(const std::vector<FactorRow>& runs, std::set<Factor>& used) {
  Data rows = Data::array();
  for (const FactorType& type : AllFactors()) {
    if (!IsShown(type.factor, runs)) continue;
    used.insert(type.factor);
    rows.push_back(MeasuredRow(type, runs));
  }
  std::vector<FactorCell> times, iterations, spans;
  for (const FactorRow& run : runs) {
    times.push_back({.text = run.runtime ? FormatSeconds(*run.runtime) : "–"});
    if (run.runtime) times.back().error = FormatSecondsError(*run.runtime, run.runtime_error);
    iterations.push_back({.text = fmt::format("{:g}", run.iterations)});
    spans.push_back({.text = run.span ? ToString(*run.span) : "–"});
  }
  rows.push_back(MeasuredRow("Run time of the phase", times));
  rows.push_back(MeasuredRow("Iterations", iterations));
  if (std::ranges::any_of(runs, [](const FactorRow& run) { return run.span.has_value(); })) {
    rows.push_back(MeasuredRow("Span", spans));
  }
  bool has_errors = false;
  for (const Data& row : rows) {
    for (const Data& cell : row["cells"]) has_errors = has_errors || cell["error"] != "";
  }
  return {{"columns", ToData(ColumnsOf(runs))}, {"rows", std::move(rows)}, {"hasErrors", has_errors}};
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
    std::vector<ProjectedCell> cells;
    for (const FactorProjection* column : columns) {
      cells.push_back(CellOf(phase, column->factor, column->targets[i], column->factor != Factor::kSpeedup));
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
                    {"reliability", LabelOf(ReliabilityOf(phase, first.cores))},
                    {"cells", ToData(cells)}});
  }
  return rows;
}

Data DominanceRows(const PhaseProjection& phase) {
  Data rows = Data::array();
  const KnownDominance known = DominanceWithinReliableRange(phase);
  for (std::size_t i = 0; i < known.ranges.size(); ++i) {
    const Dominance& dominance = known.ranges[i];
    const bool is_last = i + 1 == known.ranges.size();
    const std::string from = FormatCores(dominance.cores);
    std::string range = from + " cores and more";
    if (!is_last || known.end) {
      const std::string to = FormatCores(is_last ? *known.end : known.ranges[i + 1].cores - 1);
      range = (from == to ? from : from + " to " + to) + " cores";
      if (is_last) range += ", the reliable range";
    }
    rows.push_back(
        {{"range", range}, {"factor", Name(dominance.factor)}, {"advice", Describe(dominance.factor).advice}});
  }
  return rows;
}

// The phase on the machine of the runs and on the others.
std::vector<SampledMachine> MachinesOf(const Results& results, const PhaseProjection& projection) {
  std::vector<SampledMachine> machines = {{kProjected, &projection}};
  for (const Variant& variant : results.variants) {
    machines.push_back({variant.name, nullptr});
    for (const PhaseProjection& other : variant.projections) {
      if (other.series == projection.series && other.phase == projection.phase) machines.back().projection = &other;
    }
  }
  return machines;
}

Data ProjectionSection(const Results& results, const PhaseProjection& phase, const PhaseNames& names,
                       const ReportParts& parts) {
  const std::vector<const FactorProjection*> charted = ChartedFactors(phase);
  const FactorProjection* headline = HeadlineOf(phase);
  const bool is_grown = std::ranges::any_of(charted, [](const auto* factor) { return !factor->predictors.empty(); });
  Data chart_columns = Data::array(), columns = Data::array();
  for (const FactorProjection* factor : charted) chart_columns.push_back(FactorColumn(*factor));
  SampledValues sampled = SampleValues(MachinesOf(results, phase), names.anchor);
  if (sampled.table) parts.choices.push_back(std::move(sampled.choices));
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
  // For the caption: whose intervals are drawn, which curves end early.
  return {{"headline", headline == nullptr ? "" : NameInSentence(headline->factor)},
          {"earlyEnds", ListEarlyEnds(phase, charted)},
          {"modelWeights", Join(weights, "; ")},
          {"isGrown", is_grown},
          {"chartColumns", std::move(chart_columns)},
          {"chartRows", ToData(RowsBehindChart(phase, charted))},
          {"sampled", ToData(sampled.table)},
          {"columns", std::move(columns)},
          {"targets", Targets(phase, shown)},
          {"predictors", ToData(TabulatePredictors(phase))},
          {"dominance", DominanceRows(phase)}};
}

PhaseNames NamesOf(const std::string& series, const PhaseId& phase, std::set<std::string>& anchors) {
  const std::string text = phase.Text();
  const std::string heading = series.empty() ? text : series + (text.empty() ? "" : ", " + text);
  return {heading.empty() ? "All runs" : heading, UniqueSlug(series.empty() ? text : series + "-" + text, anchors)};
}

}  // namespace

ReportData SectionOfPhase(const Results& results, const PhaseProjection* projection, const std::string& series,
                          const PhaseId& phase, const ReportParts& parts) {
  const PhaseNames names = NamesOf(series, phase, parts.anchors);
  const std::vector<FactorRow> rows = results.table.Rows(series, phase);
  const auto record = std::ranges::find(results.phases, phase, &PhaseRecord::id);
  const std::string obstacle = projection != nullptr ? projection->obstacle : "no projection was made";
  const bool is_projected = obstacle.empty();
  Data section = {
      {"heading", names.heading},
      {"anchor", names.anchor},
      {"description", record != results.phases.end() ? record->description : ""},
      {"share", ShareOfRun(results, rows, phase)},
      {"overview", ToData(OverviewOf(results, rows, projection, names, parts.texts, parts.model, parts.common))},
      {"isFolded", !parts.choices.empty()},
      {"measured", MeasuredFactors(rows, parts.used)},
      {"superlinear", WhySuperlinear(rows, projection)}};
  const std::optional<SplitsSection> splits = SplitsOfPhase(results, {series, phase}, names, parts.texts, parts.model);
  section["obstacle"] = splits && splits->is_known ? "" : obstacle;  // splits stand in place of a projection
  section["splits"] = ToData(splits);
  section["projection"] = is_projected ? ProjectionSection(results, *projection, names, parts) : Data(false);
  section["outlook"] = section["gains"] = section["nextRuns"] = false;
  if (is_projected) {
    section["outlook"] = ResultTables(TabulateOutlook(*projection), DescribePeak(*projection, parts.texts));
    section["gains"] = ResultTables(TabulateGains(*projection));
    section["nextRuns"] = ResultTables(TabulateNextRuns(*projection));
  }
  section["comparison"] = ToData(ComparePhase(results, series, phase, names, parts.texts, parts.model));
  section["backtest"] = ToData(BacktestOfPhase(results, series, phase, parts.texts));
  section["losses"] = ToData(LossesInReport(results, series, phase, names.heading, parts.texts));
  section["iterations"] = ToData(IterationsOfPhase(results, phase, names, parts.model));
  section["fits"] = ToData(FitsOfPhase(projection, names.anchor, parts.used, parts.model));
  section["hasFits"] = !section["fits"].empty();
  return section;
}

}  // namespace farscale
