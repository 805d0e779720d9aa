// Every rule of the replay on a program whose ideal times are worked out by hand: computation keeps its length,
// everything else takes no time but waiting.
#include "replay/anomalies.h"
#include "replay/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/program.h"
#include "support/replay_rules.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using test::kBsc;
using test::kCausal;

ReplayResult Replay(const Trace& trace, const ReplayRules& rules, const PhaseSpec& spec = PhaseSpec::WholeRun()) {
  return farscale::Replay(trace, MatchTrace(trace), CutPhase(trace, spec), {rules, true});
}

// When each rank ends.
std::vector<Tick> Ends(const std::string& program, const ReplayRules& rules = kBsc) {
  return Replay(test::ParseTrace(program), rules).end;
}

// Sent at 4: the receiver waits from 1 to 4, the sender does not wait.
TEST(Replay, EagerSend) {
  EXPECT_THAT(Ends("r0: comp 0-4 | Send>1#a 4-6 | comp 6-7\n"
                   "r1: comp 0-1 | Recv<0#a 1-6 | comp 6-8"),
              ElementsAre(5, 6));
}

// The limit is 32768 bytes: from there on the sender waits until the receive is posted at 5.
TEST(Replay, RendezvousFrom32768BytesOn) {
  const auto program = [](const std::string& bytes) {
    return "r0: Send>1#a*" + bytes + " 0-6 | comp 6-7\nr1: comp 0-5 | Recv<0#a*" + bytes + " 5-6";
  };
  for (const ReplayRules& rules : {kBsc, kCausal}) {
    EXPECT_THAT(Ends(program("32767"), rules), ElementsAre(1, 5));
    EXPECT_THAT(Ends(program("32768"), rules), ElementsAre(6, 5));
  }
}

TEST(Replay, EagerLimitOfTheStudyIsForCausalOnly) {
  const std::string program = "r0: Send>1#a*1000 0-6 | comp 6-7\nr1: comp 0-5 | Recv<0#a*1000 5-6";
  EXPECT_THAT(Ends(program, {RuleSet::kCausal, 1000}), ElementsAre(6, 5));
  EXPECT_THAT(Ends(program, {RuleSet::kBsc, 1000}), ElementsAre(1, 5));
}

// Rank 0's message b is there at 0, its large message a is taken at 7, for which its sendrecv waits. So do the BSC
// tools: without, the ideal time that they publish for EPOCH on 4 ranks would be missed by 104 us of 6.05 s.
TEST(Replay, SendHalfOfASendrecvWaitsForItsReceiver) {
  const std::string program =
      "r0: comp 0-2 | Sendrecv>1#a*40000<1#b 2-9\n"
      "r1: Send>0#b 0-1 | comp 1-8 | Recv<0#a*40000 8-9";
  for (const ReplayRules& rules : {kBsc, kCausal}) EXPECT_THAT(Ends(program, rules), ElementsAre(7, 7));
}

TEST(Replay, SendrecvTowardsEachOther) {
  const std::string program =
      "r0: comp 0-2 | Sendrecv>1#a*40000<1#b*40000 2-6\n"
      "r1: comp 0-4 | Sendrecv>0#b*40000<0#a*40000 4-6";
  for (const ReplayRules& rules : {kBsc, kCausal}) EXPECT_THAT(Ends(program, rules), ElementsAre(4, 4));
}

// The wait of a large isend: nothing in bsc, until the receive is posted at 7 in causal.
TEST(Replay, WaitOfARendezvousIsend) {
  const std::string program =
      "r0: Isend>1#a*50000 0-1 | comp 1-2 | Wait~a 2-9\n"
      "r1: comp 0-7 | Recv<0#a*50000 7-9";
  EXPECT_THAT(Ends(program, kBsc), ElementsAre(1, 7));
  EXPECT_THAT(Ends(program, kCausal), ElementsAre(7, 7));
}

TEST(Replay, SynchronousSendOfASmallMessage) {
  const std::string program = "r0: Ssend>1#a 0-5 | comp 5-6\nr1: comp 0-4 | Recv<0#a 4-5";
  EXPECT_THAT(Ends(program, kBsc), ElementsAre(1, 4));
  EXPECT_THAT(Ends(program, kCausal), ElementsAre(5, 4));
}

// A buffered send completes locally whatever its size, with any rules: rank 0 leaves it at 0 and computes until 1, rank
// 1 posts its receive at 4 and has the message at once. The same of one that is waited for later.
TEST(Replay, BufferedSendOfALargeMessageWaitsForNobody) {
  const std::string program = "r0: Bsend>1#a*100000 0-5 | comp 5-6\nr1: comp 0-4 | Recv<0#a*100000 4-5";
  const std::string immediate = "r0: Ibsend>1#a*100000 0-1 | Wait~a 1-5 | comp 5-6\nr1: comp 0-4 | Recv<0#a*100000 4-5";
  for (const ReplayRules& rules : {kBsc, kCausal}) {
    EXPECT_THAT(Ends(program, rules), ElementsAre(1, 4)) << ToString(rules.set);
    EXPECT_THAT(Ends(immediate, rules), ElementsAre(1, 4)) << ToString(rules.set);
  }
}

// Rank 1 opens its window to rank 0 at 4. Rank 0 starts at 1, which waits for nobody, puts, computes until 2 and waits
// in its complete until rank 1 has posted: it leaves at 4. Rank 1 computes from 4 to 6 and waits for the complete,
// which was told at 2. With 7 s of work in the epoch rank 0 completes at 8, and rank 1 waits for that.
TEST(Replay, EpochsOfAWindow) {
  const auto program = [](int work) {
    const int end = 3 + work;
    return "r0: comp 0-1 | Win_start 1-2 | Put 2-3 | comp 3-" + std::to_string(end) + " | Win_complete>1#c<1#p " +
           std::to_string(end) + "-20\n" + "r1: comp 0-4 | Win_post>0#p 4-5 | comp 5-7 | Win_wait<0#c 7-21";
  };
  for (const ReplayRules& rules : {kBsc, kCausal}) {
    EXPECT_THAT(Ends(program(1), rules), ElementsAre(4, 6));
    EXPECT_THAT(Ends(program(7), rules), ElementsAre(8, 8));
    EXPECT_THAT(Ends(program(5), {rules.set, 0}), ElementsAre(6, 6));  // a post never waits, whatever the limit
  }
}

TEST(Replay, WaitallWaitsForTheLatest) {
  EXPECT_THAT(Ends("r0: Irecv<1#a 0-1 | Irecv<2#b 1-2 | Waitall~a,b 2-9\n"
                   "r1: comp 0-3 | Send>0#a 3-4\n"
                   "r2: comp 0-5 | Send>0#b 5-6"),
              ElementsAre(5, 3, 5));
}

// Waitany and Test complete what the trace recorded: a at 3, then one second of work, then b at 5.
TEST(Replay, WaitanyAndTestCompleteWhatWasRecorded) {
  for (const char* call : {"Waitany", "Waitsome", "Test"}) {
    EXPECT_THAT(Ends(std::string("r0: Irecv<1#a 0-1 | Irecv<2#b 1-2 | ") + call + "~a 2-4 | comp 4-5 | Wait~b 5-7\n" +
                     "r1: comp 0-3 | Send>0#a 3-4\n"
                     "r2: comp 0-5 | Send>0#b 5-6"),
                ElementsAre(5, 3, 5))
        << call;
  }
}

// Receives posted in one order and completed in another: each takes the message of its post. Message one is sent at
// 1, message two at 6; the wait for the first post leaves at 1.
TEST(Replay, MatchingGoesByThePost) {
  TraceBuilder builder;
  const auto irecv = builder.AddRegion("MPI_Irecv"), wait = builder.AddRegion("MPI_Wait"),
             send = builder.AddRegion("MPI_Send");
  const auto world = builder.AddWorld(2);
  RankBuilder receiver(builder.definitions(), 0), sender(builder.definitions(), 1);
  receiver.Enter(0, irecv);
  receiver.ReceivePost(1);
  receiver.ReceivePost(2);
  receiver.Leave(0, irecv);
  receiver.Enter(0, wait);
  receiver.ReceiveComplete(1, world, 5, 8, 2);  // the second post first
  receiver.Leave(7, wait);
  receiver.Enter(7, wait);
  receiver.ReceiveComplete(1, world, 5, 8, 1);
  receiver.Leave(8, wait);
  sender.Enter(0, wait);  // begins at 0 like the receiver
  sender.Leave(0, wait);
  for (const Tick t : {1, 6}) {
    sender.Enter(t, send);
    sender.Send(0, world, 5, 8);
    sender.Leave(t, send);
  }
  builder.SetTimeline(receiver);
  builder.SetTimeline(sender);
  const ReplayResult result = Replay(std::move(builder).Finish(), kBsc);
  EXPECT_THAT(result.leave[0], ElementsAre(0, 6, 6));
}

// Ranks arrive at 1, 5 and 3.
std::string CollectiveProgram(const std::string& call) {
  return "r0: comp 0-1 | " + call + " 1-6\nr1: comp 0-5 | " + call + " 5-6\nr2: comp 0-3 | " + call + " 3-6";
}

TEST(Replay, CollectivesOfAllToAllKindLeaveAtTheLatestArrival) {
  for (const char* name : {"Barrier", "Allreduce", "Allgather", "Alltoall", "Reduce_scatter"}) {
    for (const ReplayRules& rules : {kBsc, kCausal}) {
      EXPECT_THAT(Ends(CollectiveProgram(std::string(name) + "@1"), rules), ElementsAre(5, 5, 5)) << name;
    }
  }
}

TEST(Replay, BroadcastAndScatter) {
  for (const char* name : {"Bcast", "Scatter"}) {
    const std::string from = std::string(name) + "@1/";
    EXPECT_THAT(Ends(CollectiveProgram(from + "0"), kBsc), ElementsAre(5, 5, 5));
    EXPECT_THAT(Ends(CollectiveProgram(from + "0"), kCausal), ElementsAre(1, 5, 3));  // the root is there at 1
    EXPECT_THAT(Ends(CollectiveProgram(from + "1"), kCausal), ElementsAre(5, 5, 5));  // everybody waits for it
    EXPECT_THAT(Ends(CollectiveProgram(from + "2"), kCausal), ElementsAre(3, 5, 3));
  }
}

TEST(Replay, ReduceAndGather) {
  for (const ReplayRules& rules : {kBsc, kCausal}) {
    EXPECT_THAT(Ends(CollectiveProgram("Reduce@1/0"), rules), ElementsAre(5, 5, 3));
    EXPECT_THAT(Ends(CollectiveProgram("Reduce@1/2"), rules), ElementsAre(1, 5, 5));
  }
  EXPECT_THAT(Ends(CollectiveProgram("Gather@1/2"), kBsc), ElementsAre(5, 5, 5));
  EXPECT_THAT(Ends(CollectiveProgram("Gather@1/2"), kCausal), ElementsAre(1, 5, 5));
}

// Each rank waits for those before it in the communicator.
TEST(Replay, ScanIsAPrefix) {
  for (const ReplayRules& rules : {kBsc, kCausal}) {
    EXPECT_THAT(Ends(CollectiveProgram("Scan@1"), rules), ElementsAre(1, 5, 5));
    EXPECT_THAT(Ends(CollectiveProgram("Exscan@1"), rules), ElementsAre(1, 5, 5));
    // In the communicator {2, 0, 1} the order of arrival is 3, 1, 5.
    EXPECT_THAT(Ends("comm c: 2 0 1\n" + CollectiveProgram("Scan@1:c"), rules), ElementsAre(3, 5, 3));
  }
}

TEST(Replay, NonBlockingCollectivesCompleteAtTheirWait) {
  EXPECT_THAT(Ends("r0: Iallreduce@1 0-1 | comp 1-4 | Wait~1 4-8\n"
                   "r1: comp 0-7 | Iallreduce@1 7-8 | Wait~1 8-9"),
              ElementsAre(7, 7));
  EXPECT_THAT(Ends("r0: Ibcast@1/0 0-1 | comp 1-4 | Wait~1 4-8\n"
                   "r1: comp 0-7 | Ibcast@1/0 7-8 | Wait~1 8-9",
                   kCausal),
              ElementsAre(3, 7));
}

TEST(Replay, SubCommunicatorsSynchroniseTheirMembersOnly) {
  EXPECT_THAT(Ends("comm c: 2 0\n"
                   "r0: comp 0-1 | Allreduce@1:c 1-4\n"
                   "r1: comp 0-9\n"
                   "r2: comp 0-3 | Allreduce@1:c 3-4"),
              ElementsAre(3, 9, 3));
}

TEST(Replay, CollectivesOnSelfWaitForNobody) {
  TraceBuilder builder;
  const auto barrier = builder.AddRegion("MPI_Barrier");
  builder.AddWorld(2);
  Communicator self;
  self.is_self = true;
  const auto comm = builder.AddCommunicator(self);
  for (const std::int32_t r : {0, 1}) {
    RankBuilder rank(builder.definitions(), r);
    rank.Enter(0, barrier);
    rank.Leave(0, barrier);
    rank.Enter(10 * r, barrier);
    rank.Collective(CollectiveKind::kBarrier, comm, {}, 0, 0);
    rank.Leave(20, barrier);
    builder.SetTimeline(rank);
  }
  EXPECT_THAT(Replay(std::move(builder).Finish(), kBsc).end, ElementsAre(0, 10));
}

TEST(Replay, InitSynchronisesAlwaysFinalizeInCausal) {
  const std::string init = "r0: Init 0-5 | comp 5-6\nr1: comp 0-4 | Init 4-5";
  EXPECT_THAT(Ends(init, kBsc), ElementsAre(5, 4));
  EXPECT_THAT(Ends(init, kCausal), ElementsAre(5, 4));
  const std::string finalize = "r0: comp 0-1 | Finalize 1-5\nr1: comp 0-4 | Finalize 4-5";
  EXPECT_THAT(Ends(finalize, kBsc), ElementsAre(1, 4));
  EXPECT_THAT(Ends(finalize, kCausal), ElementsAre(4, 4));
}

TEST(Replay, RanksStartAtTheirOwnBegin) {
  EXPECT_THAT(Ends("r0: comp 0-4 | Barrier@1 4-6\nr1: comp 3-4 | Barrier@1 4-6"), ElementsAre(4, 4));
  EXPECT_THAT(Ends("r0: comp 0-1 | Barrier@1 1-6\nr1: comp 3-5 | Barrier@1 5-6"), ElementsAre(5, 5));
}

TEST(Replay, CallsOfNoInterestTakeNoTime) {
  EXPECT_THAT(Ends("r0: comp 0-2 | Comm_rank 2-7 | comp 7-8 | Probe 8-9"), ElementsAre(3));
}

// From 2 on: the message was sent at 0, so rank 1 finds it ready after its two seconds of work.
TEST(Replay, ReceiveWhoseSendLiesBeforeTheWindow) {
  const ReplayResult result = Replay(test::ParseTrace("r0: Send>1#a 0-1 | comp 1-10\n"
                                                      "r1: comp 0-4 | Recv<0#a 4-6 | comp 6-10"),
                                     kBsc, PhaseSpec::TimeWindow(2, 10));
  EXPECT_THAT(result.end, ElementsAre(8, 6));
  EXPECT_EQ(result.diagnostics.count(anomaly::kMessageCutAtEdge), 1u);
}

// Until 3: nobody receives the large message any more, so its send does not wait.
TEST(Replay, SendWhoseReceiveLiesBehindTheWindow) {
  const ReplayResult result = Replay(test::ParseTrace("r0: Send>1#a*50000 0-1 | comp 1-10\n"
                                                      "r1: comp 0-4 | Recv<0#a*50000 4-6 | comp 6-10"),
                                     kBsc, PhaseSpec::TimeWindow(0, 3));
  EXPECT_THAT(result.end, ElementsAre(2, 3));
  EXPECT_EQ(result.diagnostics.count(anomaly::kMessageCutAtEdge), 1u);
}

// From 5 on: rank 1 is within its receive, which is done at once, and computes from 6 to 10.
TEST(Replay, WindowThatBeginsInsideACall) {
  EXPECT_THAT(Replay(test::ParseTrace("r0: Send>1#a 0-1 | comp 1-10\n"
                                      "r1: comp 0-4 | Recv<0#a 4-6 | comp 6-10"),
                     kBsc, PhaseSpec::TimeWindow(5, 10))
                  .end,
              ElementsAre(5, 4));
}

TEST(Replay, CollectiveCutByTheWindow) {
  const ReplayResult result = Replay(test::ParseTrace("r0: comp 0-1 | Barrier@1 1-3 | comp 3-9\n"
                                                      "r1: comp 0-2 | Barrier@1 2-7 | comp 7-9"),
                                     kBsc, PhaseSpec::TimeWindow(4, 9));
  EXPECT_THAT(result.end, ElementsAre(5, 2));
  EXPECT_EQ(result.diagnostics.count(anomaly::kCollectiveCutAtEdge), 1u);
}

// The receive is posted before the window and completed in it; the message is sent in it, at 2 after its begin.
TEST(Replay, ReceivePostedBeforeTheWindow) {
  EXPECT_THAT(Replay(test::ParseTrace("r0: Irecv<1#a 0-1 | comp 1-6 | Wait~a 6-9 | comp 9-10\n"
                                      "r1: comp 0-7 | Send>0#a 7-8 | comp 8-10"),
                     kBsc, PhaseSpec::TimeWindow(5, 10))
                  .end,
              ElementsAre(3, 4));
}

// Two large sends towards each other: the trace shows that they got through.
TEST(Replay, SendsThatWouldWaitForEachOtherAreReleased) {
  const ReplayResult result = Replay(test::ParseTrace("r0: comp 0-1 | Send>1#a*40000 1-3 | Recv<1#b*40000 3-4\n"
                                                      "r1: comp 0-2 | Send>0#b*40000 2-3 | Recv<0#a*40000 3-4"),
                                     kBsc);
  EXPECT_THAT(result.end, ElementsAre(2, 2));
  EXPECT_EQ(result.diagnostics.count(anomaly::kRendezvousReleased), 2u);
}

TEST(Replay, ProgramThatCannotCompleteIsNamed) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-1 | Recv<1#a 1-5 | Send>1#b 5-6\n"
      "r1: comp 0-2 | Recv<0#b 2-5 | Send>0#a 5-6\n"
      "r2: comp 0-9");
  const std::string error = test::ErrorOf(ErrorKind::kInput, [&] { Replay(trace, kBsc); });
  EXPECT_THAT(error, HasSubstr("2 of 3 ranks wait"));
  EXPECT_THAT(error, HasSubstr("rank 0 in MPI_Recv at 1.00 s for a message from rank 1"));
  EXPECT_THAT(error, HasSubstr("rank 1 in MPI_Recv at 2.00 s for a message from rank 0"));
}

TEST(Replay, TimesOfCallsAndEdges) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-4 | Send>1#a 4-6 | A 6-8 | Barrier@1 8-10\n"
      "r1: comp 0-1 | Recv<0#a 1-6 | A 6-9 | Barrier@1 9-10");
  const ReplayResult result = Replay(trace, kBsc);
  EXPECT_THAT(result.leave[0], ElementsAre(4, 7));
  EXPECT_THAT(result.leave[1], ElementsAre(4, 7));
  // A runs from 6 to 9 on rank 1 as measured, from 4 to 7 in the replay.
  const PhaseCut whole = CutPhase(trace, PhaseSpec::WholeRun()), a = CutPhase(trace, PhaseSpec::Region("A"));
  const auto at = [&](const Edge& edge) { return result.TimeAt(trace.timelines[1], whole.ranks[1], 1, edge); };
  EXPECT_EQ(at(a.ranks[1].window.begin), 4);
  EXPECT_EQ(at(a.ranks[1].window.end), 7);
}

TEST(Matching, UnmatchedMessagesAreCountedByWhatIsMissing) {
  const Trace trace = test::ParseTrace(
      "r0: Send>1#a 0-1 | Send>1#a 1-2 | Recv<1#x 2-3\n"
      "r1: Recv<0#a 0-1");
  const Matching matching = MatchTrace(trace);
  EXPECT_EQ(matching.matched, 1u);
  EXPECT_EQ(matching.messages, 3u);
  EXPECT_EQ(matching.diagnostics.count(anomaly::kUnmatchedSend), 1u);
  EXPECT_EQ(matching.diagnostics.count(anomaly::kUnmatchedReceive), 1u);
  EXPECT_THAT(matching.diagnostics.findings()[1].example, HasSubstr("from rank 0 to rank 1"));  // the send
  EXPECT_EQ(Ends("r0: Send>1#a 0-1 | Send>1#a 1-2 | Recv<1#x 2-3\nr1: Recv<0#a 0-1")[0], 0);
}

TEST(Matching, DifferingSizesAndCollectives) {
  const Matching matching =
      MatchTrace(test::ParseTrace("r0: Send>1#a*8 0-1 | Barrier@1 1-2 | Barrier@2 2-3\n"
                                  "r1: Recv<0#a*9 0-1 | Allreduce@1 1-2"));
  EXPECT_EQ(matching.diagnostics.count(anomaly::kMessageSizeMismatch), 1u);
  // Barrier against allreduce, and a barrier of one rank only.
  EXPECT_EQ(matching.diagnostics.count(anomaly::kCollectiveMismatch), 2u);
}

TEST(Matching, CancelledSendsCarryNoMessage) {
  TraceBuilder builder;
  const auto isend = builder.AddRegion("MPI_Isend");
  const auto world = builder.AddWorld(2);
  RankBuilder rank(builder.definitions(), 0);
  rank.Enter(0, isend);
  rank.SendPost(1, world, 0, 8, 1);
  rank.RequestCancelled(1);
  rank.Leave(1, isend);
  builder.SetTimeline(rank);
  const Matching matching = MatchTrace(std::move(builder).Finish());
  EXPECT_EQ(matching.messages, 0u);
  EXPECT_TRUE(matching.diagnostics.empty());
}

}  // namespace
}  // namespace farscale
