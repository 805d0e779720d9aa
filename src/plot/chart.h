// Charts: lines, points, bands and error bars over a linear or logarithmic x axis, with a legend.
//
// As SVG a chart comes in two forms: a file of its own, which explains itself, with a tooltip on every point, and an
// element of an HTML page. The latter is smaller, since a report may have hundreds: lines are drawn by no more points
// than it takes to look the same, and tooltips are left to the script of the page. It says which series is about what
// (templates/report.js), in attributes: data-plot of the <svg> is the range of x, the left, right, top and bottom of
// the plot in pixels, and the range of y; of what belongs to a series, data-series is its id, or data-factor where
// readers can choose it, and data-side the machine it is about.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plot/canvas.h"

namespace farscale {

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::string tooltip;  // empty: none
};

struct ChartBand {
  double x = 0;
  double low = 0;
  double high = 0;
};

struct ChartSeries {
  std::string name;        // empty: not in the legend
  std::string id;          // in HTML: of the factor it is about
  int side = 0;            // in HTML: 0 as measured, else the number of the variant
  bool is_chosen = false;  // in HTML: whether a reader can leave it out by its factor
  int color = 0;           // index into the palette
  bool dashed = false;
  std::string dashes = "6 4";  // where it is dashed
  double width = 2;
  std::vector<ChartPoint> line;      // drawn solid up to Chart::split_x, dashed beyond
  std::optional<double> reliable_x;  // where its own reliable range ends: a bar across the line, which is pale beyond
  std::vector<ChartPoint> points;    // drawn as markers
  bool has_filled_points = false;
  MarkerShape shape = MarkerShape::kDisc;
  std::vector<ChartBand> error_bars;
  std::vector<ChartBand> inner_band;
  std::vector<ChartBand> outer_band;
};

struct ChartMark {
  double x = 0;
  std::string label;
  std::string dashes = "5 4";
};

// kBeside: each name at the end of its line.
enum class LegendPlace { kAbove, kInside, kBeside };

struct Chart {
  std::string title;        // also read out by screen readers
  std::string description;  // the content in a sentence
  std::string x_label;
  std::string y_label;
  bool log_x = true;
  bool log_y = false;
  std::vector<std::string> x_names;  // names of x = 0, 1, 2, ...; those too many are left out
  std::optional<double> y_min;       // where the y axis begins, or a little before; none: 0, of a logarithm the least
  std::optional<double> y_max;       // at least this much is shown
  std::optional<double> x_end;       // where the x axis ends, although curves go on
  std::optional<double> split_x;     // where measurement ends and extrapolation begins
  std::string split_label;
  std::optional<double> reliable_to_x;  // where the reliable range ends: shaded up to a line, curves fade beyond
  std::string reliable_label;
  bool has_end = true;                   // false: the reliable range may reach further
  std::optional<double> uncertain_to_x;  // where predictions get unknown: a fine line, and no curves beyond
  std::string unknown_label;
  std::vector<ChartMark> marks;  // vertical lines with a label
  std::vector<ChartSeries> series;
  std::vector<LegendEntry> keys;   // behind the series in the legend: what is drawn alike in several colours
  std::vector<std::string> sides;  // in HTML: machines whose curves the script lays over these, from side 1 on
  int width = 720;
  int height = 380;
  LegendPlace legend = LegendPlace::kAbove;
  bool has_script = true;  // in HTML: the page's script finds its way in the chart, so that it needs no tooltips
};

// A complete <svg> element. `standalone`: with name space and white ground, for a file of its own.
std::string RenderSvg(const Chart& chart, bool standalone);

// Without a title.
void DrawChart(const Chart& chart, Canvas& canvas);

// A LaTeX document whose only page is the chart; needs TikZ and nothing else.
std::string RenderTikz(const Chart& chart);
// Its picture alone, for a document that uses TikZ.
std::string RenderTikzPicture(const Chart& chart);

// The text as LaTeX prints it, in any font encoding and without packages: its special characters, characters that the
// usual fonts lack, and whatever else names from traces contain. Line breaks become blanks.
std::string EscapeLatex(std::string_view text);

// Times that are made of parts as SVG: a horizontal bar for each, with its name above and its sum at the end.
struct StackedBar {
  std::string name;
  std::vector<double> seconds;  // one a part; what is below nothing is not drawn
  std::string text;             // at the end
};

// A complete <svg> element; `standalone` as for charts. `axis`: "makespan". `parts`: names in the legend, and indexes
// into the palette.
std::string RenderStackedBars(const std::string& title, const std::string& description, const std::string& axis,
                              const std::vector<std::pair<std::string, int>>& parts,
                              const std::vector<StackedBar>& bars, bool standalone);

// A name, and parts of a whole: their shares of it, in [0, 1], and indexes into the palette.
using Band = std::pair<std::string, std::vector<std::pair<double, int>>>;

// A whole and its parts as horizontal bands of one scale, above each other, for a page beside a table of the numbers. A
// complete <svg> element, in which the whole is as wide in every picture.
std::string RenderBands(const std::string& title, const std::string& description, const std::vector<Band>& bands);

}  // namespace farscale
