#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/reliability.h"
#include "report/shown_results.h"

namespace farscale {
namespace {

// Half a unit of the last of three digits.
double HalfDigit(double value) { return 0.5 * std::pow(10, std::floor(std::log10(value)) - 2); }

}  // namespace

std::string Name(Factor factor) { return std::string(Describe(factor).name); }

std::string NameOfPhase(const PhaseKey& key, bool several_series) {
  const std::string phase = key.phase.IsUnnamed() ? "" : key.phase.Text();
  if (!several_series || key.series.empty()) return phase;
  return key.series + (phase.empty() ? "" : ", " + phase);
}

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

std::string FormatBounds(Factor factor, const std::optional<IntervalBounds>& interval, const char* between) {
  if (!interval) return "unknown";
  return FormatValue(factor, interval->low) + between + FormatValue(factor, interval->high);
}

std::string FormatTimeBounds(const OpenBounds& bounds) {
  if (!bounds.high) return "more than " + FormatSeconds(bounds.low);
  return FormatRange(FormatSeconds(bounds.low), FormatSeconds(*bounds.high));
}

std::string FormatTime(double seconds, const std::optional<OpenBounds>& bounds) {
  const std::string value = FormatSeconds(seconds);
  if (!bounds) return value;
  std::string interval = FormatTimeBounds(*bounds);
  const std::string unit = value.substr(value.rfind(' '));
  const bool is_shared = bounds->high && interval.ends_with(unit) && std::ranges::count(interval, ' ') == 1;
  if (is_shared) interval.resize(interval.size() - unit.size());
  return fmt::format("{} ({})", value, interval);
}

std::string MeasuredAt(const FactorProjection& projection, double cores) {
  std::vector<std::string> values;
  for (const DataPoint& point : projection.measured) {
    if (point.cores == cores) values.push_back(FormatValue(projection.factor, point.value));
  }
  return Join(values, ", ");
}

ChartSeries SeriesOf(const FactorProjection& projection, bool has_bands) {
  ChartSeries series;
  series.id = Describe(projection.factor).id;
  for (const ProjectedValue& value : projection.curve) {
    series.line.push_back({value.cores, value.value, ""});
    const auto &inner = value.interval80, &outer = value.interval95;
    if (has_bands && inner) series.inner_band.push_back({value.cores, inner->low, inner->high});
    if (has_bands && outer) series.outer_band.push_back({value.cores, outer->low, outer->high});
  }
  for (const DataPoint& point : projection.measured) {
    series.points.push_back({point.cores, point.value,
                             fmt::format("{} at {} cores: {} (measured)", Name(projection.factor),
                                         FormatCores(point.cores), FormatValue(projection.factor, point.value))});
  }
  return series;
}

Chart EfficiencyChart(const PhaseProjection& projection, const std::string& title) {
  Chart chart;
  chart.title = title;
  chart.x_label = "cores (logarithmic)";
  chart.y_label = "efficiency";
  chart.y_max = 1;
  if (!projection.fitted_cores.empty()) chart.split_x = projection.fitted_cores.back();
  chart.split_label = "extrapolated";
  MarkReliableRange(projection, chart);
  chart.x_end = ShownUpTo(projection);
  return chart;
}

double LowestShown(const Chart& chart) {
  double lowest = 1;
  const auto is_shown = [&](double x) { return x <= chart.x_end.value_or(x) && x <= chart.uncertain_to_x.value_or(x); };
  for (const ChartSeries& series : chart.series) {
    for (const auto* points : {&series.line, &series.points}) {
      for (const ChartPoint& point : *points) {
        if (is_shown(point.x)) lowest = std::min(lowest, point.y);
      }
    }
    for (const ChartBand& band : series.inner_band) {
      if (is_shown(band.x)) lowest = std::min(lowest, band.low);
    }
  }
  return std::max(0.0, lowest);
}

ReportData AddChart(const Chart& chart, const std::string& name, ReportModel& model) {
  return AddFigure(model, name, RenderSvg(chart, false), RenderSvg(chart, true), chart.description);
}

bool IsShown(const FactorProjection& projection) {
  const auto is_without = [&](const DataPoint& at) { return IsWithoutDevices(projection.factor, at.value); };
  return projection.measured.empty() || !std::ranges::all_of(projection.measured, is_without);
}

const FactorProjection* HeadlineOf(const PhaseProjection& projection) {
  for (const Factor factor : {Factor::kParallelEfficiency, Factor::kGlobalEfficiency}) {
    const FactorProjection* found = projection.Find(factor);
    if (found != nullptr && !found->curve.empty()) return found;
  }
  return nullptr;
}

}  // namespace farscale
