// Factors of hybrid runs, with the numbers worked out by hand from OTF2 archives; one tick is a second.
#include "factors/thread_times.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "factors/phase_factors.h"
#include "replay/matching.h"
#include "support/otf2_archive.h"
#include "support/temporary_folder.h"
#include "trace/anomalies.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

using test::Otf2Archive;
using test::Otf2Writer;

const std::string kParallel = "!$omp parallel @x.c:1", kEnd = "!$omp implicit barrier @x.c:9";
constexpr std::uint32_t kWorld = 0;

class ThreadTimesTest : public testing::Test {
 protected:
  ThreadTimesTest() : archive_(folder_.path() / "a", "traces") { archive_.SetClock(1, 0); }

  // So many processes with three threads each.
  void AddProcesses(int count, int threads = 3) {
    const std::uint32_t node = archive_.Node("n");
    for (int rank = 0; rank < count; ++rank) archive_.AddProcess(node, threads);
    archive_.AddMpi();
    for (int rank = 0; rank < count; ++rank) {
      std::vector<std::uint64_t> locations;
      for (int thread = 0; thread < threads; ++thread) locations.push_back(LocationOf(rank, thread));
      teams_.push_back(archive_.AddTeam(locations));
    }
  }

  static std::uint64_t LocationOf(int rank, int thread) {
    return static_cast<std::uint64_t>(thread == 0 ? rank : 1000 + 100 * rank + thread);
  }
  Otf2Writer At(int rank, int thread = 0) { return archive_.Location(LocationOf(rank, thread)); }

  // A thread in a team of its rank: work until `done`, then the barrier.
  void Work(int rank, int thread, std::uint64_t begin, std::uint64_t done, std::uint64_t end) {
    At(rank, thread)
        .TeamBegin(begin, teams_[static_cast<std::size_t>(rank)])
        .Enter(begin, "work")
        .Leave(done, "work")
        .Enter(done, kEnd)
        .Leave(end, kEnd)
        .TeamEnd(end, teams_[static_cast<std::size_t>(rank)]);
  }

  // The main thread alone.
  void Serial(int rank, std::uint64_t begin, std::uint64_t end) {
    At(rank).Enter(begin, "serial").Leave(end, "serial");
  }

  void Barrier(int rank, std::uint64_t begin, std::uint64_t end) {
    At(rank)
        .Enter(begin, "MPI_Barrier")
        .Collective(end, OTF2_COLLECTIVE_OP_BARRIER, kWorld, OTF2_COLLECTIVE_ROOT_NONE, 0, 0)
        .Leave(end, "MPI_Barrier");
  }

  PhaseFactors Measure(const PhaseSpec& spec = PhaseSpec::WholeRun()) {
    ReadOptions options;
    options.keep_threads = true;
    trace_ = ReadTrace(archive_.Close(), options);
    return MeasurePhase(trace_, MatchTrace(trace_), CutPhase(trace_, spec), {});
  }

  static void ExpectTree(const PhaseFactors& factors) {
    const auto value = [&](Factor factor) { return *factors.values[factor]; };
    for (const FactorType& type : AllFactors()) {
      const auto& known = factors.values[type.factor];
      if (known && type.AtMostOne()) {
        EXPECT_LE(*known, 1 + 1e-12) << type.id;
      }
      if (!known || !factors.values.KnowsChildrenOf(type.factor) || type.factor == Factor::kLoadBalance) continue;
      double product = 1;
      for (const Factor child : ChildrenOf(type.factor, FactorTree::kHybrid)) product *= value(child);
      EXPECT_NEAR(*known, product, 1e-12) << type.id;
    }
    const AdditiveLosses losses = *AdditiveLossesOf(factors.totals);
    EXPECT_NEAR(losses.mpi_load_balance + losses.mpi_serialization + losses.mpi_transfer + losses.parallel_regions +
                    losses.serial_regions + losses.device_runtime,
                1 - value(Factor::kParallelEfficiency), 1e-12);
    const ThreadTimes& times = *factors.totals.threads;
    EXPECT_NEAR(times.OutsideMpi() / times.cpus, factors.totals.average_useful, 1e-9);
  }

  test::TemporaryFolder folder_;
  Otf2Archive archive_;
  std::vector<std::uint32_t> teams_;
  Trace trace_;
};

// Rank 0 is serial until 4, then a team works until 8, 10 and 6, and is joined at 10. Rank 1 is serial until 6; thread
// 1 of its team comes at 7, they work until 14, 15 and 9, and are joined at 16. Both meet in a barrier that ends at 20.
//
// Rank 0: useful 4 + 4, 6, 2; before the fork its workers lose 2 · 4; at the barrier threads 0 and 2 lose 2 and 4.
// Rank 1: useful 6 + 8, 8, 3; before the fork 2 · 6; at the barrier 1 and 6; thread 1 comes 1 late, the join takes
// three threads 1. While the main threads are in MPI, 10 and 4, two workers wait each.
//
// Σ useful 41, R 20, I 13, S 4, MPI 14, waiting for MPI 28, together 6 · 20.
TEST_F(ThreadTimesTest, TwoRanksOfThreeThreads) {
  AddProcesses(2);
  Serial(0, 0, 4);
  At(0).ThreadFork(4, 3);
  Work(0, 0, 4, 8, 10);
  Work(0, 1, 4, 10, 10);
  Work(0, 2, 4, 6, 10);
  At(0).ThreadJoin(10);
  Barrier(0, 10, 20);
  Serial(1, 0, 6);
  At(1).ThreadFork(6, 3);
  Work(1, 0, 6, 14, 15);
  Work(1, 1, 7, 15, 15);
  Work(1, 2, 6, 9, 15);
  At(1).ThreadJoin(16);
  Barrier(1, 16, 20);
  const PhaseFactors factors = Measure();
  EXPECT_EQ(trace_.diagnostics.count(anomaly::kThreadsAtProcessLevel), 0u);
  const ThreadTimes expected = {
      .cpus = 6, .useful = 41, .mpi = 14, .mpi_idle = 28, .imbalance = 13, .scheduling = 4, .serialization = 20};
  ASSERT_TRUE(factors.totals.threads);
  EXPECT_EQ(*factors.totals.threads, expected);
  const FactorValues& values = factors.values;
  EXPECT_DOUBLE_EQ(*values[Factor::kParallelEfficiency], 41.0 / 120);
  EXPECT_DOUBLE_EQ(*values[Factor::kMpiParallelEfficiency], 78.0 / 120);
  EXPECT_DOUBLE_EQ(*values[Factor::kLoadBalance], 13.0 / 16);  // 10 and 16 outside MPI
  EXPECT_DOUBLE_EQ(*values[Factor::kLoadBalanceIn], 13.0 / 16);
  EXPECT_DOUBLE_EQ(*values[Factor::kLoadBalanceOut], 1);
  EXPECT_DOUBLE_EQ(*values[Factor::kCommunicationEfficiency], 16.0 / 20);
  EXPECT_DOUBLE_EQ(*values[Factor::kSerialization], 1);
  EXPECT_DOUBLE_EQ(*values[Factor::kTransfer], 16.0 / 20);
  EXPECT_DOUBLE_EQ(*values[Factor::kOmpParallelEfficiency], 41.0 / 78);
  EXPECT_DOUBLE_EQ(*values[Factor::kOmpLoadBalance], 61.0 / 74);
  EXPECT_DOUBLE_EQ(*values[Factor::kOmpScheduling], 74.0 / 78);
  EXPECT_DOUBLE_EQ(*values[Factor::kOmpSerialization], 41.0 / 61);
  EXPECT_DOUBLE_EQ(*values[Factor::kDeviceOffload], 1);
  EXPECT_DOUBLE_EQ(factors.totals.UsefulOfAll(), 41);
  ExpectTree(factors);
  // Parallel regions: (6 - 12 / 3 + 10 - 19 / 3) / 2 of 20; serial ones: (4 + 6) (1 - 1 / 3) / 2 of 20.
  const AdditiveLosses losses = *AdditiveLossesOf(factors.totals);
  EXPECT_NEAR(losses.mpi_load_balance, 3.0 / 20, 1e-12);
  EXPECT_NEAR(losses.mpi_serialization, 0, 1e-12);
  EXPECT_NEAR(losses.mpi_transfer, 4.0 / 20, 1e-12);
  EXPECT_NEAR(losses.parallel_regions, 17.0 / 120, 1e-12);
  EXPECT_NEAR(losses.serial_regions, 20.0 / 120, 1e-12);
}

// The same run by the states of its threads.
TEST_F(ThreadTimesTest, TheSameRunInParaver) {
  std::string text = "#Paraver (20/11/2026 at 10:30):20_ns:1(6):1:2(3:1,3:1),0\n";
  const auto states = [&](int task, int thread, const std::vector<std::pair<int, int>>& until) {
    int begin = 0;
    for (const auto& [end, state] : until) {
      text += fmt::format("1:1:1:{}:{}:{}:{}:{}\n", task, thread, begin, end, state);
      begin = end;
    }
  };
  states(1, 1, {{8, 1}, {10, 5}, {20, 13}});
  states(1, 2, {{4, 0}, {10, 1}, {20, 0}});
  states(1, 3, {{4, 0}, {6, 1}, {10, 5}, {20, 0}});
  states(2, 1, {{14, 1}, {15, 5}, {16, 7}, {20, 13}});
  states(2, 2, {{6, 0}, {7, 7}, {15, 1}, {16, 7}, {20, 0}});
  states(2, 3, {{6, 0}, {9, 1}, {15, 5}, {16, 7}, {20, 0}});
  for (const auto& [task, begin] : {std::pair(1, 10), std::pair(2, 16)}) {
    text += fmt::format("2:1:1:{}:1:{}:50000002:8:50100004:1\n2:1:1:{}:1:20:50000002:0\n", task, begin, task);
  }
  ReadOptions options;
  options.keep_threads = true;
  trace_ = ReadTrace(folder_.Write("t.prv", text), options);
  const PhaseFactors factors = MeasurePhase(trace_, MatchTrace(trace_), CutPhase(trace_, PhaseSpec::WholeRun()), {});
  ASSERT_TRUE(factors.totals.threads);
  EXPECT_NEAR(factors.totals.threads->useful, 41e-9, 1e-15);
  EXPECT_NEAR(factors.totals.threads->mpi, 14e-9, 1e-15);
  EXPECT_NEAR(factors.totals.threads->mpi_idle, 28e-9, 1e-15);
  EXPECT_NEAR(factors.totals.threads->imbalance, 13e-9, 1e-15);
  EXPECT_NEAR(factors.totals.threads->scheduling, 4e-9, 1e-15);
  EXPECT_NEAR(factors.totals.threads->serialization, 20e-9, 1e-15);
  ExpectTree(factors);
}

// One thread works 20 ms, three work 2 ms, then 10 ms serial: of 4 threads in 32 ms, 20 + 3 · 2 + 10 of 128 are useful.
TEST_F(ThreadTimesTest, ProgramBuiltForALowEfficiency) {
  AddProcesses(1, 4);
  At(0).ThreadFork(0, 4);
  Work(0, 0, 0, 20, 20);
  for (int thread = 1; thread < 4; ++thread) Work(0, thread, 0, 2, 20);
  At(0).ThreadJoin(20);
  Serial(0, 20, 30);
  const PhaseFactors factors = Measure();
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kParallelEfficiency], 36.0 / 120);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kMpiParallelEfficiency], 1);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kOmpLoadBalance], 66.0 / 120);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kOmpSerialization], 36.0 / 66);
  ExpectTree(factors);
}

// The main thread communicates in its team from 2 to 8: worker 1 computes meanwhile until 10, worker 2 waits at the
// barrier from 4 on, 4 of it for MPI. On an ideal network, worker 1 still computes 10.
TEST_F(ThreadTimesTest, MpiInsideOfATeam) {
  AddProcesses(1);
  At(0).ThreadFork(0, 3).TeamBegin(0, teams_[0]).Enter(0, "work").Leave(2, "work");
  Barrier(0, 2, 8);
  At(0).Enter(8, kEnd).Leave(10, kEnd).TeamEnd(10, teams_[0]).ThreadJoin(10);
  Work(0, 1, 0, 10, 10);
  Work(0, 2, 0, 4, 10);
  const PhaseFactors factors = Measure();
  const ThreadTimes expected = {.cpus = 3, .useful = 16, .mpi = 6, .mpi_idle = 4, .imbalance = 4};
  EXPECT_EQ(*factors.totals.threads, expected);
  EXPECT_DOUBLE_EQ(factors.totals.ideal_elapsed, 10);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kSerialization], 20.0 / 30);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kTransfer], 1);
  ExpectTree(factors);
}

// Waiting for the section is the runtime's, what is inside is work; tasks in a barrier are work, waiting for tasks and
// creating them are not.
TEST_F(ThreadTimesTest, SectionsAndTasks) {
  const std::string critical = "!$omp critical @x.c:4", inside = "!$omp critical sblock @x.c:4";
  AddProcesses(1);
  At(0).ThreadFork(0, 3);
  At(0)
      .TeamBegin(0, teams_[0])
      .Enter(0, critical)
      .Enter(1, inside)
      .Leave(5, inside)
      .Leave(5, critical)
      .Enter(5, kEnd)
      .Enter(6, "!$omp task @x.c:6")
      .Leave(9, "!$omp task @x.c:6")
      .Leave(10, kEnd)
      .TeamEnd(10, teams_[0])
      .ThreadJoin(10);
  At(0, 1)
      .TeamBegin(0, teams_[0])
      .Enter(0, critical)
      .Enter(5, inside)
      .Leave(9, inside)
      .Leave(9, critical)
      .Enter(9, kEnd)
      .Leave(10, kEnd)
      .TeamEnd(10, teams_[0]);
  At(0, 2)
      .TeamBegin(0, teams_[0])
      .Enter(0, "!$omp create task @x.c:6")
      .Leave(2, "!$omp create task @x.c:6")
      .Enter(3, "!$omp taskwait @x.c:7")
      .Leave(9, "!$omp taskwait @x.c:7")
      .Enter(9, kEnd)
      .Leave(10, kEnd)
      .TeamEnd(10, teams_[0]);
  const PhaseFactors factors = Measure();
  // Scheduling 1 + 5 + 2; at barriers 1 + 1, 1 and 1, and for tasks 6.
  const ThreadTimes expected = {.cpus = 3, .useful = 4 + 3 + 4 + 1, .imbalance = 10, .scheduling = 8};
  EXPECT_EQ(*factors.totals.threads, expected);
  ExpectTree(factors);
}

// Thread 2 is in the first team alone: in the second region it is idle. Thread 1 recorded nothing before 6, and nothing
// after 20 as it has ended.
TEST_F(ThreadTimesTest, TeamsOfOtherSizes) {
  AddProcesses(1);
  const std::uint32_t pair = archive_.AddTeam({0, LocationOf(0, 1)});
  At(0).ThreadFork(6, 3);
  for (int thread = 0; thread < 3; ++thread) Work(0, thread, 6, 10, 10);
  At(0).ThreadJoin(10).ThreadFork(10, 2);
  for (int thread = 0; thread < 2; ++thread) {
    At(0, thread).TeamBegin(10, pair).Enter(10, "work").Leave(20, "work").TeamEnd(20, pair);
  }
  At(0).ThreadJoin(20);
  Serial(0, 20, 25);
  archive_.Location(0).Enter(25, "more").Leave(26, "more");
  const PhaseFactors factors = Measure();
  // From 6 on: 20 long. Useful: main 20, thread 1 until 20, thread 2 until 10.
  ThreadTimes expected = {.cpus = 3, .useful = 20 + 14 + 4, .serialization = 6 + 16, .idle_in_region = 10};
  EXPECT_EQ(*factors.totals.threads, expected);
  ExpectTree(factors);
  EXPECT_NEAR(AdditiveLossesOf(factors.totals)->parallel_regions, 10.0 / 60, 1e-12);
}

// An inner team of thread 1 and a thread of its own: while it is in none, it is idle.
TEST_F(ThreadTimesTest, NestedTeams) {
  AddProcesses(1);
  const std::uint32_t outer = archive_.AddTeam({0, LocationOf(0, 1)});
  const std::uint32_t inner = archive_.AddTeam({LocationOf(0, 1), LocationOf(0, 2)});
  At(0).ThreadFork(0, 2).TeamBegin(0, outer).Enter(0, "work").Leave(10, "work").TeamEnd(10, outer).ThreadJoin(10);
  At(0, 1)
      .TeamBegin(0, outer)
      .ThreadFork(2, 2)
      .TeamBegin(3, inner)
      .Enter(3, "work")
      .Leave(6, "work")
      .Enter(6, kEnd)
      .Leave(8, kEnd)
      .TeamEnd(8, inner)
      .ThreadJoin(8)
      .TeamEnd(10, outer);
  At(0, 2).TeamBegin(3, inner).Enter(3, "work").Leave(8, "work").TeamEnd(8, inner);
  const PhaseFactors factors = Measure();
  // Thread 1: 2 before the inner fork, 1 for it, 3 of work, 2 at its barrier, 2 of work. Thread 2: 5 of 10.
  const ThreadTimes expected = {
      .cpus = 3, .useful = 10 + 7 + 5, .imbalance = 2, .scheduling = 1, .serialization = 5, .idle_in_region = 5};
  EXPECT_EQ(*factors.totals.threads, expected);
  ExpectTree(factors);
}

// Serial until 4, waiting for the device until 8, then both threads until 12: useful 4 + 8, in the device runtime 4,
// and the worker is outside for 8.
TEST_F(ThreadTimesTest, DeviceRuntime) {
  AddProcesses(1, 2);
  Serial(0, 0, 4);
  At(0).Enter(4, "cudaDeviceSynchronize").Leave(8, "cudaDeviceSynchronize").ThreadFork(8, 2);
  Work(0, 0, 8, 12, 12);
  Work(0, 1, 8, 12, 12);
  At(0).ThreadJoin(12);
  const PhaseFactors factors = Measure();
  const ThreadTimes expected = {.cpus = 2, .useful = 12, .serialization = 8, .device_runtime = 4};
  EXPECT_EQ(*factors.totals.threads, expected);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kParallelEfficiency], 12.0 / 24);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kOmpParallelEfficiency], 16.0 / 24);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kDeviceOffload], 12.0 / 16);
  ExpectTree(factors);
  EXPECT_NEAR(AdditiveLossesOf(factors.totals)->device_runtime, 4.0 / 24, 1e-12);
}

// Without threads, 3 of 10 in MPI and 2 in the device runtime.
TEST_F(ThreadTimesTest, DeviceRuntimeWithoutThreads) {
  AddProcesses(1, 1);
  Serial(0, 0, 5);
  At(0).Enter(5, "hipDeviceSynchronize").Leave(7, "hipDeviceSynchronize");
  Barrier(0, 7, 10);
  const PhaseFactors factors = Measure();
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kParallelEfficiency], 0.5);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kMpiParallelEfficiency], 0.7);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kOmpParallelEfficiency], 1);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kDeviceOffload], 5.0 / 7);
  ExpectTree(factors);
}

// A thread without a team is no processor of OpenMP; one that is never in a team of its rank leaves the others.
TEST_F(ThreadTimesTest, WorkersWithoutATeam) {
  AddProcesses(1, 3);
  const std::uint32_t pair = archive_.AddTeam({0, LocationOf(0, 1)});
  At(0).ThreadFork(0, 2);
  for (int thread = 0; thread < 2; ++thread) {
    At(0, thread).TeamBegin(0, pair).Enter(0, "work").Leave(10, "work").TeamEnd(10, pair);
  }
  At(0).ThreadJoin(10);
  At(0, 2).Enter(1, "progress").Leave(9, "progress");
  const PhaseFactors factors = Measure();
  EXPECT_EQ(factors.totals.threads->cpus, 2);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kParallelEfficiency], 1);
  EXPECT_EQ(ThreadsInTeams(trace_), 2);
  EXPECT_EQ(ThreadStates(trace_).diagnostics().count(anomaly::kThreadOutsideTeams), 1u);
}

// Threads of which no teams are known leave the factors of processes, and that is said.
TEST_F(ThreadTimesTest, ThreadsThatAreNotUnderstood) {
  AddProcesses(1, 2);
  Serial(0, 0, 10);
  At(0, 1).Enter(1, "pthread").Leave(9, "pthread");
  const PhaseFactors factors = Measure();
  EXPECT_FALSE(factors.totals.threads);
  EXPECT_FALSE(factors.values[Factor::kMpiParallelEfficiency]);
  EXPECT_EQ(trace_.diagnostics.count(anomaly::kThreadsAtProcessLevel), 1u);
}

// Ranks of three threads and of one: 3 · 10 of 30 and 5 of 10 outside MPI, so 35 of 40; means weigh by threads.
TEST_F(ThreadTimesTest, RanksWithOtherNumbersOfThreads) {
  const std::uint32_t node = archive_.Node("n");
  archive_.AddProcess(node, 3);
  archive_.AddProcess(node, 1);
  archive_.AddMpi();
  teams_.push_back(archive_.AddTeam({0, LocationOf(0, 1), LocationOf(0, 2)}));
  At(0).ThreadFork(0, 3);
  for (int thread = 0; thread < 3; ++thread) Work(0, thread, 0, 10, 10);
  At(0).ThreadJoin(10);
  Barrier(0, 10, 10);
  Serial(1, 0, 5);
  Barrier(1, 5, 10);
  const PhaseFactors factors = Measure();
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kParallelEfficiency], 35.0 / 40);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalance], 35.0 / 40);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kOmpParallelEfficiency], 1);
  ExpectTree(factors);
}

// Steps that all differ, as a phase of a region: only what lies in it counts, and its factors have errors.
TEST_F(ThreadTimesTest, IterationsOfARegion) {
  AddProcesses(1);
  Serial(0, 0, 7);
  for (std::uint64_t step = 0; step < 4; ++step) {
    const std::uint64_t begin = 10 + 10 * step;
    At(0).Enter(begin, "step").ThreadFork(begin, 3);
    Work(0, 0, begin, begin + 6 + step, begin + 10);
    for (int thread = 1; thread < 3; ++thread) Work(0, thread, begin, begin + 4, begin + 10);
    At(0).ThreadJoin(begin + 10).Leave(begin + 10, "step");
  }
  const PhaseFactors factors = Measure(PhaseSpec::Region("step"));
  // Of 4 · 30: 6 + 7 + 8 + 9 and 8 · 4.
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kParallelEfficiency], 62.0 / 120);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kOmpLoadBalance], 62.0 / 120);
  ASSERT_TRUE(factors.samples);
  ASSERT_EQ(factors.samples->values.size(), 4u);
  EXPECT_DOUBLE_EQ(*factors.samples->values[0][Factor::kParallelEfficiency], (62.0 - 14) / 90);
  // The main thread alone is outside MPI all the time.
  ASSERT_EQ(factors.profiles.size(), 4u);
  EXPECT_DOUBLE_EQ(factors.profiles[0].ParallelEfficiency(), 14.0 / 30);
  EXPECT_DOUBLE_EQ(factors.profiles[3].ParallelEfficiency(), 17.0 / 30);
  EXPECT_DOUBLE_EQ(factors.profiles[3].LoadBalance(), 1);
  ExpectTree(factors);
}

// The main thread counts 400 in its serial part and 400 in the team, and 1200 while it waits at the barrier; the worker
// 400 in the team, after 50 that are not of the run. Cycles are twice as many in useful time.
TEST_F(ThreadTimesTest, CountersOfUsefulTime) {
  AddProcesses(1, 2);
  const std::uint32_t counters =
      archive_.AddMetricClass({"PAPI_TOT_INS", "PAPI_TOT_CYC"}, OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_UINT64);
  At(0)
      .MetricUnsigned(0, counters, {0, 0})
      .Enter(0, "serial")
      .MetricUnsigned(4, counters, {400, 800})
      .Leave(4, "serial");
  At(0).ThreadFork(4, 2).TeamBegin(4, teams_[0]).MetricUnsigned(4, counters, {400, 800}).Enter(4, "work");
  At(0)
      .MetricUnsigned(8, counters, {800, 1600})
      .Leave(8, "work")
      .MetricUnsigned(8, counters, {800, 1600})
      .Enter(8, kEnd);
  At(0).MetricUnsigned(12, counters, {2000, 1900}).Leave(12, kEnd).TeamEnd(12, teams_[0]).ThreadJoin(12);
  At(0, 1).TeamBegin(4, teams_[0]).MetricUnsigned(4, counters, {50, 100}).Enter(4, "work");
  At(0, 1).MetricUnsigned(12, counters, {450, 900}).Leave(12, "work").TeamEnd(12, teams_[0]);
  const PhaseFactors factors = Measure();
  EXPECT_DOUBLE_EQ(factors.totals.threads->useful, 16);
  ASSERT_TRUE(factors.totals.instructions && factors.totals.cycles);
  EXPECT_DOUBLE_EQ(*factors.totals.instructions, 1200);
  EXPECT_DOUBLE_EQ(*factors.totals.cycles, 2400);
}

// Without counters of the worker there are none.
TEST_F(ThreadTimesTest, CountersOfMainThreadsAloneAreNotUsed) {
  AddProcesses(1, 2);
  const std::uint32_t counters =
      archive_.AddMetricClass({"PAPI_TOT_INS"}, OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_UINT64);
  At(0).MetricUnsigned(0, counters, {0}).Enter(0, "serial").MetricUnsigned(4, counters, {400}).Leave(4, "serial");
  At(0).MetricUnsigned(4, counters, {400}).ThreadFork(4, 2);
  for (int thread = 0; thread < 2; ++thread) Work(0, thread, 4, 8, 8);
  At(0).ThreadJoin(8);
  EXPECT_FALSE(Measure().totals.instructions);
}

// Programs of random steps: serial parts, teams of other sizes, sections, MPI inside and outside of teams.
class RandomProgram {
 public:
  RandomProgram(Otf2Archive& archive, unsigned seed) : archive_(archive), random_(seed) {}

  void Write(int ranks, int threads, const std::vector<std::uint32_t>& teams, const std::vector<std::uint32_t>& pairs) {
    for (int rank = 0; rank < ranks; ++rank) {
      archive_.Location(At(rank, 0)).Enter(0, "main");
      for (int thread = 1; thread < threads; ++thread) archive_.Location(At(rank, thread));  // may stay empty
    }
    for (int step = 0; step < 6; ++step) {
      const bool mpi_inside = Draw(2) == 0;
      std::vector<std::uint64_t> arrivals;
      for (int rank = 0; rank < ranks; ++rank) {
        std::uint64_t& now = Now(rank);
        if (Draw(3) > 0) {
          archive_.Location(At(rank, 0)).Enter(now, "serial").Leave(now + 5, "serial");
          now += 5;
        }
        const bool is_pair = Draw(3) == 0;
        Team(rank, is_pair ? 2 : threads, is_pair ? pairs[Index(rank)] : teams[Index(rank)], mpi_inside, now);
        arrivals.push_back(now);
      }
      const std::uint64_t end = *std::max_element(arrivals.begin(), arrivals.end()) + Draw(4);
      for (int rank = 0; rank < ranks; ++rank) {
        archive_.Location(At(rank, 0))
            .Enter(Now(rank), "MPI_Barrier")
            .Collective(end, OTF2_COLLECTIVE_OP_BARRIER, kWorld, OTF2_COLLECTIVE_ROOT_NONE, 0, 0)
            .Leave(end, "MPI_Barrier");
        Now(rank) = end;
      }
    }
    for (int rank = 0; rank < ranks; ++rank) archive_.Location(At(rank, 0)).Leave(Now(rank), "main");
  }

 private:
  static std::size_t Index(int rank) { return static_cast<std::size_t>(rank); }
  static std::uint64_t At(int rank, int thread) {
    return static_cast<std::uint64_t>(thread == 0 ? rank : 1000 + 100 * rank + thread);
  }
  std::uint64_t Draw(std::uint64_t below) { return random_() % below; }
  std::uint64_t& Now(int rank) {
    if (now_.size() <= Index(rank)) now_.resize(Index(rank) + 1);
    return now_[Index(rank)];
  }

  void Team(int rank, int threads, std::uint32_t team, bool mpi_inside, std::uint64_t& now) {
    const std::string critical = "!$omp critical @x.c:4", inside = "!$omp critical sblock @x.c:4";
    const std::uint64_t fork = now, end = fork + 30;
    archive_.Location(At(rank, 0)).ThreadFork(fork, static_cast<std::uint32_t>(threads));
    for (int thread = 0; thread < threads; ++thread) {
      Otf2Writer writer = archive_.Location(At(rank, thread));
      std::uint64_t at = fork + 1 + Draw(3);
      writer.TeamBegin(at, team);
      if (Draw(2) == 0) {
        const std::uint64_t wait = Draw(4), work = Draw(4);
        writer.Enter(at, critical).Enter(at + wait, inside).Leave(at + wait + work, inside);
        at += wait + work;
        writer.Leave(at, critical);
      }
      if (thread == 0 && mpi_inside) {
        writer.Enter(at, "MPI_Wtime").Leave(at + 4, "MPI_Wtime");
        at += 4;
      }
      const std::uint64_t work = Draw(8);
      writer.Enter(at, "work").Leave(at + work, "work").Enter(at + work, kEnd).Leave(end, kEnd).TeamEnd(end, team);
    }
    now = end + 1;
    archive_.Location(At(rank, 0)).ThreadJoin(now);
  }

  Otf2Archive& archive_;
  std::minstd_rand random_;
  std::vector<std::uint64_t> now_;
};

TEST(ThreadTimes, FactorsOfRandomProgramsMultiply) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    class RandomRun : public ThreadTimesTest {
     public:
      void TestBody() override {}
      void Run(unsigned seed) {
        AddProcesses(3);
        std::vector<std::uint32_t> pairs;
        for (int rank = 0; rank < 3; ++rank) {
          pairs.push_back(archive_.AddTeam({LocationOf(rank, 0), LocationOf(rank, 1)}));
        }
        RandomProgram(archive_, seed).Write(3, 3, teams_, pairs);
        const PhaseFactors factors = Measure();
        ASSERT_TRUE(factors.totals.threads);
        ExpectTree(factors);
        const ThreadTimes& times = *factors.totals.threads;
        EXPECT_NEAR(times.OutsideMpi() + times.mpi + times.mpi_idle, times.cpus * factors.totals.elapsed, 1e-9);
      }
    };
    RandomRun().Run(seed);
  }
}

}  // namespace
}  // namespace farscale
