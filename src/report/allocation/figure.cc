#include "report/allocation/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/format.h"
#include "pages/latex.h"
#include "plot/svg.h"
#include "report/allocation/text.h"

namespace farscale {
namespace {

constexpr double kFigureWidth = 720, kFigureHeight = 460;
constexpr double kCentimetres = 0.02;  // a pixel on paper, so that the figure is as wide as a column of text
constexpr double kFigureLeft = 66, kFigureRight = 684, kFigureTop = 34, kFigureBottom = 408;

using Points = std::vector<std::pair<double, double>>;

enum class Pen { kGrid, kAxis, kIdeal, kRequired, kCurve, kMeasured, kPredicted, kUndecided, kLimit };
enum class Anchor { kStart, kMiddle, kEnd };

struct Style {
  const char* color;
  double width;
  const char* dashes;  // lengths of strokes and gaps; empty: none
};

Style StyleOf(Pen pen) {
  switch (pen) {
    case Pen::kGrid: return {kGrid, 1, ""};
    case Pen::kAxis: return {kFaint, 1, ""};
    case Pen::kIdeal: return {kInk, 1.4, ""};
    case Pen::kRequired: return {kFaint, 1.4, "2 4"};
    case Pen::kCurve: return {"#0072b2", 2, "7 4"};
    case Pen::kMeasured: return {kInk, 1.6, ""};
    case Pen::kPredicted: return {"#0072b2", 2, ""};
    case Pen::kUndecided: return {"#8a949e", 2, ""};
    case Pen::kLimit: return {kFaint, 1, "2 3"};
  }
  return {kInk, 1, ""};
}

// What the figure is drawn with, in pixels from the upper left corner.
class Canvas {
 public:
  virtual ~Canvas() = default;
  virtual void Line(const Points& points, Pen pen) = 0;
  virtual void Area(const Points& points) = 0;
  virtual void Disc(double x, double y, bool is_filled, const std::string& tooltip) = 0;
  virtual void Text(double x, double y, const std::string& text, Anchor anchor) = 0;
  virtual void UprightText(double x, double y, const std::string& text) = 0;
};

class SvgCanvas : public Canvas {
 public:
  SvgCanvas(const std::string& title, const std::string& description, bool standalone) {
    svg_.Open(static_cast<int>(kFigureWidth), static_cast<int>(kFigureHeight), title, description, standalone,
              kFigureLeft);
  }

  void Line(const Points& points, Pen pen) override {
    const Style style = StyleOf(pen);
    const std::string dashes = *style.dashes == '\0' ? "" : fmt::format(" stroke-dasharray=\"{}\"", style.dashes);
    svg_.Append(fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{}/>", List(points),
                            style.color, style.width, dashes));
  }
  void Area(const Points& points) override {
    svg_.Append(fmt::format("<polygon points=\"{}\" fill=\"#0072b2\" fill-opacity=\"0.15\"/>", List(points)));
  }
  void Disc(double x, double y, bool is_filled, const std::string& tooltip) override {
    svg_.Append(fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"4.5\" fill=\"{}\" stroke=\"{}\" stroke-width=\"2\">",
                            Pixel(x), Pixel(y), is_filled ? kInk : "#ffffff", is_filled ? kInk : "#0072b2"));
    svg_.Append("<title>" + EscapeXml(tooltip) + "</title></circle>");
  }
  void Text(double x, double y, const std::string& text, Anchor anchor) override {
    svg_.Text(x, y, text, anchor == Anchor::kStart ? "start" : anchor == Anchor::kEnd ? "end" : "middle", kInk);
  }
  void UprightText(double x, double y, const std::string& text) override {
    svg_.Text(x, y, text, "middle", kInk, fmt::format("transform=\"rotate(-90 {} {})\"", Pixel(x), Pixel(y)));
  }
  std::string Close() { return svg_.Close(); }

 private:
  static std::string List(const Points& points) {
    std::string text;
    for (const auto& [x, y] : points) text += (text.empty() ? "" : " ") + Pixel(x) + "," + Pixel(y);
    return text;
  }

  Svg svg_;
};

class TikzCanvas : public Canvas {
 public:
  void Line(const Points& points, Pen pen) override {
    const Style style = StyleOf(pen);
    text_ += fmt::format("\\draw[{}, line width={:.2f}pt{}] {};\n", Color(style.color), 0.45 * style.width,
                         Dashes(style.dashes), List(points));
  }
  void Area(const Points& points) override { text_ += "\\fill[blue!12] " + List(points) + " -- cycle;\n"; }
  void Disc(double x, double y, bool is_filled, const std::string&) override {
    text_ += fmt::format("\\filldraw[{}, line width=0.9pt, fill={}] {} circle[radius=1.9pt];\n",
                         is_filled ? "black" : "blue!70!black", is_filled ? "black" : "white", At(x, y));
  }
  void Text(double x, double y, const std::string& text, Anchor anchor) override {
    const char* where = anchor == Anchor::kStart ? "base west" : anchor == Anchor::kEnd ? "base east" : "base";
    text_ += fmt::format("\\node[anchor={}, inner sep=0pt] at {} {{{}}};\n", where, At(x, y), EscapeLatex(text));
  }
  void UprightText(double x, double y, const std::string& text) override {
    text_ += fmt::format("\\node[rotate=90, anchor=base, inner sep=0pt] at {} {{{}}};\n", At(x, y), EscapeLatex(text));
  }
  const std::string& text() const { return text_; }

 private:
  static std::string At(double x, double y) { return fmt::format("({:.1f},{:.1f})", x, y); }
  static std::string List(const Points& points) {
    std::string text;
    for (const auto& [x, y] : points) text += (text.empty() ? "" : " -- ") + At(x, y);
    return text;
  }
  static std::string Color(std::string_view color) {
    if (color == kInk) return "black";
    if (color == kGrid) return "black!12";
    return color == "#0072b2" ? "blue!70!black" : "black!50";
  }
  static std::string Dashes(std::string_view dashes) {
    if (dashes.empty()) return "";
    const std::size_t blank = dashes.find(' ');
    return fmt::format(", dash pattern=on {}pt off {}pt", dashes.substr(0, blank), dashes.substr(blank + 1));
  }

  std::string text_;
};

struct Range {
  double low = 1, high = 2;

  double Share(double value) const { return std::log(std::clamp(value, low, high) / low) / std::log(high / low); }
};

// Powers of ten, with 2 and 5 times those where there are few.
std::vector<double> TicksOf(const Range& range) {
  std::vector<double> ticks;
  const bool is_wide = range.high / range.low > 400;
  for (double power = std::pow(10, std::floor(std::log10(range.low))); power <= range.high; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && is_wide) continue;
      const double tick = factor * power;
      if (tick >= range.low * 0.999 && tick <= range.high * 1.001) ticks.push_back(tick);
    }
  }
  return ticks;
}

class FigureDrawing {
 public:
  FigureDrawing(const AllocationPack& pack, Canvas& canvas) : pack_(pack), canvas_(canvas) {
    x_ = {pack.rows.front().cores, pack.rows.front().cores};
    for (const AllocationRow& row : pack.rows) {
      x_.low = std::min(x_.low, row.cores);
      x_.high = std::max(x_.high, row.cores);
    }
    double least = x_.low / pack.baseline;
    for (const AllocationRow& row : pack.rows) {
      if (row.speedup.value) least = std::min(least, *row.speedup.value);
    }
    x_ = {x_.low / 1.15, x_.high * 1.15};
    y_ = {least / 1.3, x_.high / pack.baseline * 1.1};
  }

  void Draw() {
    Axes();
    Band();
    Proportional(1, Pen::kIdeal);
    Proportional(pack_.required, Pen::kRequired);
    Limits();
    Curve();
    for (const AllocationRow& row : pack_.rows) Bar(row);
    for (const AllocationRow& row : pack_.rows) Point(row);
    Legend();
  }

 private:
  double X(double cores) const { return kFigureLeft + x_.Share(cores) * (kFigureRight - kFigureLeft); }
  double Y(double speedup) const { return kFigureBottom - y_.Share(speedup) * (kFigureBottom - kFigureTop); }

  void Axes() {
    for (const double tick : TicksOf(x_)) {
      canvas_.Line({{X(tick), kFigureTop}, {X(tick), kFigureBottom}}, Pen::kGrid);
      canvas_.Text(X(tick), kFigureBottom + 18, FormatCores(tick), Anchor::kMiddle);
    }
    for (const double tick : TicksOf(y_)) {
      canvas_.Line({{kFigureLeft, Y(tick)}, {kFigureRight, Y(tick)}}, Pen::kGrid);
      canvas_.Text(kFigureLeft - 8, Y(tick) + 4, fmt::format("{:g}", tick), Anchor::kEnd);
    }
    canvas_.Line({{kFigureLeft, kFigureTop}, {kFigureLeft, kFigureBottom}, {kFigureRight, kFigureBottom}}, Pen::kAxis);
    canvas_.Text((kFigureLeft + kFigureRight) / 2, kFigureHeight - 12, "cores", Anchor::kMiddle);
    canvas_.UprightText(16, (kFigureTop + kFigureBottom) / 2, "speedup over " + FormatCoreCount(pack_.baseline));
  }

  // A share of the ideal speedup, from where it comes into view.
  void Proportional(double share, Pen pen) {
    const double low = std::max(x_.low, y_.low * pack_.baseline / share);
    const auto at = [&](double cores) { return std::pair(X(cores), Y(share * cores / pack_.baseline)); };
    canvas_.Line({at(low), at(x_.high)}, pen);
  }

  void Band() {
    Points upper, lower;
    for (const SpeedupPoint& point : pack_.curve) {
      if (!point.speedup.interval80) return;
      upper.emplace_back(X(point.cores), Y(point.speedup.interval80->high.value_or(y_.high)));
      lower.emplace_back(X(point.cores), Y(point.speedup.interval80->low));
    }
    upper.insert(upper.end(), lower.rbegin(), lower.rend());
    if (upper.size() > 3) canvas_.Area(upper);
  }

  void Curve() {
    Points points;
    for (const SpeedupPoint& point : pack_.curve) {
      if (point.speedup.value) points.emplace_back(X(point.cores), Y(*point.speedup.value));
    }
    if (points.size() > 1) canvas_.Line(points, Pen::kCurve);
  }

  void Limits() {
    if (pack_.reliable <= 0 || pack_.reliable * 1.0001 > x_.high / 1.15) return;
    const double x = X(pack_.reliable);
    canvas_.Line({{x, kFigureTop}, {x, kFigureBottom}}, Pen::kLimit);
    const bool is_right = x > (kFigureLeft + kFigureRight) / 2;
    canvas_.Text(x + (is_right ? -6 : 6), kFigureBottom - 10, "reliable up to " + FormatCoreCount(pack_.reliable),
                 is_right ? Anchor::kEnd : Anchor::kStart);
  }

  void Bar(const AllocationRow& row) {
    if (!row.speedup.interval80) return;
    const double high = Y(row.speedup.interval80->high.value_or(y_.high)), low = Y(row.speedup.interval80->low);
    if (low - high < 1) return;
    const Pen pen = row.is_measured ? Pen::kMeasured : row.is_reliable ? Pen::kPredicted : Pen::kUndecided;
    const double x = X(row.cores);
    canvas_.Line({{x, low}, {x, high}}, pen);
    canvas_.Line({{x - 4, low}, {x + 4, low}}, pen);
    canvas_.Line({{x - 4, high}, {x + 4, high}}, pen);
  }

  void Point(const AllocationRow& row) {
    if (!row.speedup.value) return;
    canvas_.Disc(X(row.cores), Y(*row.speedup.value), row.is_measured,
                 fmt::format("{}: speedup {} ({})", FormatCoreCount(row.cores), FormatSpeedup(*row.speedup.value),
                             row.is_measured ? "measured" : "predicted"));
  }

  void Legend() {
    double y = kFigureTop + 16;
    const double x = kFigureLeft + 14;
    const auto line = [&](const std::string& text, Pen pen) {
      canvas_.Line({{x, y - 4}, {x + 26, y - 4}}, pen);
      canvas_.Text(x + 34, y, text, Anchor::kStart);
      y += 19;
    };
    const auto disc = [&](const std::string& text, bool is_filled) {
      if (!is_filled) canvas_.Line({{x, y - 4}, {x + 26, y - 4}}, Pen::kCurve);
      canvas_.Disc(x + 13, y - 4, is_filled, text);
      canvas_.Text(x + 34, y, text, Anchor::kStart);
      y += 19;
    };
    line("ideal", Pen::kIdeal);
    line(fmt::format("{:g} % efficiency", 100 * pack_.required), Pen::kRequired);
    disc("measured", true);
    if (!pack_.curve.empty()) disc("predicted, with 80 % interval", false);
    const bool any_beyond =
        std::any_of(pack_.rows.begin(), pack_.rows.end(), [](const AllocationRow& row) { return !row.is_reliable; });
    if (any_beyond) line("too uncertain: interval only", Pen::kUndecided);
  }

  const AllocationPack& pack_;
  Canvas& canvas_;
  Range x_, y_;
};

}  // namespace

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

std::string SpeedupSvg(const AllocationPack& pack, bool standalone) {
  SvgCanvas canvas("Speedup against cores", DescribeSpeedup(pack), standalone);
  FigureDrawing(pack, canvas).Draw();
  return canvas.Close();
}

std::string SpeedupTikz(const AllocationPack& pack) {
  TikzCanvas canvas;
  FigureDrawing(pack, canvas).Draw();
  return fmt::format(
             "% The figure by itself: pdflatex makes allocation-figure.pdf of it, for \\includegraphics.\n"
             "\\documentclass{{article}}\n"
             "\\usepackage{{tikz}}\n"
             "\\pagestyle{{empty}}\n"
             "% A page as large as the figure with a margin of 2 mm.\n"
             "\\paperwidth={}cm \\paperheight={}cm\n"
             "\\ifdefined\\pagewidth \\pagewidth=\\paperwidth \\pageheight=\\paperheight\n"
             "\\else \\pdfpagewidth=\\paperwidth \\pdfpageheight=\\paperheight \\fi\n"
             "\\hoffset=-1in \\voffset=-1in \\oddsidemargin=2mm \\topmargin=2mm\n"
             "\\headheight=0pt \\headsep=0pt \\footskip=0pt \\topskip=0pt \\parindent=0pt\n"
             "\\textwidth={}cm \\textheight={}cm\n"
             "\\begin{{document}}\n"
             "\\begin{{tikzpicture}}[x={}cm, y=-{}cm, font=\\footnotesize]\n"
             "\\useasboundingbox (0,0) rectangle ({},{});\n",
             kFigureWidth * kCentimetres + 0.4, kFigureHeight * kCentimetres + 0.4, kFigureWidth * kCentimetres + 0.1,
             kFigureHeight * kCentimetres + 0.2, kCentimetres, kCentimetres, kFigureWidth, kFigureHeight) +
         canvas.text() + "\\end{tikzpicture}\n\\end{document}\n";
}

}  // namespace farscale
