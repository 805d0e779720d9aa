// Waiting among OpenMP threads, read from OTF2 archives, with the numbers worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "imbalance/diagnosis.h"
#include "phases/phase_cut.h"
#include "support/otf2_archive.h"
#include "support/temporary_folder.h"
#include "trace/location_trace.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

using test::Otf2Archive;
using test::Otf2Writer;

constexpr std::uint32_t kWorld = 0;
const std::string kParallel = "!$omp parallel @x.c:1", kEnd = "!$omp implicit barrier @x.c:9";

class ThreadWaitsTest : public testing::Test {
 protected:
  ThreadWaitsTest() : archive_(folder_.path() / "a", "traces") { archive_.SetClock(1, 0); }

  // The threads of processes that are added, as ranks, diagnosed.
  void Diagnose(const PhaseSpec& spec = PhaseSpec::WholeRun()) {
    ReadOptions options;
    options.keep_threads = true;
    const Trace trace = ReadTrace(archive_.Close(), options);
    const PhaseCut cut = CutPhase(trace, spec);
    trace_ = LocationTrace(trace);
    const Matching matching = MatchTrace(trace_);
    EXPECT_TRUE(matching.diagnostics.empty());
    diagnosis_ = farscale::Diagnose(trace_, matching, CutOfLocations(trace, cut, trace_));
  }

  // Of a thread in a path; without a path's name in all.
  PathLosses Of(std::size_t location, const std::string& path) const {
    PathLosses sum;
    const RankLosses& rank = diagnosis_.ranks[location];
    for (std::size_t i = 0; i < rank.paths.size(); ++i) {
      if (path.empty() || diagnosis_.paths.Name(rank.paths[i]) == path) sum += rank.losses[i];
    }
    return sum;
  }

  PathLosses Total(const std::string& path = "") const {
    PathLosses sum;
    for (PathId id = 0; id < diagnosis_.totals.size(); ++id) {
      if (path.empty() || diagnosis_.paths.Name(id) == path) sum += diagnosis_.totals[id];
    }
    return sum;
  }

  // Waits are as long as what they cost; the critical path has no gap.
  void ExpectConservation() const {
    double unattributed = 0, critical = 0;
    for (const double of_kind : diagnosis_.unattributed) unattributed += of_kind;
    EXPECT_NEAR(Total().Costs() + unattributed + diagnosis_.at_end, diagnosis_.Waiting(), 1e-9);
    for (std::size_t i = 0; i < diagnosis_.critical.size(); ++i) {
      critical += static_cast<double>(diagnosis_.critical[i].end - diagnosis_.critical[i].begin);
      if (i > 0) {
        EXPECT_EQ(diagnosis_.critical[i].begin, diagnosis_.critical[i - 1].end);
      }
    }
    EXPECT_DOUBLE_EQ(critical, diagnosis_.window);
  }

  test::TemporaryFolder folder_;
  Otf2Archive archive_;
  Trace trace_;
  Diagnosis diagnosis_;
};

double Waits(const PathLosses& losses, WaitKind kind) { return losses.waiting[static_cast<std::size_t>(kind)]; }

// T13 of tests/programs/imbalance.txt: the worker waits for the fork while the main thread is serial, 2; the main
// thread waits at the barrier for the worker's work, 6 against 3; the worker is done 1 before the end.
TEST_F(ThreadWaitsTest, ForkAndJoin) {
  archive_.AddProcess(archive_.Node("n"), 2);
  const std::uint32_t team = archive_.AddTeam({0, 1001});
  archive_.Location(0)
      .Enter(0, "serial")
      .Leave(2, "serial")
      .ThreadFork(2, 2)
      .TeamBegin(3, team)
      .Enter(3, "work")
      .Leave(6, "work")
      .Enter(6, kEnd)
      .Leave(10, kEnd)
      .TeamEnd(10, team)
      .ThreadJoin(10)
      .Enter(10, "serial")
      .Leave(11, "serial");
  archive_.Location(1001).TeamBegin(3, team).Enter(3, "work").Leave(9, "work").Enter(9, kEnd).Leave(10, kEnd).TeamEnd(
      10, team);
  Diagnose();
  EXPECT_TRUE(trace_.diagnostics.empty());
  EXPECT_EQ(Waits(Of(1, "OpenMP fork"), WaitKind::kWaitAtFork), 2);
  EXPECT_EQ(Waits(Of(0, kEnd), WaitKind::kWaitAtImplicitBarrier), 3);
  EXPECT_EQ(Waits(Of(1, "(after the phase)"), WaitKind::kWaitAtEnd), 1);
  EXPECT_EQ(Of(0, "serial").ShortTerm(), 2);
  EXPECT_EQ(Of(1, "work").ShortTerm(), 3);
  EXPECT_EQ(Total().Costs(), 5);
  EXPECT_EQ(Of(0, "serial").critical, 3);
  EXPECT_EQ(Of(1, "work").critical, 6);
  EXPECT_EQ(Of(0, kEnd).critical, 1);
  EXPECT_EQ(Of(1, "OpenMP fork").critical, 1);
  EXPECT_EQ(Total("work").intra, 3);
  EXPECT_EQ(Total("serial").inter, 3);
  ExpectConservation();
}

// A parallel region of a thread of the hybrid program: its work until `done`, then the barrier.
void Work(Otf2Writer thread, std::uint32_t team, std::uint64_t done, std::uint64_t end) {
  thread.TeamBegin(12, team)
      .Enter(12, kParallel)
      .Enter(12, "work")
      .Leave(done, "work")
      .Enter(done, kEnd)
      .Leave(end, kEnd)
      .Leave(end, kParallel)
      .TeamEnd(end, team);
}

// Two ranks of three threads. Rank 0 computes 10 and sends; rank 1 computes 2 and receives, so its main thread waits 8.
// Both fork at 11, for which their workers wait 11 each.
//
// The barriers: on rank 0 threads 0 and 1 enter at 14, 2 at 15, so they wait 1 each; on rank 1 they enter at 14, 16 and
// 15, so threads 0 and 2 wait 2 and 1. The team began together, so that these are for the work of the last one alone.
//
// Workers of rank 0: S = 11 of comp 10 and MPI_Send 1. Workers of rank 1: S = 11 of comp 2, MPI_Recv 1 and its wait 8,
// which therefore causes 8 for each of both, 16. It is for comp of rank 0, longer by 8. So comp of rank 0 costs
// 10 + 10 + 8 directly, and 16 through the wait of the other main thread.
//
// All waits: 4 · 11 + 8 + 2 + 3 = 57, and 3 · 1 at the end. The critical path: comp 0-10, MPI_Recv until 11, fork and
// work of rank 1, thread 1 until 16, the barrier until 17.
TEST_F(ThreadWaitsTest, WaitOfTheMainThreadIsPassedOnByTheFork) {
  const std::uint32_t node = archive_.Node("n");
  archive_.AddProcess(node, 3);
  archive_.AddProcess(node, 3);
  archive_.AddMpi();
  const std::uint32_t team0 = archive_.AddTeam({0, 1001, 1002}), team1 = archive_.AddTeam({1, 1101, 1102});
  archive_.Location(0)
      .Enter(0, "main")
      .Enter(0, "comp")
      .Leave(10, "comp")
      .Enter(10, "MPI_Send")
      .Send(10, 1, kWorld, 0, 8)
      .Leave(11, "MPI_Send")
      .ThreadFork(11, 3);
  Work(archive_.Location(0), team0, 14, 16);
  archive_.Location(0).ThreadJoin(16).Leave(16, "main");
  Work(archive_.Location(1001), team0, 14, 16);
  Work(archive_.Location(1002), team0, 15, 16);
  archive_.Location(1)
      .Enter(0, "main")
      .Enter(0, "comp")
      .Leave(2, "comp")
      .Enter(2, "MPI_Recv")
      .Receive(11, 0, kWorld, 0, 8)
      .Leave(11, "MPI_Recv")
      .ThreadFork(11, 3);
  Work(archive_.Location(1), team1, 14, 17);
  archive_.Location(1).ThreadJoin(17).Leave(17, "main");
  Work(archive_.Location(1101), team1, 16, 17);
  Work(archive_.Location(1102), team1, 15, 17);
  Diagnose();
  EXPECT_TRUE(trace_.diagnostics.empty());
  ASSERT_EQ(trace_.locations.size(), 6u);
  EXPECT_EQ(trace_.locations[4], (Location{1, 1}));
  const std::string fork = "main / OpenMP fork: " + kParallel, region = "main / " + kParallel + " / ";
  for (const std::size_t worker : {1u, 2u, 4u, 5u}) EXPECT_EQ(Waits(Of(worker, fork), WaitKind::kWaitAtFork), 11);
  EXPECT_EQ(Waits(Of(3, "main / MPI_Recv"), WaitKind::kLateSender), 8);
  EXPECT_EQ(Waits(Total(region + kEnd), WaitKind::kWaitAtImplicitBarrier), 5);
  EXPECT_EQ(Of(3, "main / MPI_Recv").caused, 16);
  EXPECT_NEAR(Of(0, "main / comp").ShortTerm(), 28, 1e-12);
  EXPECT_NEAR(Of(0, "main / comp").LongTerm(), 16, 1e-12);
  EXPECT_NEAR(Of(0, "main / MPI_Send").ShortTerm(), 2, 1e-12);
  EXPECT_NEAR(Of(3, "main / comp").ShortTerm(), 4, 1e-12);
  EXPECT_NEAR(Of(3, "main / MPI_Recv").ShortTerm(), 2, 1e-12);
  EXPECT_NEAR(Of(2, region + "work").ShortTerm(), 2, 1e-12);
  EXPECT_NEAR(Of(4, region + "work").ShortTerm(), 3, 1e-12);
  EXPECT_NEAR(Total().ShortTerm(), 41, 1e-12);
  EXPECT_NEAR(Total().LongTerm(), 16, 1e-12);
  EXPECT_EQ(diagnosis_.at_end, 3);
  EXPECT_EQ(diagnosis_.Waiting(), 60);
  EXPECT_EQ(Of(0, "main / comp").critical, 10);
  EXPECT_EQ(Of(3, "main / MPI_Recv").critical, 1);
  EXPECT_EQ(Of(4, fork).critical, 1);
  EXPECT_EQ(Of(4, region + "work").critical, 4);
  EXPECT_EQ(Of(3, region + kEnd).critical, 1);
  ExpectConservation();
}

// A step of 8, serial but for a team in 2-7 of it, and 2 of something else behind it. The worker waits 2 for each fork:
// in the second step only from its begin on. What it idles at the end of a step is of no wait in the phase.
TEST_F(ThreadWaitsTest, IdleTimeOutsideOfThePhaseDoesNotCount) {
  archive_.AddProcess(archive_.Node("n"), 2);
  const std::uint32_t team = archive_.AddTeam({0, 1001});
  for (const std::uint64_t t : {0u, 10u}) {
    archive_.Location(0)
        .Enter(t, "step")
        .ThreadFork(t + 2, 2)
        .TeamBegin(t + 3, team)
        .Enter(t + 3, "work")
        .Leave(t + 5, "work")
        .Enter(t + 5, kEnd)
        .Leave(t + 7, kEnd)
        .TeamEnd(t + 7, team)
        .ThreadJoin(t + 7)
        .Leave(t + 8, "step")
        .Enter(t + 8, "output")
        .Leave(t + 10, "output");
    archive_.Location(1001)
        .TeamBegin(t + 3, team)
        .Enter(t + 3, "work")
        .Leave(t + 6, "work")
        .Enter(t + 6, kEnd)
        .Leave(t + 7, kEnd)
        .TeamEnd(t + 7, team);
  }
  Diagnose(PhaseSpec::Region("step"));
  EXPECT_EQ(Waits(Of(1, "step / OpenMP fork"), WaitKind::kWaitAtFork), 4);
  EXPECT_EQ(Waits(Of(0, "step / " + kEnd), WaitKind::kWaitAtImplicitBarrier), 2);
  EXPECT_EQ(diagnosis_.Waiting(), 6);
  EXPECT_EQ(diagnosis_.length, 16);  // of the main thread
  EXPECT_EQ(Of(0, "step").ShortTerm(), 4);
  EXPECT_EQ(Of(1, "step / work").ShortTerm(), 2);
  EXPECT_EQ(Of(0, "(between occurrences)").time, 2);
  EXPECT_EQ(Of(1, "(between occurrences)").time, 3);
  EXPECT_EQ(Of(1, "step").time, 0);
  ExpectConservation();
}

}  // namespace
}  // namespace farscale
