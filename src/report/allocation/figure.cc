#include "report/allocation/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "plot/canvas.h"
#include "report/allocation/text.h"

namespace farscale {
namespace {

// A share of the ideal speedup over all cores of the pack.
ChartSeries Proportional(const AllocationPack& pack, double share, const std::string& name) {
  ChartSeries series;
  series.name = name;
  series.width = 1.4;
  series.color = kPaletteBlack;
  const auto [first, last] =
      std::minmax_element(pack.rows.begin(), pack.rows.end(),
                          [](const AllocationRow& a, const AllocationRow& b) { return a.cores < b.cores; });
  for (const double cores : {first->cores, last->cores}) {
    series.line.push_back({cores, share * cores / pack.baseline, ""});
  }
  return series;
}

ChartBand BandOf(double cores, const OpenBounds& interval) {
  return {cores, interval.low, interval.high.value_or(INFINITY)};
}

ChartSeries CurveOf(const AllocationPack& pack) {
  ChartSeries series;
  series.name = "predicted, with 80 % interval";
  series.color = kPaletteBlue;
  series.dashed = true;
  for (const SpeedupPoint& point : pack.curve) {
    if (point.speedup.value) series.line.push_back({point.cores, *point.speedup.value, ""});
    if (point.speedup.interval80) series.inner_band.push_back(BandOf(point.cores, *point.speedup.interval80));
  }
  if (series.inner_band.size() < pack.curve.size()) series.inner_band.clear();
  return series;
}

// Adds what a row of the pack says to the series it belongs to.
void AddRow(const AllocationRow& row, ChartSeries& series) {
  if (row.speedup.interval80) series.error_bars.push_back(BandOf(row.cores, *row.speedup.interval80));
  if (!row.speedup.value) return;
  series.points.push_back({row.cores, *row.speedup.value,
                           fmt::format("{}: speedup {} ({})", FormatCoreCount(row.cores),
                                       FormatSpeedup(*row.speedup.value), row.is_measured ? "measured" : "predicted")});
}

// What is to be seen, in words, for those who cannot see it.
std::string DescribeSpeedup(const AllocationPack& pack) {
  std::string text = fmt::format("Speedup over the run on {} against the number of cores, with the ideal line",
                                 FormatCoreCount(pack.baseline));
  const AllocationRow* largest = nullptr;
  for (const AllocationRow& row : pack.rows) {
    if (row.is_measured && row.speedup.value) largest = &row;
  }
  if (largest != nullptr) {
    text += fmt::format(": {} was measured on {}, where {} would be ideal", FormatSpeedup(*largest->speedup.value),
                        FormatCoreCount(largest->cores), FormatIdealSpeedup(largest->ideal));
  }
  return text + ". The table has every value.";
}

}  // namespace

Chart SpeedupChart(const AllocationPack& pack) {
  Chart chart;
  chart.title = "Speedup against cores";
  chart.description = DescribeSpeedup(pack);
  chart.x_label = "cores";
  chart.y_label = "speedup over " + FormatCoreCount(pack.baseline);
  chart.log_y = true;
  chart.height = 460;
  chart.legend = LegendPlace::kInside;
  chart.has_script = false;
  ChartSeries ideal = Proportional(pack, 1, "ideal");
  ChartSeries required = Proportional(pack, pack.required, fmt::format("{:g} % efficiency", 100 * pack.required));
  required.color = kPaletteGrey;
  required.dashed = true;
  ChartSeries measured, predicted = CurveOf(pack), uncertain;
  measured.name = "measured";
  measured.color = kPaletteBlack;
  measured.has_filled_points = true;
  uncertain.name = "uncertain: interval only";
  uncertain.color = kPaletteGrey;
  for (const AllocationRow& row : pack.rows) {
    const bool is_reliable = row.reliability == Reliability::kReliable;
    AddRow(row, row.is_measured ? measured : is_reliable ? predicted : uncertain);
  }
  const double last = ideal.line.back().x;
  if (pack.reliable > 0 && pack.reliable * 1.0001 < last) {
    chart.reliable_to_x = pack.reliable;
    chart.reliable_label = "reliable up to " + FormatCoreCount(pack.reliable);
  }
  chart.series = {std::move(ideal), std::move(required), std::move(measured)};
  if (!pack.curve.empty()) chart.series.push_back(std::move(predicted));
  if (!uncertain.error_bars.empty()) chart.series.push_back(std::move(uncertain));
  return chart;
}

std::string SpeedupTikz(const AllocationPack& pack) {
  return "% The figure by itself: pdflatex makes allocation-figure.pdf of it, for \\includegraphics.\n" +
         RenderTikz(SpeedupChart(pack));
}

}  // namespace farscale
