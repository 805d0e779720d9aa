#include "projection/thread_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor_table.h"
#include "results/results_json.h"
#include "support/models.h"

namespace farscale {
namespace {

// MPI loses 2 % with each doubling of the processes, OpenMP 5 % with each doubling of the threads.
double Mpi(double processes) { return std::pow(0.98, std::log2(processes)); }
double OpenMp(double threads) { return std::pow(0.95, std::log2(threads)); }

FactorRow RowOf(std::int64_t processes, std::int64_t threads) {
  FactorRow row;
  row.phase = "step";
  row.ranks = processes;
  row.threads = threads;
  row.cores = processes * threads;
  row.values[Factor::kMpiParallelEfficiency] = Mpi(static_cast<double>(processes));
  row.values[Factor::kOmpParallelEfficiency] = OpenMp(static_cast<double>(threads));
  row.values.SetPerfectOffload();
  return row;
}

FactorTable TableOf(const std::vector<std::pair<int, int>>& runs) {
  FactorTable table;
  table.scaling = Scaling::kStrong;
  for (const auto& [processes, threads] : runs) table.rows.push_back(RowOf(processes, threads));
  CompleteTable(table);
  return table;
}

ThreadSplits SplitsOf(const FactorTable& table, std::int64_t cores,
                      std::optional<std::int64_t> cpus_of_node = std::nullopt) {
  ProjectionOptions options;
  return SplitCores(table, test::AllModels(), options, cores, cpus_of_node.value_or(0)).front();
}

// Threads cost more than processes, so that few threads are best; efficiencies are those of both curves.
TEST(ThreadSplit, BothVary) {
  const FactorTable table = TableOf({{4, 1}, {4, 2}, {4, 4}, {8, 1}, {8, 2}, {8, 4}, {16, 1}, {16, 2}, {16, 4}});
  const ThreadSplits splits = SplitsOf(table, 128);
  EXPECT_EQ(splits.obstacle, "");
  ASSERT_EQ(splits.splits.size(), 4u);  // 128 x 1 to 16 x 8
  EXPECT_EQ(splits.splits[splits.best].threads, 1);
  EXPECT_TRUE(splits.splits[splits.best].may_be_best);
  for (const ThreadSplit& split : splits.splits) {
    const auto n = static_cast<double>(split.processes), m = static_cast<double>(split.threads);
    EXPECT_EQ(split.processes * split.threads, 128);
    EXPECT_NEAR(split.efficiency.value, Mpi(n) * OpenMp(m), 0.05) << n << " x " << m;
    EXPECT_LE(split.efficiency.interval80.low, split.efficiency.value);
    EXPECT_GE(split.efficiency.interval80.high, split.efficiency.value);
    EXPECT_NEAR(split.time.value, splits.splits[splits.best].efficiency.value / split.efficiency.value, 1e-12);
    EXPECT_DOUBLE_EQ(split.processes_ratio, n / 16);
    EXPECT_DOUBLE_EQ(split.threads_ratio, m / 4);
    EXPECT_FALSE(split.speedup.has_value());  // computation scalability is unknown
  }
  EXPECT_FALSE(splits.splits[0].is_run);
}

// At every target, of the phases whose runs vary both numbers.
TEST(ThreadSplit, Targets) {
  FactorTable table = TableOf({{4, 1}, {4, 2}, {8, 1}, {8, 2}});
  FactorTable other = TableOf({{4, 1}, {8, 1}});
  for (FactorRow& row : other.rows) {
    row.phase = "sort";
    table.rows.push_back(row);
  }
  ProjectionOptions options;
  options.targets = {32, 64};
  const std::vector<SplitsOfCores> targets = SplitTargets(table, test::AllModels(), options);
  ASSERT_EQ(targets.size(), 2u);
  EXPECT_EQ(targets[1].cores, 64);
  ASSERT_EQ(targets[1].phases.size(), 1u);
  EXPECT_EQ(WriteSplitsJson(64, targets[1].phases, {}), WriteSplitsJson(64, {SplitsOf(table, 64)}, {}));
  EXPECT_TRUE(KnowsSplits(targets, {"", "step"}));
  EXPECT_FALSE(KnowsSplits(targets, {"", "sort"}));
  EXPECT_EQ(FindSplits(targets[0], {"", "sort"}), nullptr);
  EXPECT_TRUE(SplitTargets(other, test::AllModels(), options).empty());
}

// Runs of 4 × 2 and 8 × 1 are no repeats on 8 cores, so nothing is a function of cores.
TEST(ThreadSplit, ThereIsNoCurveOverCores) {
  ProjectionOptions options;
  const FactorTable table = TableOf({{4, 1}, {4, 2}, {8, 1}, {8, 2}});
  const std::vector<PhaseProjection> projections = Project(table, test::AllModels(), options);
  EXPECT_THAT(projections.front().obstacle, testing::HasSubstr("runs on 8 cores are divided differently"));
  EXPECT_TRUE(projections.front().factors.empty());
  const FactorTable chain = TableOf({{4, 1}, {4, 2}, {8, 2}});
  EXPECT_EQ(Project(chain, test::AllModels(), options).front().obstacle, "");
}

// The time in MPI depends on processes alone while threads shorten the rest: overheads multiply. Of 16 × 4, which was
// not run, efficiency is 1 / 1.64 = 0.610; the product of efficiencies would have it at 0.757 · 0.746 / 0.855 = 0.661.
TEST(ThreadSplit, MessagesThatThreadsDoNotShorten) {
  FactorTable table =
      TableOf({{2, 1}, {2, 2}, {2, 4}, {4, 1}, {4, 2}, {4, 4}, {8, 1}, {8, 2}, {8, 4}, {16, 1}, {16, 2}});
  for (FactorRow& row : table.rows) {
    const auto n = static_cast<double>(row.ranks), m = static_cast<double>(row.threads);
    row.values[Factor::kMpiParallelEfficiency] = 1 / (1 + 0.01 * m * std::log2(n) * std::sqrt(n));
    row.values[Factor::kOmpParallelEfficiency] = 1;
  }
  const ThreadSplits splits = SplitsOf(table, 64);
  ASSERT_EQ(splits.splits.size(), 4u);
  EXPECT_EQ(splits.splits[2].processes, 16);
  EXPECT_NEAR(splits.splits[2].efficiency.value, 1 / 1.64, 0.015);
}

// With one number of processes there is no curve over them: what more threads bring is known for that number alone.
TEST(ThreadSplit, OnlyThreadsVary) {
  const FactorTable table = TableOf({{4, 1}, {4, 2}, {4, 4}});
  const ThreadSplits eight = SplitsOf(table, 32);
  ASSERT_EQ(eight.splits.size(), 1u);
  EXPECT_EQ(eight.splits[0].processes, 4);
  EXPECT_EQ(eight.splits[0].threads, 8);
  EXPECT_NEAR(eight.splits[0].efficiency.value, Mpi(4) * OpenMp(8), 0.03);
  const ThreadSplits none = SplitsOf(table, 128);
  EXPECT_THAT(none.obstacle, testing::HasSubstr("one number (4) of processes and 3 numbers (1 to 4) of threads"));
}

// Twice the threads of 4 processes: 2 g(8) / g(4) = 2 * 0.95.
TEST(ThreadSplit, MoreThreadsOfAProcess) {
  const ThreadSplits splits = SplitsOf(TableOf({{4, 1}, {4, 2}, {4, 4}}), 32);
  ASSERT_TRUE(splits.gain.has_value());
  EXPECT_EQ(splits.gain->processes, 4);
  EXPECT_EQ(splits.gain->from, 4);
  EXPECT_EQ(splits.gain->to, 8);
  EXPECT_NEAR(splits.gain->speedup.value, 1.9, 0.06);
  EXPECT_LE(splits.gain->speedup.interval80.low, 1.9);
  EXPECT_GE(splits.gain->speedup.interval80.high, 1.9);
}

TEST(ThreadSplit, ThreadsStayWithinANode) {
  const FactorTable table = TableOf({{4, 1}, {4, 2}, {4, 4}, {8, 1}, {8, 2}, {8, 4}});
  EXPECT_EQ(SplitsOf(table, 64).splits.back().threads, 8);
  const ThreadSplits splits = SplitsOf(table, 64, 4);
  EXPECT_EQ(splits.splits.back().threads, 4);
  EXPECT_FALSE(splits.gain.has_value());
}

// Both numbers vary together only: what is lost may be due to either. A run that shares one number with each separates
// them.
TEST(ThreadSplit, ProcessesAndThreadsVaryTogether) {
  const ThreadSplits together = SplitsOf(TableOf({{1, 1}, {2, 2}, {4, 4}}), 64);
  EXPECT_THAT(together.obstacle, testing::HasSubstr("runs of 1 × 1 and 2 × 2"));
  EXPECT_THAT(together.obstacle, testing::HasSubstr("add a run of 1 × 2"));
  EXPECT_TRUE(together.splits.empty());
  EXPECT_EQ(SplitsOf(TableOf({{1, 1}, {1, 2}, {2, 2}, {2, 4}, {4, 4}}), 64).obstacle, "");
}

// A chain of runs that share one number with the next separates both, too: 0.98^4 0.95^3 at 16 x 8.
TEST(ThreadSplit, ChainOfRuns) {
  const ThreadSplits splits = SplitsOf(TableOf({{1, 1}, {1, 2}, {2, 2}, {2, 4}, {4, 4}, {4, 8}, {8, 8}}), 128);
  ASSERT_EQ(splits.obstacle, "");
  const ThreadSplit& split = splits.splits[3];
  EXPECT_EQ(split.processes, 16);
  EXPECT_NEAR(split.efficiency.value, Mpi(16) * OpenMp(8), 0.03);
}

// A computation that loses 4 % with each doubling of the threads and nothing with the processes: few threads are best
// although parallel efficiency is the same. Speedup over 4 x 1 is the efficiency times the ratio of the cores.
TEST(ThreadSplit, ComputationOfThreads) {
  FactorTable table = TableOf({{4, 1}, {4, 2}, {4, 4}, {8, 1}, {8, 2}, {8, 4}, {16, 1}, {16, 2}, {16, 4}});
  for (FactorRow& row : table.rows) {
    row.values[Factor::kMpiParallelEfficiency] = row.values[Factor::kOmpParallelEfficiency] = 1;
    row.values[Factor::kParallelEfficiency] = 1;
    row.values[Factor::kComputationScalability] = std::pow(0.96, std::log2(row.threads));
    row.values[Factor::kGlobalEfficiency] = row.values[Factor::kComputationScalability];
  }
  table.reference = 4;
  const ThreadSplits splits = SplitsOf(table, 128);
  ASSERT_EQ(splits.obstacle, "");
  EXPECT_EQ(splits.splits[splits.best].threads, 1);
  for (const ThreadSplit& split : splits.splits) {
    ASSERT_TRUE(split.speedup.has_value());
    EXPECT_NEAR(split.speedup->value, 32 * std::pow(0.96, std::log2(split.threads)), 1.5) << split.threads;
    if (split.threads == 1) continue;
    EXPECT_EQ(split.limit, Factor::kComputationScalability);
  }
}

// Perfect runs of 3 s at the reference, 4 cores: on 128 the same problem takes 3 s * 4 / 128, one that grows 3 s.
TEST(ThreadSplit, Times) {
  for (const Scaling scaling : {Scaling::kStrong, Scaling::kWeak}) {
    FactorTable table = TableOf({{4, 1}, {4, 2}, {8, 1}, {8, 2}, {16, 1}, {16, 2}});
    table.scaling = scaling;
    table.reference = 4;
    for (FactorRow& row : table.rows) {
      row.runtime = scaling == Scaling::kStrong ? 12.0 / static_cast<double>(row.cores) : 3;
      for (const Factor factor : {Factor::kMpiParallelEfficiency, Factor::kOmpParallelEfficiency,
                                  Factor::kComputationScalability, Factor::kGlobalEfficiency}) {
        row.values[factor] = 1;
      }
    }
    table.rows.push_back(table.rows.front());  // a repeat of the reference whose time nobody took
    table.rows.back().runtime.reset();
    const ThreadSplits splits = SplitsOf(table, 128);
    const ThreadSplit& best = splits.splits[splits.best];
    ASSERT_TRUE(best.seconds && best.speedup);
    EXPECT_NEAR(best.seconds->value, scaling == Scaling::kStrong ? 12.0 / 128 : 3, 0.02 * best.seconds->value);
    EXPECT_NEAR(best.speedup->value, 32, 0.6);
    EXPECT_LE(best.seconds->interval80.low, best.seconds->value);
    EXPECT_GE(best.seconds->interval80.high, best.seconds->value);
  }
}

// What is predicted from the smaller runs does not know the larger ones.
TEST(ThreadSplit, SmallerRunsAlone) {
  const FactorTable table = TableOf({{4, 1}, {4, 2}, {8, 1}, {8, 2}, {16, 2}});
  ProjectionOptions options;
  options.train_max = 16;
  const ThreadSplits splits = SplitCores(table, test::AllModels(), options, 32).front();
  ASSERT_EQ(splits.splits.size(), 3u);  // 32 x 1 to 8 x 4
  EXPECT_DOUBLE_EQ(splits.splits[1].processes_ratio, 2);
}

TEST(ThreadSplit, NeedsHybridRuns) {
  FactorTable table = TableOf({{4, 1}});
  table.rows[0].values = {};
  EXPECT_THROW(SplitsOf(table, 8), Error);
}

}  // namespace
}  // namespace farscale
