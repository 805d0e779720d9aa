#include "trace/anomalies.h"
#include "trace/location_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/otf2_archive.h"
#include "support/temporary_folder.h"
#include "support/traces.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

using test::Otf2Archive;
using test::Otf2Writer;
using testing::ElementsAre;
using testing::IsEmpty;

const std::string kBarrier = "!$omp barrier @x.c:5", kEnd = "!$omp implicit barrier @x.c:9";

Trace ReadWithThreads(const std::string& path) {
  ReadOptions options;
  options.keep_threads = true;
  return ReadTrace(path, options);
}

// One process of three threads at locations 0, 1001 and 1002.
class LocationTraceTest : public testing::Test {
 protected:
  LocationTraceTest() : archive_(folder_.path() / "a", "traces") {
    archive_.SetClock(1, 0);
    archive_.AddProcess(archive_.Node("n"), 3);
    team_ = archive_.AddTeam({0, 1001, 1002});
  }

  static constexpr std::uint64_t kWorkers[] = {1001, 1002};

  Otf2Writer Main() { return archive_.Location(0); }

  // A team of all threads from `begin` on for 10, with barriers in this order.
  void AddTeam(std::uint64_t begin, const std::vector<std::string>& barriers) {
    Main().ThreadFork(begin, 3);
    for (const std::uint64_t location : {std::uint64_t{0}, kWorkers[0], kWorkers[1]})
      AddSpan(location, begin, barriers);
    Main().ThreadJoin(begin + 10);
  }

  void AddSpan(std::uint64_t location, std::uint64_t begin, const std::vector<std::string>& barriers) {
    Otf2Writer thread = archive_.Location(location);
    thread.TeamBegin(begin + 1, team_);
    std::uint64_t at = begin + 2;
    for (const std::string& barrier : barriers) {
      thread.Enter(at, barrier).Leave(at + 1, barrier);
      at += 2;
    }
    thread.TeamEnd(begin + 10, team_);
  }

  Trace Locations() { return LocationTrace(ReadWithThreads(archive_.Close())); }

  // Kinds of the collectives that a location takes part in.
  static std::vector<CollectiveKind> KindsOf(const Trace& trace, std::size_t location) {
    std::vector<CollectiveKind> kinds;
    const RankTimeline& timeline = trace.timelines[location];
    for (std::size_t i = 0; i < timeline.records(); ++i) {
      kinds.push_back(timeline.collective_types()[timeline.record_target(i)].kind);
    }
    return kinds;
  }

  test::TemporaryFolder folder_;
  Otf2Archive archive_;
  std::uint32_t team_ = 0;
};

constexpr CollectiveKind kFork = CollectiveKind::kFork, kExplicit = CollectiveKind::kThreadBarrier,
                         kImplicit = CollectiveKind::kImplicitBarrier;

TEST_F(LocationTraceTest, ThreadsOfARankStandTogether) {
  Main().Enter(0, "main").Enter(3, "step");
  AddTeam(5, {kBarrier, kEnd});
  Main().Leave(20, "step").Leave(21, "main");
  const Trace trace = Locations();
  EXPECT_TRUE(trace.diagnostics.empty());
  EXPECT_THAT(trace.locations, ElementsAre(Location{0, 0}, Location{0, 1}, Location{0, 2}));
  EXPECT_EQ(NameOfRank(trace, 2), "rank 0, thread 2");
  for (std::size_t location = 0; location < 3; ++location) {
    EXPECT_THAT(KindsOf(trace, location), ElementsAre(kFork, kExplicit, kImplicit));
    const CollectiveType& type = trace.timelines[location].collective_types()[0];
    EXPECT_EQ(type.root, 0);
    EXPECT_THAT(trace.communicators[type.communicator].members, ElementsAre(0, 1, 2));
  }
  const RankTimeline& main = trace.timelines[0];
  EXPECT_EQ(main.enter(0), 5);
  EXPECT_EQ(main.leave(0), 6);
  const RankTimeline& worker = trace.timelines[1];
  EXPECT_EQ(worker.enter(0), 0);  // idle from the begin of the rank on
  EXPECT_EQ(worker.leave(0), 6);
  EXPECT_EQ(worker.end(), 15);
  // In the regions of the main thread all the time.
  ASSERT_EQ(worker.region_events(), 4u);
  EXPECT_EQ(trace.regions[worker.region_event(1).region].name, "step");
  EXPECT_EQ(worker.event_tick(1), 0);
  EXPECT_EQ(worker.event_tick(3), 15);
}

TEST_F(LocationTraceTest, ThreadsAreKeptOnlyWhenAskedFor) {
  AddTeam(0, {kEnd});
  const std::string path = archive_.Close();
  const Trace plain = ReadTrace(path), kept = ReadWithThreads(path);
  EXPECT_TRUE(plain.team_threads.empty());
  EXPECT_TRUE(plain.team_threads.teams.empty());
  EXPECT_EQ(kept.team_threads.workers.size(), 2u);
  EXPECT_EQ(plain.size(), kept.size());
  EXPECT_EQ(plain.events, kept.events);
  EXPECT_EQ(plain.timelines[0].region_events(), kept.timelines[0].region_events());
  EXPECT_EQ(plain.diagnostics.count(anomaly::kThreadsAtProcessLevel), 1u);
  EXPECT_EQ(kept.diagnostics.count(anomaly::kThreadsAtProcessLevel), 0u);
}

TEST_F(LocationTraceTest, ThreadsWithoutTeamsAreNotKept) {
  Main().Enter(0, "main").Leave(9, "main");
  archive_.Location(1001).Enter(1, "pthread").Leave(8, "pthread");
  archive_.Location(1002).Enter(1, "pthread").Leave(8, "pthread");
  EXPECT_TRUE(ReadWithThreads(archive_.Close()).team_threads.empty());
}

// Who is in a team that is not defined is not known; those that take part are.
TEST_F(LocationTraceTest, TeamsNeedNoDefinition) {
  team_ = 4711;
  AddTeam(0, {kEnd});
  const Trace trace = Locations();
  EXPECT_TRUE(trace.diagnostics.empty());
  EXPECT_THAT(KindsOf(trace, 2), ElementsAre(kFork, kImplicit));
}

// The first team lacks an end on one worker, the second is whole.
TEST_F(LocationTraceTest, WithoutAnEndATeamIsLeftOut) {
  Main().ThreadFork(0, 3);
  for (const std::uint64_t location : {0u, 1001u}) AddSpan(location, 0, {kEnd});
  archive_.Location(1002).TeamBegin(1, team_).Enter(2, kEnd).Leave(3, kEnd);
  Main().ThreadJoin(10);
  AddTeam(20, {kEnd});
  const Trace trace = Locations();
  EXPECT_EQ(trace.diagnostics.count(anomaly::kTeamRecordsUnbalanced), 1u);
  EXPECT_EQ(trace.diagnostics.count(anomaly::kTeamIncomplete), 1u);
  for (std::size_t location = 0; location < 3; ++location) {
    EXPECT_THAT(KindsOf(trace, location), ElementsAre(kFork, kImplicit));
  }
}

TEST_F(LocationTraceTest, ForksWithoutJoinAndTeamsWithoutForkAreLeftOut) {
  Main().ThreadFork(0, 3);
  AddSpan(0, 0, {});
  AddTeam(20, {kEnd});
  AddSpan(1001, 40, {kEnd});
  Main().ThreadJoin(60).Enter(60, "end").Leave(61, "end");
  const Trace trace = Locations();
  // The fork, the team of the worker, the join.
  EXPECT_EQ(trace.diagnostics.count(anomaly::kTeamRecordsUnbalanced), 3u);
  EXPECT_THAT(KindsOf(trace, 1), ElementsAre(kFork, kImplicit));
  EXPECT_EQ(trace.timelines[1].end(), 43);
}

TEST_F(LocationTraceTest, BarriersEnteredByPartOfTheTeamAreNoWaits) {
  Main().ThreadFork(0, 3);
  AddSpan(0, 0, {kBarrier, kEnd});
  AddSpan(1001, 0, {kBarrier, kEnd});
  AddSpan(1002, 0, {kEnd});
  Main().ThreadJoin(10);
  const Trace trace = Locations();
  EXPECT_EQ(trace.diagnostics.count(anomaly::kTeamBarrierMismatch), 1u);
  for (std::size_t location = 0; location < 3; ++location) EXPECT_THAT(KindsOf(trace, location), ElementsAre(kFork));
  EXPECT_EQ(trace.timelines[0].calls(), 3u);  // the barriers are calls all the same
}

TEST_F(LocationTraceTest, AThreadWithoutEventsIsMissingInItsTeam) {
  Main().ThreadFork(0, 3);
  AddSpan(0, 0, {kEnd});
  AddSpan(1001, 0, {kEnd});
  Main().ThreadJoin(10);
  archive_.Location(1002);
  const Trace trace = Locations();
  EXPECT_EQ(trace.diagnostics.count(anomaly::kTeamIncomplete), 1u);
  EXPECT_EQ(trace.diagnostics.count(anomaly::kThreadOutsideTeams), 1u);
  EXPECT_EQ(trace.size(), 2u);
  EXPECT_THAT(KindsOf(trace, 0), IsEmpty());
  EXPECT_THAT(KindsOf(trace, 1), IsEmpty());
}

// Barriers of a team of a team have no partners; those of the team around it do.
TEST_F(LocationTraceTest, NestedTeamsAreLeftOut) {
  const std::uint32_t inner = archive_.AddTeam({1001});
  Main().ThreadFork(0, 3);
  AddSpan(0, 0, {kEnd});
  Main().ThreadJoin(10);
  archive_.Location(1001)
      .TeamBegin(1, team_)
      .ThreadFork(2, 1)
      .TeamBegin(2, inner)
      .Enter(3, kEnd)
      .Leave(4, kEnd)
      .TeamEnd(4, inner)
      .ThreadJoin(4)
      .Enter(5, kEnd)
      .Leave(6, kEnd)
      .TeamEnd(10, team_);
  AddSpan(1002, 0, {kEnd});
  const Trace trace = Locations();
  EXPECT_EQ(trace.diagnostics.count(anomaly::kTeamNested), 1u);
  EXPECT_EQ(trace.diagnostics.findings().size(), 1u);
  EXPECT_THAT(KindsOf(trace, 1), ElementsAre(kFork, kImplicit));
  EXPECT_EQ(trace.timelines[1].first_record(3) - trace.timelines[1].first_record(2), 1u);  // of the second barrier
}

// The barrier is a call before and behind what runs inside it.
TEST_F(LocationTraceTest, TasksInABarrierAreTimeOfTheirOwn) {
  Main().ThreadFork(0, 3);
  AddSpan(0, 0, {kEnd});
  AddSpan(1002, 0, {kEnd});
  Main().ThreadJoin(10);
  archive_.Location(1001).TeamBegin(1, team_).Enter(2, kEnd).Enter(4, "task").Leave(7, "task").Leave(9, kEnd).TeamEnd(
      10, team_);
  const Trace trace = Locations();
  EXPECT_EQ(trace.diagnostics.count(anomaly::kTaskInTeamBarrier), 1u);
  EXPECT_THAT(KindsOf(trace, 0), ElementsAre(kFork));
  const RankTimeline& worker = trace.timelines[1];
  ASSERT_EQ(worker.calls(), 3u);
  EXPECT_EQ(worker.leave(1), 4);
  EXPECT_EQ(worker.enter(2), 7);
  EXPECT_EQ(worker.region_events(), 2u);
}

// A team of one thread makes nobody wait.
TEST_F(LocationTraceTest, TeamsOfOneThreadHaveNoForks) {
  const std::uint32_t alone = archive_.AddTeam({0});
  Main().ThreadFork(0, 1).TeamBegin(0, alone).Enter(1, kEnd).Leave(2, kEnd).TeamEnd(2, alone).ThreadJoin(2);
  AddTeam(5, {kEnd});
  const Trace trace = Locations();
  EXPECT_TRUE(trace.diagnostics.empty());
  EXPECT_THAT(KindsOf(trace, 0), ElementsAre(kFork, kImplicit));
  EXPECT_EQ(trace.timelines[0].calls(), 3u);
}

TEST(LocationTrace, LocationsOfAcceleratorsAreNoThreads) {
  const std::string path = test::SharedDataFolder() + "/traces/others/fastotf2/mi300-1rank/traces.otf2";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no shared data";
  const Trace plain = ReadTrace(path), kept = ReadWithThreads(path);
  EXPECT_TRUE(kept.team_threads.empty());
  EXPECT_EQ(plain.events, 80u);
  EXPECT_EQ(kept.events, 86u);  // with those of two streams
  ASSERT_EQ(kept.devices.size(), 2u);
  EXPECT_EQ(kept.devices[0].of_ranks[0].kernels.front().length(), 17520723958);  // by otf2-print
  EXPECT_EQ(kept.devices[1].of_ranks[0].kernels.front().length(), 6024764085);
  EXPECT_EQ(kept.diagnostics.count(anomaly::kOtherLocationsIgnored) + 2,
            plain.diagnostics.count(anomaly::kOtherLocationsIgnored));
}

}  // namespace
}  // namespace farscale
