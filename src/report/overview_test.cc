#include "report/sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "factors/factor_table.h"
#include "report/figures.h"
#include "results/factor_table_files.h"
#include "support/models.h"
#include "support/own_templates.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Parallel efficiency on 32 cores is 0.8 · 0.9 · 1 = 0.72.
FactorTable Table() {
  FactorTable table = ReadFactorCsv(
      "cores,loadBalance,serializationEfficiency,transferEfficiency\n8,0.95,0.99,1\n16,0.9,0.95,1\n32,0.8,0.9,1\n",
      "t.csv");
  CompleteTable(table);
  return table;
}

ReportData OverviewOfTable(const FactorTable& table, const PhaseProjection* projection) {
  ReportModel model;
  std::set<Factor> used;
  std::set<std::string> anchors;
  ReportData choices;
  const Partials texts = test::OwnTexts();
  return OverviewWithFigures({}, table.Rows("", {}), projection, {"All runs", "all-runs"},
                             {texts, model, used, anchors, choices, {}});
}

// A factor that is the same everywhere, known to ± 0.01.
FactorProjection Constant(Factor factor, double value) {
  FactorProjection projection;
  projection.factor = factor;
  for (double cores = 8; cores <= 4096; cores *= 2) {
    const IntervalBounds bounds{value - 0.01, value + 0.01};
    projection.curve.push_back({cores, cores / 32, value, bounds, bounds});
  }
  return projection;
}

PhaseProjection Reliable(double cores) {
  PhaseProjection phase;
  phase.fitted_cores = {8, 16, 32};
  phase.factors = {Constant(Factor::kParallelEfficiency, 0.6), Constant(Factor::kLoadBalance, 0.75),
                   Constant(Factor::kSerialization, 0.8), Constant(Factor::kTransfer, 1)};
  phase.factors.front().is_product = true;
  phase.reliable_range = ReliableRange{Factor::kParallelEfficiency, {}, cores, ReliableRange::Reach::kUpTo};
  return phase;
}

// Of the 28 % that are lost, ln 0.8 / (ln 0.8 + ln 0.9) = 0.679 are of load balance.
TEST(Overview, WithoutAProjectionItIsAboutTheLargestRun) {
  const ReportData overview = OverviewOfTable(Table(), nullptr);
  EXPECT_EQ(overview["verdict"], "Keeps 75 % parallel efficiency up to 16 cores; load balance costs most.");
  ASSERT_EQ(overview["numbers"].size(), 3u);
  EXPECT_EQ(overview["numbers"][0]["value"], "16 cores");
  EXPECT_EQ(overview["numbers"][1]["value"], "32 cores");
  EXPECT_EQ(overview["numbers"][2]["detail"], "25.0 % faster if it were perfect, on 32 cores");
  ASSERT_TRUE(overview["lost"].is_object());
  EXPECT_EQ(overview["lost"]["measured"], "28.0 %");
  EXPECT_EQ(overview["lost"]["last"], "");
  ASSERT_EQ(overview["lost"]["rows"].size(), 3u);
  EXPECT_EQ(overview["lost"]["rows"][0]["measured"], "19.0 %");
  EXPECT_TRUE(overview["lost"]["rows"][0]["isWorst"].get<bool>());
  EXPECT_EQ(overview["lost"]["rows"][0]["affects"], "parallelEfficiency");
  EXPECT_EQ(overview["lost"]["rows"][1]["measured"], "9.0 %");
  EXPECT_EQ(overview["lost"]["rows"][2]["measured"], "0.0 %");
  EXPECT_EQ(overview["figure"], false);
}

TEST(Overview, OfTimesAloneNobodyKnowsWhatCosts) {
  FactorTable table = ReadFactorCsv("cores,runtime\n1,100\n4,30\n16,12\n", "t.csv");
  table.scaling = Scaling::kStrong;
  CompleteTable(table);
  Results results;
  results.table = table;
  const ReportData overview =
      OverviewWithoutFigures(results, table.Rows("", {}), nullptr, {"All runs", "all-runs"}, test::OwnTexts());
  EXPECT_EQ(overview["verdict"], "Keeps 75 % efficiency of the run on 1 core up to 4 cores.");  // 0.83, then 0.52
  EXPECT_EQ(overview["numbers"].size(), 2u);
  EXPECT_FALSE(FindCostliest(table.Rows("", {}), nullptr, {}));
}

TEST(Overview, OneCoreIsOne) {
  FactorTable table = ReadFactorCsv("cores,parallelEfficiency\n1,1\n2,0.5\n4,0.3\n", "t.csv");
  CompleteTable(table);
  EXPECT_EQ(OverviewOfTable(table, nullptr)["verdict"], "Keeps 75 % parallel efficiency up to 1 core.");
}

// At the end of the reliable range 0.75 · 0.8 = 0.6: of 40 %, ln 0.75 / ln 0.6 = 0.563 are of load balance.
TEST(Overview, TheReliableRangeIsRelativeToTheFittedRuns) {
  PhaseProjection projection = Reliable(128);
  EXPECT_EQ(OverviewOfTable(Table(), &projection)["numbers"][1]["detail"], "4.0× the largest run");
  projection.fitted_cores = {8, 16};  // the run on 32 cores is held back
  EXPECT_EQ(OverviewOfTable(Table(), &projection)["numbers"][1]["detail"], "8.0× the largest fitted run");
}

// Two phases, reliable up to 128 and 256 cores: both are compared on 128, the largest target that most can be.
TEST(Overview, PhasesAreComparedAtOneTarget) {
  Results results;
  results.table = ReadFactorCsv(
      "phase,cores,loadBalance,serializationEfficiency,transferEfficiency\na,8,0.95,0.99,1\na,32,0.8,0.9,1\n"
      "b,8,0.95,0.99,1\nb,32,0.8,0.9,1\n",
      "t.csv");
  CompleteTable(results.table);
  for (const auto& [name, cores] : {std::pair{"a", 128.0}, {"b", 256.0}}) {
    PhaseProjection& phase = results.projections.emplace_back(Reliable(cores));
    phase.phase = name;
    for (const double target : {64.0, 128.0, 256.0}) phase.factors.front().targets.push_back({target, 1, 0.6, {}, {}});
  }
  EXPECT_EQ(CommonTarget({&results}), 128.0);
  const PhaseKey key{"", {"b"}};
  const ReportData overview = OverviewWithoutFigures(results, results.table.Rows(key), &results.projections[1],
                                                     {"b", "b"}, test::OwnTexts(), CommonTarget({&results}));
  EXPECT_EQ(overview["lost"]["last"], "128");
  EXPECT_THAT(overview["verdict"].get<std::string>(), HasSubstr("reliable up to 256 cores"));
  results.projections.pop_back();
  EXPECT_EQ(CommonTarget({&results}), std::nullopt);  // one phase alone
}

TEST(Overview, LossesAreThoseAtTheEndOfTheReliableRange) {
  const PhaseProjection phase = Reliable(256);
  const ReportData overview = OverviewOfTable(Table(), &phase);
  EXPECT_EQ(overview["verdict"],
            "Keeps 75 % parallel efficiency up to 16 cores (below 8–16); load balance costs most. Predictions are "
            "reliable up to 256 cores (8.0× the largest run).");
  EXPECT_EQ(overview["numbers"][1]["detail"], "8.0× the largest run");
  EXPECT_EQ(overview["lost"]["last"], "256");
  EXPECT_EQ(overview["lost"]["projected"], "40.0 %");
  EXPECT_EQ(overview["lost"]["rows"][0]["projected"], "22.5 %");
  EXPECT_EQ(overview["lost"]["rows"][1]["projected"], "17.5 %");
  EXPECT_EQ(overview["numbers"][2]["detail"], "33.3 % faster if it were perfect, on 256 cores");
  EXPECT_THAT(overview["figure"]["svg"].get<std::string>(), HasSubstr(">Load balance</text>"));
}

PhaseProjection WithTargets(const std::vector<double>& targets) {
  PhaseProjection phase = Reliable(100);
  for (FactorProjection& factor : phase.factors) {
    for (const double cores : targets) factor.targets.push_back({cores, cores / 32, 0.5, {}, {}});
  }
  phase.key_results.emplace();
  phase.key_results->perfect = {{64,
                                 {{Factor::kLoadBalance, 0.2, OpenBounds{0.1, 0.3}, {}, {}, {}},
                                  {Factor::kSerialization, 0.1, OpenBounds{0, 12}, {}, {}, {}},
                                  {Factor::kTransfer, 11, {}, {}, {}, {}}}},
                                {1024, {{Factor::kLoadBalance, 0.2, {}, {}, {}, {}}}}};
  return phase;
}

std::vector<double> TargetsShown(const PhaseProjection& phase) {
  std::vector<double> targets;
  const PhaseProjection shown = ShownProjection(phase);
  for (const ProjectedValue& target : shown.factors.back().targets) targets.push_back(target.cores);
  return targets;
}

// Reliable up to 100: 128 is the first target beyond. Who asks for 4096 cores gets them.
TEST(ShownResults, TargetsThatNobodyAskedForEndBeyondTheReliableRange) {
  EXPECT_THAT(TargetsShown(WithTargets(DefaultTargets(32))), ElementsAre(64, 128));
  EXPECT_THAT(TargetsShown(WithTargets({48, 4096})), ElementsAre(48, 4096));
  EXPECT_EQ(ShownUpTo(ShownProjection(WithTargets(DefaultTargets(32)))), 200);
  EXPECT_EQ(ShownUpTo(ShownProjection(WithTargets({48, 4096}))), 4096);
}

TEST(ShownResults, GainsThatMayBeAnyAreLeftOut) {
  const PhaseProjection shown = ShownProjection(WithTargets(DefaultTargets(32)));
  ASSERT_EQ(shown.key_results->perfect.size(), 1u);
  ASSERT_EQ(shown.key_results->perfect[0].factors.size(), 1u);
  EXPECT_EQ(shown.key_results->perfect[0].factors[0].factor, Factor::kLoadBalance);
}

}  // namespace
}  // namespace farscale
