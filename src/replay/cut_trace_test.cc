// What happens at the edges of a window that becomes a trace of its own. The ideal times are worked out by hand, in
// seconds since the window's begin; replays of the phase in the old trace and of the whole new one must both give them.
#include "replay/anomalies.h"
#include "replay/replayed_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/replay.h"
#include "support/program.h"
#include "support/random_program.h"
#include "support/replay_rules.h"
#include "support/same_trace.h"
#include "trace/anomalies.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using test::kBsc;
using test::kCausal;

PhaseSpec Loop() {
  PhaseSpec spec = PhaseSpec::Region("loop");
  spec.span = Span::kWhole;
  return spec;
}

Trace CutOut(const Trace& trace, const PhaseSpec& spec) {
  return CutTrace(trace, MatchTrace(trace), CutPhase(trace, spec));
}

std::uint64_t Unmatched(const Matching& matching) {
  return matching.diagnostics.count(anomaly::kUnmatchedSend) + matching.diagnostics.count(anomaly::kUnmatchedReceive);
}

// Cuts the phase out, expects that its replay is the same in the old and the new trace, and returns the new one.
Trace ExpectSameReplay(const Trace& trace, const PhaseSpec& spec) {
  const Matching matching = MatchTrace(trace);
  const PhaseCut cut = CutPhase(trace, spec);
  Trace result = CutTrace(trace, matching, cut);
  const Matching new_matching = MatchTrace(result);
  const PhaseCut whole = CutPhase(result, PhaseSpec::WholeRun());
  EXPECT_EQ(whole.begin(), cut.begin());
  EXPECT_EQ(whole.end(), cut.end());
  EXPECT_LE(Unmatched(new_matching), Unmatched(matching));
  EXPECT_EQ(new_matching.diagnostics.count(anomaly::kCollectiveMismatch), 0u);
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    EXPECT_EQ(whole.ranks[rank].present, cut.ranks[rank].present);
    EXPECT_EQ(whole.ranks[rank].window.begin.tick, cut.ranks[rank].window.begin.tick);
    EXPECT_EQ(whole.ranks[rank].window.end.tick, cut.ranks[rank].window.end.tick);
  }
  for (const ReplayRules& rules : {kBsc, kCausal}) {
    const ReplayResult before = Replay(trace, matching, cut, {rules, false});
    const ReplayResult after = Replay(result, new_matching, whole, {rules, false});
    EXPECT_EQ(after.begin, before.begin) << ToString(rules.set);
    EXPECT_EQ(after.end, before.end) << ToString(rules.set);
    EXPECT_EQ(after.calls, before.calls);
    for (const Anomaly& anomaly : {anomaly::kMessageCutAtEdge, anomaly::kCollectiveCutAtEdge}) {
      EXPECT_EQ(after.diagnostics.count(anomaly), before.diagnostics.count(anomaly));
    }
  }
  return result;
}

std::vector<Tick> Ends(const Trace& trace, const ReplayRules& rules = kBsc) {
  return Replay(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()), {rules, false}).end;
}

std::vector<Tick> EndsOfCut(const std::string& program, const PhaseSpec& spec, const ReplayRules& rules = kBsc) {
  return Ends(ExpectSameReplay(test::ParseTrace(program), spec), rules);
}

TEST(CutTrace, KeepsWhatTheRunLacks) {
  Trace trace = test::ParseTrace(
      "r0: comp 0-1 | loop 1-3 | Barrier@1 3-4 | loop 4-4\n"
      "r1: comp 0-1 | loop 1-2 | Barrier@1 2-4 | loop 4-4");
  EXPECT_EQ(CutOut(trace, Loop()).diagnostics.count(anomaly::kMpiOnWorkerThread), 0u);
  trace.diagnostics.Add(anomaly::kMpiOnWorkerThread, 3, "calls that were not recorded");
  trace.diagnostics.AddPopulation(anomaly::kMpiOnWorkerThread, 400);
  EXPECT_THAT(CutOut(trace, Loop()).diagnostics.findings(), testing::Contains(trace.diagnostics.findings().front()));
}

// The first message was sent before the window and is ready, the second is sent at 2. Were the first send gone, the
// first receive would wait for the second send, until 2, and the second, at 3, for nothing.
TEST(CutTrace, MessagesKeepTheirOrder) {
  EXPECT_THAT(EndsOfCut("r0: Send>1#a 0-1 | comp 1-4 | Send>1#a 4-5 | comp 5-6\n"
                        "r1: comp 0-3 | Recv<0#a 3-4 | comp 4-5 | Recv<0#a 5-6",
                        PhaseSpec::TimeWindow(2, 6)),
              ElementsAre(3, 2));
}

// Sent in the window at 1, received only after it: nobody waits.
TEST(CutTrace, SendWhoseReceiveLiesBehind) {
  const Trace cut = ExpectSameReplay(test::ParseTrace("r0: comp 0-1 | Send>1#a*40000 1-8 | comp 8-9\n"
                                                      "r1: comp 0-7 | Recv<0#a*40000 7-8 | comp 8-9"),
                                     PhaseSpec::TimeWindow(0, 6));
  EXPECT_THAT(Ends(cut), ElementsAre(1, 6));
  EXPECT_EQ(MatchTrace(cut).matched, 1u);
  EXPECT_EQ(cut.timelines[1].calls(), 0u);
  EXPECT_EQ(cut.timelines[1].records(), 1u);
}

// Posted before the window: the rendezvous send at 1 waits for nobody, though the receiver comes to its wait at 6.
TEST(CutTrace, ReceivePostedBefore) {
  EXPECT_THAT(EndsOfCut("r0: comp 0-3 | Send>1#a*40000 3-9 | comp 9-10\n"
                        "r1: Irecv<0#a*40000 0-1 | comp 1-8 | Wait~a 8-9 | comp 9-10",
                        PhaseSpec::TimeWindow(2, 10)),
              ElementsAre(2, 7));
}

// Posted in the window at 4 and completed behind it: the rendezvous send at 1 waits until 4, the receiver for nobody.
TEST(CutTrace, ReceiveCompletedBehind) {
  EXPECT_THAT(EndsOfCut("r0: comp 0-1 | Send>1#a*40000 1-5 | comp 5-7\n"
                        "r1: comp 0-4 | Irecv<0#a*40000 4-5 | comp 5-8 | Wait~a 8-9",
                        PhaseSpec::TimeWindow(0, 6)),
              ElementsAre(5, 5));
}

// The send is posted in the window and completed behind it; in `causal`, a completion inside of one posted before waits
// for nobody.
TEST(CutTrace, SendsCompletedElsewhere) {
  const std::string program =
      "r0: comp 0-2 | Isend>1#a*40000 2-3 | comp 3-6 | Wait~a 6-9 | comp 9-10\n"
      "r1: comp 0-8 | Recv<0#a*40000 8-9 | comp 9-10";
  EXPECT_THAT(EndsOfCut(program, PhaseSpec::TimeWindow(0, 5), kCausal), ElementsAre(4, 5));
  EXPECT_THAT(EndsOfCut(program, PhaseSpec::TimeWindow(4, 10), kCausal), ElementsAre(3, 5));
}

// Barrier 1 is inside on rank 1 only and synchronises nobody; barrier 2 is left at 3. Were rank 0 to take its only
// barrier for the first of rank 1, they would end at 3 and 6.
TEST(CutTrace, CollectivesKeepTheirOrder) {
  EXPECT_THAT(EndsOfCut("r0: Barrier@1 0-3 | comp 3-5 | Barrier@2 5-8 | comp 8-9\n"
                        "r1: comp 0-3 | Barrier@1 3-4 | comp 4-7 | Barrier@2 7-8 | comp 8-9",
                        PhaseSpec::TimeWindow(3, 9)),
              ElementsAre(4, 4));
}

// Rank 1 broadcasts before the window; in `causal` rank 0 finds the data ready, in `bsc` it waits for itself.
TEST(CutTrace, RootOutside) {
  const std::string program =
      "r0: comp 0-5 | Bcast@1/1 5-6 | comp 6-7\n"
      "r1: Bcast@1/1 0-1 | comp 1-7\n"
      "r2: comp 0-4 | Bcast@1/1 4-6 | comp 6-7";
  EXPECT_THAT(EndsOfCut(program, PhaseSpec::TimeWindow(2, 7), kBsc), ElementsAre(4, 5, 4));
  EXPECT_THAT(EndsOfCut(program, PhaseSpec::TimeWindow(2, 7), kCausal), ElementsAre(4, 5, 3));
}

// Two ranks and an Ibarrier, or another non-blocking collective: rank 0 posts 0-1 and waits 6-7, rank 1 posts 5-6 and
// waits 6-7; both compute until 8.
Trace NonBlocking(CollectiveKind kind) {
  TraceBuilder builder;
  const std::uint32_t post = builder.AddRegion("MPI_Ibarrier"), wait = builder.AddRegion("MPI_Wait"),
                      main = builder.AddRegion("main");
  const std::uint32_t world = builder.AddWorld(2);
  builder.trace().ticks_per_second = 1;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    RankBuilder timeline(builder.definitions(), rank);
    timeline.Enter(0, main);
    timeline.Enter(rank == 0 ? 0 : 5, post);
    timeline.CollectivePost(1);
    timeline.Leave(rank == 0 ? 1 : 6, post);
    timeline.Enter(6, wait);
    timeline.CollectiveComplete(kind, world, std::nullopt, 0, 0, 1);
    timeline.Leave(7, wait);
    timeline.Leave(8, main);
    builder.SetTimeline(timeline);
  }
  return std::move(builder).Finish();
}

// From 2 on, rank 0 is at its wait after 4, when rank 1 has arrived, at 3; rank 1 waits only for itself. Until 6, both
// arrive and nobody waits.
TEST(CutTrace, CollectivesPostedOrCompletedElsewhere) {
  const Trace trace = NonBlocking(CollectiveKind::kBarrier);
  const Trace later = ExpectSameReplay(trace, PhaseSpec::TimeWindow(2, 8));
  EXPECT_THAT(Ends(later), ElementsAre(5, 4));
  EXPECT_EQ(later.timelines[0].first_record(0), 1u);
  const Trace earlier = ExpectSameReplay(trace, PhaseSpec::TimeWindow(0, 6));
  EXPECT_THAT(Ends(earlier), ElementsAre(5, 5));
  EXPECT_EQ(earlier.timelines[0].first_record(1), 1u);
  EXPECT_EQ(earlier.timelines[0].records(), 2u);
}

// Nobody arrives at the scan inside the window, so nobody waits.
TEST(CutTrace, ScanPostedBefore) {
  EXPECT_THAT(Ends(ExpectSameReplay(NonBlocking(CollectiveKind::kScan), PhaseSpec::TimeWindow(6, 8))),
              ElementsAre(1, 1));
}

// A cancelled send carries no message, wherever it is cancelled.
TEST(CutTrace, CancelledBehind) {
  TraceBuilder builder;
  const std::uint32_t isend = builder.AddRegion("MPI_Isend"), wait = builder.AddRegion("MPI_Wait"),
                      recv = builder.AddRegion("MPI_Recv");
  const std::uint32_t world = builder.AddWorld(2);
  builder.trace().ticks_per_second = 1;
  RankBuilder rank0(builder.definitions(), 0);
  for (const std::uint64_t request : {1u, 2u}) {
    rank0.Enter(static_cast<Tick>(request), isend);
    rank0.SendPost(1, world, 0, 8, request);
    rank0.Leave(static_cast<Tick>(request), isend);
  }
  rank0.Enter(8, wait);
  rank0.RequestCancelled(1);
  rank0.SendComplete(2);
  rank0.Leave(9, wait);
  builder.SetTimeline(rank0);
  RankBuilder rank1(builder.definitions(), 1);
  rank1.Enter(0, recv);
  rank1.Receive(0, world, 0, 8);
  rank1.Leave(3, recv);
  builder.SetTimeline(rank1);
  const Trace cut = ExpectSameReplay(std::move(builder).Finish(), PhaseSpec::TimeWindow(0, 5));
  EXPECT_THAT(Ends(cut), ElementsAre(5, 2));  // rank 0 begins at 1 and sends the second at 2
  EXPECT_EQ(Unmatched(MatchTrace(cut)), 0u);
}

// The window cuts a barrier at its begin, a wait at its end and the regions around; what was counted inside the two
// calls is left out. Ticks stay.
TEST(CutTrace, WindowThroughCallsAndRegions) {
  TraceBuilder builder;
  const std::uint32_t main = builder.AddRegion("main"), loop = builder.AddRegion("loop"),
                      barrier = builder.AddRegion("MPI_Barrier"), wait = builder.AddRegion("MPI_Wait");
  const std::uint32_t world = builder.AddWorld(1);
  const std::uint32_t ins = builder.AddCounter({"INS", "", "", 1, false, true});
  builder.trace().ticks_per_second = 1;
  RankBuilder rank(builder.definitions(), 0);
  const auto edge = [&](Tick tick, std::int64_t count, std::uint32_t region, bool is_leave) {
    rank.SetCounter(tick, ins, count);
    is_leave ? rank.Leave(tick, region) : rank.Enter(tick, region);
  };
  edge(0, 0, main, false);
  edge(1, 10, loop, false);
  rank.MeasurementOff(1);
  edge(2, 20, barrier, false);
  rank.Collective(CollectiveKind::kBarrier, world, std::nullopt, 0, 0);
  edge(6, 30, barrier, true);
  rank.MeasurementOn(6);
  edge(10, 70, wait, false);
  edge(20, 100, wait, true);
  edge(21, 110, loop, true);
  rank.BufferFlush(21, 22);
  edge(22, 120, main, true);
  builder.SetTimeline(rank);
  const Trace trace = std::move(builder).Finish();
  const Trace cut = ExpectSameReplay(trace, PhaseSpec::TimeWindow(4, 12));
  const RankTimeline& timeline = cut.timelines[0];
  ASSERT_EQ(timeline.calls(), 2u);
  EXPECT_EQ(timeline.enter(0), 4);
  EXPECT_EQ(timeline.leave(0), 6);
  EXPECT_EQ(timeline.enter(1), 10);
  EXPECT_EQ(timeline.leave(1), 12);
  ASSERT_EQ(timeline.region_events(), 4u);
  EXPECT_EQ(timeline.region_event(0).region, main);
  EXPECT_EQ(timeline.region_event(1).region, loop);
  EXPECT_EQ(timeline.region_event(2).region, loop);
  EXPECT_TRUE(timeline.region_event(2).is_leave);
  EXPECT_EQ(timeline.event_tick(3), 12);
  EXPECT_EQ(timeline.counter_at_event(ins, 0), 30);
  EXPECT_EQ(timeline.counter_in_call(ins, 0), 0);
  EXPECT_EQ(timeline.counter_at_enter(ins, 1), 70);
  EXPECT_EQ(timeline.counter_in_call(ins, 1), 0);
  EXPECT_EQ(timeline.counter_at_event(ins, 3), 70);
  ASSERT_EQ(timeline.interruptions().size(), 1u);
  EXPECT_EQ(timeline.interruptions()[0].begin, 4);
  EXPECT_EQ(timeline.interruptions()[0].end, 6);
  EXPECT_TRUE(cut.diagnostics.empty());
  // Both ends in one call: nothing was computed or counted.
  const Trace inside = ExpectSameReplay(trace, PhaseSpec::TimeWindow(11, 13));
  EXPECT_EQ(inside.timelines[0].counter_at_event(ins, 0), inside.timelines[0].counter_at_event(ins, 3));
  EXPECT_THAT(Ends(inside), ElementsAre(0));
}

// Between samples the counter grows evenly; integers are rounded. Two ticks a second.
TEST(CutTrace, CountersBetweenSamples) {
  TraceBuilder builder;
  const std::uint32_t main = builder.AddRegion("main");
  builder.AddWorld(1);
  const std::uint32_t ins = builder.AddCounter({"INS", "", "", 1, false, true});
  builder.trace().ticks_per_second = 2;
  RankBuilder rank(builder.definitions(), 0);
  rank.SetCounter(4, ins, 10);
  rank.Enter(4, main);
  rank.SetCounter(12, ins, 73);
  rank.Leave(12, main);
  builder.SetTimeline(rank);
  const Trace cut = CutOut(std::move(builder).Finish(), PhaseSpec::TimeWindow(1, 2.5));
  EXPECT_EQ(cut.timelines[0].begin(), 6);
  EXPECT_EQ(cut.timelines[0].counter_at_event(ins, 0), 26);  // 10 + 63 / 4 = 25.75
  EXPECT_EQ(cut.timelines[0].counter_at_event(ins, 1), 49);  // 10 + 63 * 5 / 8 = 49.375
}

// Without any region open, computation before the first call and behind the last needs something to mark it.
TEST(CutTrace, WindowWithoutRegions) {
  TraceBuilder builder;
  const std::uint32_t barrier = builder.AddRegion("MPI_Barrier");
  const std::uint32_t world = builder.AddWorld(2);
  builder.trace().ticks_per_second = 1;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    RankBuilder timeline(builder.definitions(), rank);
    for (const Tick tick : {0, 10, 20}) {
      timeline.Enter(tick + rank, barrier);
      timeline.Collective(CollectiveKind::kBarrier, world, std::nullopt, 0, 0);
      timeline.Leave(tick + 2, barrier);
    }
    builder.SetTimeline(timeline);
  }
  const Trace trace = std::move(builder).Finish();
  const Trace cut = ExpectSameReplay(trace, PhaseSpec::TimeWindow(5, 15));
  EXPECT_THAT(Ends(cut), ElementsAre(9, 9));
  EXPECT_THAT(cut.UserRegionNames(), ElementsAre(kWindowRegion));
  EXPECT_THAT(CutOut(trace, PhaseSpec::TimeWindow(11, 12)).UserRegionNames(), IsEmpty());  // calls mark the edges
}

// Rank 1 never enters the phase; its message is ready, and it is there as a rank that does nothing.
TEST(CutTrace, RankWithoutThePhase) {
  const Trace cut =
      ExpectSameReplay(test::ParseTrace("r0: comp 0-1 | Recv<1#a 1-5 | loop 5-6 | Recv<1#a 6-7 | loop 7-8\n"
                                        "r1: comp 0-4 | Send>0#a 4-5 | comp 5-6 | Send>0#a 6-7"),
                       Loop());
  EXPECT_THAT(Ends(cut), ElementsAre(2, 0));
  EXPECT_TRUE(cut.timelines[1].empty());
  EXPECT_EQ(MatchTrace(cut).matched, 1u);
}

TEST(CutTrace, WholeRunIsTheTraceItself) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Trace trace = test::MakeRandomProgram(seed);
    EXPECT_EQ(test::Difference(trace, CutOut(trace, PhaseSpec::WholeRun())), "") << "seed " << seed;
    EXPECT_TRUE(CutOut(trace, PhaseSpec::TimeWindow(0, trace.Seconds(50))).IsCutOut()) << "seed " << seed;
  }
}

TEST(CutTrace, WindowsOfRandomPrograms) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Trace trace = test::MakeRandomProgram(
        seed, {.ranks = 2 + static_cast<int>(seed % 9), .steps = 40 + static_cast<int>(seed % 5) * 40});
    const double length = trace.Seconds(trace.end() - trace.begin());
    const double begin = length * static_cast<double>(seed % 10) / 20;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace once = ExpectSameReplay(trace, PhaseSpec::TimeWindow(begin, begin + length * 0.4));
    ExpectSameReplay(once, PhaseSpec::TimeWindow(length * 0.1, length * 0.2));
    if (trace.timelines[0].region_events() == 0) continue;
    ExpectSameReplay(trace, Loop());
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace farscale
