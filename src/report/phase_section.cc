#include "report/phase_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

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

struct MeasuredRow {
  std::string name, factor, formula;
  std::string depth = "0", indent;  // in the tree of factors; as no-break spaces, for Markdown
  bool is_plain = true;             // not part of the tree
  std::vector<FactorCell> cells;
  FARSCALE_TAGS(name, factor, formula, depth, indent, is_plain, cells)
};

struct MeasuredTable {
  std::vector<RunColumn> columns;
  std::vector<MeasuredRow> rows;
  bool has_errors = false;
  FARSCALE_TAGS(columns, rows, has_errors)
};

struct ResultTables {
  std::string sentence;
  std::vector<ResultTable> tables;
  FARSCALE_TAGS(sentence, tables)
};

struct FactorColumn {
  FARSCALE_TEXTS(name, factor, model)
};

struct TargetRow {
  std::string cores, ratio, dominant;
  std::string reliability;  // "uncertain", "unknown" or empty
  std::vector<ProjectedCell> cells;
  FARSCALE_TAGS(cores, ratio, dominant, reliability, cells)
};

struct DominanceRow {
  FARSCALE_TEXTS(range, factor, advice)
};

struct ProjectionSection {
  std::string headline, early_ends;  // for the caption: whose intervals are drawn, which curves end early
  std::string model_weights;         // "load balance: loads (90 %); transfer: amdahl (58 %)"
  bool is_grown = false;
  std::vector<FactorColumn> chart_columns;
  std::vector<ChartRow> chart_rows;
  std::optional<SampledTable> sampled;
  std::vector<FactorColumn> columns;
  std::vector<TargetRow> targets;
  std::optional<PredictorTable> predictors;
  std::vector<DominanceRow> dominance;
  FARSCALE_TAGS(headline, early_ends, model_weights, is_grown, chart_columns, chart_rows, sampled, columns, targets,
                predictors, dominance)
};

struct PhaseSection {
  std::string heading, anchor, description;
  std::string share;  // of the run's time, and iterations left out
  Overview overview;
  bool is_folded = false;
  MeasuredTable measured;
  std::string superlinear, obstacle;
  std::optional<SplitsSection> splits;
  std::optional<ProjectionSection> projection;
  std::optional<ResultTables> outlook, gains, next_runs;
  std::optional<ComparisonSection> comparison;
  std::optional<BacktestSection> backtest;
  std::optional<ReportData> losses;
  std::optional<IterationsSection> iterations;
  std::vector<Fit> fits;
  bool has_fits = false;
  FARSCALE_TAGS(heading, anchor, description, share, overview, is_folded, measured, superlinear, obstacle, splits,
                projection, outlook, gains, next_runs, comparison, backtest, losses, iterations, fits, has_fits)
};

std::optional<ResultTables> TablesOrNothing(ResultTables tables) {
  return tables.tables.empty() ? std::nullopt : std::optional(std::move(tables));
}

MeasuredRow RowOf(const FactorType& type, const std::vector<FactorRow>& runs) {
  const FactorTree tree = TreeOf(runs);
  MeasuredRow row{.name = std::string(type.name),
                  .factor = std::string(type.id),
                  .formula = std::string(FormulaOf(type.factor, tree))};
  row.is_plain = type.kind == FactorKind::kCheck;
  row.depth = std::to_string(DepthOf(type.factor, tree));
  for (int i = 0; i < DepthOf(type.factor, tree); ++i) row.indent += "  ";
  for (const FactorRow& run : runs) {
    const std::optional<double>& value = run.values[type.factor];
    FactorCell cell =
        ColoredCell(value ? FormatValue(type.factor, *value) : "–", type.IsEfficiency() ? value : std::nullopt);
    if (value) cell.error = FormatError(type.factor, *value, run.standard_errors[type.factor]);
    row.cells.push_back(std::move(cell));
  }
  return row;
}

template <typename TextOfRun>
MeasuredRow PlainRow(const std::string& name, const std::vector<FactorRow>& runs, TextOfRun text_of) {
  MeasuredRow row{.name = name};
  for (const FactorRow& run : runs) row.cells.push_back({.text = text_of(run)});
  return row;
}

MeasuredTable MeasuredFactors(const std::vector<FactorRow>& runs, std::set<Factor>& used) {
  MeasuredTable table{ColumnsOf(runs), {}, false};
  for (const FactorType& type : AllFactors()) {
    if (!IsShown(type.factor, runs)) continue;
    used.insert(type.factor);
    table.rows.push_back(RowOf(type, runs));
  }
  MeasuredRow times = PlainRow("Run time of the phase", runs,
                               [](const FactorRow& run) { return run.runtime ? FormatSeconds(*run.runtime) : "–"; });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].runtime) times.cells[i].error = FormatSecondsError(*runs[i].runtime, runs[i].runtime_error);
  }
  table.rows.push_back(std::move(times));
  table.rows.push_back(
      PlainRow("Iterations", runs, [](const FactorRow& run) { return fmt::format("{:g}", run.iterations); }));
  if (std::ranges::any_of(runs, [](const FactorRow& run) { return run.span.has_value(); })) {
    table.rows.push_back(
        PlainRow("Span", runs, [](const FactorRow& run) { return run.span ? ToString(*run.span) : "–"; }));
  }
  table.has_errors = std::ranges::any_of(table.rows, [](const MeasuredRow& row) {
    return std::ranges::any_of(row.cells, [](const FactorCell& cell) { return !cell.error.empty(); });
  });
  return table;
}

FactorColumn ColumnOf(const FactorProjection& projection) {
  return {Name(projection.factor), std::string(Describe(projection.factor).id),
          projection.is_product ? "product" : WeighedModel(projection)};
}

std::vector<TargetRow> TargetsOf(const PhaseProjection& phase, const std::vector<const FactorProjection*>& columns) {
  std::vector<TargetRow> rows;
  const std::size_t count = columns.empty() ? 0 : columns.front()->targets.size();
  for (std::size_t i = 0; i < count; ++i) {
    const ProjectedValue& first = columns.front()->targets[i];
    TargetRow row{
        FormatCores(first.cores), FormatRatio(first.ratio), "–", LabelOf(ReliabilityOf(phase, first.cores)), {}};
    for (const FactorProjection* column : columns) {
      row.cells.push_back(CellOf(phase, column->factor, column->targets[i], column->factor != Factor::kSpeedup));
    }
    if (const auto dominant = phase.dominant_at.find(first.cores); dominant != phase.dominant_at.end()) {
      const Reliability level = ReliabilityOf(phase, dominant->second, first.cores);
      row.dominant = level == Reliability::kReliable    ? Name(dominant->second)
                     : level == Reliability::kUncertain ? ToString(level)
                                                        : UnknownText(phase, first.cores);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<DominanceRow> DominanceRows(const PhaseProjection& phase) {
  std::vector<DominanceRow> rows;
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
    rows.push_back({range, Name(dominance.factor), std::string(Describe(dominance.factor).advice)});
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

ProjectionSection Project(const Results& results, const PhaseProjection& phase, const PhaseNames& names,
                          const ReportParts& parts) {
  ProjectionSection section;
  const std::vector<const FactorProjection*> charted = ChartedFactors(phase);
  if (const FactorProjection* headline = HeadlineOf(phase)) section.headline = NameInSentence(headline->factor);
  section.is_grown = std::ranges::any_of(charted, [](const auto* factor) { return !factor->predictors.empty(); });
  section.early_ends = ListEarlyEnds(phase, charted);
  for (const FactorProjection* factor : charted) section.chart_columns.push_back(ColumnOf(*factor));
  section.chart_rows = RowsBehindChart(phase, charted);
  if (SampledValues sampled = SampleValues(MachinesOf(results, phase), names.anchor); sampled.table) {
    section.sampled = std::move(sampled.table);
    parts.choices.push_back(std::move(sampled.choices));
  }
  std::vector<const FactorProjection*> columns;
  std::vector<std::string> weights;
  for (const FactorProjection& projection : phase.factors) {
    const bool is_shown = projection.is_product || IsPartOfTheWhole(phase, projection.factor);
    if (projection.targets.empty() || !is_shown) continue;
    columns.push_back(&projection);
    parts.used.insert(projection.factor);
    section.columns.push_back(ColumnOf(projection));
    if (!projection.is_product) weights.push_back(NameInSentence(projection.factor) + ": " + WeighedModel(projection));
  }
  section.model_weights = Join(weights, "; ");
  section.targets = TargetsOf(phase, columns);
  section.predictors = TabulatePredictors(phase);
  section.dominance = DominanceRows(phase);
  return section;
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
  PhaseSection section{.heading = names.heading, .anchor = names.anchor};
  const auto record = std::ranges::find(results.phases, phase, &PhaseRecord::id);
  if (record != results.phases.end()) section.description = record->description;
  section.overview = OverviewOf(results, rows, projection, names, parts.texts, parts.model, parts.common);
  section.share = ShareOfRun(results, rows, phase);
  section.is_folded = !parts.choices.empty();
  section.measured = MeasuredFactors(rows, parts.used);
  section.superlinear = WhySuperlinear(rows, projection);
  section.obstacle = projection != nullptr ? projection->obstacle : "no projection was made";
  section.splits = SplitsOfPhase(results, {series, phase}, names, parts.texts, parts.model);
  const bool is_projected = section.obstacle.empty();
  if (section.splits && section.splits->is_known) section.obstacle.clear();  // they stand in place of a projection
  if (is_projected) {
    section.projection = Project(results, *projection, names, parts);
    section.outlook = TablesOrNothing({DescribePeak(*projection, parts.texts), TabulateOutlook(*projection)});
    section.gains = TablesOrNothing({"", TabulateGains(*projection)});
    section.next_runs = TablesOrNothing({"", TabulateNextRuns(*projection)});
  }
  section.comparison = ComparePhase(results, series, phase, names, parts.texts, parts.model);
  section.backtest = BacktestOfPhase(results, series, phase, parts.texts);
  section.losses = LossesInReport(results, series, phase, names.heading, parts.texts);
  section.iterations = IterationsOfPhase(results, phase, names, parts.model);
  section.fits = FitsOfPhase(projection, names.anchor, parts.used, parts.model);
  section.has_fits = !section.fits.empty();
  return ToData(section);
}

}  // namespace farscale
