#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/text.h"
#include "report/evidence.h"

namespace farscale {
namespace {

// Half a unit of the last of three digits.
double HalfDigit(double value) { return 0.5 * std::pow(10, std::floor(std::log10(value)) - 2); }

}  // namespace

std::string Name(Factor factor) { return std::string(Describe(factor).name); }

std::string FormatValue(Factor factor, double value) {
  return factor == Factor::kSpeedup ? FormatSpeedup(value) : FormatFactor(value);
}

std::string FormatError(Factor factor, double value, const std::optional<double>& error) {
  if (!error) return "";
  const bool is_small = value < 0.01;  // printed with two digits instead of three decimals
  if (is_small) return *error < 10 * HalfDigit(value) ? "" : FormatSignificant(*error, 1);
  if (factor != Factor::kSpeedup) return *error < 0.0005 ? "" : fmt::format("{:.3f}", *error);
  return *error < std::max(0.005, HalfDigit(value)) ? "" : FormatSpeedup(*error);
}

std::string FormatSecondsError(double seconds, const std::optional<double>& error) {
  return !error || *error < HalfDigit(seconds) ? "" : FormatSeconds(*error);
}

std::string FormatBounds(Factor factor, const std::optional<IntervalBounds>& interval) {
  if (!interval) return "unknown";
  return FormatValue(factor, interval->low) + " – " + FormatValue(factor, interval->high);
}

std::string MeasuredAt(const FactorProjection& projection, double cores) {
  std::vector<std::string> values;
  for (const DataPoint& point : projection.measured) {
    if (point.cores == cores) values.push_back(FormatValue(projection.factor, point.value));
  }
  return Join(values, ", ");
}

std::vector<ChartPoint> LineOf(const FactorProjection& projection) {
  std::vector<ChartPoint> line;
  for (const ProjectedValue& value : projection.curve) line.push_back({value.cores, value.value, ""});
  return line;
}

std::vector<ChartBand> BandOf(const FactorProjection& projection, bool inner) {
  std::vector<ChartBand> band;
  for (const ProjectedValue& value : projection.curve) {
    const std::optional<IntervalBounds>& bounds = inner ? value.interval80 : value.interval95;
    if (bounds) band.push_back({value.cores, bounds->low, bounds->high});
  }
  return band;
}

std::vector<ChartPoint> PointsOf(const FactorProjection& projection) {
  std::vector<ChartPoint> points;
  for (const DataPoint& point : projection.measured) {
    points.push_back({point.cores, point.value,
                      fmt::format("{} at {} cores: {} (measured)", Name(projection.factor), FormatCores(point.cores),
                                  FormatValue(projection.factor, point.value))});
  }
  return points;
}

Chart EfficiencyChart(const PhaseProjection& projection, const std::string& title) {
  Chart chart;
  chart.title = title;
  chart.x_label = "cores (logarithmic)";
  chart.y_label = "efficiency";
  chart.y_max = 1;
  if (!projection.fitted_cores.empty()) chart.split_x = projection.fitted_cores.back();
  chart.split_label = "extrapolated";
  MarkHorizon(projection, chart);
  return chart;
}

const FactorProjection* HeadlineOf(const PhaseProjection& projection) {
  for (const Factor factor : {Factor::kParallelEfficiency, Factor::kGlobalEfficiency}) {
    const FactorProjection* found = projection.Find(factor);
    if (found != nullptr && !found->curve.empty()) return found;
  }
  return nullptr;
}

}  // namespace farscale
