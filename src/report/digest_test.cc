#include "report/digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "factors/factor_table.h"
#include "results/factor_table_files.h"
#include "support/models.h"
#include "support/own_templates.h"

namespace farscale {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Not;

Results ResultsOf(const std::string& csv) {
  Results results;
  results.table = ReadFactorCsv(csv, "t.csv");
  results.table.scaling = Scaling::kStrong;
  CompleteTable(results.table);
  results.projections = Project(results.table, test::AllModels(), {{}, {64, 128}, {}});
  return results;
}

Results TwoPhases() {
  return ResultsOf(
      "phase,cores,loadBalance,serializationEfficiency,transferEfficiency,instructionScaling,runtime\n"
      "step,4,0.98,0.99,0.99,1,4\nstep,8,0.97,0.98,0.99,1,2.1\nstep,16,0.96,0.97,0.98,1,1.1\n"
      "step,32,0.95,0.95,0.97,1,0.6\n"
      "計算,8,0.9,1,1,1,1\n計算,16,0.7,1,1,1,0.9\n計算,32,0.4,1,1,1,0.8\n");
}

std::vector<std::string> Lines(const Results& results, const TerminalStyle& style) {
  return Split(FormatDigest(results, test::OwnTexts(), style), '\n');
}

MATCHER_P(IsNoWiderThan, columns, "") { return DisplayWidth(arg) <= static_cast<std::size_t>(columns); }

TEST(Digest, HasARowForEveryPhase) {
  const std::vector<std::string> lines = Lines(TwoPhases(), {100, false});
  EXPECT_THAT(lines, Each(IsNoWiderThan(100)));
  EXPECT_THAT(lines[0], testing::MatchesRegex("phase +largest run +largest loss +prediction +75 % up to +next run"));
  // 0.95 · 0.95 · 0.97 = 0.875. Useful time is 4 · 4 s · 0.960 = 15.4 s on 4 cores and 32 · 0.6 s · 0.875 = 16.8 s on
  // 32, so computation scalability is 0.914, less than any other factor, and global efficiency 0.800. 128 is nearest to
  // eight times 32.
  EXPECT_THAT(lines[1], testing::MatchesRegex("step +0.800 @ 32 +comp. scalability +128: .*"));
  EXPECT_THAT(lines[2], testing::MatchesRegex("計算 +0.281 @ 32 +load balance .*"));
  EXPECT_EQ(DisplayWidth(lines[1].substr(0, lines[1].find("0.800"))),
            DisplayWidth(lines[2].substr(0, lines[2].find("0.281"))));
  EXPECT_THAT(FormatDigest(TwoPhases(), test::OwnTexts(), {}), Not(HasSubstr("\033")));
}

TEST(Digest, HasLinesWhereTheTerminalIsNarrow) {
  const std::vector<std::string> lines = Lines(TwoPhases(), {50, false});
  EXPECT_THAT(lines, Each(IsNoWiderThan(50)));
  EXPECT_EQ(lines[0], "step");
  EXPECT_EQ(lines[1], "  0.800 @ 32, loss: comp. scalability");
  EXPECT_THAT(lines[2], testing::StartsWith("  128: "));
}

TEST(Digest, ColoursEfficiencies) {
  const std::string text = FormatDigest(TwoPhases(), test::OwnTexts(), {100, true});
  EXPECT_THAT(text, HasSubstr("\033[32m0.800\033[0m"));
  EXPECT_THAT(text, HasSubstr("\033[31m0.281\033[0m"));
}

// Curves of constant efficiency on 2 to 8 cores, and a run that they miss on 64.
TEST(Digest, ShowsPredictionsOfRunsThatAreHeldBack) {
  Results results;
  results.table = ReadFactorCsv(
      "phase,cores,loadBalance,serializationEfficiency,transferEfficiency\n"
      "a,2,0.9,1,1\na,4,0.9,1,1\na,8,0.9,1,1\na,64,0.5,1,1\n",
      "t.csv");
  CompleteTable(results.table);
  ProjectionOptions options{{}, {64, 128}, {}};
  options.train_max = 8;
  results.projections = Project(results.table, test::AllModels(), options);
  EXPECT_THAT(FormatDigest(results, test::OwnTexts(), {}),
              testing::ContainsRegex("Held back: parallel efficiency on 64 cores is 0.500; predicted 0\\.[89].. \\("));
}

TEST(Digest, SaysOnceWhatHoldsForAll) {
  const Results one = ResultsOf("phase,cores,loadBalance,runtime\na,8,0.9,1\nb,8,0.8,1\n");
  const std::string text = FormatDigest(one, test::OwnTexts(), {});
  const std::string why = "No prediction: a fit needs runs at two core counts at least, there is one.\n";
  EXPECT_THAT(text, HasSubstr("\n" + why));
  EXPECT_EQ(text.find(why), text.rfind(why));
  EXPECT_EQ(FormatDigest({}, test::OwnTexts(), {}), "");
}

}  // namespace
}  // namespace farscale
