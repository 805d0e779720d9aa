#include "report/sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/own_templates.h"

namespace farscale {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

FactorProjection Leaf(Factor factor, std::vector<DataPoint> grown) {
  FactorProjection leaf;
  leaf.factor = factor;
  leaf.fit.outcome = FitOutcome::kConverged;
  leaf.curve = {{32, 1, 0.9, {}, {}}, {256, 8, 0.8, {}, {}}};
  leaf.grown = std::move(grown);
  if (!leaf.grown.empty()) leaf.predictors = {{64, 0.8, 0.9, 0.5}, {256, 0.7, 0.8, 0.9}};
  return leaf;
}

// Measured up to 32 cores, grown to 128 for one target of 130, with intervals as wide as 0.1.
PhaseProjection PhaseOfTwoPredictors() {
  PhaseProjection phase;
  phase.fitted_cores = {8, 32};
  FactorProjection whole;
  whole.factor = Factor::kParallelEfficiency;
  whole.is_product = true;
  for (const double cores : {8, 32, 200, 512})
    whole.curve.push_back({cores, cores / 32, 0.9, IntervalBounds{0.85, 0.95}, {}});
  whole.targets = {{16, 0.5, 0.92, IntervalBounds{0.9, 0.94}, {}},
                   {64, 2, 0.8, IntervalBounds{0.75, 0.85}, {}},
                   {130, 4.1, 0.71, IntervalBounds{0.65, 0.75}, {}},
                   {512, 16, 0.5, IntervalBounds{0.45, 0.55}, {}}};
  whole.predictors = {{16, 0.92, 0.5, 0}, {64, 0.79, 0.81, 0.5}, {130, 0.65, 0.72, 0.915}, {512, 0.2, 0.6, 1}};
  phase.factors = {whole, Leaf(Factor::kLoadBalance, {{64, 0.9, {}}, {128, 0.8, {}}}),
                   Leaf(Factor::kCommunicationEfficiency, {{128, 0.9, {}}})};
  phase.reliable_range = ReliableRange{Factor::kParallelEfficiency, {}, 200, ReliableRange::Reach::kUpTo};
  return phase;
}

PhaseProjection WithoutGrowth() {
  PhaseProjection phase = PhaseOfTwoPredictors();
  for (FactorProjection& factor : phase.factors) {
    factor.grown.clear();
    factor.predictors.clear();
  }
  return phase;
}

std::vector<std::string> SentencesOf(const PhaseProjection& phase) {
  return RenderSentences(test::OwnTexts(), "predictors.txt", {{"predictors", PredictorText(phase)}});
}

// 130 cores are the target nearest to the run that was grown.
TEST(Predictors, SentenceOnTheLastTargetThatWasReplayed) {
  const std::vector<std::string> sentences = {
      "Predicted from grown runs and fitted curves: at 130 cores grown runs have a weight of 92 %.",
      "130 cores: parallel efficiency 0.720 from grown runs alone, 0.650 from curves alone."};
  EXPECT_EQ(SentencesOf(PhaseOfTwoPredictors()), sentences);
  const PhaseProjection phase = PhaseOfTwoPredictors();
  EXPECT_THAT(SummarizePhase({}, &phase, test::OwnTexts()), testing::IsSupersetOf(sentences));
}

TEST(Predictors, NothingWithoutGrownRuns) {
  const PhaseProjection phase = WithoutGrowth();
  EXPECT_FALSE(PredictorText(phase));
  EXPECT_FALSE(TabulatePredictors(phase));
  EXPECT_THAT(SummarizePhase({}, &phase, test::OwnTexts()), Not(Contains(HasSubstr("grown"))));
  Chart chart;
  chart.series.emplace_back();
  EXPECT_FALSE(DrawPredictors(phase, {phase.Find(Factor::kLoadBalance)}, chart));
  EXPECT_EQ(chart.series.size(), 1u);
  EXPECT_TRUE(chart.keys.empty());
}

// 0.19 apart with an interval of 0.1 at 64 cores; what no run was grown to is not compared.
TEST(Predictors, WarningWhereTheyDisagree) {
  PhaseProjection phase = PhaseOfTwoPredictors();
  phase.factors[0].predictors[1].curves = 0.62;
  EXPECT_THAT(SentencesOf(phase).back(),
              HasSubstr("Warning: grown runs and curves differ by more than the 80 % interval at 64 cores."));
  phase.factors[0].predictors[2].curves = 0.5;
  EXPECT_THAT(SentencesOf(phase).back(), HasSubstr(" at 64, 130 cores."));
  phase.factors[0].targets[1].interval80 = IntervalBounds{0.6, 0.8};
  EXPECT_THAT(SentencesOf(phase).back(), HasSubstr("interval at 130 cores."));
}

// Only at 128 cores both parts of the product were grown.
TEST(Predictors, ProductsOfGrownValues) {
  const PhaseProjection phase = PhaseOfTwoPredictors();
  const std::vector<DataPoint> values = GrownValues(phase, phase.factors[0]);
  ASSERT_EQ(values.size(), 1u);
  EXPECT_EQ(values[0].cores, 128);
  EXPECT_NEAR(values[0].value, 0.72, 1e-12);
  EXPECT_EQ(GrownAt(phase, phase.factors[0], 128), "0.720");
  EXPECT_EQ(GrownAt(phase, phase.factors[0], 64), "");
  EXPECT_EQ(GrownAt(phase, phase.factors[1], 64), "0.900");
}

// The curve alone begins at the largest run, in the colour of its factor.
TEST(Predictors, InCharts) {
  const PhaseProjection phase = PhaseOfTwoPredictors();
  Chart chart;
  chart.series.resize(2);
  chart.series[1].color = 3;
  EXPECT_TRUE(DrawPredictors(phase, {&phase.factors[0], &phase.factors[1]}, chart));
  ASSERT_EQ(chart.series.size(), 4u);
  const auto is_at = [](double cores) { return testing::Field(&ChartPoint::x, cores); };
  EXPECT_THAT(chart.series[2].line, ElementsAre(is_at(32), is_at(64), is_at(130), is_at(512)));
  EXPECT_THAT(chart.series[2].points, ElementsAre(is_at(128)));
  EXPECT_EQ(chart.series[3].points[0].tooltip, "Load balance at 64 cores: 0.900 (grown run)");
  EXPECT_EQ(chart.series[3].color, 3);
  ASSERT_EQ(chart.keys.size(), 2u);
  EXPECT_EQ(chart.keys[0].name, "grown run");
  EXPECT_EQ(chart.keys[1].name, "by curves alone");
}

// Beyond 200 cores predictions are uncertain: the interval alone.
TEST(Predictors, Table) {
  const ReportData table = TabulatePredictors(PhaseOfTwoPredictors());
  EXPECT_EQ(table["lastGrown"], "128");
  ASSERT_EQ(table["rows"].size(), 3u);
  EXPECT_EQ(table["rows"][0]["text"], "0.800");
  EXPECT_EQ(table["rows"][0]["grown"], "0.810");
  EXPECT_EQ(table["rows"][0]["curves"], "0.790");
  EXPECT_EQ(table["rows"][1]["weight"], "92 %");
  EXPECT_EQ(table["rows"][2]["text"], "0.450 – 0.550");
  EXPECT_EQ(table["rows"][2]["reliability"], "uncertain");
}

}  // namespace
}  // namespace farscale
