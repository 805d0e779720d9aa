#include "projection/loss_projection.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/random.h"
#include "imbalance/loss_record.h"
#include "support/models.h"
#include "support/repeats.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

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
  EXPECT_EQ(grows.reliability, Reliability::kReliable);
  EXPECT_NEAR(grows.part + steady.part, 1, 1e-12);
  EXPECT_GT(grows.part80->low, 0.4);
  EXPECT_LE(grows.part95->low, grows.part80->low);
  EXPECT_GT(grows.part95->low, 0.2);
  EXPECT_GE(grows.part95->high, grows.part80->high);
  EXPECT_LT(grows.part95->high, 1);
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

// Files and pages know measures by these names, and reliability by the factor that loses.
TEST(LossProjection, NamesAndFactorsOfMeasures) {
  const std::vector<std::pair<std::string, Factor>> expected = {{"delayCosts", Factor::kParallelEfficiency},
                                                                {"loadBalance", Factor::kLoadBalance},
                                                                {"serialization", Factor::kSerialization},
                                                                {"criticalPathImbalance", Factor::kParallelEfficiency}};
  std::vector<std::pair<std::string, Factor>> found;
  for (const LossMeasure measure : kLossMeasures) found.emplace_back(ToString(measure), FactorOf(measure));
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(expected));
}

TEST(LossProjection, OneCoreCountIsNoEvidence) {
  const LossProjection projection = CostsOf({RunWith(16, {{"a", 0.1}})}, {64});
  EXPECT_FALSE(projection.obstacle.empty());
  ASSERT_EQ(projection.paths.size(), 1u);
  EXPECT_TRUE(projection.paths[0].targets.empty());
}

// A run whose waits are unknown is none in which nothing is lost, and a phase with such runs alone has no projection.
TEST(LossProjection, RunsWithUnknownWaitsAreLeftOut) {
  const std::vector<LossRecord> known = {RunWith(16, {{"a", 0.1}}), RunWith(32, {{"a", 0.2}})};
  std::vector<LossRecord> records = known;
  records.push_back(RunWith(64, {}));
  records.back().unknown_waits = UnknownWaits{3, "rank 0 in MPI_Win_lock at 1 s", 0, 0, ""};
  const LossProjection projection = CostsOf(records, {128});
  EXPECT_EQ(projection.fitted_cores, (std::vector<double>{16, 32}));
  EXPECT_EQ(projection.paths.at(0).measured.size(), 2u);
  EXPECT_TRUE(ProjectLosses({records.back()}, {}, test::AllModels(), {}).empty());
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

// No call path is more reliable than the factor whose loss it shares.
TEST(LossProjection, ReliabilityIsNoBetterThanThatOfTheFactor) {
  std::vector<LossRecord> records;
  for (const std::int64_t cores : {16, 32, 64, 128}) records.push_back(RunWith(cores, {{"steady", 0.04}}));
  PhaseProjection factors;
  factors.phase = "step";
  factors.reliable_range = ReliableRange{Factor::kParallelEfficiency, {}, 300, ReliableRange::Reach::kUpTo};
  const LossProjection projection = CostsOf(records, {256, 512}, {factors});
  EXPECT_EQ(projection.paths[0].targets[0].reliability, Reliability::kReliable);
  EXPECT_EQ(projection.paths[0].targets[1].reliability, Reliability::kUnknown);
  EXPECT_EQ(CostsOf(records, {256, 512}).paths[0].targets[1].reliability, Reliability::kReliable);
}

// One path makes up for most of what the other loses: neither is extrapolated, and both are told.
TEST(LossProjection, PathsThatMakeUpForOthersAreNotExtrapolated) {
  std::vector<LossRecord> records;
  for (const std::int64_t cores : {16, 32, 64, 128}) {
    LossRecord record = RunWith(cores, {});
    record.by_factor = FactorLosses{{"slow", 0, 0.03}, {"quick", 0, -0.02}};
    records.push_back(record);
  }
  ProjectionOptions options;
  options.targets = {256};
  for (const LossProjection& projection : ProjectLosses(records, {}, test::AllModels(), options)) {
    if (projection.measure != LossMeasure::kSerialization) continue;
    EXPECT_THAT(PathsOf(projection), ElementsAre("slow", "quick"));
    EXPECT_THAT(projection.obstacle, testing::HasSubstr("make up for what others lose (quick by 2.0 % at"));
    EXPECT_TRUE(projection.paths[0].targets.empty());
  }
}

double SumAt(const LossProjection& projection, std::size_t target) {
  double sum = 0;
  for (const PathLossProjection& path : projection.paths) sum += path.targets[target].loss;
  return sum;
}

// Each of three paths takes time that grows with the cores, in units of what is kept: 0.05, 0.1 and 0.15 on 16 cores.
// On 2^16 times as many, what is kept is next to nothing, and they lose 1/6, 2/6 and 3/6 of all time. Extrapolated one
// by one they would lose all of it, each.
TEST(LossProjection, SharesStayShares) {
  std::vector<LossRecord> records;
  for (const std::int64_t cores : {16, 32, 64, 128}) {
    const double scale = static_cast<double>(cores) / 16, kept = 1 / (1 + 0.3 * scale);
    records.push_back(
        RunWith(cores, {{"a", 0.05 * scale * kept}, {"b", 0.1 * scale * kept}, {"c", 0.15 * scale * kept}}));
  }
  const LossProjection projection = CostsOf(records, {1048576});
  ASSERT_THAT(PathsOf(projection), UnorderedElementsAre("a", "b", "c"));
  EXPECT_LE(SumAt(projection, 0), 1);
  EXPECT_GT(SumAt(projection, 0), 0.99);
  for (const PathLossProjection& path : projection.paths) {
    const double share = path.path == "a" ? 1.0 / 6 : path.path == "b" ? 2.0 / 6 : 3.0 / 6;
    EXPECT_NEAR(path.targets[0].loss, share, 0.02) << path.path;
  }
}

// The waiting of a run is a part of what parallel efficiency loses: 10 % of the time, projected to lose 12 % (20 % at
// most by its 80 % interval), though by itself the path grows further.
TEST(LossProjection, NoLargerThanTheLossOfTheFactor) {
  std::vector<LossRecord> records;
  for (const std::int64_t cores : {16, 32, 64, 128}) {
    records.push_back(RunWith(cores, {{"grows", 0.1 * static_cast<double>(cores) / 128}}));
  }
  PhaseProjection factors;
  factors.phase = "step";
  FactorProjection efficiency;
  efficiency.factor = Factor::kParallelEfficiency;
  efficiency.targets = {{1024, 8, 0.88, IntervalBounds{0.8, 0.9}, IntervalBounds{0.7, 0.92}}};
  factors.factors = {efficiency};
  const ProjectedLoss loss = CostsOf(records, {1024}, {factors}).paths[0].targets[0];
  EXPECT_GT(CostsOf(records, {1024}).paths[0].targets[0].loss, 0.12);
  EXPECT_DOUBLE_EQ(loss.loss, 0.12);
  EXPECT_LE(loss.loss80->high, 0.2 + 1e-12);
  EXPECT_LE(loss.loss95->high, 0.3 + 1e-12);
  EXPECT_LE(loss.loss95->low, loss.loss80->low);
}

// A projection that breaks none of the rules of shares.
void ExpectShares(const LossProjection& projection) {
  if (projection.paths.empty() || !projection.obstacle.empty()) return;
  for (std::size_t target = 0; target < projection.paths.front().targets.size(); ++target) {
    double losses = 0, parts = 0;
    for (const PathLossProjection& path : projection.paths) {
      if (path.targets.empty()) continue;
      const ProjectedLoss& at = path.targets[target];
      losses += at.loss;
      parts += at.part;
      for (const auto& [value, inner, outer] :
           {std::tuple(at.loss, *at.loss80, *at.loss95), std::tuple(at.part, *at.part80, *at.part95)}) {
        EXPECT_LE(0, outer.low);
        EXPECT_LE(outer.low, inner.low);
        EXPECT_LE(inner.low, value);
        EXPECT_LE(value, inner.high);
        EXPECT_LE(inner.high, outer.high);
        EXPECT_LE(outer.high, 1);
      }
    }
    EXPECT_LE(losses, 1 + 1e-12);
    EXPECT_TRUE(std::abs(parts - 1) < 1e-9 || losses == 0) << parts;
  }
}

// Random tables: some paths grow, some shrink, some are missing in some runs, some make up for others.
TEST(LossProjection, SharesOfRandomTables) {
  Random random(20);
  for (int table = 0; table < (test::IsBrief() ? 1 : 40); ++table) {
    const std::size_t paths = 1 + random.Index(15), counts = 2 + random.Index(5);
    std::vector<double> weights, powers;
    for (std::size_t path = 0; path < paths; ++path) {
      weights.push_back(0.1 * random.Exponential());
      powers.push_back(1.5 * random.Normal());
    }
    std::vector<LossRecord> records;
    for (std::size_t run = 0; run < counts; ++run) {
      const std::int64_t cores = std::int64_t{8} << run;
      std::vector<std::pair<std::string, double>> shares;
      double sum = 1;
      for (std::size_t path = 0; path < paths; ++path) {
        const double ratio = weights[path] * std::pow(2, powers[path] * static_cast<double>(run)) *
                             (random.Uniform() < 0.1 ? 0 : std::exp(0.2 * random.Normal()));
        shares.emplace_back(fmt::format("path {}", path), ratio);
        sum += ratio;
      }
      for (auto& [path, share] : shares) share /= sum;
      records.push_back(RunWith(cores, shares));
      LossRecord& record = records.back();
      record.by_factor.emplace();
      for (const auto& [path, share] : shares) {
        record.by_factor->push_back({path, share * (random.Uniform() < 0.1 ? -0.1 : 0.5), share / 2});
      }
    }
    ProjectionOptions options;
    options.targets = {256, 4096, 65536, 1e6};
    for (const LossProjection& one : ProjectLosses(records, {}, test::AllModels(), options)) {
      SCOPED_TRACE(fmt::format("table {}, {}", table, ToString(one.measure)));
      ExpectShares(one);
    }
  }
}

TEST(LossProjection, NoRunToFitIsNoEvidence) {
  ProjectionOptions options;
  options.train_max = 8;
  for (const LossProjection& projection : ProjectLosses({RunWith(16, {{"a", 0.1}})}, {}, test::AllModels(), options)) {
    EXPECT_TRUE(projection.fitted_cores.empty());
    EXPECT_FALSE(projection.obstacle.empty());
  }
}

}  // namespace
}  // namespace farscale
