#include "collect/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace farscale::collect {
namespace {

using ::testing::ElementsAre;

constexpr double kSecondsATick = 1e-3;

// The times of all CPUs of a process that took this in a region.
ThreadTimes ThreadTimesIn(const Page& page, const Sums& total, bool counts_team = true) {
  RegionRecord region{};
  region.total = total;
  return ShareOf(page, region, kSecondsATick, counts_team).threads;
}

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
  sums.worker_useful = 2 * 3 * 2;
  sums.imbalance = 2 * 3 * 18;
  sums.scheduling = 2 * 4 * 3;
  sums.main_in_runtime = 2 * 3;
  return sums;
}

TEST(RankShare, AddUpToTheTimeOfAllCpus) {
  const ThreadTimes times = ThreadTimesIn(WithTeamsOf(4), ProgramOfFourThreads());
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

TEST(RankShare, EfficienciesMultiply) {
  const ThreadTimes times = ThreadTimesIn(WithTeamsOf(4), ProgramOfFourThreads());
  EXPECT_NEAR(OmpLoadBalance(times), 132.0 / 240, 1e-12);
  EXPECT_NEAR(OmpScheduling(times), 240.0 / 264, 1e-12);
  EXPECT_NEAR(OmpSerialization(times), 72.0 / 132, 1e-12);
  EXPECT_NEAR(OmpParallelEfficiency(times), OmpLoadBalance(times) * OmpScheduling(times) * OmpSerialization(times),
              1e-12);
}

// The same program, which is in the runtime of a device for half of what its main thread computes alone, and of what
// its workers do: what was work of OpenMP is still, and 56 of 72 ms of it are useful.
TEST(RankShare, CallsToDevicesAreAPartOfTheirOwn) {
  Sums sums = ProgramOfFourThreads();
  sums.offload = 10;
  sums.worker_useful = 6;
  sums.worker_device = 6;
  const ThreadTimes times = ThreadTimesIn(WithTeamsOf(4), sums);
  EXPECT_NEAR(times.useful, 0.056, 1e-12);
  EXPECT_NEAR(times.device_runtime, 0.016, 1e-12);
  EXPECT_NEAR(times.serialization, 0.06, 1e-12);
  EXPECT_NEAR(DeviceOffload(times), 56.0 / 72, 1e-12);
  EXPECT_NEAR(OmpLoadBalance(times), 132.0 / 240, 1e-12);
  EXPECT_NEAR(OmpSerialization(times), 72.0 / 132, 1e-12);
  // A run with devices and without teams has a CPU for each process, whatever number of threads was given.
  Page page{};
  page.threads = 8;
  EXPECT_EQ(ThreadTimesIn(page, sums, false).cpus, 1);
}

// MPI inside a team: two of four threads are in it, one of which waits at a barrier all the time, and computes nothing.
TEST(RankShare, WorkersOutsideOfATeamWaitForMpiOfItsMainThread) {
  Sums sums{};
  sums.elapsed = 10;
  sums.mpi = 10;
  sums.active_mpi = 10;
  sums.mpi_wait = 10;
  const ThreadTimes times = ThreadTimesIn(WithTeamsOf(4), sums);
  EXPECT_NEAR(times.mpi, 0.01, 1e-12);
  EXPECT_NEAR(times.mpi_idle, 0.03, 1e-12);
  EXPECT_NEAR(times.serialization, 0, 1e-12);
}

TEST(RankShare, ProcessesHaveTheirOwnNumberOfCpus) {
  Sums alone{};
  alone.elapsed = 100;
  std::vector<RankShare> shares(2);
  shares[0].threads = ThreadTimesIn(WithTeamsOf(4), ProgramOfFourThreads());
  shares[1].threads = ThreadTimesIn(WithTeamsOf(1), alone);
  shares[1].node = 1;
  const LoadSums loads = SumLoads(shares, true);
  EXPECT_EQ(loads.threads.cpus, 5);
  EXPECT_EQ(loads.nodes, 2);
  // (4 x 66 + 100) ms outside MPI of 5 CPUs; nodes have 66 and 100 ms.
  EXPECT_THAT(loads.of_ranks, ElementsAre(::testing::DoubleNear(0.066, 1e-12), 0.1));
  EXPECT_NEAR(loads.average, 0.0728, 1e-12);
  EXPECT_NEAR(loads.threads.useful, 0.172, 1e-12);  // 72 + 100
  EXPECT_NEAR(loads.largest, 0.1, 1e-12);
  EXPECT_NEAR(loads.largest_node, 0.1, 1e-12);
}

TEST(RankShare, ThreadsThatAreGivenAndNeverUsedAreIdle) {
  Page page = WithTeamsOf(2);
  page.threads = 4;
  Sums sums{};
  sums.elapsed = 10;
  sums.worker_useful = 10;
  const ThreadTimes times = ThreadTimesIn(page, sums);
  EXPECT_EQ(times.cpus, 4);
  EXPECT_NEAR(OmpParallelEfficiency(times), 0.5, 1e-12);
}

}  // namespace
}  // namespace farscale::collect
