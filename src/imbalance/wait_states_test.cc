// Wait states where times are equal, worked out by hand. One tick is a second.
#include "imbalance/waits/wait_states.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/unknown_waits.h"
#include "support/program.h"

namespace farscale {
namespace {

using testing::ElementsAre;

RankWaits WaitsOf(std::size_t rank, const std::string& program) {
  const Trace trace = test::ParseTrace(program);
  const Matching matching = MatchTrace(trace);
  RankWaits waits =
      FindWaitStates(trace, matching, CollectActivities(trace, CutPhase(trace, PhaseSpec::WholeRun()))).ranks[rank];
  std::erase_if(waits.waits, [](const WaitState& wait) { return wait.kind == WaitKind::kWaitAtEnd; });
  return waits;
}

// Rank 0 waits for a, sent at 5, and receives b behind it. Had b been sent before, at 4, receiving it first would have
// waited less; sent at 5 like a, it would not.
TEST(WaitStates, MessagesSentAtTheSameTimeAreInNoWrongOrder) {
  const auto waits = [](const std::string& sent) {
    return WaitsOf(0, "r0: Recv<1#a 0-6 | Recv<2#b 6-7\nr1: comp 0-5 | Send>0#a 5-6\nr2: comp 0-" + sent +
                          " | Send>0#b " + sent + "-6");
  };
  ASSERT_EQ(waits("4").waits.size(), 1u);
  EXPECT_EQ(waits("4").waits[0].length, 5);
  ASSERT_EQ(waits("4").wrong_order.size(), 1u);
  EXPECT_EQ(waits("4").wrong_order[0].first, 0u);
  EXPECT_FALSE(waits("4").wrong_order[0].second);
  ASSERT_EQ(waits("5").waits.size(), 1u);
  EXPECT_TRUE(waits("5").wrong_order.empty());
}

// a is in wrong order because of b, which rank 2 sent at 3. What rank 1 itself sent before a, at 2, makes the source
// the same; what it sent at 5 like a does not.
TEST(WaitStates, MessagesSentAtTheSameTimeAreNotFromTheSameSourceInWrongOrder) {
  const auto same_source = [](const std::string& rank1) {
    const RankWaits waits =
        WaitsOf(0, "r0: Recv<1#a 0-6 | Recv<2#b 6-7 | Recv<1#c 7-8\nr1: " + rank1 + "\nr2: comp 0-3 | Send>0#b 3-4");
    EXPECT_EQ(waits.wrong_order.size(), 1u);
    return !waits.wrong_order.empty() && waits.wrong_order[0].second;
  };
  EXPECT_TRUE(same_source("comp 0-2 | Send>0#c 2-3 | comp 3-5 | Send>0#a 5-6"));
  EXPECT_FALSE(same_source("comp 0-5 | Send>0#c 5-5 | Send>0#a 5-6"));
}

// In the communicator rank 1 comes first, then rank 0, then rank 2. Whoever of those before it comes last keeps rank 2,
// wherever that one is in the communicator; of equals the lowest rank.
TEST(WaitStates, ScansWaitForTheLastOfThoseBefore) {
  const auto wait = [](const std::string& rank0, const std::string& rank1) {
    const RankWaits waits =
        WaitsOf(2, "comm c: 1 0 2\nr0: comp 0-" + rank0 + " | Scan@1:c " + rank0 + "-6\nr1: comp 0-" + rank1 +
                       " | Scan@1:c " + rank1 + "-6\nr2: comp 0-1 | Scan@1:c 1-7");
    EXPECT_EQ(waits.waits.size(), 1u);
    return waits.waits.empty() ? WaitState() : waits.waits[0];
  };
  EXPECT_EQ(wait("3", "5").delayer, 1u);
  EXPECT_EQ(wait("3", "5").length, 4);
  EXPECT_EQ(wait("5", "3").delayer, 0u);
  EXPECT_EQ(wait("5", "3").length, 4);
  EXPECT_EQ(wait("5", "5").delayer, 0u);
  EXPECT_EQ(wait("5", "5").kind, WaitKind::kEarlyScan);
}

// Rank 1 completes its epoch at 2, but rank 0 posts at 4 only, so it waits 2. Rank 0 waits for nobody: rank 1 has
// called complete by then.
TEST(WaitStates, CompletesWaitForLatePosts) {
  const std::string program =
      "r0: comp 0-4 | Win_post>1#p 4-5 | Win_wait<1#c 5-9\nr1: Win_start 0-1 | Put 1-2 | Win_complete<0#p>0#c 2-6";
  EXPECT_THAT(WaitsOf(1, program).waits, ElementsAre(WaitState{2, 0, 0, WaitKind::kLatePost, 2}));
  EXPECT_TRUE(WaitsOf(0, program).waits.empty());
}

// The same where the start waits already: it is charged there.
TEST(WaitStates, StartsWaitForLatePosts) {
  const std::string program =
      "r0: comp 0-4 | Win_post>1#p 4-5 | Win_wait<1#c 5-9\n"
      "r1: Win_start 0-6 | Put 6-7 | Win_complete<0#p>0#c 7-8";
  EXPECT_THAT(WaitsOf(1, program).waits, ElementsAre(WaitState{0, 0, 0, WaitKind::kLatePost, 4}));
}

// Rank 0 waits from 1 on for rank 1, which calls complete at 8. Its put ended at 4, so that 4 of the 7 are late
// complete; had the put ended at 0, all would be.
TEST(WaitStates, WaitsForLateCompletes) {
  const auto waits = [](const std::string& put) {
    return WaitsOf(
        0, "r0: Win_post>1#p 0-1 | Win_wait<1#c 1-10\nr1: Win_start 0-0 | " + put + " | Win_complete<0#p>0#c 8-9");
  };
  const RankWaits late = waits("comp 0-3 | Put 3-4 | comp 4-8");
  EXPECT_THAT(late.waits, ElementsAre(WaitState{1, 1, 2, WaitKind::kEarlyWait, 7}));
  ASSERT_EQ(late.late_completes.size(), 1u);
  EXPECT_EQ(late.late_completes[0].second, 4);
  EXPECT_EQ(waits("Put 0-0 | comp 0-8").late_completes.at(0).second, 7);
  EXPECT_EQ(waits("comp 0-8").late_completes.at(0).second, 7);  // no operation at all: since the epoch began
}

TEST(WaitStates, FencesWaitForTheLast) {
  EXPECT_THAT(WaitsOf(0, "r0: Win_fence@1 0-5\nr1: comp 0-4 | Win_fence@1 4-5").waits,
              ElementsAre(WaitState{0, 1, 0, WaitKind::kWaitAtFence, 4}));
}

// Rank 0 has the lock of rank 2's window until it unlocks at 5. Rank 1 asks for it at 2: it waits 3 where MPI locks at
// once, and from its unlock at 4 on where MPI puts the lock off.
TEST(WaitStates, LocksWaitForWhoHasThem) {
  const auto waits = [](const std::string& lock, const std::string& rank1) {
    return WaitsOf(1, "r0: Win_lock>2" + lock + " 0-1 | comp 1-5 | Win_unlock>2 5-6\nr1: comp 0-2 | " + rank1 +
                          "\nr2: comp 0-9")
        .waits;
  };
  constexpr WaitKind kLock = WaitKind::kWaitForLock;
  EXPECT_THAT(waits("", "Win_lock>2 2-6 | Put 6-7 | Win_unlock>2 7-8"), ElementsAre(WaitState{0, 0, 1, kLock, 3}));
  EXPECT_THAT(waits("", "Win_lock>2 2-3 | Put 3-4 | Win_unlock>2 4-7"), ElementsAre(WaitState{2, 0, 1, kLock, 1}));
  // Sharing takes one who has it for himself.
  EXPECT_THAT(waits("", "Win_lock>2#shared 2-6 | Win_unlock>2 7-8"), ElementsAre(WaitState{0, 0, 1, kLock, 3}));
  EXPECT_THAT(waits("#shared", "Win_lock>2 2-6 | Win_unlock>2 7-8"), ElementsAre(WaitState{0, 0, 1, kLock, 3}));
  EXPECT_THAT(waits("#shared", "Win_lock>2#shared 2-6 | Win_unlock>2 7-8"), ElementsAre());
  // The lock of another rank's window; computation while another has the lock; given back before rank 0 got it.
  EXPECT_THAT(waits("", "Win_lock>1 2-6 | Win_unlock>1 7-8"), ElementsAre());
  EXPECT_THAT(waits("", "Win_lock>2 2-3 | comp 3-6 | Win_unlock>2 6-8"), ElementsAre());
  EXPECT_THAT(
      WaitsOf(1, "r0: Win_lock>2 0-5 | Win_unlock>2 5-6\nr1: Win_lock>2 0-1 | Win_unlock>2 1-3\nr2: comp 0-9").waits,
      ElementsAre());
}

// Locks of all ranks are shared: they wait for who has one of them for himself, who waits for them. Here rank 0
// until 5.
TEST(WaitStates, LocksOfAllAreShared) {
  const auto waits = [](const std::string& of_first, const std::string& of_second) {
    const auto of = [](const std::string& kind, int lock, int granted, int unlock) {
      return fmt::format("Win_lock{0} {1}-{2} | Win_unlock{0} {3}-{4}", kind, lock, granted, unlock, unlock + 1);
    };
    return WaitsOf(1, "r0: " + of(of_first, 0, 1, 5) + "\nr1: comp 0-2 | " + of(of_second, 2, 6, 7) + "\nr2: comp 0-9")
        .waits;
  };
  const WaitState waiting{0, 0, 1, WaitKind::kWaitForLock, 3};
  EXPECT_THAT(waits(">2", "_all"), ElementsAre(waiting));
  EXPECT_THAT(waits("_all", ">2"), ElementsAre(waiting));
  EXPECT_THAT(waits("_all", "_all"), ElementsAre());
}

// A replay need not give out locks in the same order. Without records nobody knows whom a lock waits for; flushes wait
// for nobody else. Where others share the lock, they may be polling.
TEST(WaitStates, LocksAreKnownAsMeasuredAlone) {
  const auto is_unknown = [](const std::string& lock, const std::string& unlock, bool as_measured) {
    const Trace trace =
        test::ParseTrace("r0: " + lock + " 0-1 | Put 1-2 | Win_flush 2-3 | " + unlock + " 3-4\nr1: comp 0-4");
    return FindUnknownWaits(trace, CutPhase(trace, PhaseSpec::WholeRun()), as_measured).any();
  };
  EXPECT_TRUE(is_unknown("Win_lock>1", "Win_unlock>1", false));
  EXPECT_FALSE(is_unknown("Win_lock>1", "Win_unlock>1", true));
  EXPECT_FALSE(is_unknown("Win_lock>1#shared", "Win_unlock>1", true));
  EXPECT_FALSE(is_unknown("Win_lock_all", "Win_unlock_all", true));
  EXPECT_TRUE(is_unknown("Win_lock", "Win_unlock", true));
}

// Shared locks may be polled under: their flushes are counted.
TEST(WaitStates, FlushesOfSharedWindowsAreCounted) {
  for (const std::string lock : {"Win_lock_all 0-1", "Win_lock>1#shared 0-1", "Win_lock>1 0-1"}) {
    const std::string unlock = lock[8] == '_' ? "Win_unlock_all 3-4" : "Win_unlock>1 3-4";
    const Trace trace =
        test::ParseTrace("r0: " + lock + " | Win_flush 1-2 | Win_flush 2-3 | " + unlock + "\nr1: comp 0-4");
    const Matching matching = MatchTrace(trace);
    const WaitStates states =
        FindWaitStates(trace, matching, CollectActivities(trace, CutPhase(trace, PhaseSpec::WholeRun())));
    EXPECT_EQ(states.diagnostics.count(anomaly::kFlushesMayPoll), lock == "Win_lock>1 0-1" ? 0u : 2u) << lock;
  }
}

// Rank 2 gets the lock third: it waits for rank 1, which had waited for rank 0.
TEST(WaitStates, LocksAreGivenOutInTurn) {
  const std::string program =
      "r0: Win_lock>0 0-1 | comp 1-3 | Win_unlock>0 3-4\nr1: Win_lock>0 0-4 | comp 4-6 | Win_unlock>0 6-7\n"
      "r2: Win_lock>0 0-7 | Win_unlock>0 7-8";
  EXPECT_THAT(WaitsOf(1, program).waits, ElementsAre(WaitState{0, 0, 1, WaitKind::kWaitForLock, 3}));
  EXPECT_THAT(WaitsOf(2, program).waits, ElementsAre(WaitState{0, 1, 1, WaitKind::kWaitForLock, 6}));
}

// In a ring each waits for its neighbour alone: rank 1, which comes at 5, keeps rank 2 and nobody else.
TEST(WaitStates, NeighboursWaitForNeighbours) {
  const std::string program =
      "r0: Neighbor_alltoall>1#n<3#n*99999 1-2\nr1: comp 0-5 | Neighbor_alltoall>2#n<0#n 5-6\n"
      "r2: comp 0-1 | Neighbor_alltoall>3#n<1#n 1-6\nr3: comp 0-1 | Neighbor_alltoall>0#n*99999<2#n 1-2";
  EXPECT_THAT(WaitsOf(2, program).waits, ElementsAre(WaitState{0, 1, 0, WaitKind::kLateNeighbour, 4}));
  for (const std::size_t rank : {0, 1, 3}) EXPECT_TRUE(WaitsOf(rank, program).waits.empty()) << rank;
}

}  // namespace
}  // namespace farscale
