#include "report/fits_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "report/evidence.h"
#include "report/figures.h"
#include "report/readings.h"
#include "report/rivals.h"
#include "pages/slug.h"

namespace farscale {
namespace {

using Data = ReportData;

std::string ModelInWords(const FittedModel& fit) {
  return fit.dimension == 1 ? fit.model : fmt::format("{}, d = {}", fit.model, fit.dimension);
}

std::string Weighting(const FittedModel& fit) {
  if (fit.weights.empty()) return "";
  const auto [least, most] = std::minmax_element(fit.weights.begin(), fit.weights.end());
  return fmt::format(
      "The runs count by {}their loss and their distance from the largest run, with weights from {} to {}.",
      fit.scatter > 0 ? "the spread of their iterations, " : "", FormatSignificant(*least, 2),
      FormatSignificant(*most, 2));
}

Data Parameters(const FittedModel& fit) {
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

Data Residuals(const FittedModel& fit) {
  Data list = Data::array();
  for (std::size_t i = 0; i < fit.residuals.size(); ++i) {
    list.push_back({{"cores", FormatCores(fit.points[i].cores)},
                    {"measured", FormatFactor(fit.points[i].value)},
                    {"residual", fmt::format("{:+.4f}", fit.residuals[i])}});
  }
  return list;
}

// The fits of one phase: figures, parameters, residuals and rivals.
class FitsSection {
 public:
  FitsSection(const PhaseProjection& projection, const std::string& slug, ReportModel& model)
      : projection_(projection), slug_(slug), model_(model) {}

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
    data["chartRows"] = drawn ? RowsBehindChart(projection_, {&projection}) : Data::array();
    data["figure"] = drawn ? FitFigure(projection) : Data{{"svg", ""}, {"file", ""}, {"alt", ""}};
    return data;
  }

 private:
  Data FitFigure(const FactorProjection& projection) {
    Chart chart = EfficiencyChart(projection_, Name(projection.factor));
    chart.description = fmt::format("{} against the number of cores: measured points and the projection, mostly {}.",
                                    Name(projection.factor), WeighedModel(projection));
    MarkHorizon(projection_, projection.factor, chart);
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
    const std::string name = slug_ + "-" + Slug(std::string(Describe(projection.factor).id)) + ".svg";
    return AddFigure(model_, name, RenderSvg(chart, false), RenderSvg(chart, true), chart.description);
  }

  const PhaseProjection& projection_;
  const std::string& slug_;
  ReportModel& model_;
};

}  // namespace

std::string WeighedModel(const FactorProjection& projection) {
  const std::string model = ModelInWords(projection.fit);
  if (projection.rivals.size() < 2) return model;
  return fmt::format("{}, {:.0f} %", model, 100 * projection.rivals.front().weight);
}

ReportData FitsOfPhase(const PhaseProjection* projection, const std::string& slug, std::set<Factor>& used,
                       ReportModel& model) {
  Data fits = Data::array();
  if (projection == nullptr) return fits;
  for (const FactorProjection& one : projection->factors) {
    if (one.is_product) continue;
    used.insert(one.factor);
    fits.push_back(FitsSection(*projection, slug, model).Fit(one, projection->obstacle.empty()));
  }
  return fits;
}

}  // namespace farscale
