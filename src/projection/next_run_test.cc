#include "projection/reliable_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "factors/factor_table.h"
#include "results/factor_table_files.h"
#include "projection/projection.h"
#include "results/json_fields.h"
#include "results/results.h"
#include "results/results_json.h"
#include "support/models.h"

namespace farscale {
namespace {

using testing::ElementsAre;

TEST(NextRun, CandidatesAreRepeatsGapsAndDoublings) {
  EXPECT_THAT(CandidateRuns({16, 64, 128}, 1024), ElementsAre(16, 32, 64, 128, 256, 512));
  EXPECT_THAT(CandidateRuns({16, 64, 128}, 400), ElementsAre(16, 32, 64, 128, 256));
  EXPECT_THAT(CandidateRuns({24, 48}, 1e6), ElementsAre(24, 48, 96, 192));
}

// Programs that need cubes, or squares: 2 and 4 times 125 are nearest to 6³ and 8³; 18, 72, 162 and 324 to
// 4², 8², 13² and 18².
TEST(NextRun, CandidatesAreCubesWhereAllRunsAre) {
  EXPECT_THAT(CandidateRuns({8, 27, 64, 125}, 1e6), ElementsAre(8, 27, 64, 125, 216, 512));
  EXPECT_THAT(CandidateRuns({9, 36, 81}, 1e6), ElementsAre(9, 16, 36, 64, 81, 169, 324));
  EXPECT_THAT(CandidateRuns({8, 64}, 1e6), ElementsAre(8, 16, 32, 64, 128, 256));  // powers of two, too
}

FactorTable Table() {
  std::string csv = "cores,loadBalance,serializationEfficiency,transferEfficiency,computationScalability,runtime\n";
  for (const int p : {8, 16, 32, 64}) {
    csv += std::to_string(p) + "," + std::to_string(0.97 - 0.001 * p) + "," + std::to_string(1 / (1 + 0.01 * p / 16)) +
           "," + std::to_string(1 / (1 + 0.002 * p)) + ",1," + std::to_string(80.0 / p) + "\n";
  }
  FactorTable table = ReadFactorCsv(csv, "t.csv");
  table.scaling = Scaling::kStrong;
  CompleteTable(table);
  return table;
}

// The nearer the run is to the target, the more it tells; every run tells something, and its cost is cores times time.
TEST(NextRun, LargerRunsTellMore) {
  ProjectionOptions options;
  options.targets = {1024};
  options.reliability_limits = {0.025, 0.025};
  const PhaseProjection projection = Project(Table(), test::AllModels(), options).front();
  ASSERT_TRUE(projection.next_runs);
  const NextRuns& next = *projection.next_runs;
  EXPECT_EQ(next.factor, Factor::kParallelEfficiency);
  EXPECT_EQ(next.target, 1024);
  const ProjectedValue& target = projection.Find(Factor::kParallelEfficiency)->targets.front();
  EXPECT_DOUBLE_EQ(next.width, target.interval80->high - target.interval80->low);
  ASSERT_GE(next.choices.size(), 4u);
  EXPECT_THAT((std::vector<double>{next.choices[0].cores, next.choices[1].cores}), ElementsAre(256, 128));
  EXPECT_LT(next.choices[0].width, 0.8 * next.width);
  for (const RunChoice& choice : next.choices) {
    EXPECT_LT(choice.width, 1.1 * next.width) << choice.cores;
    EXPECT_EQ(choice.is_repeat, choice.cores == 8 || choice.cores == 64);
    ASSERT_TRUE(choice.core_hours);
    for (const ProjectedValue& value : projection.Find(Factor::kSpeedup)->curve) {
      // Strong scaling: 10 s on 8 cores over the speedup.
      if (value.cores == choice.cores) {
        EXPECT_NEAR(*choice.core_hours, choice.cores * 10 / value.value / 3600, 1e-9);
      }
    }
  }
  const auto json = nlohmann::ordered_json::parse(JsonOf(std::vector{projection}).dump());
  EXPECT_EQ(JsonOf(FromJson<std::vector<PhaseProjection>>(json, "f")), json);
}

TEST(NextRun, ServesTheFirstTargetThatIsNotReliable) {
  ProjectionOptions options;
  options.targets = {128, 256, 512, 1024, 4096};
  options.reliability_limits = {0.025, 0.025};
  const PhaseProjection projection = Project(Table(), test::AllModels(), options).front();
  ASSERT_TRUE(projection.reliable_range && projection.next_runs);
  EXPECT_GT(projection.next_runs->target, projection.reliable_range->cores);
  EXPECT_LE(projection.next_runs->target, 1024);
  options.reliability_limits = {100, 100};  // all is reliable, so nothing need be run
  EXPECT_FALSE(Project(Table(), test::AllModels(), options).front().next_runs);
  options.reliability_limits = {0.025, 0.025};
  options.next_runs = false;
  EXPECT_FALSE(Project(Table(), test::AllModels(), options).front().next_runs);
}

// Parallel efficiency is flat and known, computation scalability is not: the run is to tell global efficiency.
TEST(NextRun, ServesGlobalEfficiencyWhereOnlyThatIsUnknown) {
  FactorTable table = ReadFactorCsv(
      "cores,loadBalance,communicationEfficiency,computationScalability\n"
      "8,0.9,0.95,1\n16,0.9,0.95,1.3\n32,0.9,0.95,0.8\n64,0.9,0.95,1.2\n",
      "t.csv");
  CompleteTable(table);
  ProjectionOptions options;
  options.targets = {256};
  const PhaseProjection projection = Project(table, test::AllModels(), options).front();
  EXPECT_TRUE(IsReliable(projection, Factor::kParallelEfficiency, 256));
  EXPECT_FALSE(IsReliable(projection, Factor::kGlobalEfficiency, 256));
  ASSERT_TRUE(projection.next_runs);
  EXPECT_EQ(projection.next_runs->factor, Factor::kGlobalEfficiency);
  EXPECT_EQ(projection.next_runs->target, 256);
}

}  // namespace
}  // namespace farscale
