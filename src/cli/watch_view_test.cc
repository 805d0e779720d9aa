#include "cli/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/terminal.h"
#include "base/text.h"

namespace farscale {
namespace {

using ::testing::HasSubstr;

MeasuredRun RunOf(const std::string& program, double efficiency, double elapsed) {
  MeasuredRun run;
  run.program = program;
  run.job = "job-" + program;
  run.ranks = 2;
  MeasuredRegion region;
  region.name = "whole run";
  region.ranks = {0, 1};
  region.totals.elapsed = elapsed;
  if (efficiency > 0) {
    region.factors[Factor::kParallelEfficiency] = region.factors[Factor::kCommunicationEfficiency] = efficiency;
    region.factors[Factor::kLoadBalance] = 1;
  }
  run.regions.push_back(region);
  return run;
}

std::string OrderBy(const std::string& keys) {
  std::vector<MeasuredRun> runs = {RunOf("b", 0.9, 1), RunOf("a", 0.5, 2), RunOf("c", 0, 3)};
  WatchView view;
  Press(keys, 3, 10, view);
  Order(runs, view);
  return runs[0].program + runs[1].program + runs[2].program;
}

TEST(Watch, LettersSort) {
  EXPECT_EQ(OrderBy(""), "abc");
  EXPECT_EQ(OrderBy("n"), "cba");  // again: the other way round
  EXPECT_EQ(OrderBy("p"), "abc");  // 0.5, 0.9, none
  EXPECT_EQ(OrderBy("pp"), "cba");
  EXPECT_EQ(OrderBy("e"), "cab");
  EXPECT_EQ(OrderBy("ee"), "bac");
  EXPECT_EQ(OrderBy("eexz"), "bac");  // others mean nothing
}

TEST(Watch, ArrowsScrollWithinTheTable) {
  WatchView view;
  Press("\033[B\033[Bj", 10, 4, view);
  EXPECT_EQ(view.first, 3u);
  Press("\033[6~\033[6~", 10, 4, view);
  EXPECT_EQ(view.first, 6u);  // of ten lines the last four
  Press("k\033OA", 10, 4, view);
  EXPECT_EQ(view.first, 4u);
  Press("\033[5~\033[5~", 10, 4, view);
  EXPECT_EQ(view.first, 0u);
  Press("G", 10, 4, view);
  EXPECT_EQ(view.first, 6u);
  Press("", 5, 4, view);  // programs have ended
  EXPECT_EQ(view.first, 1u);
  Press("g", 3, 4, view);
  EXPECT_EQ(view.first, 0u);
  EXPECT_FALSE(view.is_over);
  Press("q", 3, 4, view);
  EXPECT_TRUE(view.is_over);
}

TEST(Watch, LinesFitTheTerminal) {
  std::string table = "header\n";
  for (int i = 1; i <= 20; ++i) table += "row " + std::to_string(i) + "\n";
  WatchView view;
  view.first = 5;
  for (const std::size_t columns : {20u, 50u, 80u, 200u}) {
    const std::string text = Cut(table, 10, columns, view);
    const std::vector<std::string> lines = Split(text, '\n');
    EXPECT_EQ(lines.size(), 10u);
    EXPECT_EQ(lines[1], "row 6");
    EXPECT_EQ(lines[8], "row 13");
    EXPECT_LE(DisplayWidth(lines[9]), columns);
  }
  EXPECT_THAT(Cut(table, 10, 80, view), HasSubstr("6–13 of 20"));
}

TEST(Watch, CsvHasARowForEveryRegion) {
  const std::string csv = CsvOf({RunOf("a, b", 0.5, 2), RunOf("c", 0, 3)});
  EXPECT_THAT(csv, HasSubstr("\n\"job-a, b\",\"a, b\",whole run,2,2,2,0.5,1,0.5,0\n"));
  EXPECT_THAT(csv, HasSubstr("\njob-c,c,whole run,2,2,3,,,,0\n"));
}

}  // namespace
}  // namespace farscale
