#include "plot/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace farscale {
namespace {

constexpr double kLeft = 56;
constexpr double kUprightText = 18;  // room for the label of the y axis
constexpr double kTickText = 24;     // and for numbers below the x axis alone
constexpr double kInset = 12;        // space before the first and behind the last of named values
constexpr double kNameLetter = 6.8, kNameRow = 17, kBesideLine = 40;  // for names beside lines
constexpr std::size_t kFadingParts = 3;
constexpr std::size_t kMostNames = 10;

using Range = std::pair<double, double>;
constexpr Range kNoRange = {INFINITY, -INFINITY};

void Add(Range& range, double value) { range = {std::min(range.first, value), std::max(range.second, value)}; }

// The range of a scale that has one value or none.
Range Widened(Range range, bool is_log) {
  const auto [low, high] = range;
  if (low > high || (is_log && low <= 0)) return {1, 10};
  return high > low ? range : Range{low / 2, high * 2};
}

// The largest error of a simplified line, in pixels.
constexpr double kUnseen = 0.5;

// Keeps of spots[first, last] what it takes to be no farther off than that [Douglas73].
void KeepNeeded(const std::vector<Spot>& spots, std::size_t first, std::size_t last, std::vector<bool>& keep) {
  keep[first] = keep[last] = true;
  const double dx = spots[last].x - spots[first].x, dy = spots[last].y - spots[first].y;
  const double length = std::max(1e-9, std::hypot(dx, dy));
  double farthest = kUnseen;
  std::size_t at = first;
  for (std::size_t i = first + 1; i < last; ++i) {
    const double off = std::fabs(dx * (spots[i].y - spots[first].y) - dy * (spots[i].x - spots[first].x)) / length;
    if (off <= farthest) continue;
    farthest = off;
    at = i;
  }
  if (at == first) return;
  KeepNeeded(spots, first, at, keep);
  KeepNeeded(spots, at, last, keep);
}

// The data of a series for the script of a page.
std::string DataOf(const ChartSeries& series) {
  if (series.id.empty()) return "";
  std::string data = fmt::format(" data-{}=\"{}\"", series.is_chosen ? "factor" : "series", EscapeXml(series.id));
  if (series.side > 0) data += fmt::format(" data-side=\"{}\"", series.side);
  return data;
}

Marker MarkerOf(const ChartSeries& series) {
  const bool is_small = series.has_filled_points || series.shape == MarkerShape::kSquare;
  return {PaletteColor(series.color), series.has_filled_points, is_small ? 3.0 : 4.0, series.shape};
}

// Without what lies beyond the end of the axis, and without curves where they are unknown.
Chart Clipped(Chart chart) {
  const auto erase = [](auto& list, const std::optional<double>& end) {
    std::erase_if(list, [&](const auto& one) { return end && one.x > *end * (1 + 1e-9); });
  };
  for (ChartSeries& series : chart.series) {
    for (const std::optional<double>& end : {chart.x_end, chart.uncertain_to_x}) {
      erase(series.line, end);
      erase(series.inner_band, end);
      erase(series.outer_band, end);
    }
    erase(series.points, chart.x_end);
  }
  return chart;
}

class Plot {
 public:
  // `has_script`: it is in a page whose script finds its way in it.
  Plot(const Chart& chart, bool has_script) : chart_(Clipped(chart)), has_script_(has_script) {
    box_ = {kLeft, 34, chart.width - 14.0, chart.height - kBelowAxis};
    if (chart.legend == LegendPlace::kBeside) {
      box_.top = 14;  // it has no title
      if (chart.y_label.empty()) box_.left -= kUprightText;
      if (chart.x_label.empty()) box_.bottom = chart.height - kTickText;
    }
    LayOutLegend();
    FindScales();
  }

  // For the script of a page.
  std::string Data() const {
    if (!has_script_ || !chart_.log_x) return "";
    return fmt::format(" data-plot=\"{:g} {:g} {} {} {} {} {:g} {:g}\"", x_.low, x_.high, Pixel(box_.left),
                       Pixel(box_.right), Pixel(box_.top), Pixel(box_.bottom), y_.low, y_.high);
  }

  void Draw(Canvas& canvas) {
    canvas_ = &canvas;
    DrawYAxis(canvas, box_, {y_, y_.Ticks(), chart_.y_label});
    if (chart_.x_names.empty()) DrawXAxis(canvas, box_, {x_, x_.Ticks(), chart_.x_label});
    std::vector<AxisTick> names;
    const std::size_t count = chart_.x_names.size(), every = (count + kMostNames - 1) / kMostNames;
    for (std::size_t i = 0; i < count; i += every) names.emplace_back(static_cast<double>(i), chart_.x_names[i]);
    if (!names.empty()) DrawXAxis(canvas, box_, {x_, names, chart_.x_label, AxisMarks::kNone, 10});
    Ranges();
    for (const ChartSeries& series : chart_.series) {
      Band(series, series.outer_band, 0.12, false);
      Band(series, series.inner_band, 0.22, true);
    }
    Marks();
    for (const ChartSeries& series : chart_.series) Line(series);
    for (const ChartSeries& series : chart_.series) ErrorBars(series);
    for (const ChartSeries& series : chart_.series) Points(series);
    for (const Legend& legend : legends_) legend.Draw(canvas);
    if (chart_.legend == LegendPlace::kBeside) NamesBeside();
  }

 private:
  Spot At(double x, double y) const { return {x_.At(x), y_.At(y)}; }

  Stroke StrokeOf(const ChartSeries& series, bool is_dashed) const {
    return {PaletteColor(series.color), series.width, is_dashed ? series.dashes : "", 1,
            has_script_ ? DataOf(series) : ""};
  }

  void LayOutLegend() {
    std::vector<LegendEntry> entries, sides;
    for (const ChartSeries& series : chart_.series) {
      if (series.name.empty()) continue;
      LegendEntry entry{series.name};
      const bool has_only_bars = series.line.empty() && series.points.empty() && !series.error_bars.empty();
      Stroke stroke = StrokeOf(series, series.dashed);
      entry.attributes = std::exchange(stroke.attributes, "");
      if (!series.line.empty() || has_only_bars) entry.line = stroke;
      if (!entry.line) entry.marker = MarkerOf(series);
      entries.push_back(std::move(entry));
    }
    if (chart_.legend != LegendPlace::kBeside) {
      entries.insert(entries.end(), chart_.keys.begin(), chart_.keys.end());
    }
    if (chart_.legend == LegendPlace::kInside) {
      legends_.emplace_back(std::move(entries), box_.left + 14, box_.left, box_.top + 16);
      return;
    }
    if (chart_.legend == LegendPlace::kBeside) {
      std::size_t longest = 0;
      for (const LegendEntry& entry : entries) longest = std::max(longest, entry.name.size());
      if (longest > 0) box_.right = chart_.width - kBesideLine - kNameLetter * static_cast<double>(longest);
      entries = chart_.keys;
    }
    // Rows of their own for the sides that a reader may lay over the others.
    for (std::size_t side = 0; side < chart_.sides.size() && has_script_; ++side) {
      sides.push_back({.name = chart_.sides[side],
                       .line = Stroke{kInk, 1.8},
                       .attributes = fmt::format(" class=\"overlay\" data-side=\"{}\"", side + 1)});
    }
    for (std::vector<LegendEntry>* rows : {&entries, &sides}) {
      legends_.emplace_back(std::move(*rows), box_.left, box_.right, box_.top + 6);
      box_.top += legends_.back().height();
    }
  }

  void FindScales() {
    Range x = kNoRange, y = kNoRange;
    double highest = chart_.y_max.value_or(0);
    const auto see = [&](const std::vector<ChartPoint>& points) {
      for (const ChartPoint& point : points) {
        Add(x, point.x);
        Add(y, point.y);
        highest = std::max(highest, point.y);
      }
    };
    for (const ChartSeries& series : chart_.series) {
      see(series.line);
      see(series.points);
      for (const ChartBand& band : series.inner_band) {
        Add(x, band.x);
        highest = std::max(highest, std::min(band.high, 1.5 * highest));
      }
    }
    if (chart_.x_end) Add(x, *chart_.x_end);
    if (chart_.y_min) Add(y, *chart_.y_min);
    if (chart_.y_max) Add(y, *chart_.y_max);
    x = Widened(x, chart_.log_x);
    y = Widened(y, chart_.log_y);
    const double names = static_cast<double>(chart_.x_names.size());
    x_ = names > 0      ? LinearScale(0, names - 1, box_.left + kInset, box_.right - kInset, 1)
         : chart_.log_x ? LogScale(x.first, x.second, box_.left, box_.right)
                        : LinearScale(x.first, x.second, box_.left, box_.right, 6);
    y_ = chart_.log_y ? LogScale(y.first, y.second, box_.bottom, box_.top)
                      : RoundedScale(chart_.y_min.value_or(0), highest, box_.bottom, box_.top, 5);
  }

  // A line from top to bottom with a text beside it, on the left where the right has too little room for it.
  void LineAcross(double value, const Stroke& stroke, const std::string& text, double text_y, const char* color,
                  double room) {
    const double x = x_.At(value);
    canvas_->Lines({{x, box_.top}, {x, box_.bottom}}, stroke);
    const bool is_left = x > box_.right - room;
    if (text.empty()) return;
    canvas_->Text({x + (is_left ? -5 : 5), text_y}, text, {is_left ? Anchor::kEnd : Anchor::kStart, color});
  }

  // Where the measured range ends, what is uncertain and what is reliable.
  void Ranges() {
    if (chart_.split_x && *chart_.split_x < x_.high)
      LineAcross(*chart_.split_x, {kFaint, 1, "2 3"}, chart_.split_label, box_.bottom - 6, kFaint, 0);
    if (chart_.uncertain_to_x && *chart_.uncertain_to_x < x_.high) {
      const double end = std::max(*chart_.uncertain_to_x, x_.low);
      canvas_->Rect({x_.At(end), box_.top, box_.right, box_.bottom}, {kFaint, 0.16});
      // A line of its own where the one of the reliable range does not stand there.
      if (!chart_.reliable_to_x || end > *chart_.reliable_to_x)
        LineAcross(end, {kInk, 1, "1 3", 0.55}, chart_.unknown_label, box_.bottom - 34, kInk, 170);
    }
    if (!chart_.reliable_to_x || *chart_.reliable_to_x < x_.low || *chart_.reliable_to_x > x_.high) return;
    const double end = *chart_.reliable_to_x;
    canvas_->Rect({box_.left, box_.top, chart_.has_end ? x_.At(end) : box_.right, box_.bottom},
                  {PaletteColor(kPaletteBlue), 0.07});
    LineAcross(end, {kInk, 1.5, "", 0.55}, chart_.reliable_label, box_.bottom - 20, kInk, 170);
  }

  void Marks() {
    double y = box_.top + 13;
    for (const ChartMark& mark : chart_.marks) {
      if (mark.x < x_.low || mark.x > x_.high) continue;
      LineAcross(mark.x, {kInk, 1, mark.dashes, 0.7}, mark.label, y, kInk, 180);
      y += 14;
      if (y > box_.bottom) y = box_.top + 13;
    }
  }

  // Fewer spots where nobody can tell.
  std::vector<Spot> Needed(const std::vector<Spot>& spots) const {
    if (!has_script_ || spots.empty()) return spots;
    std::vector<bool> keep(spots.size());
    KeepNeeded(spots, 0, spots.size() - 1, keep);
    std::vector<Spot> needed;
    for (std::size_t i = 0; i < spots.size(); ++i) {
      if (keep[i]) needed.push_back(spots[i]);
    }
    return needed;
  }

  // Bands and points need be found only where readers can leave their series out.
  std::string ChoiceOf(const ChartSeries& series) const {
    return has_script_ && series.is_chosen ? DataOf(series) : "";
  }

  // Curves fade from here on: beyond the reliable range.
  bool IsFading(double x) const {
    return chart_.reliable_to_x && chart_.has_end && x > *chart_.reliable_to_x * (1 + 1e-9);
  }

  // Up to the end of the reliable range as it is; the inner one goes on in parts that get paler.
  void Band(const ChartSeries& series, const std::vector<ChartBand>& band, double opacity, bool goes_on) {
    const auto fades = std::find_if(band.begin(), band.end(), [&](const ChartBand& one) { return IsFading(one.x); });
    BandPart(series, {band.begin(), fades}, opacity);
    if (fades == band.begin() || fades == band.end() || !goes_on) return;
    const auto rest = static_cast<std::size_t>(band.end() - fades) + 1;  // parts share a point with the next
    for (std::size_t i = 0; i < kFadingParts; ++i) {
      const auto from = fades - 1 + static_cast<std::ptrdiff_t>(i * (rest - 1) / kFadingParts);
      const auto to = fades + static_cast<std::ptrdiff_t>((i + 1) * (rest - 1) / kFadingParts);
      BandPart(series, {from, to}, opacity * (0.65 - 0.5 * static_cast<double>(i) / (kFadingParts - 1)));
    }
  }

  void BandPart(const ChartSeries& series, const std::vector<ChartBand>& band, double opacity) {
    if (band.size() < 2) return;
    std::vector<Spot> high, low;
    for (const ChartBand& one : band) high.push_back(At(one.x, one.high));
    for (auto one = band.rbegin(); one != band.rend(); ++one) low.push_back(At(one->x, one->low));
    high = Needed(high);
    low = Needed(low);
    high.insert(high.end(), low.begin(), low.end());
    canvas_->Polygon(high, {PaletteColor(series.color), opacity, ChoiceOf(series)});
  }

  void Part(const std::vector<ChartPoint>& line, std::size_t first, std::size_t end, const Stroke& stroke) {
    if (end < first + 2) return;
    std::vector<Spot> spots;
    for (std::size_t i = first; i < end; ++i) spots.push_back(At(line[i].x, line[i].y));
    canvas_->Polyline(Needed(spots), stroke);
  }

  // Where the line gets pale: at the end of its own reliable range, or of that of the chart.
  std::optional<double> PaleFrom(const ChartSeries& series) const {
    return series.reliable_x ? series.reliable_x : chart_.has_end ? chart_.reliable_to_x : std::nullopt;
  }

  // The line with a point where it gets pale, so that it stays straight between its points.
  std::vector<ChartPoint> LineOf(const ChartSeries& series) const {
    std::vector<ChartPoint> line = series.line;
    if (!PaleFrom(series)) return line;
    const double end = *PaleFrom(series);
    const auto next = std::find_if(line.begin(), line.end(), [&](const ChartPoint& point) { return point.x >= end; });
    if (next == line.begin() || next == line.end() || next->x == end) return line;
    const ChartPoint &a = *std::prev(next), &b = *next;
    const double share = (x_.At(end) - x_.At(a.x)) / (x_.At(b.x) - x_.At(a.x));
    const bool is_log = chart_.log_y && a.y > 0 && b.y > 0;
    line.insert(next, {end, is_log ? a.y * std::pow(b.y / a.y, share) : a.y + share * (b.y - a.y), ""});
    return line;
  }

  // The number of points up to there.
  static std::size_t CountUpTo(const std::vector<ChartPoint>& line, const std::optional<double>& x) {
    if (!x) return line.size();
    const auto end =
        std::find_if(line.begin(), line.end(), [&](const ChartPoint& point) { return point.x > *x * (1 + 1e-9); });
    return static_cast<std::size_t>(end - line.begin());
  }

  void Line(const ChartSeries& series) {
    const std::vector<ChartPoint> line = LineOf(series);
    const bool is_split = chart_.split_x.has_value();
    const std::size_t split = is_split ? CountUpTo(line, chart_.split_x) : 0;
    const std::size_t reliable = std::max(split, CountUpTo(line, PaleFrom(series)));
    const Stroke solid = StrokeOf(series, series.dashed), dashed = StrokeOf(series, true);
    // Parts share a point with the next.
    Part(line, 0, is_split ? split : reliable, solid);
    if (is_split) Part(line, split > 0 ? split - 1 : 0, reliable, dashed);
    if (!PaleFrom(series) || reliable == 0 || reliable == line.size()) return;
    Stroke pale = dashed, bar = solid;
    pale.opacity = 0.4;
    Part(line, reliable - 1, line.size(), pale);
    if (!series.reliable_x) return;
    bar.dashes = "";
    bar.width = 2;
    const auto [x, y] = At(line[reliable - 1].x, line[reliable - 1].y);
    canvas_->Lines({{x, y - 7}, {x, y + 7}}, bar);
  }

  void ErrorBars(const ChartSeries& series) {
    std::vector<Spot> lines;
    for (const ChartBand& bar : series.error_bars) {
      const auto [x, low] = At(bar.x, bar.low);
      const double high = y_.At(bar.high);
      if (low - high < 1) continue;
      const std::vector<Spot> bracket = {{x, low}, {x, high}, {x - 4, low}, {x + 4, low}, {x - 4, high}, {x + 4, high}};
      lines.insert(lines.end(), bracket.begin(), bracket.end());
    }
    if (!lines.empty()) canvas_->Lines(lines, {PaletteColor(series.color), 2});
  }

  void Points(const ChartSeries& series) {
    std::vector<Spot> spots;
    for (const ChartPoint& point : series.points) spots.push_back(At(point.x, point.y));
    canvas_->Markers(spots, MarkerOf(series), ChoiceOf(series));
    if (has_script_) return;
    for (const auto* points : {&series.line, &series.points}) {
      for (const ChartPoint& point : *points) {
        const auto [x, y] = At(point.x, point.y);
        if (!point.tooltip.empty()) canvas_->Tooltip({x - 5, y - 5, x + 5, y + 5}, point.tooltip);
      }
    }
  }

  // The names of lines beside their ends, none nearer to another than a row, with a sample of the line and its marker.
  void NamesBeside() {
    std::vector<std::pair<const ChartSeries*, double>> names;  // with their heights
    for (const ChartSeries& series : chart_.series) {
      if (!series.name.empty() && !series.line.empty()) names.emplace_back(&series, y_.At(series.line.back().y));
    }
    std::ranges::stable_sort(names, {}, [](const auto& name) { return name.second; });
    double lowest = box_.bottom + kNameRow;
    for (auto name = names.rbegin(); name != names.rend(); ++name)
      lowest = name->second = std::min(name->second, lowest - kNameRow);
    double highest = box_.top - kNameRow + 4;
    for (const auto& [named, height] : names) {
      const double y = highest = std::max(height, highest + kNameRow);
      const ChartSeries& series = *named;
      const double x = box_.right + 8;
      Stroke stroke = StrokeOf(series, series.dashed);
      const std::string attributes = std::exchange(stroke.attributes, "");
      const std::string own = attributes.empty() || !series.is_chosen ? "" : attributes;
      if (!own.empty()) canvas_->OpenGroup(own);
      const Spot end = At(series.line.back().x, series.line.back().y);
      canvas_->Lines({end, {x, y}}, {PaletteColor(series.color), 1, "1 3"});
      canvas_->Lines({{x, y}, {x + 18, y}}, stroke);
      canvas_->Markers({{x + 9, y}}, MarkerOf(series), "");
      canvas_->Text({x + 24, y + 4}, series.name, {.is_bold = series.width > 3});
      if (!own.empty()) canvas_->CloseGroup();
    }
  }

  const Chart chart_;
  const bool has_script_;
  Box box_;
  Scale x_, y_;
  std::vector<Legend> legends_;
  Canvas* canvas_ = nullptr;
};

}  // namespace

std::string RenderSvg(const Chart& chart, bool standalone) {
  Plot plot(chart, !standalone && chart.has_script);
  const auto title_x = chart.legend == LegendPlace::kBeside ? std::nullopt : std::optional(kLeft);
  SvgCanvas canvas({static_cast<double>(chart.width), static_cast<double>(chart.height), chart.title, chart.description,
                    standalone, title_x, " class=\"chart\"" + plot.Data()});
  plot.Draw(canvas);
  return canvas.Close();
}

void DrawChart(const Chart& chart, Canvas& canvas) { Plot(chart, false).Draw(canvas); }

}  // namespace farscale
