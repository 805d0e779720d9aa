// Threads of Paraver traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paraver_text.h"
#include "trace/anomalies.h"
#include "trace/location_trace.h"

namespace farscale {
namespace {

class ParaverThreadsTest : public test::ParaverTextTest {
 protected:
  static ReadOptions WithThreads() {
    ReadOptions options;
    options.keep_threads = true;
    return options;
  }
  // One task of three threads in 100 ns, with the states of all.
  static std::string Run(const std::string& states) {
    return "#Paraver (20/11/2026 at 10:30):100_ns:1(4):1:1(3:1),0\n"
           "2:1:1:1:1:0:40000001:1\n" +
           states +
           "2:1:1:1:1:20:50000002:8\n"
           "2:1:1:1:1:30:50000002:0\n"
           "2:1:1:1:1:100:40000001:0\n";
  }
};

// The main thread forks at 40 until 45, works, waits from 80 on and joins at 90. The first worker works from 45 until
// 70, idles until 75 and waits until 90; the other works until 85 and waits.
const char* const kStates =
    "1:1:1:1:1:0:20:1\n"
    "1:1:1:1:1:20:30:13\n"
    "1:1:1:1:1:30:40:1\n"
    "1:1:1:1:1:40:45:7\n"
    "1:1:1:1:1:45:80:1\n"
    "1:1:1:1:1:80:90:5\n"
    "1:1:1:1:1:90:100:1\n"
    "1:2:1:1:2:0:45:0\n"
    "1:2:1:1:2:45:70:1\n"
    "1:2:1:1:2:70:75:0\n"
    "1:2:1:1:2:75:90:5\n"
    "1:2:1:1:2:90:100:0\n"
    "1:3:1:1:3:0:45:0\n"
    "1:3:1:1:3:45:85:1\n"
    "1:3:1:1:3:85:90:5\n"
    "1:3:1:1:3:90:100:0\n";

TEST_F(ParaverThreadsTest, StatesBecomeTeams) {
  const Trace trace = Read(Run(kStates), "", WithThreads());
  EXPECT_EQ(trace.diagnostics.count(anomaly::kThreadsAtProcessLevel), 0u);
  ASSERT_EQ(trace.team_threads.workers.size(), 2u);
  const WorkerThread& worker = trace.team_threads.workers[0];
  EXPECT_EQ(worker.location, (Location{0, 1}));
  ASSERT_EQ(worker.team_events.size(), 2u);
  EXPECT_EQ(worker.team_events[0].tick, 45);
  EXPECT_EQ(worker.team_events[1].tick, 90);
  ASSERT_EQ(worker.timeline.region_events(), 4u);
  EXPECT_EQ(worker.timeline.event_tick(0), 70);
  EXPECT_EQ(trace.regions[worker.timeline.region_event(0).region].team_role, TeamRole::kScheduling);
  EXPECT_EQ(worker.timeline.event_tick(2), 75);
  EXPECT_TRUE(trace.regions[worker.timeline.region_event(2).region].IsTeamBarrier());
  const std::vector<TeamEvent>& forks = trace.team_threads.of_ranks[0];
  ASSERT_EQ(forks.size(), 4u);
  EXPECT_EQ(forks[0].tick, 45);
  EXPECT_EQ(forks[0].call, 1u);
  EXPECT_EQ(forks[3].tick, 90);
  // What the runtime does on the main thread is no pause.
  EXPECT_TRUE(trace.timelines[0].pauses().empty());
  EXPECT_TRUE(LocationTrace(trace).diagnostics.empty());
}

TEST_F(ParaverThreadsTest, AreKeptOnlyWhenAskedFor) {
  const Trace trace = Read(Run(kStates));
  EXPECT_TRUE(trace.team_threads.empty());
  EXPECT_EQ(trace.diagnostics.count(anomaly::kThreadsAtProcessLevel), 1u);
  EXPECT_EQ(trace.timelines[0].pauses().size(), 2u);
}

// Threads without states are not understood.
TEST_F(ParaverThreadsTest, WithoutStates) {
  const Trace trace = Read(Run("2:2:1:1:2:45:60000018:1\n2:2:1:1:2:90:60000018:0\n"), "", WithThreads());
  EXPECT_TRUE(trace.team_threads.empty());
  EXPECT_EQ(trace.diagnostics.count(anomaly::kThreadsAtProcessLevel), 1u);
}

}  // namespace
}  // namespace farscale
