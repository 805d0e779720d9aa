#include "projection/thread_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
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

ThreadSplits SplitsOf(const FactorTable& table, std::int64_t cores) {
  ProjectionOptions options;
  options.models = DefaultModelSettings();
  return SplitCores(table, test::AllModels(), options, cores).front();
}

// Threads cost more than processes, so that few threads are best; efficiencies are those of both curves.
TEST(ThreadSplit, BothVary) {
  const FactorTable table = TableOf({{4, 1}, {4, 2}, {4, 4}, {8, 1}, {8, 2}, {8, 4}, {16, 1}, {16, 2}, {16, 4}});
  const ThreadSplits splits = SplitsOf(table, 128);
  EXPECT_EQ(splits.obstacle, "");
  ASSERT_EQ(splits.splits.size(), 4u);  // 128 x 1 to 16 x 8
  EXPECT_EQ(splits.splits[splits.best].threads, 1);
  EXPECT_EQ(splits.fewest, 1);
  for (const ThreadSplit& split : splits.splits) {
    const auto n = static_cast<double>(split.processes), m = static_cast<double>(split.threads);
    EXPECT_EQ(split.processes * split.threads, 128);
    EXPECT_NEAR(split.efficiency, Mpi(n) * OpenMp(m), 0.05) << n << " x " << m;
    EXPECT_LE(split.interval80.low, split.efficiency);
    EXPECT_GE(split.interval80.high, split.efficiency);
    EXPECT_DOUBLE_EQ(split.time, splits.splits[splits.best].efficiency / split.efficiency);
  }
  EXPECT_FALSE(splits.splits[0].is_run);
}

// With one number of processes there is no curve over them: what more threads bring is known for that number alone.
TEST(ThreadSplit, OnlyThreadsVary) {
  const FactorTable table = TableOf({{4, 1}, {4, 2}, {4, 4}});
  const ThreadSplits eight = SplitsOf(table, 32);
  ASSERT_EQ(eight.splits.size(), 1u);
  EXPECT_EQ(eight.splits[0].processes, 4);
  EXPECT_EQ(eight.splits[0].threads, 8);
  EXPECT_NEAR(eight.splits[0].efficiency, Mpi(4) * OpenMp(8), 0.03);
  const ThreadSplits none = SplitsOf(table, 128);
  EXPECT_THAT(none.obstacle, testing::HasSubstr("one number (4) of processes and 3 numbers (1 to 4) of threads"));
}

TEST(ThreadSplit, NeedsHybridRuns) {
  FactorTable table = TableOf({{4, 1}});
  table.rows[0].values = {};
  EXPECT_THROW(SplitsOf(table, 8), Error);
}

}  // namespace
}  // namespace farscale
