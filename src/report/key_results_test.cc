#include "report/sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/factor_text.h"
#include "support/own_templates.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

CountBound At(double cores) { return {CountBound::Kind::kAt, cores}; }
CountBound Below(double cores) { return {CountBound::Kind::kBelow, cores}; }
CountBound MoreThan(double cores) { return {CountBound::Kind::kMoreThan, cores}; }

// Fitted from 8 to 32 cores, a curve up to 1024, reliable up to 300; an iteration of a phase of ten takes 0.5 s on 256.
PhaseProjection PhaseWithKeyResults() {
  PhaseProjection phase;
  phase.fitted_cores = {8, 16, 32};
  FactorProjection parallel;
  parallel.factor = Factor::kParallelEfficiency;
  parallel.is_product = true;
  parallel.targets = {{256, 8, 0.5, {}, {}}, {1024, 32, 0.2, {}, {}}};
  for (const double cores : {32, 256, 1024}) {
    parallel.curve.push_back({cores, cores / 32, 0.2, IntervalBounds{0.19, 0.21}, {}});
  }
  phase.factors = {parallel};
  phase.reliable_range = ReliableRange{Factor::kParallelEfficiency, {}, 300, ReliableRange::Reach::kUpTo};
  KeyResults key_results;
  key_results.reference = 8;
  key_results.levels = {{0.8, CountEstimate{At(45), At(38), At(56)}, CountEstimate{Below(8), Below(8), At(20)}},
                        {0.5, CountEstimate{At(400), At(200), MoreThan(1024)}, CountEstimate{At(70), {}, {}}}};
  key_results.peak = SpeedupPeak{{At(256), At(120), MoreThan(1024)}, 12.5, IntervalBounds{10, 15}};
  key_results.time =
      TimeEstimate{10, {{256, 8, 0.5, OpenBounds{0.4, 0.8}, {}}, {1024, 32, 0.6, OpenBounds{0.3, {}}, {}}}};
  PerfectFactor transfer{Factor::kTransfer, 0.25, OpenBounds{0.2, 0.3}, 0.625, 0.6, 0.4};
  PerfectFactor balance{Factor::kLoadBalance, 0.1, OpenBounds{0.0001, {}}, 0.55, 0.528, 0.4545};
  key_results.perfect = {{256, {transfer, balance}}, {1024, {transfer, balance}}};
  phase.key_results = key_results;
  return phase;
}

// 256 · 0.5 s / 3600 s = 0.0356 core hours, between 0.4 and 0.8 s: 0.0284 to 0.0569.
TEST(KeyResults, Sentences) {
  EXPECT_THAT(
      SummarizeKeyResults(PhaseWithKeyResults(), test::OwnTexts()),
      ElementsAre(
          "Parallel efficiency is above 80 % up to 45 cores (38–56), above 50 % up to an uncertain count (200–more "
          "than 1,024).",
          "Efficiency relative to the run on 8 cores is below 80 % already at 8 cores (below 8–20), above 50 % up to "
          "70 cores.",
          "Speedup peaks at 256 cores (120–more than 1,024): 12.5 (10.0–15.0) times the run on 8 cores.",
          "256 cores: 500 ms per iteration (400–800 ms), 0.0356 core hours (0.0284–0.0569); phase of 10 iterations: "
          "0.356 core hours.",
          "Largest potential gain at 256 cores: transfer, +25.0 % (20.0–30.0 %); parallel efficiency 0.625 instead "
          "of 0.500."));
}

// What is above 1 already has nothing to gain from being 1.
TEST(KeyResults, FactorsAboveOneGainNothing) {
  PhaseProjection phase = PhaseWithKeyResults();
  PerfectFactor instructions{Factor::kInstructionScaling, -0.999, OpenBounds{-1, 0.2}, {}, 0.001, 400.0};
  for (PerfectAtTarget& at : phase.key_results->perfect) at.factors.push_back(instructions);
  phase.key_results->perfect[0].factors[1].gain80->low = -0.05;
  for (const ReportData& table : TabulateKeyResults(phase)) {
    for (const ReportData& row : table["rows"]) {
      for (const ReportData& cell : row["cells"]) {
        const std::string text = cell["text"].get<std::string>() + cell["detail"].get<std::string>();
        EXPECT_EQ(text.find("Instruction scaling"), std::string::npos) << text;
        EXPECT_EQ(text.find("-"), std::string::npos) << text;
      }
    }
  }
  for (PerfectAtTarget& at : phase.key_results->perfect) at.factors = {instructions};
  EXPECT_EQ(TabulateKeyResults(phase).size(), 2u);  // levels and times
}

TEST(KeyResults, OpenEnds) {
  PhaseProjection phase = PhaseWithKeyResults();
  phase.reliable_range = ReliableRange{Factor::kParallelEfficiency, {}, 1024, ReliableRange::Reach::kAtLeast};
  KeyResults& key_results = *phase.key_results;
  key_results.time.reset();
  key_results.perfect.clear();
  key_results.levels = {{0.8, CountEstimate{MoreThan(1024), At(500), MoreThan(1024)}, {}},
                        {0.5, CountEstimate{MoreThan(1024), MoreThan(1024), MoreThan(1024)}, {}},
                        {0.4, CountEstimate{MoreThan(1024), MoreThan(1024), MoreThan(1024)}, {}}};
  key_results.peak = SpeedupPeak{{MoreThan(1024), At(600), MoreThan(1024)}, 60, IntervalBounds{50, 70}};
  EXPECT_THAT(SummarizeKeyResults(phase, test::OwnTexts()),
              ElementsAre("Parallel efficiency is above 80 % up to 1,024 cores, the largest count shown (500–more "
                          "than 1,024), above 50 % up to 1,024 cores.",
                          "Speedup still grows at 1,024 cores, the largest count shown: 60.0 (50.0–70.0) times the run "
                          "on 8 cores; the peak lies beyond 600."));
  phase.reliable_range->cores = 300;
  EXPECT_THAT(SummarizeKeyResults(phase, test::OwnTexts()), testing::Each(Not(HasSubstr("Speedup"))));
}

// No sentence speaks of a target that is uncertain.
TEST(KeyResults, WithoutAReliableTarget) {
  PhaseProjection phase = PhaseWithKeyResults();
  phase.reliable_range->cores = 100;
  for (const std::string& sentence : SummarizeKeyResults(phase, test::OwnTexts()))
    EXPECT_THAT(sentence, Not(HasSubstr("per iteration")));
  phase.key_results.reset();
  EXPECT_TRUE(SummarizeKeyResults(phase, test::OwnTexts()).empty());
  EXPECT_TRUE(TabulateKeyResults(phase).empty());
}

TEST(KeyResults, Tables) {
  const ReportData tables = TabulateKeyResults(PhaseWithKeyResults());
  ASSERT_EQ(tables.size(), 3u);
  const auto& levels = tables[0]["rows"];
  EXPECT_EQ(levels[0]["cells"][0]["text"], "45");
  EXPECT_EQ(levels[0]["cells"][0]["detail"], "38 – 56");
  EXPECT_EQ(levels[0]["cells"][1]["text"], "below 8");
  EXPECT_EQ(levels[1]["cells"][0]["text"], "200 – more than 1,024");
  EXPECT_EQ(levels[1]["cells"][0]["detail"], "uncertain");
  EXPECT_FALSE(levels[1]["cells"][0]["isReliable"].get<bool>());
  const auto& times = tables[1]["rows"];
  EXPECT_EQ(times[0]["cells"][0]["text"], "500 ms");
  EXPECT_EQ(times[0]["cells"][2]["text"], "0.356");
  EXPECT_EQ(times[1]["heading"]["detail"], "32×, uncertain");
  EXPECT_EQ(times[1]["cells"][0]["text"], "more than 300 ms");
  const auto& perfect = tables[2]["rows"];
  EXPECT_THAT(tables[2]["caption"].get<std::string>(),
              HasSubstr("with the resulting global efficiency and time per iteration"));
  EXPECT_EQ(perfect[0]["cells"][0]["text"], "Transfer +25.0 %");
  EXPECT_EQ(perfect[0]["cells"][0]["detail"], "20.0 – 30.0 %; 0.600; 400 ms");
  EXPECT_EQ(perfect[1]["cells"][0]["text"], "Transfer");
  EXPECT_EQ(perfect[1]["cells"][1]["detail"], "more than 0 %");
}

// Beyond 300 cores nothing is known: sentences leave it out, tables say so once a row.
TEST(KeyResults, Unknown) {
  PhaseProjection phase = PhaseWithKeyResults();
  phase.factors[0].curve = {{32, 1, 0.2, IntervalBounds{0.19, 0.21}, {}}, {300, 9.4, 0.2, {}, {}}};
  phase.reliable_range->cores = 260;
  phase.factors[0].curve[1].interval80 = IntervalBounds{0.19, 0.21};
  phase.factors[0].curve.push_back({1024, 32, 0.2, {}, {}});
  EXPECT_EQ(SummarizeKeyResults(phase, test::OwnTexts()).front(),
            "Parallel efficiency is above 80 % up to 45 cores (38–56).");
  const ReportData tables = TabulateKeyResults(phase);
  EXPECT_EQ(tables[0]["rows"][1]["cells"][0]["text"], "unknown");
  EXPECT_EQ(tables[0]["rows"][1]["cells"][0]["detail"], "");
  EXPECT_EQ(tables[1]["rows"][1]["heading"]["detail"], "32×, unknown");
  EXPECT_EQ(tables[1]["rows"][1]["cells"][0]["text"], "–");
  EXPECT_EQ(tables[2]["rows"].size(), 1u);  // gains of which nothing is known have no row
}

TEST(KeyResults, Terminal) {
  const std::string brief = FormatKeyResults({PhaseWithKeyResults()}, false, test::OwnTexts());
  EXPECT_THAT(brief, HasSubstr("Predictions are reliable up to 300 cores"));
  EXPECT_THAT(brief, Not(HasSubstr("Time and cost")));
  const std::string all = FormatKeyResults({PhaseWithKeyResults()}, true, test::OwnTexts());
  EXPECT_THAT(all, HasSubstr("Time and cost at the targets\nCores (beyond the runs)"));
  EXPECT_THAT(all, HasSubstr("1,024 (32×, uncertain)"));
}

}  // namespace
}  // namespace farscale
