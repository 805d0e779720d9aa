// The chart of one quantity over the commits: a line for every core count, steps marked with their commit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "gate/history_view.h"
#include "gate/judging.h"
#include "plot/chart.h"

namespace farscale {
namespace {

// Times of different core counts differ by far more than commits do, so each is shown against its first.
double UnitOf(const HistoryTrack& track, std::size_t place) {
  for (const auto& commit : track.values) {
    if (track.quantity.IsTime() && commit[place]) return *commit[place];
  }
  return 1;
}

std::string TitleOf(const HistoryTrack& track) {
  return NameOf(track.quantity) + (track.quantity.IsTime() ? " over that of the first commit, " : ", ") +
         PhaseTitle(track);
}

std::string Describe(const HistoryView& view, const HistoryTrack& track) {
  std::string text = fmt::format("{} over {} commits, a line for each of {}. ", NameOf(track.quantity),
                                 view.history.size(), CoresInWords(track.cores));
  const std::string last = LastChangeInWords(track);
  if (!last.empty()) text += fmt::format("Last change {}. ", last);
  return text + fmt::format("New levels begin at: {}. The table below has all values.", StepsInWords(view, track));
}

// The values on one core count: a series for each stretch of commits that have one.
void AddSeries(const HistoryView& view, const HistoryTrack& track, std::size_t place, std::vector<ChartSeries>& all) {
  const double unit = UnitOf(track, place);
  const std::string cores = CoresInWords({track.cores[place]});
  ChartSeries series;
  series.name = cores;
  series.color = static_cast<int>(place);
  series.has_filled_points = true;
  for (std::size_t i = 0; i < track.values.size(); ++i) {
    const std::optional<double>& value = track.values[i][place];
    if (value) {
      const HistoryEntry& entry = view.history[i];
      series.line.push_back({static_cast<double>(i), *value / unit, ""});
      series.points.push_back(series.line.back());
      series.points.back().tooltip = fmt::format("{} of {}: {} at {}", ShortCommit(entry), entry.date.substr(0, 10),
                                                 FormatQuantity(track.quantity, *value), cores);
    }
    if (series.line.empty() || (value && i + 1 < track.values.size())) continue;
    all.push_back(series);
    series.name.clear();
    series.line.clear();
    series.points.clear();
  }
}

// Between the commits, where a new level begins.
ChartMark MarkOf(const HistoryEntry& entry, std::size_t commit, const char* what, const char* dashes) {
  const double x = commit == 0 ? 0 : static_cast<double>(commit) - 0.5;
  return {x, fmt::format("{} at {}", what, ShortCommit(entry)), dashes};
}

// Noise must not fill the chart: at least a tenth of the value is shown.
void ShowMargins(Chart& chart) {
  double low = INFINITY, high = 0;
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.line) {
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
  }
  const double margin = std::max(0.08 * (high - low), 0.05 * high);
  if (low <= high) chart.y_min = std::max(0.0, low - margin);
  chart.y_max = high + margin;
}

}  // namespace

std::string DrawTrack(const HistoryView& view, const HistoryTrack& track) {
  Chart chart;
  chart.title = TitleOf(track);
  chart.description = Describe(view, track);
  chart.x_label = "commit, oldest first";
  chart.log_x = false;
  chart.height = 300;
  chart.has_script = false;
  for (std::size_t place = 0; place < track.cores.size(); ++place) AddSeries(view, track, place, chart.series);
  ShowMargins(chart);
  for (const std::size_t step : track.steps) chart.marks.push_back(MarkOf(view.history[step], step, "step", "4 3"));
  for (std::size_t i = 0; i < view.history.size(); ++i) {
    const HistoryEntry& entry = view.history[i];
    chart.x_names.push_back(ShortCommit(entry));
    const bool is_step = std::find(track.steps.begin(), track.steps.end(), i) != track.steps.end();
    if (!entry.accepted.empty() && !is_step) chart.marks.push_back(MarkOf(entry, i, "accepted", "1 3"));
  }
  return RenderSvg(chart, false);
}

}  // namespace farscale
