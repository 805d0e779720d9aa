#include "projection/phase_fits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "factors/factor_table.h"
#include "projection/projection.h"
#include "results/factor_table_files.h"
#include "support/models.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

GrownRun Grown(double learned_up_to, double cores, double serialization) {
  GrownRun run{learned_up_to, cores, {}};
  run.values[Factor::kSerialization] = serialization;
  return run;
}

FactorTable Measured(const std::map<int, double>& serialization) {
  std::string csv = "cores,loadBalance,serializationEfficiency,transferEfficiency\n";
  for (const auto& [cores, value] : serialization)
    csv += std::to_string(cores) + ",1," + std::to_string(value) + ",1\n";
  FactorTable table = ReadFactorCsv(csv, "t.csv");
  CompleteTable(table);
  return table;
}

// 0.2 x (0.09 + 0.01) x 4^0.5
TEST(GrowthError, IsAShareOfTheLoss) { EXPECT_NEAR((GrowthError{0.2, 0.5}.At(std::exp(-0.09), 4)), 0.04, 1e-12); }

// The record counts for one backtest, and so do all runs together that were learned from the same ones. Their mean
// square is 4 (2 and 2 deviations): sqrt((1 + 4) / 2).
TEST(ErrorOfGrowth, FollowsTheBacktestsOfThePhase) {
  const GrowthError record = ErrorOfGrowth(Factor::kSerialization, {}, {}, 32);
  std::vector<GrownRun> grown;
  std::map<int, double> measured = {{4, 0.9}, {8, 0.9}};
  for (const double cores : {16.0, 32.0}) {
    grown.push_back(Grown(8, cores, 0.8));
    measured[static_cast<int>(cores)] = 0.8 * std::exp(2 * record.At(0.8, std::log2(cores / 8)));
  }
  const FactorTable table = Measured(measured);
  EXPECT_NEAR(ErrorOfGrowth(Factor::kSerialization, {"", "", grown}, table.rows, 32).of_doubling,
              record.of_doubling * std::sqrt(5.0 / 2), 1e-4);
  // What lies beyond the runs that are fitted is not known yet.
  EXPECT_EQ(ErrorOfGrowth(Factor::kSerialization, {"", "", grown}, table.rows, 8).of_doubling, record.of_doubling);
}

// Copied ranks are believed less than those that follow rules.
TEST(ErrorOfGrowth, IsLargerWhereRanksAreCopied) {
  const GrownPhase phase{"", "", {}, true};
  for (const Factor factor : {Factor::kSerialization, Factor::kTransfer, Factor::kParallelEfficiency}) {
    EXPECT_GE(ErrorOfGrowth(factor, phase, {}, 32).of_doubling, 2 * ErrorOfGrowth(factor, {}, {}, 32).of_doubling);
  }
}

TEST(GrownPoints, AreThoseLearnedFromAllRuns) {
  const std::vector<GrownRun> grown = {Grown(8, 32, 0.7), Grown(16, 64, 0.6), Grown(16, 32, 0.8)};
  EXPECT_THAT(GrownPoints(Factor::kSerialization, grown, 16), ElementsAre(DataPoint{32, 0.8}, DataPoint{64, 0.6}));
  EXPECT_THAT(GrownPoints(Factor::kTransfer, grown, 16), IsEmpty());
}

// The curve of a phase with measured values of serialization at 4, 8 and 16, and grown ones.
class GrownSerialization : public testing::Test {
 protected:
  static FactorProjection Of(const std::vector<GrownRun>& grown, double cores = 1024) {
    ProjectionOptions options;
    options.targets = {32, 64, 256, cores};
    const FactorTable table = Measured({{4, 0.95}, {8, 0.91}, {16, 0.85}});
    const PhaseKey key = table.Keys().front();
    if (!grown.empty()) options.grown = {{key.series, key.phase.name, grown}};
    return *Project(table, test::AllModels(), options).front().Find(Factor::kSerialization);
  }
  static double Width(const ProjectedValue& value) { return value.interval80->high - value.interval80->low; }
};

TEST_F(GrownSerialization, StandsBesideTheCurves) {
  const FactorProjection alone = Of({}), both = Of({Grown(16, 32, 0.81), Grown(16, 64, 0.79), Grown(16, 256, 0.77)});
  EXPECT_THAT(alone.predictors, IsEmpty());
  ASSERT_EQ(both.predictors.size(), 4u);
  for (std::size_t i = 0; i < 3; ++i) {
    const PredictorValues& at = both.predictors[i];
    EXPECT_EQ(at.curves, alone.targets[i].value);
    EXPECT_NEAR(at.grown, (std::vector{0.81, 0.79, 0.77})[i], 1e-9) << "passes through the grown runs";
    EXPECT_NEAR(both.targets[i].value, std::pow(at.grown, at.weight) * std::pow(at.curves, 1 - at.weight), 1e-9);
  }
  // Near the runs, where both say different things, the interval holds both; further out curves know too little to
  // count.
  EXPECT_LT(Width(both.targets[2]), Width(alone.targets[2]));
  EXPECT_GT(both.predictors[2].weight, both.predictors[0].weight) << "curves know less and less";
  // Beyond the grown runs, what they show goes on.
  EXPECT_LT(both.predictors[3].grown, 0.77);
  EXPECT_GT(both.predictors[3].grown, 0.65);
}

TEST_F(GrownSerialization, MeasuredRunsAreAsTheCurvesHaveThem) {
  const FactorProjection alone = Of({}), both = Of({Grown(16, 32, 0.5)});
  for (std::size_t i = 0; i < alone.curve.size() && alone.curve[i].cores <= 16; ++i) {
    EXPECT_EQ(alone.curve[i], both.curve[i]);
  }
}

// Growth that foresaw the run on 16 cores badly counts for less than growth that foresaw it well.
TEST_F(GrownSerialization, CountsAsMuchAsItsBacktestsSay) {
  const FactorProjection well = Of({Grown(8, 16, 0.85), Grown(16, 64, 0.79)});
  const FactorProjection badly = Of({Grown(8, 16, 0.6), Grown(16, 64, 0.79)});
  EXPECT_GT(well.predictors[1].weight, 0.5);
  EXPECT_LT(badly.predictors[1].weight, well.predictors[1].weight - 0.1);
  EXPECT_GT(Width(badly.targets[1]), Width(well.targets[1]));
}

TEST_F(GrownSerialization, SuggestsNoRuns) {
  ProjectionOptions options;
  const FactorTable table = Measured({{4, 0.95}, {8, 0.91}, {16, 0.85}});
  EXPECT_TRUE(Project(table, test::AllModels(), options).front().next_runs);
  options.grown = {{table.Keys().front().series, table.Keys().front().phase.name, {Grown(16, 32, 0.8)}}};
  EXPECT_FALSE(Project(table, test::AllModels(), options).front().next_runs);
}

TEST_F(GrownSerialization, IsNotUsedForFewerRunsThanItWasLearnedFrom) {
  EXPECT_THAT(Of({Grown(8, 32, 0.7)}).predictors, IsEmpty());
}

}  // namespace
}  // namespace farscale
