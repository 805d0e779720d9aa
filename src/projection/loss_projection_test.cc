#include "projection/loss_projection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/models.h"

namespace farscale {
namespace {

using testing::ElementsAre;

// A run of a second on so many cores in which call paths cause waiting of these shares.
LossRecord RunWith(std::int64_t cores, const std::vector<std::pair<std::string, double>>& shares) {
  LossRecord record;
  record.phase = "step";
  record.cores = cores;
  record.length = record.window = 1;
  record.allocation = static_cast<double>(cores);
  for (const auto& [path, share] : shares) {
    PathRecord one;
    one.path = path;
    one.total.short_term[0] = share * record.allocation;
    record.paths.push_back(one);
  }
  return record;
}

LossProjection CostsOf(const std::vector<LossRecord>& records, std::vector<double> targets,
                       const std::vector<PhaseProjection>& factors = {}) {
  ProjectionOptions options;
  options.models = DefaultModelSettings();
  options.targets = std::move(targets);
  for (const LossProjection& projection : ProjectLosses(records, factors, test::AllModels(), options)) {
    if (projection.measure == LossMeasure::kDelayCosts) return projection;
  }
  return {};
}

std::vector<std::string> PathsOf(const LossProjection& projection) {
  std::vector<std::string> names;
  for (const PathLossProjection& path : projection.paths) names.push_back(path.path);
  return names;
}

// Both lose 4 % in the largest run, but one grows with the cores and the other does not.
TEST(LossProjection, WhatGrowsComesFirst) {
  std::vector<LossRecord> records;
  for (const std::int64_t cores : {16, 32, 64, 128}) {
    records.push_back(RunWith(cores, {{"steady", 0.04}, {"grows", 0.04 * static_cast<double>(cores) / 128}}));
  }
  const LossProjection projection = CostsOf(records, {256});
  ASSERT_THAT(PathsOf(projection), ElementsAre("grows", "steady"));
  const ProjectedLoss &grows = projection.paths[0].targets[0], &steady = projection.paths[1].targets[0];
  EXPECT_NEAR(grows.loss, 0.08, 0.02);
  EXPECT_NEAR(steady.loss, 0.04, 0.01);
  EXPECT_LT(grows.loss80->low, grows.loss);
  EXPECT_GT(grows.loss80->high, grows.loss);
  EXPECT_LE(grows.loss95->low, grows.loss80->low);
  EXPECT_TRUE(grows.is_evidence);
  EXPECT_NEAR(grows.part + steady.part, 1, 1e-12);
  EXPECT_GT(grows.part80->low, 0.4);
}

// 0.05 % each, and a path that a run lacks.
TEST(LossProjection, SmallLossesAreOne) {
  std::vector<LossRecord> records = {RunWith(16, {{"a", 0.0005}, {"b", 0.0004}, {"c", 0.01}}),
                                     RunWith(32, {{"a", 0.0005}, {"c", 0.02}, {"d", 0.03}})};
  const LossProjection projection = CostsOf(records, {64});
  std::vector<std::string> names = PathsOf(projection);
  std::sort(names.begin(), names.end());
  EXPECT_THAT(names, ElementsAre("(all others)", "c", "d"));
  for (const PathLossProjection& path : projection.paths) {
    if (path.path == "d") {
      EXPECT_EQ(path.measured[0].value, 0);
    }
    if (path.path == kOtherPaths) {
      EXPECT_NEAR(path.measured[0].value, 0.0009, 1e-12);
    }
  }
}

TEST(LossProjection, OneCoreCountIsNoEvidence) {
  const LossProjection projection = CostsOf({RunWith(16, {{"a", 0.1}})}, {64});
  EXPECT_FALSE(projection.obstacle.empty());
  ASSERT_EQ(projection.paths.size(), 1u);
  EXPECT_TRUE(projection.paths[0].targets.empty());
}

// Waits at the end are charged to nobody: 0.02 of the time of all ranks, a third of all waiting.
TEST(LossProjection, SharesAreOfAllWaiting) {
  std::vector<LossRecord> records;
  for (const std::int64_t cores : {16, 32, 64, 128}) {
    LossRecord record = RunWith(cores, {{"steady", 0.04}});
    record.short_term[0] = 0.04 * record.allocation;
    record.waiting[0] = 0.06 * record.allocation;
    records.push_back(record);
  }
  const LossProjection projection = CostsOf(records, {256});
  ASSERT_THAT(PathsOf(projection), ElementsAre("steady", kChargedToNobody));
  EXPECT_NEAR(projection.paths[0].targets[0].part, 2.0 / 3, 0.02);
}

// What is no evidence for the factor is none for the call paths that share its loss.
TEST(LossProjection, EvidenceReachesNoFurtherThanThatOfTheFactor) {
  std::vector<LossRecord> records;
  for (const std::int64_t cores : {16, 32, 64, 128}) records.push_back(RunWith(cores, {{"steady", 0.04}}));
  PhaseProjection factors;
  factors.phase = "step";
  factors.horizon = EvidenceHorizon{Factor::kParallelEfficiency, kHorizonWidth, 300, EvidenceHorizon::Reach::kUpTo};
  const LossProjection projection = CostsOf(records, {256, 512}, {factors});
  EXPECT_TRUE(projection.paths[0].targets[0].is_evidence);
  EXPECT_FALSE(projection.paths[0].targets[1].is_evidence);
  EXPECT_TRUE(CostsOf(records, {256, 512}).paths[0].targets[1].is_evidence);
}

// One path makes up for most of what the other loses: neither is extrapolated, and both are told.
TEST(LossProjection, PathsThatMakeUpForOthersAreNotExtrapolated) {
  std::vector<LossRecord> records;
  for (const std::int64_t cores : {16, 32, 64, 128}) {
    LossRecord record = RunWith(cores, {});
    record.by_factor.emplace();
    record.by_factor->paths = {{"slow", 0, 0.03}, {"quick", 0, -0.02}};
    records.push_back(record);
  }
  ProjectionOptions options;
  options.models = DefaultModelSettings();
  options.targets = {256};
  for (const LossProjection& projection : ProjectLosses(records, {}, test::AllModels(), options)) {
    if (projection.measure != LossMeasure::kSerialization) continue;
    EXPECT_THAT(PathsOf(projection), ElementsAre("slow", "quick"));
    EXPECT_THAT(projection.obstacle, testing::HasSubstr("make up for what others lose (quick by 2.0 % at"));
    EXPECT_TRUE(projection.paths[0].targets.empty());
  }
}

TEST(LossProjection, NoRunToFitIsNoEvidence) {
  ProjectionOptions options;
  options.models = DefaultModelSettings();
  options.train_max = 8;
  for (const LossProjection& projection : ProjectLosses({RunWith(16, {{"a", 0.1}})}, {}, test::AllModels(), options)) {
    EXPECT_TRUE(projection.fitted_cores.empty());
    EXPECT_FALSE(projection.obstacle.empty());
  }
}

}  // namespace
}  // namespace farscale
