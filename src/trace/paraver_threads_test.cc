// Threads of Paraver traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

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

// A thread counts while it runs, wherever its samples lie, and not between: here so many instructions a nanosecond.
TEST_F(ParaverThreadsTest, CountersOfWorkers) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int i = 0; i < 10; ++i) {
    const int rate = 1 + below(9), first_idle = below(50);
    std::string text =
        "1:1:1:1:1:0:10000:1\n2:1:1:1:1:0:42000050:0\n1:2:1:1:2:0:" + std::to_string(first_idle) + ":0\n";
    std::int64_t counted = 0, running = 0;
    const auto sample = [&](int tick) {
      text += "2:2:1:1:2:" + std::to_string(tick) + ":42000050:" + std::to_string(rate * running - counted) + "\n";
      counted = rate * running;
    };
    if (below(2) == 0) sample(0);
    int now = first_idle;
    for (int k = 0; k < 20; ++k) {
      const int length = 10 + below(200), middle = below(length), waiting = below(100);
      text += "1:2:1:1:2:" + std::to_string(now) + ":" + std::to_string(now + length) + ":1\n";
      text += "1:2:1:1:2:" + std::to_string(now + length) + ":" + std::to_string(now + length + waiting) + ":5\n";
      running += middle;
      if (below(2) == 0) sample(now + middle);
      running += length - middle;
      now += length + waiting;
      if (below(3) == 0) sample(now);
    }
    sample(now);
    const Trace trace = Read("#Paraver (x):10000_ns:1(4):1:1(2:1),0\n" + text, "", WithThreads());
    ASSERT_EQ(trace.team_threads.workers.size(), 1u);
    const RankTimeline& worker = trace.team_threads.workers[0].timeline;
    ASSERT_TRUE(worker.has_counter(0));
    EXPECT_TRUE(worker.counter_is_reliable(0));
    double useful = 0, all = 0;
    for (std::size_t event = 0; event < worker.region_events(); ++event) {
      const bool runs = trace.regions[worker.region_event(event).region].team_role == TeamRole::kNone;
      const double count = worker.counter_at_event(0, event);
      if (runs) useful += worker.region_event(event).is_leave ? count : -count;
      all = count;
    }
    EXPECT_NEAR(useful, static_cast<double>(rate * running), 25) << i;  // rounded at every edge
    EXPECT_EQ(all, useful);
    EXPECT_EQ(trace.diagnostics.count(anomaly::kThreadWithoutCounter), 0u);
  }
}

TEST_F(ParaverThreadsTest, WorkersWithoutCounters) {
  const Trace trace = Read(Run(std::string(kStates) + "2:1:1:1:1:40:42000050:5\n"), "", WithThreads());
  EXPECT_EQ(trace.diagnostics.count(anomaly::kThreadWithoutCounter), 2u);
}

// Threads without states are not understood.
TEST_F(ParaverThreadsTest, WithoutStates) {
  const Trace trace = Read(Run("2:2:1:1:2:45:60000018:1\n2:2:1:1:2:90:60000018:0\n"), "", WithThreads());
  EXPECT_TRUE(trace.team_threads.empty());
  EXPECT_EQ(trace.diagnostics.count(anomaly::kThreadsAtProcessLevel), 1u);
}

}  // namespace
}  // namespace farscale
