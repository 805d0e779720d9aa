#include "plot/canvas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace farscale {
namespace {

using testing::ElementsAre;

std::vector<std::string> TextsOf(const std::vector<AxisTick>& ticks) {
  std::vector<std::string> texts;
  for (const auto& [value, text] : ticks) texts.push_back(text);
  return texts;
}

TEST(Scale, PutsValuesOnPixels) {
  const Scale down = LinearScale(0, 2, 100, 20, 4);
  EXPECT_DOUBLE_EQ(down.At(0), 100);
  EXPECT_DOUBLE_EQ(down.At(0.5), 80);
  EXPECT_DOUBLE_EQ(down.At(2), 20);
  const Scale log{1, 100, 0, 50, 0, true};
  EXPECT_DOUBLE_EQ(log.At(10), 25);
}

TEST(Scale, ValuesOutsideLieAtTheEnds) {
  const Scale log{1, 100, 0, 50, 0, true};
  EXPECT_DOUBLE_EQ(log.At(0), 0);
  EXPECT_DOUBLE_EQ(log.At(-3), 0);
  EXPECT_DOUBLE_EQ(log.At(std::numeric_limits<double>::infinity()), 50);
  EXPECT_DOUBLE_EQ(LinearScale(0, 1, 10, 20, 5).At(7), 20);
}

TEST(Scale, OneValueLiesInTheMiddle) {
  const Scale scale = LinearScale(3, 3, 10, 20, 5);
  EXPECT_DOUBLE_EQ(scale.At(3), 15);
  EXPECT_TRUE(scale.Ticks().empty());
}

TEST(Scale, TicksAreRound) {
  EXPECT_THAT(TextsOf(LinearScale(0, 1, 0, 1, 5).Ticks()), ElementsAre("0", "0.2", "0.4", "0.6", "0.8", "1"));
  EXPECT_THAT(TextsOf(LinearScale(0.13, 0.57, 0, 1, 4).Ticks()), ElementsAre("0.2", "0.3", "0.4", "0.5"));
  EXPECT_THAT(TextsOf(LinearScale(0, 30000, 0, 1, 3).Ticks()), ElementsAre("0", "10k", "20k", "30k"));
}

TEST(Scale, TicksOfTimesAreInTheirUnit) {
  const auto [name, seconds] = UnitFor(0.0123);
  EXPECT_STREQ(name, "ms");
  EXPECT_THAT(TextsOf(LinearScale(0, 0.0123, 0, 1, 3, seconds).Ticks(seconds, " ms")),
              ElementsAre("0", "5 ms", "10 ms"));
}

// Over many decades 2 and 5 would stand too close.
TEST(Scale, TicksOfLogarithmicScales) {
  EXPECT_THAT(TextsOf(Scale{1, 100, 0, 1, 0, true}.Ticks()), ElementsAre("1", "2", "5", "10", "20", "50", "100"));
  EXPECT_THAT(TextsOf(Scale{2, 30000, 0, 1, 0, true}.Ticks()), ElementsAre("10", "100", "1000", "10k"));
  EXPECT_THAT(TextsOf(LogScale(10, 1e6, 0, 1).Ticks()), ElementsAre("10", "100", "1000", "10k", "100k", "1M"));
}

// Values at either end stand a little inside, by the same factor.
TEST(Scale, LogarithmicScalesHaveMargins) {
  const Scale scale = LogScale(10, 1000, 5, 105);
  EXPECT_DOUBLE_EQ(scale.low, 10 / std::pow(100, 0.03));
  EXPECT_DOUBLE_EQ(scale.high, 1000 * std::pow(100, 0.03));
  EXPECT_EQ(scale.from, 5);
  EXPECT_EQ(scale.to, 105);
  EXPECT_EQ(scale.step, 0);
}

TEST(Scale, RoundedScalesEndAtSteps) {
  const Scale scale = RoundedScale(0, 0.93, 0, 1, 5);
  EXPECT_DOUBLE_EQ(scale.low, 0);
  EXPECT_DOUBLE_EQ(scale.high, 1);
  EXPECT_DOUBLE_EQ(RoundedScale(0, 1.01, 0, 1, 5).high, 1);  // a hair above
  EXPECT_DOUBLE_EQ(RoundedScale(0.87, 1.13, 0, 1, 5).low, 0.85);
  EXPECT_DOUBLE_EQ(RoundedScale(0, 0, 0, 1, 5).high, 0.2);  // nothing to show
}

}  // namespace
}  // namespace farscale
