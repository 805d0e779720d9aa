#include "study/measure_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "base/memory.h"
#include "study/study.h"
#include "support/temporary_folder.h"

namespace farscale {
namespace {

TEST(RunMemory, LossesTakeMoreThanReplays) {
  const test::TemporaryFolder folder;
  RunSpec run;
  run.trace = folder.Write("run.prv", "#Paraver (01/01/2026 at 12:00):1000_ns:1(1):1:1(1:1)\n");
  const std::uint64_t bytes = std::filesystem::file_size(run.trace);
  EXPECT_GE(ExpectedMemory(run, Detail::kFactors), bytes);
  EXPECT_GT(ExpectedMemory(run, Detail::kLosses), ExpectedMemory(run, Detail::kFactors));
  run.is_measured = true;
  EXPECT_EQ(ExpectedMemory(run, Detail::kLosses), 0u);
}

TEST(RunMemory, NoMoreRunsAtATimeThanFit) {
  const test::TemporaryFolder folder;
  const std::string text = "#Paraver (01/01/2026 at 12:00):1000_ns:1(1):1:1(1:1)\n" + std::string(1000, '\n');
  std::vector<RunSpec> runs(5);
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].trace = folder.Write(std::to_string(i) + ".prv", text);
  SetMemoryBudget(2 * ExpectedMemory(runs[0], Detail::kFactors));
  std::mutex mutex;
  int running = 0, most = 0;
  std::vector<std::size_t> seen;
  ForEachRun(runs, {0, 1, 3, 4}, Detail::kFactors, [&](std::size_t i) {
    {
      const std::lock_guard lock(mutex);
      most = std::max(most, ++running);
      seen.push_back(i);
    }
    const std::lock_guard lock(mutex);
    --running;
  });
  SetMemoryBudget(0);
  EXPECT_LE(most, 2);
  EXPECT_THAT(seen, testing::UnorderedElementsAre(0, 1, 3, 4));
}

}  // namespace
}  // namespace farscale
