#include "report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "projection/load_balance_by_loads.h"
#include "projection/model_settings.h"
#include "report/figures.h"

namespace farscale {
namespace {

using Data = ReportData;

std::string ModelName(const std::string& model, int dimension) {
  return dimension == 1 ? model : fmt::format("{}, d = {}", model, dimension);
}

std::string FormatWeight(double weight) { return fmt::format("{:.0f} %", 100 * weight); }

Data FitFigure(const PhaseProjection& phase, const FactorProjection& projection, const std::string& slug,
               ReportModel& model) {
  Chart chart = EfficiencyChart(phase, Name(projection.factor));
  chart.description = fmt::format("{} against the number of cores: measured points and the projection, mostly {}.",
                                  Name(projection.factor), WeighedModel(projection));
  MarkReliableRange(phase, projection.factor, chart);
  chart.width = 430;
  chart.height = 260;
  chart.legend = LegendPlace::kBeside;  // which has no title
  chart.y_label = chart.split_label = "";
  chart.series = {FactorSeries(projection, true)};
  chart.y_min = LowestShown(chart);
  if (DrawPredictors(phase, {&projection}, chart)) chart.legend = LegendPlace::kAbove;
  const std::string name = slug + "-" + Slug(std::string(Describe(projection.factor).id)) + ".svg";
  return AddChart(chart, name, model);
}

// Chosen: so many targets fit beside each other.
constexpr std::size_t kMostTargets = 5;
constexpr double kShownWeight = 0.01;  // lighter models are listed by name

void AddCandidates(const FactorProjection& projection, Data& fit) {
  std::vector<std::size_t> shown;  // targets, evenly spaced, with the first and the last
  const std::size_t count = projection.targets.size(), wanted = std::min(count, kMostTargets);
  for (std::size_t i = 0; i < wanted; ++i) shown.push_back(wanted == 1 ? 0 : i * (count - 1) / (wanted - 1));
  Data cores = Data::array(), rows = Data::array();
  for (const std::size_t target : shown) cores.push_back(FormatCores(projection.targets[target].cores));
  std::vector<std::string> light, useless;
  for (const CandidateModel& candidate : projection.candidates) {
    const std::string name = ModelName(candidate.model, candidate.dimension);
    if (!IsUsable(candidate.outcome)) {
      useless.push_back(name + " (" + ToString(candidate.outcome) + ")");
    } else if (candidate.weight < kShownWeight) {
      light.push_back(name);
    } else {
      Data values = Data::array();
      for (const std::size_t target : shown)
        values.push_back(target < candidate.values.size() ? FormatFactor(candidate.values[target]) : "–");
      rows.push_back({{"model", name}, {"weight", FormatWeight(candidate.weight)}, {"values", std::move(values)}});
    }
  }
  fit["candidates"] = std::move(rows);
  fit["candidateCores"] = std::move(cores);
  AddWhetherFilled(fit, {"candidates"});
  fit["lightCandidates"] = Join(light, "; ");
  fit["unusableCandidates"] = Join(useless, "; ");
}

std::string WeighedCurve(const FactorProjection& projection) {
  const std::string model = ModelName(projection.fit.model, projection.fit.dimension);
  if (projection.candidates.size() < 2) return model;
  return model + ", " + FormatWeight(projection.candidates.front().weight);
}

Data FitText(const PhaseProjection& phase, const FactorProjection& projection, const std::string& slug,
             ReportModel& model) {
  const FittedModel& fitted = projection.fit;
  const FactorType& type = Describe(projection.factor);
  const std::size_t points = fitted.points.size();
  Data weights = false;
  if (!fitted.weights.empty()) {
    const auto [least, most] = std::ranges::minmax(fitted.weights);
    weights = {{"hasSpread", fitted.scatter > 0},
               {"least", FormatSignificant(least, 2)},
               {"most", FormatSignificant(most, 2)}};
  }
  Data parameters = Data::array(), residuals = Data::array();
  const std::size_t count = fitted.parameters.size();
  const bool has_error = fitted.covariance.size() == count * count;
  for (std::size_t i = 0; i < count; ++i) {
    const double error = has_error ? std::sqrt(std::max(0.0, fitted.covariance[i * count + i])) : 0;
    parameters.push_back({{"name", fitted.names[i]},
                          {"value", fmt::format("{:.6g}", fitted.parameters[i])},
                          {"error", has_error ? "± " + FormatSignificant(error, 2) : "error unknown"},
                          {"atBound", static_cast<bool>(fitted.at_bound[i])}});
  }
  for (std::size_t i = 0; i < fitted.residuals.size(); ++i) {
    residuals.push_back({{"cores", FormatCores(fitted.points[i].cores)},
                         {"measured", FormatFactor(fitted.points[i].value)},
                         {"residual", fmt::format("{:+.4f}", fitted.residuals[i])}});
  }
  Data fit = {{"name", type.name},
              {"factor", type.id},
              {"meaning", type.meaning},
              {"outcome", ToString(fitted.outcome)},
              {"isUsable", IsUsable(fitted.outcome)},
              {"model", fitted.model.empty() ? "none" : WeighedCurve(projection)},
              {"formula", projection.formula},
              {"variable", fitted.dimension == 1 ? "x = P" : fmt::format("x = P^(1/{})", fitted.dimension)},
              {"points", fmt::format("{} {}", points, points == 1 ? "point" : "points")},
              {"sigma", fitted.sigma_is_assumed ? fmt::format("{} (assumed: no point to spare)", fitted.sigma)
                                                : FormatSignificant(fitted.sigma, 2)},
              {"weights", std::move(weights)},
              {"parameters", std::move(parameters)},
              {"residuals", std::move(residuals)},
              {"figure", false},
              {"chartRows", Data::array()}};
  AddCandidates(projection, fit);
  if (!phase.obstacle.empty() || !IsUsable(fitted.outcome)) return fit;
  fit["figure"] = FitFigure(phase, projection, slug, model);
  fit["chartRows"] = RowsBehindChart(phase, {&projection});
  return fit;
}

constexpr const char* kThinDashes = "2 3";
constexpr double kThin = 1.4;
// A target this much larger than a grown run was not replayed; chosen: the next layout is nearer in most series.
constexpr double kNearLayout = 1.1;

// The fitted factors that a factor is a product of, or itself.
std::vector<const FactorProjection*> PartsIn(const PhaseProjection& phase, Factor factor) {
  std::vector<Factor> fitted;
  for (const FactorProjection& one : phase.factors) {
    if (!one.is_product && !one.curve.empty()) fitted.push_back(one.factor);
  }
  std::vector<const FactorProjection*> parts;
  for (const Factor part : PartsOf(factor, fitted)) parts.push_back(phase.Find(part));
  return parts;
}

// The efficiency to talk about; null where no runs were grown for it.
const FactorProjection* GrownHeadline(const PhaseProjection& phase) {
  const FactorProjection* headline = Headline(phase);
  return headline != nullptr && !headline->predictors.empty() ? headline : nullptr;
}

// The largest grown run of any part. 0: none.
double LargestGrown(const PhaseProjection& phase, const FactorProjection& projection) {
  double largest = 0;
  for (const FactorProjection* part : PartsIn(phase, projection.factor)) {
    for (const DataPoint& point : part->grown) largest = std::max(largest, point.cores);
  }
  return largest;
}

bool IsBeyondRuns(const PhaseProjection& phase, double cores) { return cores > phase.fitted_cores.back(); }

const ProjectedValue* TargetAt(const FactorProjection& projection, double cores) {
  const auto found = std::ranges::find(projection.targets, cores, &ProjectedValue::cores);
  return found == projection.targets.end() ? nullptr : &*found;
}

}  // namespace

std::string WeighedModel(const FactorProjection& projection) {
  const auto loads = std::ranges::find(projection.candidates, kLoadsModel, &CandidateModel::model);
  if (loads != projection.candidates.end() && loads->weight > projection.candidates.front().weight) {
    return std::string(kLoadsModel) + ", " + FormatWeight(loads->weight);
  }
  return WeighedCurve(projection);
}

Data Fits(const PhaseProjection* projection, const std::string& slug, std::set<Factor>& used, ReportModel& model) {
  Data fits = Data::array();
  if (projection == nullptr) return fits;
  for (const FactorProjection& one : projection->factors) {
    if (one.is_product || !IsShown(one)) continue;
    used.insert(one.factor);
    fits.push_back(FitText(*projection, one, slug, model));
  }
  return fits;
}

std::vector<DataPoint> GrownValues(const PhaseProjection& phase, const FactorProjection& projection) {
  const std::vector<const FactorProjection*> parts = PartsIn(phase, projection.factor);
  if (projection.predictors.empty() || parts.empty()) return {};
  std::vector<DataPoint> values;
  for (const DataPoint& first : parts.front()->grown) {
    DataPoint product{first.cores, 1, {}};
    const bool is_whole = std::ranges::all_of(parts, [&](const FactorProjection* part) {
      const auto found = std::ranges::find(part->grown, first.cores, &DataPoint::cores);
      if (found == part->grown.end()) return false;
      product.value *= found->value;
      return true;
    });
    if (is_whole) values.push_back(product);
  }
  return values;
}

std::string GrownAt(const PhaseProjection& phase, const FactorProjection& projection, double cores) {
  for (const DataPoint& point : GrownValues(phase, projection)) {
    if (point.cores == cores) return FormatValue(projection.factor, point.value);
  }
  return "";
}

bool DrawPredictors(const PhaseProjection& phase, const std::vector<const FactorProjection*>& factors, Chart& chart) {
  bool any = false, any_points = false;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (factors[i]->predictors.empty()) continue;
    ChartSeries series;
    // The curve at the largest run, where only it counts, and what it says alone at the targets beyond.
    for (const ProjectedValue& value : factors[i]->curve) {
      if (value.cores == phase.fitted_cores.back()) series.line.push_back({value.cores, value.value, ""});
    }
    for (const PredictorValues& at : factors[i]->predictors) {
      if (IsBeyondRuns(phase, at.cores)) series.line.push_back({at.cores, at.curves, ""});
    }
    series.dashed = true;
    series.dashes = kThinDashes;
    series.width = kThin;
    series.id = chart.series[i].id;
    series.color = chart.series[i].color;
    series.is_chosen = chart.series[i].is_chosen;
    series.shape = MarkerShape::kSquare;
    for (const DataPoint& point : GrownValues(phase, *factors[i])) {
      series.points.push_back({point.cores, point.value,
                               fmt::format("{} at {} cores: {} (grown run)", Name(factors[i]->factor),
                                           FormatCores(point.cores), FormatValue(factors[i]->factor, point.value))});
    }
    any = true;
    any_points = any_points || !series.points.empty();
    chart.series.push_back(std::move(series));
  }
  if (any_points) chart.keys.push_back({.name = "grown run", .marker = Marker{kFaint, false, 3, MarkerShape::kSquare}});
  if (any) chart.keys.push_back({.name = "by curves alone", .line = Stroke{kFaint, kThin, kThinDashes}});
  return any;
}

Data PredictorText(const PhaseProjection& phase) {
  const FactorProjection* headline = GrownHeadline(phase);
  if (headline == nullptr) return false;
  // The target that the largest grown run is nearest to: layouts of ranks need not allow the same number.
  const double largest = LargestGrown(phase, *headline);
  const PredictorValues* last = nullptr;
  const auto distance = [&](const PredictorValues& at) { return std::fabs(std::log(at.cores / largest)); };
  for (const PredictorValues& at : headline->predictors) {
    if (largest == 0 || !IsBeyondRuns(phase, at.cores) || at.cores > kNearLayout * largest) continue;
    if (last == nullptr || distance(at) < distance(*last)) last = &at;
  }
  if (last == nullptr) return false;
  std::vector<std::string> disagreement;
  for (const PredictorValues& at : headline->predictors) {
    const ProjectedValue* target = TargetAt(*headline, at.cores);
    const bool is_replayed = IsBeyondRuns(phase, at.cores) && at.cores <= last->cores;
    if (!is_replayed || target == nullptr || !target->interval80) continue;
    const double width = target->interval80->high - target->interval80->low;  // both predictors together
    if (std::fabs(at.grown - at.curves) > width) disagreement.push_back(FormatCores(at.cores));
  }
  return {{"cores", FormatCores(last->cores)},    {"name", NameInSentence(headline->factor)},
          {"grown", FormatFactor(last->grown)},   {"curves", FormatFactor(last->curves)},
          {"weight", FormatWeight(last->weight)}, {"disagreement", Join(disagreement, ", ")}};
}

Data TabulatePredictors(const PhaseProjection& phase) {
  const FactorProjection* headline = GrownHeadline(phase);
  if (headline == nullptr) return false;
  Data rows = Data::array();
  for (const PredictorValues& at : headline->predictors) {
    const ProjectedValue* target = TargetAt(*headline, at.cores);
    if (target == nullptr || !IsBeyondRuns(phase, at.cores)) continue;
    const Data cell = FormatCell(phase, headline->factor, *target, true);
    rows.push_back({{"cores", FormatCores(at.cores)},
                    {"ratio", FormatRatio(target->ratio)},
                    {"reliability", ReliabilityLabel(ReliabilityOf(phase, headline->factor, at.cores))},
                    {"text", cell["text"]},
                    {"interval", cell["interval"]},
                    {"tone", cell["tone"]},
                    {"grown", FormatFactor(at.grown)},
                    {"curves", FormatFactor(at.curves)},
                    {"weight", FormatWeight(at.weight)}});
  }
  if (rows.empty()) return false;
  return {{"name", Name(headline->factor)},
          {"lastGrown", FormatCores(LargestGrown(phase, *headline))},
          {"rows", std::move(rows)}};
}

}  // namespace farscale
