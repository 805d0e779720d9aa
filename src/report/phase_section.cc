#include "report/phase_section.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "pages/slug.h"
#include "projection/curve.h"
#include "projection/factor_parts.h"
#include "report/answers_section.h"
#include "report/backtest_section.h"
#include "report/comparison.h"
#include "report/evidence.h"
#include "report/figures.h"
#include "report/fits_section.h"
#include "report/losses_section.h"
#include "report/pop_colors.h"
#include "report/readings.h"
#include "report/summary.h"
#include "report/timelines.h"

namespace farscale {
namespace {

using Data = ReportData;

// One phase of one series: tables, figures and words.
class PhaseSection {
 public:
  PhaseSection(const Results& results, const PhaseProjection* projection, const std::string& series,
               const PhaseId& phase, const ReportParts& parts)
      : results_(results),
        series_(series),
        phase_(phase),
        projection_(projection),
        rows_(results.table.Rows(series, phase)),
        model_(parts.model),
        used_(parts.used),
        choices_(parts.choices) {
    const std::string text = phase.Text();
    heading_ = series.empty() ? text : series + (text.empty() ? "" : ", " + text);
    if (heading_.empty()) heading_ = "All runs";
    slug_ = UniqueSlug(series.empty() ? text : series + "-" + text, parts.anchors);
    section_ = {{"heading", heading_}, {"anchor", slug_}, {"description", DescriptionOf(results, phase)}};
  }

  Data Build() {
    AddMeasuredTable();
    section_.update(LossesInReport(results_, series_, phase_, heading_));
    section_.update(IterationsOfPhase(results_, phase_, heading_, slug_, model_));
    const bool projected = projection_ != nullptr && projection_->obstacle.empty();
    section_["hasProjection"] = projected;
    section_["obstacle"] = projection_ != nullptr ? projection_->obstacle : "no projection was made";
    section_["findings"] = Data::array();
    for (const std::string& sentence : SummarizePhase(rows_, projection_)) section_["findings"].push_back(sentence);
    const std::string superlinear = WhySuperlinear(rows_, projection_);
    section_["superlinear"] = superlinear;
    section_["isSuperlinear"] = !superlinear.empty();
    section_["hasReadings"] = false;
    if (projected) {
      AddOverview();
      AddReadings();
      AddProjectionTable();
      AddDominance();
    }
    section_.update(AnswersOfPhase(projection_));
    section_["fits"] = FitsOfPhase(projection_, slug_, used_, model_);
    section_.update(BacktestOfPhase(results_, series_, phase_));
    AddComparison();
    return section_;
  }

 private:
  static std::string DescriptionOf(const Results& results, const PhaseId& phase) {
    for (const PhaseRecord& record : results.phases) {
      if (record.id == phase) return record.description;
    }
    return "";
  }

  // A cell of the table of measured factors, coloured by an efficiency; `error` is empty where there is nothing to
  // show.
  Data Cell(const std::string& text, const std::optional<double>& efficiency, const std::string& error) {
    if (!error.empty()) section_["hasErrors"] = true;
    return {{"text", text},
            {"color", efficiency ? PopColor(*efficiency) : kNoColor},
            {"tone", efficiency ? PopTone(*efficiency) : kNoTone},
            {"error", error},
            {"hasError", !error.empty()}};
  }

  void AddMeasuredTable() {
    section_["hasErrors"] = false;
    Data columns = Data::array();
    for (const FactorRow& row : rows_) {
      columns.push_back({{"cores", FormatCores(static_cast<double>(row.cores))},
                         {"repeat", row.repeat > 0 ? fmt::format("repeat {}", row.repeat) : ""}});
    }
    section_["columns"] = columns;
    section_["rows"] = Data::array();
    for (const FactorType& type : AllFactors()) AddFactorRow(type);
    AddPlainRow("Run time of the phase", [&](const FactorRow& row) {
      if (!row.runtime) return Cell("–", {}, "");
      return Cell(FormatSeconds(*row.runtime), {}, FormatSecondsError(*row.runtime, row.runtime_error));
    });
    AddPlainRow("Iterations", [&](const FactorRow& row) { return Cell(fmt::format("{:g}", row.iterations), {}, ""); });
    const bool has_spans = std::any_of(rows_.begin(), rows_.end(), [](const FactorRow& row) { return row.span; });
    if (has_spans) {
      AddPlainRow("Span", [&](const FactorRow& row) { return Cell(row.span ? ToString(*row.span) : "–", {}, ""); });
    }
  }

  void AddFactorRow(const FactorType& type) {
    const bool any = std::any_of(rows_.begin(), rows_.end(),
                                 [&](const FactorRow& row) { return row.values[type.factor].has_value(); });
    if (!any) return;
    used_.insert(type.factor);
    const bool colored = type.IsEfficiency();
    Data cells = Data::array();
    for (const FactorRow& row : rows_) {
      const std::optional<double>& value = row.values[type.factor];
      cells.push_back(Cell(value ? FormatValue(type.factor, *value) : "–", colored ? value : std::nullopt,
                           value ? FormatError(type.factor, *value, row.standard_errors[type.factor]) : ""));
    }
    const int depth = DepthOf(type.factor);
    std::string indent;
    for (int i = 0; i < depth; ++i) indent += "  ";  // no-break spaces, for Markdown
    section_["rows"].push_back({{"name", std::string(type.name)},
                                {"factor", std::string(type.id)},
                                {"indent", indent},
                                {"depth", std::to_string(depth)},
                                {"formula", std::string(type.formula)},
                                {"isPlain", type.kind == FactorKind::kCheck},
                                {"cells", cells}});
  }

  template <typename MakeCell>
  void AddPlainRow(const std::string& name, MakeCell make_cell) {
    Data cells = Data::array();
    for (const FactorRow& row : rows_) cells.push_back(make_cell(row));
    section_["rows"].push_back({{"name", name},
                                {"factor", ""},
                                {"indent", ""},
                                {"depth", "0"},
                                {"formula", ""},
                                {"isPlain", true},
                                {"cells", cells}});
  }

  Data Figure(const std::string& name, const Chart& chart) {
    return AddFigure(model_, slug_ + "-" + name + ".svg", RenderSvg(chart, false), RenderSvg(chart, true),
                     chart.description);
  }

  // Whether the factor is part of the efficiency as projected; others are fitted for reading only.
  bool IsPartOfTheWhole(Factor factor) const {
    std::vector<Factor> fitted;
    for (const FactorProjection& projection : projection_->factors) {
      if (!projection.curve.empty() && !projection.is_product) fitted.push_back(projection.factor);
    }
    const std::vector<Factor> losses = LossesAmong(fitted);
    return std::find(losses.begin(), losses.end(), factor) != losses.end();
  }

  // What a reader follows from run to target: the efficiencies and their losses.
  std::vector<const FactorProjection*> OverviewFactors() const {
    std::vector<const FactorProjection*> chosen;
    for (const FactorProjection& projection : projection_->factors) {
      const bool is_whole =
          projection.factor == Factor::kGlobalEfficiency || projection.factor == Factor::kParallelEfficiency;
      if (!projection.curve.empty() && (is_whole || IsPartOfTheWhole(projection.factor))) chosen.push_back(&projection);
    }
    return chosen;
  }

  void AddOverview() {
    Chart chart = EfficiencyChart(*projection_, "Efficiency against cores: " + heading_);
    chart.description = "Measured and projected efficiency factors of " + heading_ + " against the number of cores.";
    chart.width = 860;
    chart.height = 420;
    const FactorProjection* headline = HeadlineOf(*projection_);
    int color = 0;
    section_["overviewColumns"] = Data::array();
    const std::vector<const FactorProjection*> factors = OverviewFactors();
    for (const FactorProjection* projection : factors) {
      section_["overviewColumns"].push_back(
          {{"name", Name(projection->factor)}, {"factor", std::string(Describe(projection->factor).id)}});
      ChartSeries series;
      series.name = Name(projection->factor);
      series.id = Describe(projection->factor).id;
      series.is_chosen = true;
      series.color = color++;
      series.width = projection == headline ? 3.2 : 1.8;
      series.line = LineOf(*projection);
      series.evidence_x = EndsEarly(*projection_, projection->factor);
      series.points = PointsOf(*projection);
      if (projection == headline) {
        series.inner_band = BandOf(*projection, true);
        series.outer_band = BandOf(*projection, false);
      }
      chart.series.push_back(series);
    }
    for (const Variant& variant : results_.variants) chart.sides.push_back(variant.name);
    section_["overviewRows"] = RowsBehindChart(*projection_, factors);
    const std::vector<Dominance> ranges = DominanceWithinEvidence(*projection_).ranges;
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      const Dominance& change = ranges[i];
      chart.marks.push_back({change.cores, fmt::format("from {}: {}", FormatCores(change.cores), Name(change.factor))});
    }
    section_["overview"] = Figure("projection", chart);
    section_["overviewCaption"] =
        headline == nullptr
            ? "Points are measured, lines are fitted; beyond the largest run they are extrapolated (dashed)."
            : "Points are measured, lines are fitted; beyond the largest run they are extrapolated (dashed). The bands "
              "are "
              "the 80 % and 95 % intervals of " +
                  NameInSentence(headline->factor) + ".";
    if (chart.horizon_x && chart.beyond_is_grey) {
      section_["overviewCaption"] = section_["overviewCaption"].get<std::string>() + " Grey is beyond the evidence.";
    }
    if (const std::string ends = DescribeEarlyEnds(*projection_, factors); !ends.empty()) {
      section_["overviewCaption"] = section_["overviewCaption"].get<std::string>() + " " + ends;
    }
  }

  // The phase on the machine of the runs and on the others.
  std::vector<ReadSide> Sides() const {
    std::vector<ReadSide> sides = {{kProjected, projection_}};
    for (const Variant& variant : results_.variants) {
      ReadSide side{variant.name, nullptr};
      for (const PhaseProjection& projection : variant.projections) {
        if (projection.series == series_ && projection.phase == phase_) side.projection = &projection;
      }
      sides.push_back(side);
    }
    return sides;
  }

  // Numbers to read off the chart.
  void AddReadings() {
    Readings readings = ReadingsOfPhase(Sides(), slug_);
    section_.update(readings.table);
    if (!readings.choices.empty()) choices_.push_back(std::move(readings.choices));
  }

  void AddProjectionTable() {
    std::vector<const FactorProjection*> columns;
    for (const FactorProjection& projection : projection_->factors) {
      const bool shown = projection.is_product || IsPartOfTheWhole(projection.factor);
      if (!projection.targets.empty() && shown) columns.push_back(&projection);
    }
    Data header = Data::array();
    for (const FactorProjection* column : columns) {
      used_.insert(column->factor);
      header.push_back({{"name", Name(column->factor)},
                        {"factor", std::string(Describe(column->factor).id)},
                        {"model", column->is_product ? "product" : WeighedModel(*column)}});
    }
    section_["targetColumns"] = header;
    section_["targets"] = Data::array();
    const std::size_t count = columns.empty() ? 0 : columns.front()->targets.size();
    for (std::size_t i = 0; i < count; ++i) {
      const ProjectedValue& first = columns.front()->targets[i];
      Data cells = Data::array();
      for (const FactorProjection* column : columns) {
        const bool colored = column->factor != Factor::kSpeedup;
        cells.push_back(ProjectedCell(*projection_, column->factor, column->targets[i], colored));
      }
      const auto dominant = projection_->dominant_at.find(first.cores);
      section_["targets"].push_back(
          {{"cores", FormatCores(first.cores)},
           {"ratio", FormatRatio(first.ratio)},
           {"isEvidence", IsEvidence(*projection_, first.cores)},
           {"cells", cells},
           {"dominant", dominant == projection_->dominant_at.end()                ? "–"
                        : IsEvidence(*projection_, dominant->second, first.cores) ? Name(dominant->second)
                                                                                  : kNotEvidence}});
    }
  }

  void AddComparison() {
    const PhaseComparison comparison = ComparePhase(results_, series_, phase_, heading_);
    section_.update(comparison.data);
    if (comparison.figure) section_["comparisonFigure"] = Figure("comparison", *comparison.figure);
  }

  void AddDominance() {
    Data list = Data::array();
    const KnownDominance known = DominanceWithinEvidence(*projection_);
    for (std::size_t i = 0; i < known.ranges.size(); ++i) {
      const Dominance& dominance = known.ranges[i];
      const bool last = i + 1 == known.ranges.size();
      const bool is_open = last && !known.end;
      const std::string from = FormatCores(dominance.cores);
      const std::string to = is_open ? "" : FormatCores(last ? *known.end : known.ranges[i + 1].cores - 1);
      std::string range = is_open ? from + " cores and more" : (from == to ? from : from + " to " + to) + " cores";
      if (last && known.end) range += ", as far as there is evidence";
      list.push_back({{"range", range},
                      {"factor", Name(dominance.factor)},
                      {"advice", std::string(Describe(dominance.factor).advice)}});
    }
    section_["dominance"] = list;
  }

  const Results& results_;
  const std::string series_;
  const PhaseId phase_;
  const PhaseProjection* projection_;
  const std::vector<FactorRow> rows_;
  ReportModel& model_;
  std::set<Factor>& used_;
  Data& choices_;
  std::string heading_;
  std::string slug_;
  Data section_;
};

}  // namespace

ReportData SectionOfPhase(const Results& results, const PhaseProjection* projection, const std::string& series,
                          const PhaseId& phase, const ReportParts& parts) {
  return PhaseSection(results, projection, series, phase, parts).Build();
}

}  // namespace farscale
