#include "report/fits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "projection/load_balance_by_loads.h"
#include "report/predictors.h"
#include "report/reliability.h"
#include "report/figures.h"

namespace farscale {
namespace {

std::string ModelInWords(const FittedModel& fit) {
  return fit.dimension == 1 ? fit.model : fmt::format("{}, d = {}", fit.model, fit.dimension);
}

std::vector<FitParameter> ParametersOf(const FittedModel& fit) {
  std::vector<FitParameter> list;
  const std::size_t count = fit.parameters.size();
  const bool has_error = fit.covariance.size() == count * count;
  for (std::size_t i = 0; i < count; ++i) {
    const double error = has_error ? std::sqrt(std::max(0.0, fit.covariance[i * count + i])) : 0;
    list.push_back({fit.names[i], fmt::format("{:.6g}", fit.parameters[i]),
                    has_error ? "± " + FormatSignificant(error, 2) : "error unknown",
                    static_cast<bool>(fit.at_bound[i])});
  }
  return list;
}

std::vector<FitResidual> ResidualsOf(const FittedModel& fit) {
  std::vector<FitResidual> list;
  for (std::size_t i = 0; i < fit.residuals.size(); ++i) {
    list.push_back({FormatCores(fit.points[i].cores), FormatFactor(fit.points[i].value),
                    fmt::format("{:+.4f}", fit.residuals[i])});
  }
  return list;
}

ReportData FigureOf(const PhaseProjection& phase, const FactorProjection& projection, const std::string& slug,
                    ReportModel& model) {
  Chart chart = EfficiencyChart(phase, Name(projection.factor));
  chart.description = fmt::format("{} against the number of cores: measured points and the projection, mostly {}.",
                                  Name(projection.factor), WeighedModel(projection));
  MarkReliableRange(phase, projection.factor, chart);
  chart.width = 430;
  chart.height = 260;
  chart.legend = LegendPlace::kBeside;  // which has no title
  chart.y_label = chart.split_label = "";
  chart.series = {SeriesOf(projection, true)};
  chart.y_min = LowestShown(chart);
  if (DrawPredictors(phase, {&projection}, chart)) chart.legend = LegendPlace::kAbove;
  const std::string name = slug + "-" + Slug(std::string(Describe(projection.factor).id)) + ".svg";
  return AddChart(chart, name, model);
}

// Chosen: so many targets fit beside each other.
constexpr std::size_t kMostTargets = 5;
constexpr double kWorthARow = 0.01;  // lighter models are listed by name

// Some of the targets, evenly spaced, with the first and the last.
std::vector<std::size_t> ShownTargets(std::size_t count) {
  std::vector<std::size_t> shown;
  const std::size_t wanted = std::min(count, kMostTargets);
  for (std::size_t i = 0; i < wanted; ++i) shown.push_back(wanted == 1 ? 0 : i * (count - 1) / (wanted - 1));
  return shown;
}

std::string NameOf(const CandidateModel& candidate) {
  return candidate.dimension == 1 ? candidate.model : fmt::format("{}, d = {}", candidate.model, candidate.dimension);
}

void AddCandidates(const FactorProjection& projection, Fit& fit) {
  const std::vector<std::size_t> shown = ShownTargets(projection.targets.size());
  for (const std::size_t target : shown) fit.candidate_cores.push_back(FormatCores(projection.targets[target].cores));
  std::vector<std::string> light, useless;
  for (const CandidateModel& candidate : projection.candidates) {
    if (!IsUsable(candidate.outcome)) {
      useless.push_back(NameOf(candidate) + " (" + ToString(candidate.outcome) + ")");
    } else if (candidate.weight < kWorthARow) {
      light.push_back(NameOf(candidate));
    } else {
      CandidateRow row{NameOf(candidate), fmt::format("{:.0f} %", 100 * candidate.weight), {}};
      for (const std::size_t target : shown) {
        row.values.push_back(target < candidate.values.size() ? FormatFactor(candidate.values[target]) : "–");
      }
      fit.candidates.push_back(std::move(row));
    }
  }
  fit.has_candidates = !fit.candidates.empty();
  fit.light_candidates = Join(light, "; ");
  fit.unusable_candidates = Join(useless, "; ");
}

std::string WeighedCurve(const FactorProjection& projection) {
  const std::string model = ModelInWords(projection.fit);
  if (projection.candidates.size() < 2) return model;
  return fmt::format("{}, {:.0f} %", model, 100 * projection.candidates.front().weight);
}

Fit FitOf(const PhaseProjection& phase, const FactorProjection& projection, const std::string& slug,
          ReportModel& model) {
  const FittedModel& fitted = projection.fit;
  const FactorType& type = Describe(projection.factor);
  Fit fit{.name = Name(projection.factor), .factor = std::string(type.id), .meaning = std::string(type.meaning)};
  fit.outcome = ToString(fitted.outcome);
  fit.is_usable = IsUsable(fitted.outcome);
  fit.model = fitted.model.empty() ? "none" : WeighedCurve(projection);
  fit.formula = projection.formula;
  fit.variable = fitted.dimension == 1 ? "x = P" : fmt::format("x = P^(1/{})", fitted.dimension);
  fit.points = fmt::format("{} {}", fitted.points.size(), fitted.points.size() == 1 ? "point" : "points");
  fit.sigma = fitted.sigma_is_assumed ? fmt::format("{} (assumed: no point to spare)", fitted.sigma)
                                      : FormatSignificant(fitted.sigma, 2);
  if (!fitted.weights.empty()) {
    const auto [least, most] = std::ranges::minmax(fitted.weights);
    fit.weights = FitWeights{fitted.scatter > 0, FormatSignificant(least, 2), FormatSignificant(most, 2)};
  }
  fit.parameters = ParametersOf(fitted);
  fit.residuals = ResidualsOf(fitted);
  AddCandidates(projection, fit);
  if (!phase.obstacle.empty() || !fit.is_usable) return fit;
  fit.figure = FigureOf(phase, projection, slug, model);
  fit.chart_rows = RowsBehindChart(phase, {&projection});
  return fit;
}

}  // namespace

std::string WeighedModel(const FactorProjection& projection) {
  const auto loads = std::ranges::find(projection.candidates, kLoadsModel, &CandidateModel::model);
  if (loads != projection.candidates.end() && loads->weight > projection.candidates.front().weight) {
    return fmt::format("{}, {:.0f} %", kLoadsModel, 100 * loads->weight);
  }
  return WeighedCurve(projection);
}

std::vector<Fit> FitsOfPhase(const PhaseProjection* projection, const std::string& slug, std::set<Factor>& used,
                             ReportModel& model) {
  std::vector<Fit> fits;
  if (projection == nullptr) return fits;
  for (const FactorProjection& one : projection->factors) {
    if (one.is_product || !IsShown(one)) continue;
    used.insert(one.factor);
    fits.push_back(FitOf(*projection, one, slug, model));
  }
  return fits;
}

}  // namespace farscale
