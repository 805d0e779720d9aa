#include <gtest/gtest.h>

#include <algorithm>

#include "imbalance/diagnosis.h"
#include "support/program.h"

namespace farscale {
namespace {

struct Slacks {
  Diagnosis diagnosis;

  explicit Slacks(const std::string& text) {
    const Trace trace = test::ParseTrace(text);
    diagnosis = Diagnose(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()));
    for (PathId path = 0; path < diagnosis.paths.size(); ++path) names.push_back(diagnosis.paths.Name(path));
  }
  std::optional<double> Of(const std::string& name) const {
    const auto found = std::find(names.begin(), names.end(), name);
    return diagnosis.slack.at(static_cast<std::size_t>(found - names.begin()));
  }
  std::vector<std::string> names;
};

// b may end at 6 instead of 2, when its message comes: 4 of slack. c waits 7 for the message of rank 1. Rank 0 is done
// at 7, and at 10 the phase ends; but sending later than at 6 would be felt, so what comes before has no slack.
TEST(Slack, IsTheWaitingThatFollowsAndWhatOthersLeave) {
  const Slacks slacks(
      "r0: a 0-6 | Send>1#a 6-7 | d 7-8\n"
      "r1: b 0-2 | Recv<0#a 2-8 | Send>2#b 8-9\n"
      "r2: c 0-1 | Recv<1#b 1-10\n");
  EXPECT_EQ(slacks.Of("a"), 0);
  EXPECT_EQ(slacks.Of("b"), 4);
  EXPECT_EQ(slacks.Of("c"), 7);
  EXPECT_EQ(slacks.Of("d"), 2);
  EXPECT_EQ(slacks.diagnosis.ranks[0].slack, 0);
  EXPECT_EQ(slacks.diagnosis.ranks[2].slack, 0);  // the end of its receive is the end of the phase
}

// The message is there 3 before it is asked for: sending it may be put off so long. What rank 0 does behind has the 5
// until the end, and the receiver none.
TEST(Slack, OfAMessageThatLies) {
  const Slacks slacks(
      "r0: a 0-2 | Isend>1#m 2-3 | c 3-5\n"
      "r1: b 0-5 | Recv<0#m 5-6 | d 6-10\n");
  EXPECT_EQ(slacks.Of("a"), 3);
  EXPECT_EQ(slacks.Of("c"), 5);
  EXPECT_EQ(slacks.Of("b"), 0);
}

// All leave the barrier after the last has come: 4 for the first, 3 for the second; then rank 0 ends 2 early.
TEST(Slack, BeforeACollectiveOperationIsItsWait) {
  const Slacks slacks(
      "r0: a 0-1 | Barrier@1 1-6 | d 6-7\n"
      "r1: b 0-2 | Barrier@1 2-6 | e 6-9\n"
      "r2: c 0-5 | Barrier@1 5-6 | f 6-8\n");
  EXPECT_EQ(slacks.Of("a"), 4);
  EXPECT_EQ(slacks.Of("b"), 3);
  EXPECT_EQ(slacks.Of("c"), 0);
  EXPECT_EQ(slacks.Of("d"), 2);
  EXPECT_EQ(slacks.Of("e"), 0);
  EXPECT_EQ(slacks.Of("f"), 1);
}

// Nobody but the root needs the others; it gives its data 2 before they are asked for.
TEST(Slack, OfOperationsWithARoot) {
  const Slacks slacks(
      "r0: a 0-3 | Bcast@1/0 3-4 | c 4-10\n"
      "r1: b 0-5 | Bcast@1/0 5-6 | d 6-8\n");
  EXPECT_EQ(slacks.Of("a"), 0);
  EXPECT_EQ(slacks.Of("b"), 2);
  EXPECT_EQ(slacks.Of("d"), 2);
  const Slacks other(
      "r0: a 0-3 | Bcast@1/0 3-4 | c 4-6\n"
      "r1: b 0-5 | Bcast@1/0 5-6 | d 6-8\n");
  EXPECT_EQ(other.Of("a"), 2);
  EXPECT_EQ(other.Of("c"), 2);
}

// Being done takes no time, and neither does posting in a call of no length: no slack is told of either.
TEST(Slack, OfWhatTakesNoTimeIsNone) {
  const Slacks slacks(
      "r0: a 0-3 | Isend>1#m 3-3 | c 3-5\n"
      "r1: b 0-5 | Recv<0#m 5-6\n");
  EXPECT_EQ(slacks.Of("MPI_Isend"), std::nullopt);
  EXPECT_EQ(slacks.Of("(after the phase)"), std::nullopt);
  EXPECT_EQ(slacks.Of("c"), 1);
}

}  // namespace
}  // namespace farscale
