#include "report/report_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/format.h"
#include "base/text.h"
#include "base/version.h"
#include "projection/factor_parts.h"
#include "report/answers_section.h"
#include "report/backtest_section.h"
#include "report/comparison.h"
#include "report/evidence.h"
#include "report/figures.h"
#include "report/readings.h"
#include "report/rivals.h"
#include "report/summary.h"
#include "report/timelines.h"

namespace farscale {
namespace {

using Data = ReportData;

// Letters, digits and dashes, for anchors and file names.
std::string Slug(const std::string& text) {
  std::string slug;
  for (const char c : ToLower(text)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain) slug += c;
    if (!plain && !slug.empty() && slug.back() != '-') slug += '-';
  }
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return slug.empty() ? "phase" : slug.substr(0, 60);
}

// A slug that is not among `taken`; adds it to them.
std::string UniqueSlug(const std::string& text, std::set<std::string>& taken) {
  const std::string slug = Slug(text);
  std::string unique = slug;
  for (int number = 2; !taken.insert(unique).second; ++number) unique = fmt::format("{}-{}", slug, number);
  return unique;
}

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

// One phase of one series: tables, figures and words.
class PhaseSection {
 public:
  PhaseSection(const Results& results, const PhaseProjection* projection, const std::string& series,
               const std::string& phase, ReportModel& model, std::set<Factor>& used, std::set<std::string>& anchors,
               Data& choices)
      : results_(results),
        series_(series),
        phase_(phase),
        projection_(projection),
        rows_(results.table.Rows(series, phase)),
        model_(model),
        used_(used),
        choices_(choices) {
    heading_ = series.empty() ? phase : series + (phase.empty() ? "" : ", " + phase);
    if (heading_.empty()) heading_ = "All runs";
    slug_ = UniqueSlug(series.empty() ? phase : series + "-" + phase, anchors);
    section_ = {{"heading", heading_}, {"anchor", slug_}, {"description", DescriptionOf(results, phase)}};
  }

  Data Build() {
    AddMeasuredTable();
    section_.update(IterationsOfPhase(results_, phase_, heading_, slug_, model_));
    const bool projected = projection_ != nullptr && projection_->obstacle.empty();
    section_["hasProjection"] = projected;
    section_["obstacle"] = projection_ != nullptr ? projection_->obstacle : "no projection was made";
    section_["findings"] = Data::array();
    for (const std::string& sentence : SummarizePhase(rows_, projection_)) section_["findings"].push_back(sentence);
    section_["hasReadings"] = false;
    if (projected) {
      AddOverview();
      AddReadings();
      AddProjectionTable();
      AddDominance();
    }
    section_.update(AnswersOfPhase(projection_));
    AddFits(projected);
    section_.update(BacktestOfPhase(results_, series_, phase_));
    AddComparison();
    return section_;
  }

 private:
  static std::string DescriptionOf(const Results& results, const std::string& phase) {
    for (const PhaseRecord& record : results.phases) {
      if (record.name == phase) return record.description;
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
    const bool colored = type.factor != Factor::kSpeedup && type.factor != Factor::kSerializationPhaseEstimate;
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
                                {"isPlain", type.factor == Factor::kSerializationPhaseEstimate},
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

  // The phase as measured and on the other machines.
  std::vector<ReadSide> Sides() const {
    std::vector<ReadSide> sides = {{"as measured", projection_}};
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

  static std::string ModelInWords(const FittedModel& fit) {
    return fit.dimension == 1 ? fit.model : fmt::format("{}, d = {}", fit.model, fit.dimension);
  }

  // The model that weighs most, and how much; a single model has no need of a weight.
  static std::string WeighedModel(const FactorProjection& projection) {
    const std::string model = ModelInWords(projection.fit);
    if (projection.rivals.size() < 2) return model;
    return fmt::format("{}, {:.0f} %", model, 100 * projection.rivals.front().weight);
  }

  void AddFits(bool projected) {
    section_["fits"] = Data::array();
    if (projection_ == nullptr) return;
    for (const FactorProjection& projection : projection_->factors) {
      if (projection.is_product) continue;
      used_.insert(projection.factor);
      section_["fits"].push_back(Fit(projection, projected));
    }
  }

  Data Fit(const FactorProjection& projection, bool projected) {
    const FittedModel& fit = projection.fit;
    const bool drawn = projected && IsUsable(fit.outcome);
    Data data = {{"name", Name(projection.factor)},
                 {"factor", std::string(Describe(projection.factor).id)},
                 {"meaning", std::string(Describe(projection.factor).meaning)},
                 {"outcome", ToString(fit.outcome)},
                 {"isUsable", IsUsable(fit.outcome)},
                 {"isDrawn", drawn},
                 {"model", fit.model.empty() ? "none" : WeighedModel(projection)},
                 {"formula", projection.formula},
                 {"variable", fit.dimension == 1 ? "x = P" : fmt::format("x = P^(1/{})", fit.dimension)},
                 {"points", fmt::format("{} {}", fit.points.size(), fit.points.size() == 1 ? "point" : "points")},
                 {"sigma", fit.sigma_is_assumed ? fmt::format("{} (assumed: no point to spare)", fit.sigma)
                                                : FormatSignificant(fit.sigma, 2)}};
    data["weighting"] = Weighting(fit);
    data["isWeighted"] = !fit.weights.empty();
    data["parameters"] = Parameters(fit);
    data["residuals"] = Residuals(fit);
    AddRivals(projection, data);
    data["chartRows"] = drawn ? RowsBehindChart(*projection_, {&projection}) : Data::array();
    data["figure"] = drawn ? FitFigure(projection) : Data{{"svg", ""}, {"file", ""}, {"alt", ""}};
    return data;
  }

  Data FitFigure(const FactorProjection& projection) {
    Chart chart = EfficiencyChart(*projection_, Name(projection.factor));
    chart.description = fmt::format("{} against the number of cores: measured points and the projection, mostly {}.",
                                    Name(projection.factor), WeighedModel(projection));
    MarkHorizon(*projection_, projection.factor, chart);
    chart.width = 430;
    chart.height = 260;
    chart.legend = false;
    chart.y_label = "";
    ChartSeries series;
    series.id = Describe(projection.factor).id;
    series.line = LineOf(projection);
    series.points = PointsOf(projection);
    series.inner_band = BandOf(projection, true);
    series.outer_band = BandOf(projection, false);
    chart.series = {series};
    return Figure(Slug(std::string(Describe(projection.factor).id)), chart);
  }

  static std::string Weighting(const FittedModel& fit) {
    if (fit.weights.empty()) return "";
    const auto [least, most] = std::minmax_element(fit.weights.begin(), fit.weights.end());
    return fmt::format(
        "The runs count by {}their loss and their distance from the largest run, with weights from {} to {}.",
        fit.scatter > 0 ? "the spread of their iterations, " : "", FormatSignificant(*least, 2),
        FormatSignificant(*most, 2));
  }

  static Data Parameters(const FittedModel& fit) {
    Data list = Data::array();
    const std::size_t count = fit.parameters.size();
    for (std::size_t i = 0; i < count; ++i) {
      const bool has_error = fit.covariance.size() == count * count;
      const double error = has_error ? std::sqrt(std::max(0.0, fit.covariance[i * count + i])) : 0;
      list.push_back({{"name", fit.names[i]},
                      {"value", fmt::format("{:.6g}", fit.parameters[i])},
                      {"error", has_error ? "± " + FormatSignificant(error, 2) : "error unknown"},
                      {"atBound", static_cast<bool>(fit.at_bound[i])}});
    }
    return list;
  }

  static Data Residuals(const FittedModel& fit) {
    Data list = Data::array();
    for (std::size_t i = 0; i < fit.residuals.size(); ++i) {
      list.push_back({{"cores", FormatCores(fit.points[i].cores)},
                      {"measured", FormatFactor(fit.points[i].value)},
                      {"residual", fmt::format("{:+.4f}", fit.residuals[i])}});
    }
    return list;
  }

  const Results& results_;
  const std::string series_, phase_;
  const PhaseProjection* projection_;
  const std::vector<FactorRow> rows_;
  ReportModel& model_;
  std::set<Factor>& used_;
  Data& choices_;
  std::string heading_;
  std::string slug_;
  Data section_;
};

const PhaseProjection* ProjectionOf(const Results& results, const std::string& series, const std::string& phase) {
  for (const PhaseProjection& projection : results.projections) {
    if (projection.series == series && projection.phase == phase) return &projection;
  }
  return nullptr;
}

std::string Mix(const std::array<double, 3>& a, const std::array<double, 3>& b, double share) {
  std::string color = "#";
  for (std::size_t i = 0; i < 3; ++i) {
    color += fmt::format("{:02x}", static_cast<int>(std::lround(a[i] + (b[i] - a[i]) * share)));
  }
  return color;
}

}  // namespace

ReportData AddFigure(ReportModel& model, const std::string& name, const std::string& svg, const std::string& file,
                     const std::string& alt) {
  model.figures[name] = file;
  return {{"svg", svg}, {"file", "figures/" + name}, {"alt", alt}};
}

std::string PopColor(double value) {
  constexpr std::array<double, 3> kWhite = {255, 255, 255}, kGreen = {116, 196, 118}, kRed = {239, 101, 72};
  constexpr double kGood = 0.8, kBad = 0.5;
  if (value >= kGood) return Mix(kWhite, kGreen, std::min(1.0, 0.25 + 0.75 * (value - kGood) / (1 - kGood)));
  return Mix(kWhite, kRed, std::min(1.0, 0.25 + 0.75 * (kGood - value) / (kGood - kBad)));
}

std::string PopTone(double value) {
  constexpr double kStep = 0.05, kGood = 0.8;
  constexpr std::string_view kTones = "0123456789a";
  const double steps = std::floor((value - kGood) / kStep + 1e-9);
  return std::string(1, kTones[static_cast<std::size_t>(std::clamp(7 + steps, 0.0, 10.0))]);
}

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
  data["phases"] = Data::array();
  Data choices = Data::array();
  for (const std::string& series : results.table.Series()) {
    for (const std::string& phase : results.table.Phases(series)) {
      const PhaseProjection* projection = ProjectionOf(results, series, phase);
      data["phases"].push_back(PhaseSection(results, projection, series, phase, model, used, anchors, choices).Build());
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
