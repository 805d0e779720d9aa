// Traces as they would have been on other machines, on programs worked out by hand. One tick is a second.
#include "replay/replay.h"
#include "replay/replayed_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/computation.h"
#include "support/program.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

using testing::ElementsAre;

ReplayResult ReplayAll(const Trace& trace, const Network* network, const BurstLengths* bursts = nullptr) {
  return Replay(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()), {{}, true, network, bursts});
}

// Sent at 4, received at 4 instead of 6: the burst of 2 behind it moves to 4-6.
TEST(ReplayedTrace, CallsTakeTheTimesOfTheReplay) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-4 | Send>1#a 4-6 | comp 6-7\n"
      "r1: comp 0-1 | Recv<0#a 1-6 | comp 6-8");
  const Trace replayed = ReplayedTrace(trace, ReplayAll(trace, nullptr));
  const RankTimeline& receiver = replayed.timelines[1];
  EXPECT_EQ(receiver.enter(0), 1);
  EXPECT_EQ(receiver.leave(0), 4);
  EXPECT_EQ(receiver.end(), 6);
  EXPECT_EQ(replayed.timelines[0].end(), 5);
  // The region events of the second burst move with it.
  EXPECT_EQ(receiver.event_tick(receiver.region_events() - 2), 4);
  EXPECT_EQ(receiver.event_tick(receiver.region_events() - 1), 6);
}

// Bursts of 4 become 2 and 8: a region from 1 to 3 within them covers the middle half of either.
TEST(ReplayedTrace, ComputationStretchesEvenly) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-1 | work 1-3 | comp 3-4 | Barrier@1 4-4\n"
      "r1: comp 0-1 | work 1-3 | comp 3-4 | Barrier@1 4-4");
  const BurstLengths bursts = {{2, 0}, {8, 0}};
  const Trace replayed = ReplayedTrace(trace, ReplayAll(trace, nullptr, &bursts), &bursts);
  const auto events = [&](std::size_t rank) {
    std::vector<Tick> ticks;
    for (std::size_t i = 2; i < 4; ++i) ticks.push_back(replayed.timelines[rank].event_tick(i));
    return ticks;
  };
  EXPECT_THAT(events(0), ElementsAre(1, 2));  // 0.5 and 1.5, rounded
  EXPECT_THAT(events(1), ElementsAre(2, 6));
  EXPECT_EQ(replayed.timelines[0].leave(0), 8);  // both leave the barrier with the later
}

// The phase between 1 and 3 above is found again where it went.
TEST(ReplayedTrace, CutsMoveAlong) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-1 | work 1-3 | comp 3-4 | Barrier@1 4-5 | comp 5-6\n"
      "r1: comp 0-1 | work 1-3 | comp 3-4 | Barrier@1 4-5 | comp 5-6");
  const BurstLengths bursts = {{8, 1}, {8, 1}};
  const Trace replayed = ReplayedTrace(trace, ReplayAll(trace, nullptr, &bursts), &bursts);
  const PhaseCut moved = MoveCut(trace, replayed, CutPhase(trace, PhaseSpec::Region("work")));
  EXPECT_EQ(moved.ranks[0].window.begin.tick, 2);
  EXPECT_EQ(moved.ranks[0].window.end.tick, 6);
  EXPECT_EQ(moved.ranks[0].window.begin.event,
            CutPhase(replayed, PhaseSpec::Region("work")).ranks[0].window.begin.event);
}

// Rank 0 is in the barrier from 40 to 80, and from 40 to 60 in the replay, where rank 1 leaves as soon as it comes. A
// quarter and three quarters of the barrier, 50 and 70, are 45 and 55 then. On rank 1, 50 is computation.
TEST(ReplayedTrace, CutsThroughCallsMoveAlong) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-40 | Barrier@1 40-80 | comp 80-90 | Barrier@2 90-92 | comp 92-94 | Barrier@3 94-95\n"
      "r1: comp 0-60 | Barrier@1 60-80 | comp 80-90 | Barrier@2 90-92 | comp 92-94 | Barrier@3 94-95");
  const Trace replayed = ReplayedTrace(trace, ReplayAll(trace, nullptr));
  const PhaseCut moved = MoveCut(trace, replayed, CutPhase(trace, PhaseSpec::TimeWindow(50, 70)));
  EXPECT_EQ(moved.ranks[0].window.begin.tick, 45);
  EXPECT_EQ(moved.ranks[0].window.end.tick, 55);
  EXPECT_EQ(moved.ranks[1].window.begin.tick, 50);
  EXPECT_EQ(moved.ranks[1].window.end.tick, 60);
}

// Twice as fast: 4 -> 2. Only the region `work`, half of the burst: 4 -> 3.
TEST(SpeedUp, AllOrOneRegion) {
  const Trace trace = test::ParseTrace("r0: comp 0-1 | work 1-3 | comp 3-4 | Barrier@1 4-4 | work 4-6");
  const BurstLengths measured = MeasuredComputation(trace).lengths;
  EXPECT_THAT(measured[0], ElementsAre(4, 2));
  EXPECT_THAT(SpeedUp(trace, measured, 2)[0], ElementsAre(2, 1));
  EXPECT_THAT(SpeedUp(trace, measured, 2, "work")[0], ElementsAre(3, 1));
  EXPECT_THAT(SpeedUp(trace, measured, 2, "elsewhere")[0], ElementsAre(4, 2));
}

}  // namespace
}  // namespace farscale
