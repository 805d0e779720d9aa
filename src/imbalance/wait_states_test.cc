// Wait states where times are equal, worked out by hand. One tick is a second.
#include "imbalance/wait_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "imbalance/collective_waits.h"
#include "support/program.h"

namespace farscale {
namespace {

RankWaits WaitsOf(std::size_t rank, const std::string& program) {
  const Trace trace = test::ParseTrace(program);
  const Matching matching = MatchTrace(trace);
  const Activities activities = CollectActivities(trace, CutPhase(trace, PhaseSpec::WholeRun()));
  const CollectiveWaits collectives(trace, matching, activities);
  RankWaits waits = FindWaitStates(trace, matching, activities, collectives).ranks[rank];
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
  EXPECT_EQ(waits("4").wrong_order[0].wait, 0u);
  EXPECT_FALSE(waits("4").wrong_order[0].same_source);
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
    return !waits.wrong_order.empty() && waits.wrong_order[0].same_source;
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

}  // namespace
}  // namespace farscale
