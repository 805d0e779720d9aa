#include "plot/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plot/svg.h"

namespace farscale {
namespace {

struct Range {
  double low = 0, high = 1;
};

std::string TickLabel(double value) {
  if (value >= 1e6 && std::fmod(value, 1e6) == 0) return fmt::format("{:g}M", value / 1e6);
  if (value >= 1e4 && std::fmod(value, 1e3) == 0) return fmt::format("{:g}k", value / 1e3);
  return fmt::format("{:g}", value);
}

struct Place {
  double x = 0, y = 0;  // in pixels
};

// How far a line may be from where it should be, in pixels.
constexpr double kUnseen = 0.5;

// Keeps of places[first, last] what it takes to be no farther off than that [Douglas73].
void KeepNeeded(const std::vector<Place>& places, std::size_t first, std::size_t last, std::vector<bool>& keep) {
  keep[first] = keep[last] = true;
  const double dx = places[last].x - places[first].x, dy = places[last].y - places[first].y;
  const double length = std::max(1e-9, std::hypot(dx, dy));
  double farthest = kUnseen;
  std::size_t at = first;
  for (std::size_t i = first + 1; i < last; ++i) {
    const double off = std::fabs(dx * (places[i].y - places[first].y) - dy * (places[i].x - places[first].x)) / length;
    if (off <= farthest) continue;
    farthest = off;
    at = i;
  }
  if (at == first) return;
  KeepNeeded(places, first, at, keep);
  KeepNeeded(places, at, last, keep);
}

// What belongs to a series in a page, for its script.
std::string DataOf(const ChartSeries& series) {
  if (series.id.empty()) return "";
  std::string data = fmt::format(" data-{}=\"{}\"", series.is_chosen ? "factor" : "series", EscapeXml(series.id));
  if (series.side > 0) data += fmt::format(" data-side=\"{}\"", series.side);
  return data;
}

class Plot {
 public:
  Plot(const Chart& chart, bool standalone) : chart_(chart), standalone_(standalone) {
    for (const ChartSeries& one : chart.series) series_.push_back(&one);
    FindRanges();
    LayOutLegend();
  }

  std::string Render() {
    svg_.Open(chart_.width, chart_.height, chart_.title, chart_.description, standalone_, left(), PlotData());
    if (standalone_) Axes();
    if (!standalone_) CompactAxes();
    Labels();
    Split();
    ReliableRange();
    for (const ChartSeries* series : series_) {
      Band(*series, series->outer_band, 0.12);
      Band(*series, series->inner_band, 0.20);
    }
    Marks();
    for (const ChartSeries* series : series_) Line(*series);
    for (const ChartSeries* series : series_) {
      if (standalone_) Points(*series);
      if (!standalone_) CompactPoints(*series);
    }
    Legend();
    return svg_.Close();
  }

 private:
  std::string PlotData() const {
    if (standalone_) return "";
    if (!chart_.log_x) return " class=\"chart\"";
    return fmt::format(" class=\"chart\" data-plot=\"{:g} {:g} {} {} {} {} {:g} {:g}\"", x_.low, x_.high, Pixel(left()),
                       Pixel(right()), Pixel(top()), Pixel(bottom()), y_.low, y_.high);
  }

  double left() const { return 56; }
  double right() const { return chart_.width - 14; }
  double top() const { return 34 + legend_height_; }
  double bottom() const { return chart_.height - 46; }

  double X(double x) const {
    const double position = chart_.log_x ? (std::log(x) - std::log(x_.low)) / (std::log(x_.high) - std::log(x_.low))
                                         : (x - x_.low) / (x_.high - x_.low);
    return left() + position * (right() - left());
  }
  double Y(double y) const {
    const double clamped = std::clamp(y, y_.low, y_.high);
    return bottom() - (clamped - y_.low) / (y_.high - y_.low) * (bottom() - top());
  }

  void FindRanges() {
    bool first = true;
    double highest = chart_.y_max.value_or(0);
    const auto see = [&](double x, double y) {
      if (first) x_ = {x, x};
      x_ = {std::min(x_.low, x), std::max(x_.high, x)};
      highest = std::max(highest, y);
      first = false;
    };
    for (const ChartSeries* series : series_) {
      for (const ChartPoint& point : series->line) see(point.x, point.y);
      for (const ChartPoint& point : series->points) see(point.x, point.y);
      for (const ChartBand& band : series->inner_band) see(band.x, std::min(band.high, 1.5 * highest));
    }
    if (first || (chart_.log_x && x_.low <= 0)) x_ = {1, 10};
    if (!(x_.high > x_.low)) x_ = {x_.low / 2, x_.high * 2};
    if (chart_.log_x) {
      const double margin = std::pow(x_.high / x_.low, 0.03);
      x_ = {x_.low / margin, x_.high * margin};
    }
    const double step = NiceStep(highest > 0 ? highest : 1, 5);
    y_ = {0, std::max(step, std::ceil(highest / step - 0.1) * step)};  // a value a hair above 1 needs no new step
    y_step_ = step;
  }

  void LayOutLegend() {
    if (!chart_.legend) return;
    double x = left();
    int rows = 1;
    for (const ChartSeries& series : chart_.series) {
      const double width = 44 + 6.6 * static_cast<double>(series.name.size());
      if (x + width > right() && x > left()) {
        x = left();
        ++rows;
      }
      legend_.push_back({x, 40.0 + 18 * (rows - 1)});
      x += width;
    }
    LayOutSides(rows);
    legend_height_ = 18.0 * rows;
  }

  // Rows for the sides that a reader may lay over the others.
  void LayOutSides(int& rows) {
    if (standalone_) return;
    double x = right();
    for (const std::string& name : chart_.sides) {
      const double width = 44 + 6.6 * static_cast<double>(name.size());
      if (x + width > right()) {
        x = left();
        ++rows;
      }
      sides_.push_back({x, 40.0 + 18 * (rows - 1)});
      x += width;
    }
  }

  std::vector<double> XTicks() const {
    std::vector<double> ticks;
    if (!chart_.log_x) {
      const double step = NiceStep(x_.high - x_.low, 6);
      const double first = std::ceil(x_.low / step) * step;
      for (int i = 0; first + i * step <= x_.high; ++i) ticks.push_back(first + i * step);
      return ticks;
    }
    const double decades = std::log10(x_.high / x_.low);
    const auto lowest = static_cast<int>(std::floor(std::log10(x_.low)));
    for (int exponent = lowest; exponent <= std::log10(x_.high); ++exponent) {
      const double power = std::pow(10, exponent);
      for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor > 1 && decades > 2.5) continue;
        const double x = factor * power;
        if (x >= x_.low && x <= x_.high) ticks.push_back(x);
      }
    }
    return ticks;
  }

  void Axes() {
    const auto steps = static_cast<int>(std::floor((y_.high - y_.low) / y_step_ + 1e-9));
    for (int i = 0; i <= steps; ++i) {
      const double y = y_.low + i * y_step_;
      svg_.Line(left(), Y(y), right(), Y(y), kGrid);
      svg_.Text(left() - 8, Y(y) + 4, TickText(y), "end", kFaint);
    }
    for (const double x : XTicks()) {
      svg_.Line(X(x), top(), X(x), bottom(), kGrid);
      svg_.Text(X(x), bottom() + 17, TickLabel(x), "middle", kFaint);
    }
    svg_.Line(left(), bottom(), right(), bottom(), kFaint);
  }

  // The same in a few elements.
  void CompactAxes() {
    std::string grid, numbers, counts;
    const auto steps = static_cast<int>(std::floor((y_.high - y_.low) / y_step_ + 1e-9));
    for (int i = 0; i <= steps; ++i) {
      const double y = y_.low + i * y_step_;
      grid += fmt::format("M{} {}H{}", Pixel(left()), Pixel(Y(y)), Pixel(right()));
      numbers += fmt::format("<text x=\"{:g}\" y=\"{}\">{}</text>", left() - 8, Pixel(Y(y) + 4), TickText(y));
    }
    for (const double x : XTicks()) {
      grid += fmt::format("M{} {}V{}", Pixel(X(x)), Pixel(top()), Pixel(bottom()));
      counts += fmt::format("<text x=\"{}\" y=\"{:g}\">{}</text>", Pixel(X(x)), bottom() + 17, TickLabel(x));
    }
    svg_.Append(fmt::format("<path d=\"{}\" stroke=\"{}\"/><path d=\"M{} {}H{}\" stroke=\"{}\"/>", grid, kGrid,
                            Pixel(left()), Pixel(bottom()), Pixel(right()), kFaint));
    svg_.Append(fmt::format("<g fill=\"{}\" text-anchor=\"end\">{}</g><g fill=\"{}\" text-anchor=\"middle\">{}</g>",
                            kFaint, numbers, kFaint, counts));
  }

  void Labels() {
    svg_.Text((left() + right()) / 2, chart_.height - 10, chart_.x_label, "middle", kInk);
    const double middle = (top() + bottom()) / 2;
    if (chart_.y_label.empty()) return;
    svg_.Text(14, middle, chart_.y_label, "middle", kInk,
              fmt::format("transform=\"rotate(-90 14 {})\"", Pixel(middle)));
  }

  // Where the measured range ends.
  void Split() {
    if (!chart_.split_x || *chart_.split_x >= x_.high) return;
    const double x = X(*chart_.split_x);
    svg_.Append(
        fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#66727f\" fill-opacity=\"0.06\"/>",
                    Pixel(x), Pixel(top()), Pixel(right() - x), Pixel(bottom() - top())));
    svg_.Line(x, top(), x, bottom(), kFaint, "stroke-dasharray=\"2 3\"");
    if (!chart_.split_label.empty())
      svg_.Text(x + 5, bottom() - 6, chart_.split_label, "start", kFaint, "font-size=\"11\"");
  }

  void ReliableRange() {
    if (!chart_.reliable_to_x || *chart_.reliable_to_x < x_.low || *chart_.reliable_to_x > x_.high) return;
    const double x = X(*chart_.reliable_to_x);
    if (chart_.beyond_is_grey) {
      svg_.Rect(x, top(), right() - x, bottom() - top(), kFaint, " fill-opacity=\"0.16\"");
    }
    svg_.Line(x, top(), x, bottom(), kInk, "stroke-width=\"1.5\" stroke-opacity=\"0.55\"");
    const bool near_end = x > right() - 170;
    svg_.Text(x + (near_end ? -5 : 5), bottom() - 20, chart_.reliable_label, near_end ? "end" : "start", kInk,
              "font-size=\"11\"");
  }

  void Marks() {
    int row = 0;
    for (const ChartMark& mark : chart_.marks) {
      if (mark.x < x_.low || mark.x > x_.high) continue;
      svg_.Line(X(mark.x), top(), X(mark.x), bottom(), kInk, "stroke-dasharray=\"5 4\" stroke-opacity=\"0.7\"");
      const bool near_end = X(mark.x) > right() - 180;
      svg_.Text(X(mark.x) + (near_end ? -5 : 5), top() + 13 + 14 * row++, mark.label, near_end ? "end" : "start", kInk,
                "font-size=\"11\"");
    }
  }

  // "x,y x,y", by fewer points where nobody can tell.
  std::string Joined(const std::vector<Place>& places) const {
    std::vector<bool> keep(places.size(), standalone_);
    if (!standalone_) KeepNeeded(places, 0, places.size() - 1, keep);
    std::string points;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (keep[i]) points += (points.empty() ? "" : " ") + Pixel(places[i].x) + "," + Pixel(places[i].y);
    }
    return points;
  }

  // Bands and points need be found only where readers can leave their series out.
  std::string ChoiceOf(const ChartSeries& series) const {
    return standalone_ || !series.is_chosen ? "" : DataOf(series);
  }

  void Band(const ChartSeries& series, const std::vector<ChartBand>& band, double opacity) {
    if (band.size() < 2) return;
    std::vector<Place> high, low;
    for (const ChartBand& b : band) high.push_back({X(b.x), Y(b.high)});
    for (auto b = band.rbegin(); b != band.rend(); ++b) low.push_back({X(b->x), Y(b->low)});
    svg_.Append(fmt::format("<polygon points=\"{} {}\" fill=\"{}\" fill-opacity=\"{}\"{}/>", Joined(high), Joined(low),
                            PaletteColor(series.color), opacity, ChoiceOf(series)));
  }

  void Polyline(const std::vector<ChartPoint>& line, std::size_t first, std::size_t end, const ChartSeries& series,
                bool dashed, bool is_pale) {
    if (end < first + 2) return;
    std::vector<Place> places;
    for (std::size_t i = first; i < end; ++i) places.push_back({X(line[i].x), Y(line[i].y)});
    svg_.Append(fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{}{}{}/>",
                            Joined(places), PaletteColor(series.color), series.width,
                            dashed ? " stroke-dasharray=\"6 4\"" : "", is_pale ? " stroke-opacity=\".4\"" : "",
                            standalone_ ? "" : DataOf(series)));
  }

  // The line with a point where its reliable range ends.
  std::vector<ChartPoint> LineOf(const ChartSeries& series) const {
    std::vector<ChartPoint> line = series.line;
    if (!series.reliable_x) return line;
    const double end = *series.reliable_x;
    const auto next = std::find_if(line.begin(), line.end(), [&](const ChartPoint& point) { return point.x >= end; });
    if (next == line.begin() || next == line.end() || next->x == end) return line;
    const ChartPoint &a = *std::prev(next), &b = *next;
    const double share = (X(end) - X(a.x)) / (X(b.x) - X(a.x));
    line.insert(next, {end, a.y + share * (b.y - a.y), ""});
    return line;
  }

  // How many points lie up to there.
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
    const std::size_t reliable = std::max(split, CountUpTo(line, series.reliable_x));
    // Parts share a point with the next.
    Polyline(line, 0, is_split ? split : reliable, series, series.dashed, false);
    if (is_split) Polyline(line, split > 0 ? split - 1 : 0, reliable, series, true, false);
    if (!series.reliable_x || reliable == 0 || reliable == line.size()) return;
    Polyline(line, reliable - 1, line.size(), series, true, true);
    const ChartPoint& last = line[reliable - 1];
    svg_.Append(fmt::format("<path d=\"M{} {}v14\" stroke=\"{}\" stroke-width=\"2\"{}/>", Pixel(X(last.x)),
                            Pixel(Y(last.y) - 7), PaletteColor(series.color), standalone_ ? "" : DataOf(series)));
  }

  void Points(const ChartSeries& series) {
    for (const ChartPoint& point : series.points) {
      svg_.Append(fmt::format(
          "<circle cx=\"{}\" cy=\"{}\" r=\"4\" fill=\"#ffffff\" stroke=\"{}\" stroke-width=\"2\"><title>{}</title>"
          "</circle>",
          Pixel(X(point.x)), Pixel(Y(point.y)), PaletteColor(series.color), EscapeXml(point.tooltip)));
    }
    for (const ChartPoint& point : series.line) {
      if (point.tooltip.empty()) continue;
      svg_.Append(
          fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"5\" fill=\"#ffffff\" fill-opacity=\"0\"><title>{}</title>"
                      "</circle>",
                      Pixel(X(point.x)), Pixel(Y(point.y)), EscapeXml(point.tooltip)));
    }
  }

  void CompactPoints(const ChartSeries& series) {
    if (series.points.empty()) return;
    std::string dots;
    for (const ChartPoint& point : series.points) dots += fmt::format("M{} {}h0", Pixel(X(point.x)), Pixel(Y(point.y)));
    svg_.Append(fmt::format(
        "<g fill=\"none\" stroke-linecap=\"round\"{}><path d=\"{}\" stroke=\"{}\" stroke-width=\"10\"/><path d=\"{}\" "
        "stroke=\"#ffffff\" stroke-width=\"6\"/></g>",
        ChoiceOf(series), dots, PaletteColor(series.color), dots));
  }

  void Legend() {
    std::size_t i = 0;
    for (const ChartSeries& one : chart_.series) {
      if (i == legend_.size()) continue;
      if (!standalone_) svg_.Append("<g" + DataOf(one) + ">");
      LegendEntry(one, legend_[i++]);
      if (!standalone_) svg_.Append("</g>");
    }
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      const auto [x, y] = sides_[side];
      svg_.Append(fmt::format("<g class=\"overlay\" data-side=\"{}\">", side + 1));
      svg_.Line(x, y - 4, x + 24, y - 4, kInk, "stroke-width=\"1.8\"");
      svg_.Text(x + 30, y, chart_.sides[side], "start", kInk);
      svg_.Append("</g>");
    }
  }

  void LegendEntry(const ChartSeries& series, std::pair<double, double> at) {
    const auto [x, y] = at;
    if (series.line.empty()) {
      svg_.Append(fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"4\" fill=\"#ffffff\" stroke=\"{}\" stroke-width=\"2\"/>",
                              Pixel(x + 12), Pixel(y - 4), PaletteColor(series.color)));
    } else {
      svg_.Line(x, y - 4, x + 24, y - 4, PaletteColor(series.color).c_str(),
                fmt::format("stroke-width=\"{}\"{}", series.width, series.dashed ? " stroke-dasharray=\"6 4\"" : ""));
    }
    svg_.Text(x + 30, y, series.name, "start", kInk);
  }

  const Chart& chart_;
  const bool standalone_;
  std::vector<const ChartSeries*> series_;  // that are drawn
  Svg svg_;
  Range x_, y_;
  double y_step_ = 0.2;
  double legend_height_ = 0;
  std::vector<std::pair<double, double>> legend_;
  std::vector<std::pair<double, double>> sides_;  // legend of what a reader may lay over
};

}  // namespace

std::string RenderSvg(const Chart& chart, bool standalone) { return Plot(chart, standalone).Render(); }

}  // namespace farscale
