#include "collect/thread_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collect/measured_run.h"

namespace farscale::collect {
namespace {

using ::testing::ElementsAre;

constexpr double kSecondsATick = 1e-3;

Page WithTeamsOf(int threads) {
  Page page{};
  page.teams.most = static_cast<std::uint32_t>(threads - 1);
  return page;
}

// The program of 4 threads, twice 50 ms: in a team one thread works 20 ms and the others 2 ms, 2 ms pass until the team
// has begun and 1 ms until it has ended; then the main thread computes for 10 ms and is in MPI for 17 ms.
Sums ProgramOfFourThreads() {
  Sums sums{};
  sums.elapsed = 100;
  sums.mpi = 34;
  sums.threads.worker_useful = 2 * 3 * 2;
  sums.threads.imbalance = 2 * 3 * 18;
  sums.threads.scheduling = 2 * 4 * 3;
  sums.threads.main_in_runtime = 2 * 3;
  return sums;
}

TEST(ThreadTimes, AddUpToTheTimeOfAllCpus) {
  const ThreadTimes times = ThreadTimesOf(WithTeamsOf(4), ProgramOfFourThreads(), kSecondsATick, true);
  EXPECT_EQ(times.cpus, 4);
  EXPECT_NEAR(times.useful, 0.072, 1e-12);        // 2 x (20 + 3 x 2 + 10)
  EXPECT_NEAR(times.mpi, 0.034, 1e-12);           // 2 x 17
  EXPECT_NEAR(times.mpi_idle, 0.102, 1e-12);      // of three threads
  EXPECT_NEAR(times.imbalance, 0.108, 1e-12);     // 2 x 3 x 18
  EXPECT_NEAR(times.scheduling, 0.024, 1e-12);    // 2 x 4 x 3
  EXPECT_NEAR(times.serialization, 0.06, 1e-12);  // 2 x 3 x 10
  EXPECT_NEAR(times.useful + times.mpi + times.mpi_idle + times.imbalance + times.scheduling + times.serialization, 0.4,
              1e-12);
}

TEST(ThreadTimes, EfficienciesMultiply) {
  const ThreadTimes times = ThreadTimesOf(WithTeamsOf(4), ProgramOfFourThreads(), kSecondsATick, true);
  const OpenMpEfficiencies e = OpenMpEfficienciesOf(times);
  EXPECT_NEAR(e.load_balance, 132.0 / 240, 1e-12);
  EXPECT_NEAR(e.scheduling, 240.0 / 264, 1e-12);
  EXPECT_NEAR(e.serialization, 72.0 / 132, 1e-12);
  EXPECT_NEAR(e.parallel, e.load_balance * e.scheduling * e.serialization, 1e-12);
}

// The same program, which is in the runtime of a device for half of what its main thread computes alone, and of what
// its workers do: what was work of OpenMP is still, and 56 of 72 ms of it are useful.
TEST(ThreadTimes, CallsToDevicesAreAPartOfTheirOwn) {
  Sums sums = ProgramOfFourThreads();
  sums.offload = 10;
  sums.threads.worker_useful = 6;
  sums.threads.worker_device = 6;
  const ThreadTimes times = ThreadTimesOf(WithTeamsOf(4), sums, kSecondsATick, true);
  EXPECT_NEAR(times.useful, 0.056, 1e-12);
  EXPECT_NEAR(times.device, 0.016, 1e-12);
  EXPECT_NEAR(times.serialization, 0.06, 1e-12);
  const OpenMpEfficiencies e = OpenMpEfficienciesOf(times);
  EXPECT_NEAR(e.offload, 56.0 / 72, 1e-12);
  EXPECT_NEAR(e.load_balance, 132.0 / 240, 1e-12);
  EXPECT_NEAR(e.serialization, 72.0 / 132, 1e-12);
  // A run with devices and without teams has a CPU for each process, whatever number of threads was given.
  Page page{};
  page.threads = 8;
  EXPECT_EQ(ThreadTimesOf(page, sums, kSecondsATick, false).cpus, 1);
}

// MPI inside a team: two of four threads are in it, one of which waits at a barrier all the time, and computes nothing.
TEST(ThreadTimes, WorkersOutsideOfATeamWaitForMpiOfItsMainThread) {
  Sums sums{};
  sums.elapsed = 10;
  sums.mpi = 10;
  sums.threads.active_mpi = 10;
  sums.threads.mpi_wait = 10;
  const ThreadTimes times = ThreadTimesOf(WithTeamsOf(4), sums, kSecondsATick, true);
  EXPECT_NEAR(times.mpi, 0.01, 1e-12);
  EXPECT_NEAR(times.mpi_idle, 0.03, 1e-12);
  EXPECT_NEAR(times.serialization, 0, 1e-12);
}

TEST(ThreadTimes, ProcessesHaveTheirOwnNumberOfCpus) {
  RegionMetrics metrics;
  metrics.elapsed = 0.1;
  metrics.elapsed_by_rank = {0.1, 0.1};
  Sums alone{};
  alone.elapsed = 100;
  const ThreadTimes four = ThreadTimesOf(WithTeamsOf(4), ProgramOfFourThreads(), kSecondsATick, true);
  UseThreadTimes({four, ThreadTimesOf(WithTeamsOf(1), alone, kSecondsATick, true)}, {0, 1}, metrics);
  EXPECT_EQ(metrics.threads->cpus, 5);
  // (4 x 66 + 100) ms outside MPI of 5 CPUs; nodes have 66 and 100 ms.
  EXPECT_THAT(metrics.useful_by_rank, ElementsAre(::testing::DoubleNear(0.066, 1e-12), 0.1));
  EXPECT_NEAR(metrics.useful_average, 0.0728, 1e-12);
  EXPECT_NEAR(metrics.efficiencies->parallel, 0.344, 1e-12);  // (72 + 100) / 500
  EXPECT_NEAR(metrics.efficiencies->load_balance, 0.728, 1e-12);
  EXPECT_NEAR(metrics.efficiencies->load_balance_in, 1, 1e-12);
  EXPECT_NEAR(metrics.efficiencies->load_balance_out, 0.728, 1e-12);
}

TEST(ThreadTimes, ThreadsThatAreGivenAndNeverUsedAreIdle) {
  Page page = WithTeamsOf(2);
  page.threads = 4;
  Sums sums{};
  sums.elapsed = 10;
  sums.threads.worker_useful = 10;
  const ThreadTimes times = ThreadTimesOf(page, sums, kSecondsATick, true);
  EXPECT_EQ(times.cpus, 4);
  EXPECT_NEAR(OpenMpEfficienciesOf(times).parallel, 0.5, 1e-12);
}

}  // namespace
}  // namespace farscale::collect
