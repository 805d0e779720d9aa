#include "report/answers_section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/factor_text.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Kind = CountBound::Kind;

CountBound At(double cores) { return {Kind::kAt, cores}; }
CountBound Below(double cores) { return {Kind::kBelow, cores}; }
CountBound MoreThan(double cores) { return {Kind::kMoreThan, cores}; }

// Fitted from 8 to 32 cores, a curve up to 1024, evidence up to 300; an iteration of a phase of ten takes 0.5 s on 256.
PhaseProjection Phase() {
  PhaseProjection phase;
  phase.fitted_cores = {8, 16, 32};
  FactorProjection parallel;
  parallel.factor = Factor::kParallelEfficiency;
  parallel.is_product = true;
  parallel.targets = {{256, 8, 0.5, {}, {}}, {1024, 32, 0.2, {}, {}}};
  phase.factors = {parallel};
  phase.horizon = EvidenceHorizon{Factor::kParallelEfficiency, 0.2, 300, EvidenceHorizon::Reach::kUpTo};
  PhaseAnswers answers;
  answers.reference = 8;
  answers.levels = {{0.8, CountAnswer{At(45), At(38), At(56)}, CountAnswer{Below(8), Below(8), At(20)}},
                    {0.5, CountAnswer{At(400), At(200), MoreThan(1024)}, CountAnswer{At(70), {}, {}}}};
  answers.peak = SpeedupPeak{{At(256), At(120), MoreThan(1024)}, 12.5, IntervalBounds{10, 15}};
  answers.time = TimeAnswer{10, {{256, 8, 0.5, OpenBounds{0.4, 0.8}, {}}, {1024, 32, 0.6, OpenBounds{0.3, {}}, {}}}};
  PerfectFactor transfer{Factor::kTransfer, 0.25, OpenBounds{0.2, 0.3}, 0.625, 0.6, 0.4};
  PerfectFactor balance{Factor::kLoadBalance, 0.1, OpenBounds{0.0001, {}}, 0.55, 0.528, 0.4545};
  answers.perfect = {{256, {transfer, balance}}, {1024, {transfer, balance}}};
  phase.answers = answers;
  return phase;
}

// 256 · 0.5 s / 3600 s = 0.0356 core hours, between 0.4 and 0.8 s: 0.0284 to 0.0569.
TEST(AnswersSection, Sentences) {
  EXPECT_THAT(
      SummarizeAnswers(Phase()),
      ElementsAre(
          "Parallel efficiency is at least 0.8 up to 45 cores (80 % interval 38 to 56), at least 0.5 up to a "
          "count that is not evidence (200 to more than 1,024).",
          "Efficiency relative to the run on 8 cores is less than 0.8 already on 8 cores (80 % interval below 8 "
          "to 20), at least 0.5 up to 70 cores.",
          "Speedup peaks on 256 cores (80 % interval 120 to more than 1,024), at 12.5 (10.0 to 15.0) times the "
          "speed of the run on 8 cores.",
          "On 256 cores an iteration takes 500 ms (80 % interval 400 ms to 800 ms) and costs 0.0356 core hours "
          "(0.0284 to 0.0569), the phase of 10 iterations 0.356.",
          "On 256 cores transfer would bring most if it were perfect: +25.0 % (80 % interval +20.0 % to +30.0 "
          "%), parallel efficiency 0.625 instead of 0.500."));
}

// What is above 1 already has nothing to gain from being 1.
TEST(AnswersSection, FactorsAboveOneGainNothing) {
  PhaseProjection phase = Phase();
  PerfectFactor instructions{Factor::kInstructionScaling, -0.999, OpenBounds{-1, 0.2}, {}, 0.001, 400.0};
  for (PerfectAtTarget& at : phase.answers->perfect) at.factors.push_back(instructions);
  phase.answers->perfect[0].factors[1].gain80->low = -0.05;
  for (const AnswerTable& table : TabulateAnswers(phase)) {
    for (const std::vector<AnswerCell>& row : table.rows) {
      for (const AnswerCell& cell : row) {
        EXPECT_EQ((cell.text + cell.detail).find("Instruction scaling"), std::string::npos) << cell.text;
        EXPECT_EQ((cell.text + cell.detail).find("-"), std::string::npos) << cell.text << " " << cell.detail;
      }
    }
  }
  for (PerfectAtTarget& at : phase.answers->perfect) at.factors = {instructions};
  EXPECT_EQ(TabulateAnswers(phase).size(), 2u);  // levels and times
}

TEST(AnswersSection, OpenEnds) {
  PhaseProjection phase = Phase();
  phase.horizon = EvidenceHorizon{Factor::kParallelEfficiency, 0.2, 1024, EvidenceHorizon::Reach::kAtLeast};
  PhaseAnswers& answers = *phase.answers;
  answers.time.reset();
  answers.perfect.clear();
  answers.levels = {{0.8, CountAnswer{MoreThan(1024), At(500), MoreThan(1024)}, {}},
                    {0.5, CountAnswer{MoreThan(1024), MoreThan(1024), MoreThan(1024)}, {}},
                    {0.4, CountAnswer{MoreThan(1024), MoreThan(1024), MoreThan(1024)}, {}}};
  answers.peak = SpeedupPeak{{MoreThan(1024), At(600), MoreThan(1024)}, 60, IntervalBounds{50, 70}};
  EXPECT_THAT(SummarizeAnswers(phase),
              ElementsAre("Parallel efficiency is at least 0.8 still on 1,024 cores, the largest count shown (80 % "
                          "interval 500 to more than 1,024), at least 0.5 still on 1,024 cores.",
                          "Speedup still grows on 1,024 cores, the largest count shown, to 60.0 (80 % interval 50.0 to "
                          "70.0) times the speed of the run on 8 cores; its peak lies beyond 600."));
  phase.horizon->cores = 300;
  EXPECT_THAT(SummarizeAnswers(phase).back(),
              "Where speedup peaks is not evidence (80 % interval 600 to more than 1,024 cores).");
}

// No sentence speaks of a target that is no evidence.
TEST(AnswersSection, WithoutATargetThatIsEvidence) {
  PhaseProjection phase = Phase();
  phase.horizon->cores = 100;
  for (const std::string& sentence : SummarizeAnswers(phase))
    EXPECT_THAT(sentence, Not(HasSubstr("an iteration takes")));
  phase.answers.reset();
  EXPECT_TRUE(SummarizeAnswers(phase).empty());
  EXPECT_TRUE(TabulateAnswers(phase).empty());
  EXPECT_EQ(AnswersOfPhase(&phase)["hasAnswers"], false);
  EXPECT_EQ(AnswersOfPhase(nullptr)["hasAnswers"], false);
}

TEST(AnswersSection, Tables) {
  const std::vector<AnswerTable> tables = TabulateAnswers(Phase());
  ASSERT_EQ(tables.size(), 3u);
  const auto& levels = tables[0].rows;
  EXPECT_EQ(levels[0][1].text, "45");
  EXPECT_EQ(levels[0][1].detail, "38 – 56");
  EXPECT_EQ(levels[0][2].text, "below 8");
  EXPECT_EQ(levels[1][1].text, "200 – more than 1,024");
  EXPECT_EQ(levels[1][1].detail, "not evidence");
  EXPECT_FALSE(levels[1][1].is_evidence);
  const auto& times = tables[1].rows;
  EXPECT_EQ(times[0][1].text, "500 ms");
  EXPECT_EQ(times[0][3].text, "0.356");
  EXPECT_EQ(times[1][0].detail, "32×, not evidence");
  EXPECT_EQ(times[1][1].text, "more than 300 ms");
  const auto& perfect = tables[2].rows;
  EXPECT_THAT(tables[2].caption, HasSubstr("global efficiency and time of an iteration then"));
  EXPECT_EQ(perfect[0][1].text, "Transfer +25.0 %");
  EXPECT_EQ(perfect[0][1].detail, "+20.0 % – +30.0 %; 0.600; 400 ms");
  EXPECT_EQ(perfect[1][1].text, "Transfer");
  EXPECT_EQ(perfect[1][2].detail, "more than 0 %");
}

TEST(AnswersSection, Terminal) {
  const std::string brief = FormatAnswers({Phase()}, false);
  EXPECT_THAT(brief, HasSubstr("The projection is evidence up to 300 cores"));
  EXPECT_THAT(brief, Not(HasSubstr("Time and cost")));
  const std::string all = FormatAnswers({Phase()}, true);
  EXPECT_THAT(all, HasSubstr("Time and cost at the targets\nCores (beyond the runs)"));
  EXPECT_THAT(all, HasSubstr("1,024 (32×, not evidence)"));
}

}  // namespace
}  // namespace farscale
