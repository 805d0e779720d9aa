#include "base/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace farscale {
namespace {

TEST(Terminal, CountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("step"), 4u);
  EXPECT_EQ(DisplayWidth("µs – ×"), 6u);
  EXPECT_EQ(DisplayWidth("計算"), 4u);     // two wide characters
  EXPECT_EQ(DisplayWidth("e\u0301"), 1u);  // e and a combining accent
  EXPECT_EQ(DisplayWidth("\033[32m0.9\033[0m"), 3u);
  EXPECT_EQ(DisplayWidth("a\xff"
                         "b"),
            3u);  // a byte that is no UTF-8
}

TEST(Terminal, ShortensWholeCharacters) {
  EXPECT_EQ(Shorten("step", 4), "step");
  EXPECT_EQ(Shorten("timestep", 5), "time…");
  EXPECT_EQ(Shorten("計算機", 4), "計…");  // a second one would need a fifth column
  EXPECT_EQ(Shorten("\033[31mtimestep\033[0m", 5), "\033[31mtime…\033[0m");
}

TEST(Terminal, BreaksAtBlanks) {
  using testing::ElementsAre;
  EXPECT_THAT(WrapText("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(WrapText("one two three", 7, "  "), ElementsAre("one two", "  three"));
  EXPECT_THAT(WrapText("a /very/long/path", 6, "  "), ElementsAre("a", "  /very/long/path"));
  EXPECT_THAT(WrapText("", 7), ElementsAre(""));
}

TEST(Terminal, PaintsOnlyWhereColoursAre) {
  EXPECT_EQ((TerminalStyle{80, true}.Painted("0.9", Tone::kGood)), "\033[32m0.9\033[0m");
  EXPECT_EQ((TerminalStyle{80, false}.Painted("0.9", Tone::kGood)), "0.9");
  EXPECT_EQ((TerminalStyle{80, true}.Painted("", Tone::kBad)), "");
}

}  // namespace
}  // namespace farscale
