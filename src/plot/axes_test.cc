#include "plot/canvas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace farscale {
namespace {

using testing::HasSubstr;

SvgCanvas Empty() { return SvgCanvas({200, 100, "t", "d"}); }

// From 0 to 10 between 20 and 120.
TEST(Axes, TicksStandBelowTheirGridLines) {
  SvgCanvas canvas = Empty();
  const Scale scale = LinearScale(0, 10, 20, 120, 2);
  DrawXAxis(canvas, {20, 10, 120, 50}, {scale, scale.Ticks(), "cores"});
  const std::string svg = canvas.Close();
  EXPECT_THAT(svg, HasSubstr("stroke=\"#e3e7eb\" d=\"M20 10V50M70 10V50M120 10V50\""));
  EXPECT_THAT(svg, HasSubstr("<line x1=\"20\" y1=\"50\" x2=\"120\" y2=\"50\" stroke=\"#66727f\"/>"));
  EXPECT_THAT(svg, HasSubstr("<text x=\"70\" y=\"67\">5</text>"));
  EXPECT_THAT(svg, HasSubstr(">cores</text>"));
}

TEST(Axes, MarksMayBeShortOrNone) {
  const Scale scale = LinearScale(0, 10, 90, 10, 2);
  for (const AxisMarks marks : {AxisMarks::kShort, AxisMarks::kNone}) {
    SvgCanvas canvas = Empty();
    DrawYAxis(canvas, {20, 10, 120, 90}, {scale, scale.Ticks(), "", marks, 11});
    const std::string svg = canvas.Close();
    EXPECT_THAT(svg,
                HasSubstr("<g text-anchor=\"end\" fill=\"#66727f\" font-size=\"11\"><text x=\"12\" y=\"94\">0</text>"));
    EXPECT_EQ(svg.find("M15 90H20") != std::string::npos, marks == AxisMarks::kShort);
    EXPECT_EQ(svg.find("<path") != std::string::npos, marks == AxisMarks::kShort);
  }
}

TEST(Legend, EntriesWithoutRoomBeginARow) {
  const LegendEntry entry{.name = "0123456789", .line = Stroke{"#0072b2", 2}};
  EXPECT_EQ(Legend({}, 0, 300, 40).height(), 0);
  EXPECT_EQ(Legend({entry, entry}, 0, 300, 40).height(), 18);  // 110 pixels each
  EXPECT_EQ(Legend({entry, entry, entry}, 0, 300, 40).height(), 36);
  EXPECT_EQ(Legend({entry, entry, entry}, 0, 0, 40).height(), 54);
  SvgCanvas canvas = Empty();
  Legend({entry, entry, entry}, 0, 300, 40).Draw(canvas);
  const std::string svg = canvas.Close();
  EXPECT_THAT(svg, HasSubstr("<text x=\"140\" y=\"40\" fill"));
  EXPECT_THAT(svg, HasSubstr("<text x=\"30\" y=\"58\" fill"));
}

TEST(Legend, ShowsLinesMarkersAndAreas) {
  SvgCanvas canvas = Empty();
  Legend({{.name = "a", .line = Stroke{"#0072b2", 2, "6 4"}, .attributes = " data-factor=\"x\""},
          {.name = "b", .marker = Marker{"#d55e00"}},
          {.name = "<c>", .area = Fill{"#009e73"}}},
         0, 300, 40)
      .Draw(canvas);
  const std::string svg = canvas.Close();
  EXPECT_THAT(svg, HasSubstr("<g data-factor=\"x\"><line x1=\"0\" y1=\"36\" x2=\"24\" y2=\"36\" stroke=\"#0072b2\" "
                             "stroke-width=\"2\" stroke-dasharray=\"6 4\"/>"));
  EXPECT_THAT(svg, HasSubstr("stroke=\"#d55e00\" stroke-width=\"10\" d=\"M62.6 36h0\""));
  EXPECT_THAT(svg, HasSubstr("width=\"12\" height=\"12\" fill=\"#009e73\"/>"));
  EXPECT_THAT(svg, HasSubstr(">&lt;c&gt;</text>"));
}

}  // namespace
}  // namespace farscale
