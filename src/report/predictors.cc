#include "report/predictors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "projection/model_settings.h"
#include "report/figures.h"
#include "report/reliability.h"

namespace farscale {
namespace {

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
  const FactorProjection* headline = HeadlineOf(phase);
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

// What was projected at the same target.
const ProjectedValue* TargetAt(const FactorProjection& projection, double cores) {
  const auto found = std::ranges::find(projection.targets, cores, &ProjectedValue::cores);
  return found == projection.targets.end() ? nullptr : &*found;
}

// The target that the largest grown run is nearest to: layouts of ranks need not allow the same number.
const PredictorValues* LastReplayed(const PhaseProjection& phase, const FactorProjection& projection) {
  const double largest = LargestGrown(phase, projection);
  const PredictorValues* last = nullptr;
  const auto distance = [&](const PredictorValues& at) { return std::fabs(std::log(at.cores / largest)); };
  for (const PredictorValues& at : projection.predictors) {
    if (largest == 0 || !IsBeyondRuns(phase, at.cores) || at.cores > kNearLayout * largest) continue;
    if (last == nullptr || distance(at) < distance(*last)) last = &at;
  }
  return last;
}

// By more than the 80 % interval of what both say together is wide.
bool Disagree(const FactorProjection& projection, const PredictorValues& at) {
  const ProjectedValue* target = TargetAt(projection, at.cores);
  if (target == nullptr || !target->interval80) return false;
  return std::fabs(at.grown - at.curves) > target->interval80->high - target->interval80->low;
}

std::string FormatWeight(double weight) { return fmt::format("{:.0f} %", 100 * weight); }

// The curve at the largest run, where only it counts, and what it says alone at the targets beyond.
ChartSeries CurveAlone(const PhaseProjection& phase, const FactorProjection& projection) {
  ChartSeries series;
  for (const ProjectedValue& value : projection.curve) {
    if (value.cores == phase.fitted_cores.back()) series.line.push_back({value.cores, value.value, ""});
  }
  for (const PredictorValues& at : projection.predictors) {
    if (IsBeyondRuns(phase, at.cores)) series.line.push_back({at.cores, at.curves, ""});
  }
  series.dashed = true;
  series.dashes = kThinDashes;
  series.width = kThin;
  return series;
}

}  // namespace

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
    ChartSeries series = CurveAlone(phase, *factors[i]);
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

std::optional<PredictorText> PredictorsOf(const PhaseProjection& phase) {
  const FactorProjection* headline = GrownHeadline(phase);
  const PredictorValues* last = headline != nullptr ? LastReplayed(phase, *headline) : nullptr;
  if (last == nullptr) return std::nullopt;
  std::vector<std::string> disagreement;
  for (const PredictorValues& at : headline->predictors) {
    const bool is_replayed = IsBeyondRuns(phase, at.cores) && at.cores <= last->cores;
    if (is_replayed && Disagree(*headline, at)) disagreement.push_back(FormatCores(at.cores));
  }
  PredictorText text{.cores = FormatCores(last->cores), .name = NameInSentence(headline->factor)};
  text.grown = FormatFactor(last->grown);
  text.curves = FormatFactor(last->curves);
  text.weight = FormatWeight(last->weight);
  text.disagreement = Join(disagreement, ", ");
  return text;
}

std::optional<PredictorTable> TabulatePredictors(const PhaseProjection& phase) {
  const FactorProjection* headline = GrownHeadline(phase);
  if (headline == nullptr) return std::nullopt;
  PredictorTable table{Name(headline->factor), FormatCores(LargestGrown(phase, *headline)), {}};
  for (const PredictorValues& at : headline->predictors) {
    const ProjectedValue* target = TargetAt(*headline, at.cores);
    if (target == nullptr || !IsBeyondRuns(phase, at.cores)) continue;
    const ProjectedCell cell = CellOf(phase, headline->factor, *target, true);
    table.rows.push_back({FormatCores(at.cores), FormatRatio(target->ratio),
                          LabelOf(ReliabilityOf(phase, headline->factor, at.cores)), cell.text, cell.interval,
                          cell.tone, FormatFactor(at.grown), FormatFactor(at.curves), FormatWeight(at.weight)});
  }
  return table.rows.empty() ? std::nullopt : std::optional(table);
}

}  // namespace farscale
