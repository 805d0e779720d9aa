#include "trace/anomalies.h"
#include "trace/trace_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "support/errors.h"

namespace farscale {
namespace {

using testing::HasSubstr;

// Two ranks, the usual calls, and one rank to write.
class RankBuilderTest : public testing::Test {
 protected:
  RankBuilderTest() {
    user_ = builder_.AddRegion("solve");
    inner_ = builder_.AddRegion("inner");
    send_ = builder_.AddRegion("MPI_Send");
    isend_ = builder_.AddRegion("MPI_Isend");
    irecv_ = builder_.AddRegion("MPI_Irecv");
    wait_ = builder_.AddRegion("MPI_Wait");
    world_ = builder_.AddWorld(2);
    Communicator self;
    self.name = "MPI_COMM_SELF";
    self.is_self = true;
    self_ = builder_.AddCommunicator(self);
    Communicator reversed;
    reversed.members = {1, 0};
    reversed_ = builder_.AddCommunicator(reversed);
    counter_ = builder_.AddCounter({"ins", "", "#"});
  }

  RankBuilder Rank(std::int32_t rank = 0) { return RankBuilder(builder_.definitions(), rank); }

  TraceBuilder builder_;
  std::uint32_t user_, inner_, send_, isend_, irecv_, wait_, world_, self_, reversed_, counter_;
};

TEST_F(RankBuilderTest, CallsAndRegionsInOrder) {
  RankBuilder rank = Rank();
  rank.Enter(10, user_);
  rank.Enter(20, send_);
  rank.Send(1, world_, 5, 100);
  rank.Leave(25, send_);
  rank.Leave(30, user_);
  const RankTimeline timeline = rank.Finish();
  ASSERT_EQ(timeline.calls(), 1u);
  EXPECT_EQ(timeline.enter(0), 20);
  EXPECT_EQ(timeline.leave(0), 25);
  EXPECT_EQ(timeline.region(0), send_);
  ASSERT_EQ(timeline.first_record(1) - timeline.first_record(0), 1u);
  const RankTimeline::Record record = timeline.record(0);
  EXPECT_EQ(record.kind, RecordKind::kSend);
  EXPECT_EQ(record.bytes, 100u);
  EXPECT_EQ(timeline.endpoints()[record.target], (Endpoint{1, world_, 5}));
  ASSERT_EQ(timeline.region_events(), 2u);
  EXPECT_EQ(timeline.region_event(0).call, 0u);
  EXPECT_EQ(timeline.region_event(1).call, 1u);
  EXPECT_TRUE(timeline.region_event(1).is_leave);
  EXPECT_EQ(timeline.begin(), 10);
  EXPECT_EQ(timeline.end(), 30);
  EXPECT_TRUE(rank.diagnostics().empty());
}

TEST_F(RankBuilderTest, PeersAreTranslatedToWorldRanks) {
  RankBuilder rank = Rank(1);
  rank.Enter(0, send_);
  rank.Send(0, reversed_, 0, 1);  // local rank 0 is world rank 1
  rank.Send(7, self_, 0, 1);      // whatever is recorded, it is the rank itself
  rank.Send(2, world_, 0, 1);     // nobody
  rank.Leave(1, send_);
  const RankTimeline timeline = rank.Finish();
  ASSERT_EQ(timeline.records(), 2u);
  EXPECT_EQ(timeline.endpoints()[timeline.record_target(0)].peer, 1);
  EXPECT_EQ(timeline.endpoints()[timeline.record_target(1)].peer, 1);
  EXPECT_EQ(rank.diagnostics().count(anomaly::kPeerOutsideCommunicator), 1u);
}

// Completions name their operation by how many posts lie between.
TEST_F(RankBuilderTest, RequestsBecomeDistances) {
  RankBuilder rank = Rank();
  rank.Enter(0, irecv_);
  rank.ReceivePost(11);
  rank.Leave(1, irecv_);
  rank.Enter(1, irecv_);
  rank.ReceivePost(22);
  rank.Leave(2, irecv_);
  rank.Enter(2, isend_);
  rank.SendPost(1, world_, 0, 8, 33);
  rank.Leave(3, isend_);
  rank.Enter(4, wait_);
  rank.ReceiveComplete(1, world_, 0, 8, 11);
  rank.ReceiveComplete(1, world_, 0, 8, 22);
  rank.SendComplete(33);
  rank.Leave(5, wait_);
  const RankTimeline timeline = rank.Finish();
  ASSERT_EQ(timeline.records(), 6u);
  EXPECT_EQ(timeline.record_back(3), 1u);
  EXPECT_EQ(timeline.record_back(4), 0u);
  EXPECT_EQ(timeline.record_back(5), 0u);
  EXPECT_EQ(timeline.sends(), 1u);
  EXPECT_EQ(timeline.receives(), 2u);
  EXPECT_TRUE(rank.diagnostics().empty());
}

// Persistent requests carry the same number every time they are started.
TEST_F(RankBuilderTest, RequestNumbersMayBeUsedAgain) {
  RankBuilder rank = Rank();
  for (Tick tick = 0; tick < 30; tick += 10) {
    rank.Enter(tick, irecv_);
    rank.ReceivePost(1);
    rank.Leave(tick + 1, irecv_);
    rank.Enter(tick + 2, wait_);
    rank.ReceiveComplete(1, world_, 0, 8, 1);
    rank.Leave(tick + 3, wait_);
  }
  EXPECT_EQ(rank.Finish().receives(), 3u);
  EXPECT_TRUE(rank.diagnostics().empty());
}

TEST_F(RankBuilderTest, OddRequestsAreCounted) {
  RankBuilder rank = Rank();
  rank.Enter(0, wait_);
  rank.ReceiveComplete(1, world_, 0, 8, 99);  // never posted: counts as a blocking receive
  rank.SendComplete(98);                      // never posted: nothing to wait for
  rank.ReceivePost(1);                        // never completed
  rank.SendPost(1, world_, 0, 8, 2);
  rank.RequestCancelled(2);
  rank.Leave(1, wait_);
  const RankTimeline timeline = rank.Finish();
  EXPECT_EQ(rank.diagnostics().count(anomaly::kRequestUnknown), 2u);
  EXPECT_EQ(rank.diagnostics().count(anomaly::kRequestNeverCompleted), 1u);
  EXPECT_EQ(rank.diagnostics().count(anomaly::kRequestCancelled), 1u);
  EXPECT_EQ(timeline.record_kind(0), RecordKind::kReceive);
  EXPECT_EQ(timeline.record_kind(3), RecordKind::kSendCancelled);
}

TEST_F(RankBuilderTest, RecordsOutsideMpiAreCountedAndIgnored) {
  RankBuilder rank = Rank();
  rank.Enter(0, user_);
  rank.Send(1, world_, 0, 8);
  rank.Leave(1, user_);
  EXPECT_EQ(rank.Finish().records(), 0u);
  EXPECT_EQ(rank.diagnostics().count(anomaly::kRecordOutsideMpi), 1u);
}

// What lies outside a cut is kept before the first call and after the last, and is part of neither.
TEST_F(RankBuilderTest, RecordsOutsideTheCut) {
  const std::uint32_t outside = builder_.AddRegion({std::string(kOutsideRegion), false, MpiCall::kNone, true});
  RankBuilder rank = Rank();
  rank.Enter(10, outside);
  rank.Send(1, world_, 1, 8);
  rank.Leave(10, outside);
  rank.Enter(12, send_);
  rank.Send(1, world_, 2, 8);
  rank.Leave(13, send_);
  rank.Enter(15, outside);
  rank.Send(1, world_, 3, 8);
  rank.Leave(15, outside);
  const RankTimeline timeline = rank.Finish();
  EXPECT_EQ(timeline.calls(), 1u);
  EXPECT_EQ(timeline.region_events(), 0u);
  EXPECT_EQ(timeline.begin(), 12);
  EXPECT_EQ(timeline.end(), 13);
  EXPECT_EQ(timeline.records(), 3u);
  EXPECT_EQ(timeline.first_record(0), 1u);
  EXPECT_EQ(timeline.first_record(1), 2u);
  EXPECT_TRUE(rank.diagnostics().empty());
}

TEST_F(RankBuilderTest, RecordsOutsideTheCutBetweenCallsAreCounted) {
  const std::uint32_t outside = builder_.AddRegion({std::string(kOutsideRegion), false, MpiCall::kNone, true});
  RankBuilder rank = Rank();
  for (const Tick tick : {0, 10}) {
    rank.Enter(tick, send_);
    rank.Leave(tick + 1, send_);
    rank.Enter(tick + 2, outside);
    rank.Send(1, world_, 1, 8);
    rank.Leave(tick + 2, outside);
  }
  const RankTimeline timeline = rank.Finish();
  EXPECT_EQ(timeline.records(), 2u);
  EXPECT_EQ(timeline.first_record(2), 1u);
  EXPECT_EQ(rank.diagnostics().count(anomaly::kRecordOutsideMpi), 1u);
}

TEST_F(RankBuilderTest, CallsInsideCallsBelongToTheOuterOne) {
  RankBuilder rank = Rank();
  rank.Enter(0, wait_);
  rank.Enter(1, send_);  // what the MPI library calls within itself
  rank.Enter(2, user_);  // a callback of the program
  rank.Leave(3, user_);
  rank.Leave(4, send_);
  rank.Leave(5, wait_);
  const RankTimeline timeline = rank.Finish();
  ASSERT_EQ(timeline.calls(), 1u);
  EXPECT_EQ(timeline.region(0), wait_);
  EXPECT_EQ(timeline.duration(0), 5);
  EXPECT_EQ(timeline.region_events(), 0u);
}

// Without its leave, a call hides those that follow; the last call of a run that was killed hides nothing.
TEST_F(RankBuilderTest, CallWithoutLeave) {
  constexpr Tick kCalls = 10;
  for (Tick lost = 0; lost < kCalls; ++lost) {
    for (const bool ends : {false, true}) {
      RankBuilder rank = Rank();
      rank.Enter(0, user_);
      for (Tick call = 0; call < kCalls; ++call) {
        rank.Enter(10 * call, send_);
        if (call != lost) rank.Leave(10 * call + 1, send_);
      }
      if (ends) rank.Leave(10 * kCalls, user_);
      rank.Finish();
      EXPECT_EQ(rank.diagnostics().count(anomaly::kCallEdgeMissing), lost == kCalls - 1 ? 0u : 1u) << lost;
    }
  }
}

TEST_F(RankBuilderTest, UnbalancedRegions) {
  RankBuilder rank = Rank();
  rank.Leave(0, inner_);  // never entered
  rank.Enter(1, user_);
  rank.Enter(2, inner_);
  rank.Leave(3, user_);  // inner_ ends here too
  rank.Enter(4, user_);  // ends with the trace
  rank.Enter(5, send_);
  const RankTimeline timeline = rank.Finish();
  EXPECT_EQ(rank.diagnostics().count(anomaly::kLeaveWithoutEnter), 1u);
  EXPECT_EQ(rank.diagnostics().count(anomaly::kRegionLeftOpen), 3u);
  EXPECT_EQ(timeline.region_events(), 6u);
  EXPECT_EQ(timeline.calls(), 1u);
  EXPECT_EQ(timeline.end(), 5);
}

// A clock that jumps back stands still until it has caught up; nothing gets a negative length.
TEST_F(RankBuilderTest, ClockRunningBackwards) {
  RankBuilder rank = Rank();
  rank.Enter(100, send_);
  rank.Leave(50, send_);
  rank.Enter(70, send_);
  rank.Leave(120, send_);
  const RankTimeline timeline = rank.Finish();
  EXPECT_EQ(rank.diagnostics().count(anomaly::kClockBackwards), 2u);
  EXPECT_EQ(timeline.duration(0), 0);
  EXPECT_EQ(timeline.enter(1), 100);
  EXPECT_EQ(timeline.leave(1), 120);
}

TEST_F(RankBuilderTest, ImpossibleTimeStampIsAnError) {
  RankBuilder rank = Rank();
  const auto enter = [&] { rank.Enter(std::numeric_limits<Tick>::max(), send_); };
  EXPECT_THAT(test::ErrorOf(ErrorKind::kInput, enter), HasSubstr("rank 0"));
}

TEST_F(RankBuilderTest, CountersAtEdges) {
  RankBuilder rank = Rank();
  rank.SetCounter(0, counter_, 100);
  rank.Enter(0, user_);
  rank.SetCounter(5, counter_, 150);
  rank.Enter(5, send_);
  rank.SetCounter(9, counter_, 157);
  rank.Leave(9, send_);
  rank.SetCounter(20, counter_, 300);
  rank.Leave(20, user_);
  const RankTimeline timeline = rank.Finish();
  ASSERT_TRUE(timeline.has_counter(counter_));
  EXPECT_TRUE(timeline.counter_is_reliable(counter_));
  EXPECT_EQ(timeline.counter_at_event(counter_, 0), 100);
  EXPECT_EQ(timeline.counter_at_enter(counter_, 0), 150);
  EXPECT_EQ(timeline.counter_at_leave(counter_, 0), 157);
  EXPECT_EQ(timeline.counter_in_call(counter_, 0), 7);
  EXPECT_EQ(timeline.counter_at_event(counter_, 1), 300);
  EXPECT_TRUE(rank.diagnostics().empty());
}

// 50 before the call, 143 after it. Beyond 2^53 too, where a double could no longer tell the samples apart.
TEST_F(RankBuilderTest, CountsOfTheComputationAroundCalls) {
  for (const std::int64_t start : {std::int64_t{100}, std::int64_t{1} << 62}) {
    RankBuilder rank = Rank();
    rank.SetCounter(0, counter_, start);
    rank.Enter(0, user_);
    rank.SetCounter(5, counter_, start + 50);
    rank.Enter(5, send_);
    rank.SetCounter(9, counter_, start + 57);
    rank.Leave(9, send_);
    rank.SetCounter(20, counter_, start + 200);
    rank.Leave(20, user_);
    const RankTimeline timeline = rank.Finish();
    EXPECT_EQ(timeline.counter_before_call(counter_, 0), 50);
    EXPECT_EQ(timeline.counter_before_call(counter_, 1), 143);
    EXPECT_EQ(timeline.counter_edge_share(counter_), 1);
  }
}

// A rank that begins and ends with its calls computes between them only; one without calls all the time.
TEST_F(RankBuilderTest, CountsOfTheComputationWithoutRegionsOrCalls) {
  RankBuilder calls = Rank();
  for (const Tick tick : {0, 10}) {
    calls.SetCounter(tick, counter_, 10 * tick);
    calls.Enter(tick, send_);
    calls.SetCounter(tick + 1, counter_, 10 * tick + 3);
    calls.Leave(tick + 1, send_);
  }
  const RankTimeline with_calls = calls.Finish();
  EXPECT_EQ(with_calls.counter_before_call(counter_, 0), 0);
  EXPECT_EQ(with_calls.counter_before_call(counter_, 1), 97);
  EXPECT_EQ(with_calls.counter_before_call(counter_, 2), 0);

  RankBuilder region = Rank();
  region.SetCounter(0, counter_, 7);
  region.Enter(0, user_);
  region.SetCounter(4, counter_, 11);
  region.Leave(4, user_);
  EXPECT_EQ(region.Finish().counter_before_call(counter_, 0), 4);
}

// Of four edges two have a sample, the one of tick 9 recorded a little ahead of it.
TEST_F(RankBuilderTest, ShareOfEdgesWithACounterSample) {
  RankBuilder rank = Rank();
  rank.SetCounter(0, counter_, 1);
  rank.Enter(0, user_);
  rank.Enter(5, send_);
  rank.SetCounter(8, counter_, 2);
  rank.Leave(9, send_);
  rank.Leave(20, user_);
  EXPECT_DOUBLE_EQ(rank.Finish().counter_edge_share(counter_), 0.5);
}

TEST_F(RankBuilderTest, CounterThatFallsOrBeginsLateIsUnreliable) {
  RankBuilder falls = Rank();
  falls.SetCounter(0, counter_, 100);
  falls.Enter(0, send_);
  falls.SetCounter(1, counter_, 50);
  falls.Leave(1, send_);
  EXPECT_FALSE(falls.Finish().counter_is_reliable(counter_));
  EXPECT_EQ(falls.diagnostics().count(anomaly::kCounterBackwards), 1u);

  RankBuilder late = Rank();
  late.Enter(0, send_);
  late.SetCounter(1, counter_, 50);
  late.Leave(1, send_);
  EXPECT_FALSE(late.Finish().counter_is_reliable(counter_));
}

// CPU time asked for at 0 (1000), 60 (1060) and 200 (1150). From 60 to 200 the thread ran for 90 of 140 ticks: what it
// did not run lies before 200, so that at 100 it had run for 40 more, at 150 for 90 more, all of it. After the last
// sample it runs on.
TEST_F(RankBuilderTest, CpuTimeThatIsSampledNowAndThenPassesLikeTime) {
  const std::uint32_t cpu = builder_.AddCounter({"CPU_TIME", "", "ns"});
  RankBuilder rank = Rank();
  rank.SetCpuTime(0, cpu, 1000);
  rank.Enter(0, user_);
  rank.Enter(10, send_);
  rank.Leave(30, send_);
  rank.SetCpuTime(60, cpu, 1060);
  rank.Enter(60, send_);
  rank.Leave(100, send_);
  rank.Enter(150, send_);
  rank.SetCpuTime(200, cpu, 1150);
  rank.Leave(200, send_);
  rank.Leave(230, user_);
  const RankTimeline timeline = rank.Finish();
  EXPECT_TRUE(timeline.counter_is_reliable(cpu));
  EXPECT_EQ(timeline.counter_edge_share(cpu), 1);
  EXPECT_EQ(timeline.counter_at_event(cpu, 0), 1000);
  EXPECT_EQ(timeline.counter_at_enter(cpu, 0), 1010);
  EXPECT_EQ(timeline.counter_in_call(cpu, 0), 20);
  EXPECT_EQ(timeline.counter_at_enter(cpu, 1), 1060);
  EXPECT_EQ(timeline.counter_in_call(cpu, 1), 40);
  EXPECT_EQ(timeline.counter_before_call(cpu, 2), 50);
  EXPECT_EQ(timeline.counter_in_call(cpu, 2), 0);
  EXPECT_EQ(timeline.counter_at_event(cpu, 1), 1180);
  EXPECT_TRUE(rank.diagnostics().empty());
}

TEST_F(RankBuilderTest, DoubleCounters) {
  const std::uint32_t joules = builder_.AddCounter({"energy", "", "J", 1, true});
  RankBuilder rank = Rank();
  rank.SetCounter(0, joules, std::bit_cast<std::int64_t>(1.25));
  rank.Enter(0, send_);
  rank.SetCounter(1, joules, std::bit_cast<std::int64_t>(2.0));
  rank.Leave(1, send_);
  const RankTimeline timeline = rank.Finish();
  EXPECT_EQ(timeline.counter_at_enter(joules, 0), 1.25);
  EXPECT_EQ(timeline.counter_at_leave(joules, 0), 2.0);
  EXPECT_EQ(timeline.counter_in_call(joules, 0), 0.75);
}

TEST_F(RankBuilderTest, Interruptions) {
  RankBuilder rank = Rank();
  rank.Enter(0, user_);
  rank.MeasurementOff(10);
  rank.MeasurementOn(30);
  rank.BufferFlush(40, 45);
  rank.Leave(50, user_);
  const RankTimeline timeline = rank.Finish();
  ASSERT_EQ(timeline.interruptions().size(), 2u);
  EXPECT_EQ(timeline.interruptions()[0].end - timeline.interruptions()[0].begin, 20);
  EXPECT_TRUE(timeline.interruptions()[1].is_flush);
}

}  // namespace
}  // namespace farscale
