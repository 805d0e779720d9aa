// Which operations of different ranks are one, worked out by hand.
#include "replay/anomalies.h"
#include "replay/matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/replay.h"
#include "support/program.h"
#include "support/replay_rules.h"
#include "trace/anomalies.h"

namespace farscale {
namespace {

using testing::ElementsAre;

std::vector<Tick> CausalEnds(const Trace& trace) {
  return Replay(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()), {test::kCausal, false}).end;
}

// Rank 0 posts both at once and waits for one, computes 10 s and waits for the other. Rank 1 posts the first at 5, the
// second at 8. Waiting for the first one first: free at 5, done at 15. The other way round: free at 8, done at 18.
TEST(Matching, NonBlockingCollectivesInFlight) {
  const auto program = [](const std::string& one, const std::string& other) {
    return test::ParseTrace(
        "r0: Iallreduce@1 0-1 | Iallreduce@2 1-2 | Wait~" + one + " 2-5 | comp 5-15 | Wait~" + other + " 15-16\n" +
        "r1: comp 0-5 | Iallreduce@1 5-6 | comp 6-9 | Iallreduce@2 9-10 | Wait~1 10-11 | Wait~2 11-12");
  };
  EXPECT_THAT(CausalEnds(program("1", "2")), ElementsAre(15, 8));
  EXPECT_THAT(CausalEnds(program("2", "1")), ElementsAre(18, 8));
  for (const Trace& trace : {program("1", "2"), program("2", "1")}) {
    const Matching matching = MatchTrace(trace);
    EXPECT_TRUE(matching.diagnostics.empty());
    EXPECT_THAT(matching.ranks[0].collectives, ElementsAre(0, 1));
    EXPECT_THAT(matching.ranks[1].collectives, ElementsAre(0, 1));
  }
}

// Of different kinds: each is what was completed for its own post.
TEST(Matching, KindsOfNonBlockingCollectivesInFlight) {
  const Trace trace = test::ParseTrace(
      "r0: Iallreduce@1 0-1 | Ibcast@2/1 1-2 | Wait~2 2-5 | Wait~1 5-6\n"
      "r1: Iallreduce@1 0-1 | Ibcast@2/1 1-2 | Wait~1 2-5 | Wait~2 5-6");
  const Matching matching = MatchTrace(trace);
  EXPECT_TRUE(matching.diagnostics.empty());
  EXPECT_EQ(matching.collectives[0].kind, CollectiveKind::kAllreduce);
  EXPECT_EQ(matching.collectives[1].kind, CollectiveKind::kBroadcast);
  EXPECT_EQ(matching.collectives[1].participants, 2u);
}

// Rank 1 was killed before the others: what it lacks is damage only where the trace does not say so.
TEST(Matching, EndsOfATraceThatEndsEarly) {
  Trace trace = test::ParseTrace(
      "r0: Allreduce@1 0-1 | Send>1#a*8 1-2 | Send>1#a*8 2-3 | Allreduce@2 3-9\nr1: Allreduce@1 0-1 | Recv<0#a*8 1-3");
  const Matching damaged = MatchTrace(trace);
  EXPECT_EQ(damaged.diagnostics.count(anomaly::kCollectiveMismatch), 1u);
  EXPECT_EQ(damaged.diagnostics.count(anomaly::kUnmatchedSend), 1u);
  trace.diagnostics.Add(anomaly::kTraceEndsEarly, 1, "rank 1 was killed");
  const Matching cut = MatchTrace(trace);
  EXPECT_EQ(cut.diagnostics.count(anomaly::kCollectiveMismatch), 0u);
  EXPECT_EQ(cut.diagnostics.count(anomaly::kUnmatchedSend), 0u);
  EXPECT_EQ(cut.diagnostics.count(anomaly::kCollectiveCutAtEdge), 1u);
  EXPECT_EQ(cut.diagnostics.count(anomaly::kMessageCutAtEdge), 1u);
  EXPECT_EQ(cut.matched, 1u);
}

// Sent 9 and received 8 is as wrong as sent 8 and received 9.
TEST(Matching, SizesMayDifferEitherWay) {
  const auto mismatches = [](const std::string& sent, const std::string& received) {
    const Trace trace = test::ParseTrace("r0: Send>1#a*" + sent + " 0-1\nr1: Recv<0#a*" + received + " 0-1");
    return MatchTrace(trace).diagnostics.count(anomaly::kMessageSizeMismatch);
  };
  EXPECT_EQ(mismatches("8", "9"), 1u);
  EXPECT_EQ(mismatches("9", "8"), 1u);
  EXPECT_EQ(mismatches("9", "9"), 0u);
}

}  // namespace
}  // namespace farscale
