// Pages of processes with threads, as the file and the summary show them.
#include <gmock/gmock.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "collect/text.h"
#include "measure/measured_run.h"

namespace farscale {
namespace {

using namespace collect;

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kMillisecond = 1'000'000;  // of a clock in nanoseconds

// A process that ran for 100 ms and was in MPI for 20 ms.
Page PageOfRank(int rank, int ranks) {
  Page page{};
  page.rank = rank;
  page.ranks = ranks;
  page.termination = Termination::kFinalized;
  page.begin_tick = page.begin_clock = 1'000'000'000;
  page.end_tick = page.end_clock = page.begin_tick + 100 * kMillisecond;
  std::strcpy(page.job, "job");
  std::strcpy(page.host, "a");
  std::strcpy(page.program, "app");
  page.regions = 1;
  CopyName("whole run", page.region[0].name);
  page.region[0].starts = page.region[0].stops = 1;
  page.region[0].total.elapsed = 100 * kMillisecond;
  page.region[0].total.mpi = 20 * kMillisecond;
  return page;
}

// A team of two: each computes 30 ms in it, the other one then waits 10 ms.
Page WithTeam(Page page) {
  page.teams.most = 1;
  Sums& threads = page.region[0].total;
  threads.worker_useful = 30 * kMillisecond;
  threads.imbalance = 10 * kMillisecond;
  return page;
}

// A thread that no library knows and that used 40 ms of CPU time.
Page WithUnknownThread(Page page) {
  page.teams.unknown = 1;
  page.region[0].cpu_ticks = 100 * kMillisecond;
  page.region[0].total.cpu = 90 * kMillisecond;
  page.region[0].total.process_cpu = 130 * kMillisecond;
  return page;
}

nlohmann::json WholeOf(const MeasuredRun& run) { return nlohmann::json::parse(MeasuredRunJson(run))["regions"][0]; }

std::vector<std::string> FindingIds(const MeasuredRun& run) {
  std::vector<std::string> ids;
  for (const Finding& finding : FindingsOn(run)) ids.push_back(finding.id);
  return ids;
}

// Of 200 ms: 80 + 30 useful, 20 + 20 for MPI, 10 waiting, 40 outside of the team.
TEST(ThreadOutput, AHybridRunHasTheFactorsOfAllCpus) {
  const MeasuredRun run = Summarize({WithTeam(PageOfRank(0, 1))});
  EXPECT_EQ(run.threads, 2);
  const nlohmann::json whole = WholeOf(run), times = whole["threadTimes"], factors = whole["factors"];
  EXPECT_EQ(times["cpus"], 2);
  EXPECT_NEAR(times["useful"], 0.11, 1e-12);
  EXPECT_NEAR(times["mpi"], 0.02, 1e-12);
  EXPECT_NEAR(times["mpiIdle"], 0.02, 1e-12);
  EXPECT_NEAR(times["ompImbalance"], 0.01, 1e-12);
  EXPECT_NEAR(times["ompScheduling"], 0, 1e-12);
  EXPECT_NEAR(times["ompSerialization"], 0.04, 1e-12);
  EXPECT_NEAR(factors["parallelEfficiency"], 0.55, 1e-12);
  EXPECT_NEAR(factors["mpiParallelEfficiency"], 0.8, 1e-12);
  EXPECT_NEAR(factors["ompParallelEfficiency"], 0.6875, 1e-12);
  EXPECT_NEAR(factors["ompLoadBalance"], 15.0 / 16, 1e-12);
  EXPECT_NEAR(factors["ompSerializationEfficiency"], 11.0 / 15, 1e-12);
  EXPECT_NEAR(whole["usefulAverage"], 0.08, 1e-12);
  EXPECT_NEAR(whole["mpiTotal"], 0.02, 1e-12);
  EXPECT_THAT(MeasuredRunSummary(run, ""), HasSubstr("1 rank x 2 threads"));
  EXPECT_THAT(MeasuredRunSummary(run, ""), HasSubstr("OpenMP parallel efficiency      68.7 %"));
}

TEST(ThreadOutput, PureMpiRunsHaveNothingOfThreads) {
  const MeasuredRun run = Summarize({PageOfRank(0, 2), PageOfRank(1, 2)});
  EXPECT_EQ(run.threads, 1);
  const nlohmann::json whole = WholeOf(run);
  for (const char* key : {"threadTimes", "threadsSeen", "parallelEfficiencyAtMost"}) EXPECT_FALSE(whole.contains(key));
  EXPECT_FALSE(whole["factors"].contains("mpiParallelEfficiency"));
  EXPECT_THAT(MeasuredRunSummary(run, ""), Not(HasSubstr("OpenMP")));
}

// The main thread computes 80 ms, the other one at most 40: 120 of 200.
TEST(ThreadOutput, ThreadsThatNobodyKnowsGiveABound) {
  const MeasuredRun run = Summarize({WithUnknownThread(PageOfRank(0, 1))});
  const nlohmann::json whole = WholeOf(run);
  EXPECT_EQ(whole["threadsSeen"], 2);
  EXPECT_NEAR(whole["parallelEfficiencyAtMost"], 0.6, 1e-12);
  EXPECT_NEAR(whole["factors"]["parallelEfficiency"], 0.8, 1e-12);
  EXPECT_THAT(FindingIds(run), Contains("threadsAtProcessLevel"));
  EXPECT_THAT(MeasuredRunSummary(run, ""), HasSubstr("parallel efficiency of all threads is at most 60.0 %"));
}

TEST(ThreadOutput, CpusThatAreGivenCountInTheBound) {
  Page page = WithUnknownThread(PageOfRank(0, 1));
  page.threads = 4;
  EXPECT_NEAR(WholeOf(Summarize({page}))["parallelEfficiencyAtMost"], 0.3, 1e-12);
}

TEST(ThreadOutput, OtherThreadsBesideTeamsAreSaid) {
  const MeasuredRun run = Summarize({WithTeam(WithUnknownThread(PageOfRank(0, 1)))});
  const nlohmann::json whole = WholeOf(run);
  EXPECT_EQ(whole["threadsSeen"], 3);
  EXPECT_TRUE(whole.contains("threadTimes"));
  EXPECT_FALSE(whole.contains("parallelEfficiencyAtMost"));
  EXPECT_THAT(FindingIds(run), Contains("threadsAtProcessLevel"));
}

TEST(ThreadOutput, TeamsThatAreNotWholeAreNotUsed) {
  Page page = WithTeam(PageOfRank(0, 1));
  page.flags |= kTooManyThreads;
  const MeasuredRun run = Summarize({page});
  EXPECT_FALSE(WholeOf(run).contains("threadTimes"));
  EXPECT_THAT(FindingIds(run), Contains("threadsAtProcessLevel"));
}

}  // namespace
}  // namespace farscale
