#include "plot/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <string>

#include "plot/canvas.h"

namespace farscale {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Chart, DrawsAxesPointsBandsAndTooltips) {
  Chart chart;
  chart.title = "LB <1>";
  chart.description = "Falls";
  chart.x_label = "cores";
  ChartSeries series;
  series.name = "load balance";
  series.line = {{8, 0.9, ""}, {64, 0.5, ""}, {512, 0.2, ""}};
  series.points = {{8, 0.9, "8 cores: 0.900"}};
  series.inner_band = {{8, 0.85, 0.95}, {512, 0.1, 0.3}};
  chart.series = {series};
  chart.split_x = 64;
  chart.marks = {{100, "from 100: transfer"}};
  const std::string svg = RenderSvg(chart, true);
  EXPECT_THAT(svg, HasSubstr("xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(svg, HasSubstr("<title>LB &lt;1&gt;</title><desc>Falls</desc>"));
  EXPECT_THAT(svg, HasSubstr("<title>8 cores: 0.900</title>"));
  EXPECT_THAT(svg, HasSubstr("<polygon"));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray=\"6 4\""));  // beyond the split
  EXPECT_THAT(svg, HasSubstr("from 100: transfer"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_EQ(svg, RenderSvg(chart, true));
  EXPECT_THAT(RenderSvg(chart, false), Not(HasSubstr("xmlns")));
}

// Points on a straight line are not drawn, and the script of the page is told what is what.
TEST(Chart, InAPageItIsSmall) {
  Chart chart;
  ChartSeries series;
  series.id = "loadBalance";
  series.is_chosen = true;
  for (int i = 0; i <= 10; ++i) series.line.push_back({std::exp(i), 1 - 0.05 * i, ""});
  series.points = {{1, 0.9, "1 core: 0.900"}};
  chart.series = {series};
  chart.sides = {"without noise"};
  const std::string svg = RenderSvg(chart, false);
  EXPECT_TRUE(std::regex_search(
      svg, std::regex("<polyline points=\"[0-9.]+,[0-9.]+ [0-9.]+,[0-9.]+\" [^>]*data-factor=\"loadBalance\"/>")));
  EXPECT_TRUE(
      std::regex_search(svg, std::regex("<g class=\"overlay\" data-side=\"1\"><line .*without noise</text></g>")));
  EXPECT_THAT(svg, HasSubstr(" data-plot=\""));
  EXPECT_THAT(svg, Not(HasSubstr("1 core")));
  const std::string file = RenderSvg(chart, true);
  EXPECT_THAT(file, HasSubstr("1 core: 0.900"));
  EXPECT_THAT(file, Not(HasSubstr("data-")));
  EXPECT_THAT(file, Not(HasSubstr("without noise")));
}

// Straight to 1000 over a logarithmic axis; the reliable range ends halfway, at 10^1.5, where the line has come to 0.7.
TEST(Chart, ABarMarksWhereTheReliableRangeOfACurveEnds) {
  Chart chart;
  chart.y_max = 1;
  ChartSeries series;
  series.line = {{1, 1, ""}, {1000, 0.4, ""}};
  chart.series = {series};
  EXPECT_THAT(RenderSvg(chart, true), Not(HasSubstr("stroke-opacity=\"0.4\"")));
  chart.series[0].reliable_x = std::pow(10, 1.5);
  const std::string svg = RenderSvg(chart, true);
  EXPECT_THAT(svg, HasSubstr("stroke-opacity=\"0.4\""));
  std::smatch bar;
  ASSERT_TRUE(std::regex_search(svg, bar,
                                std::regex("<line x1=\"([0-9.]+)\" y1=\"([0-9.]+)\" x2=\"[0-9.]+\" "
                                           "y2=\"([0-9.]+)\" stroke=\"#2a38aa\" stroke-width=\"2\"/>")));
  EXPECT_NEAR(std::stod(bar[3]) - std::stod(bar[2]), 14, 0.11);
  const std::string meeting = bar[1].str() + "," + TickText(std::stod(bar[2]) + 7);
  EXPECT_THAT(svg, HasSubstr(" " + meeting + "\" fill=\"none\""));     // the line ends there
  EXPECT_THAT(svg, HasSubstr("<polyline points=\"" + meeting + " "));  // and the pale one begins
  EXPECT_NEAR(std::stod(bar[1]), (56 + 706) / 2.0, 0.06);              // the plot is from 56 to 706
}

TEST(Chart, DegenerateDataStaysFinite) {
  Chart chart;
  EXPECT_THAT(RenderSvg(chart, true), Not(HasSubstr("nan")));
  ChartSeries series;
  series.points = {{8, 0.5, ""}};
  chart.series = {series};
  const std::string svg = RenderSvg(chart, true);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

// From 0.9 on, where a chart usually begins at 0, and four of the names of eleven commits.
TEST(Chart, NamesStandBelowAndAnAxisNeedNotBeginAtNothing) {
  Chart chart;
  chart.log_x = false;
  chart.y_min = 0.9;
  chart.has_script = false;
  ChartSeries series;
  for (int i = 0; i < 11; ++i) {
    chart.x_names.push_back("commit" + std::to_string(i));
    series.points.push_back({static_cast<double>(i), 0.9 + 0.01 * i, chart.x_names.back()});
  }
  chart.series = {series};
  const std::string svg = RenderSvg(chart, false);
  EXPECT_THAT(svg, HasSubstr(">commit0</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">commit1</text>")));  // every second one
  EXPECT_THAT(svg, HasSubstr(">commit10</text>"));
  EXPECT_THAT(svg, HasSubstr(">0.9</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">0</text>")));
  EXPECT_THAT(svg, HasSubstr("<title>commit1</title>"));  // a page without a script has tooltips
}

// Squares in the chart and in the legend, where a key stands behind the series. A series has dashes of its own.
TEST(Chart, SquaresKeysAndDashes) {
  Chart chart;
  ChartSeries series;
  series.name = "transfer";
  series.dashed = true;
  series.dashes = "2 3";
  series.line = {{1, 1, ""}, {100, 0.5, ""}};
  series.points = {{10, 0.75, ""}};
  chart.series = {series};
  const std::string square = "stroke-linecap=\"square\"";
  EXPECT_THAT(RenderSvg(chart, true), Not(HasSubstr(square)));
  chart.series[0].shape = MarkerShape::kSquare;
  chart.keys = {{"grown run", {}, Marker{kFaint, false, 3, MarkerShape::kSquare}}};
  const std::string svg = RenderSvg(chart, true), tikz = RenderTikz(chart);
  EXPECT_LT(svg.find(">transfer<"), svg.find(">grown run<"));
  EXPECT_NE(svg.find(square), svg.rfind(square));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray=\"2 3\""));
  EXPECT_THAT(tikz, HasSubstr(" +(-1.35pt,-1.35pt) rectangle +(1.35pt,1.35pt);"));
}

// Both axes logarithmic: where the reliable range ends, half way, the ideal line has half of its height.
TEST(Chart, LinesStayStraightWhereTheyGetPale) {
  Chart chart;
  chart.log_y = true;
  chart.legend = LegendPlace::kInside;
  chart.reliable_to_x = 10;
  ChartSeries series;
  series.line = {{1, 1, ""}, {100, 100, ""}};
  chart.series = {series};
  const std::string svg = RenderSvg(chart, true);
  const std::string number = "([0-9.]+)", spot = number + "," + number;
  std::smatch solid, pale;
  const std::regex line("<polyline points=\"" + spot + " " + spot + "\"");
  ASSERT_TRUE(std::regex_search(svg, solid, line));
  const std::string rest = solid.suffix();
  ASSERT_TRUE(std::regex_search(rest, pale, line));
  EXPECT_NEAR(std::stod(solid[3]), (std::stod(solid[1]) + std::stod(pale[3])) / 2, 0.1);
  EXPECT_NEAR(std::stod(solid[4]), (std::stod(solid[2]) + std::stod(pale[4])) / 2, 0.1);
}

// Both axes logarithmic: the ideal line goes from corner to corner, and an interval without an end up to the top.
TEST(Chart, TheSameAsSvgAndAsTikz) {
  Chart chart;
  chart.log_y = true;
  ChartSeries series;
  series.name = "50 % & more";
  series.line = {{1, 1, ""}, {100, 100, ""}};
  series.error_bars = {{10, 5, INFINITY}};
  series.points = {{10, 10, "not on paper"}};
  chart.marks = {{20, "from 20"}};
  chart.series = {series};
  const std::string svg = RenderSvg(chart, true), tikz = RenderTikz(chart);
  std::smatch at;
  ASSERT_TRUE(std::regex_search(svg, at, std::regex("<polyline points=\"([0-9.]+),([0-9.]+) ([0-9.]+),([0-9.]+)\"")));
  const auto tenth = [&](int i) {
    const std::string text = at[i].str();
    return text.find('.') == std::string::npos ? text + ".0" : text;
  };
  EXPECT_THAT(tikz, HasSubstr("(" + tenth(1) + "," + tenth(2) + ") -- (" + tenth(3) + "," + tenth(4) + ");"));
  EXPECT_THAT(tikz, HasSubstr("draw={rgb,255:red,42;green,56;blue,170}"));
  EXPECT_THAT(tikz, HasSubstr("{50 \\% \\& more};"));
  EXPECT_THAT(tikz, HasSubstr("\\node[anchor=base east, inner sep=0pt] at (48.0,"));
  EXPECT_THAT(tikz, HasSubstr("dash pattern=on 5pt off 4pt, opacity=0.7]"));
  EXPECT_THAT(tikz, HasSubstr("y=-0.02cm"));
  EXPECT_THAT(tikz, Not(HasSubstr("not on paper")));
  for (const std::string& text : {svg, tikz}) {
    EXPECT_THAT(text, Not(HasSubstr("nan")));
    EXPECT_THAT(text, Not(HasSubstr("inf)")));
  }
}

TEST(EscapeLatex, PrintsWhatTheTextSays) {
  EXPECT_EQ(EscapeLatex("solve"), "solve");
  EXPECT_EQ(EscapeLatex("a_b"), "a\\_b");
  EXPECT_EQ(EscapeLatex("5 %"), "5 \\%");
  EXPECT_EQ(EscapeLatex("#{$&}"), "\\#\\{\\$\\&\\}");
  EXPECT_EQ(EscapeLatex("1, …"), "1, \\dots{}");
  EXPECT_EQ(EscapeLatex("two\nlines"), "two lines");
}

}  // namespace
}  // namespace farscale
