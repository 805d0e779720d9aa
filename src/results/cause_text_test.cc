#include "results/cause_text.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace farscale {
namespace {

// Two ranks for 4 s. Rank 1 has three times the work of rank 0, and begins late.
LossRecord MakeLosses() {
  LossRecord losses;
  losses.window = losses.length = 4;
  losses.ranks = {0, 1};
  Cause work;
  work.place = CausePlace::kRank;
  work.path = "main / work";
  work.ranks = {1};
  work.rank_count = 1;
  work.level = 3;
  work.parts = {{CauseClass::kMoreWork, 0.75}, {CauseClass::kLowerIpc, 0.25}};
  work.gain = 1;
  work.next = 1;
  work.next_gain = 0.5;
  work.worst = WaitInstance{2, 3, 1.5, 1, "main / MPI_Send", {0}, 1, 1, WaitKind::kLateSender};
  Cause start;
  start.place = CausePlace::kStartUp;
  start.path = "(before the phase)";
  start.ranks = {1};
  start.rank_count = 1;
  losses.causes = {work, start};
  return losses;
}

TEST(CauseText, SaysWhereWhyAndWhen) {
  const LossRecord losses = MakeLosses();
  const Cause& work = losses.causes[0];
  EXPECT_EQ(DescribePlace(work, losses), "rank 1 spends 3.0× as long in main / work as the others");
  EXPECT_EQ(DescribeReasons(work), "more work (75 %), lower IPC (25 %)");
  EXPECT_EQ(DescribeGain(work.gain, losses), "1.00 s (25.0 %)");
  EXPECT_EQ(DescribeNext(work, losses), "then 500 ms (12.5 %): rank 1 begins later than the first rank");
  EXPECT_EQ(DescribeWorst(work, losses),
            "2.000000 s to 3.000000 s: rank 0 waits (late sender) until rank 1 enters main / MPI_Send");
}

// What cannot be changed has no remedy; a slow clock has none in the program.
TEST(CauseText, HasARemedyForWhatCanBeChanged) {
  Cause cause;
  for (std::size_t place = 0; place < kCausePlaces; ++place) {
    for (std::size_t reason = 0; reason < kCauseClasses; ++reason) {
      cause.place = static_cast<CausePlace>(place);
      cause.parts = {{static_cast<CauseClass>(reason), 1}};
      EXPECT_EQ(RemedyOf(cause, {}).empty(), cause.place == CausePlace::kOnce);
    }
  }
  cause.place = CausePlace::kNode;
  cause.parts = {{CauseClass::kLowerFrequency, 1}};
  EXPECT_NE(RemedyOf(cause, {}).find("Leave this node out"), std::string::npos);
  EXPECT_EQ(RemedyOf(cause, {}).find("decompos"), std::string::npos);
}

// Without counters a node is one explanation, and a part of the domain another.
TEST(CauseText, BlamesNoNodeWithoutCounters) {
  Cause cause;
  cause.place = CausePlace::kNode;
  cause.node = "n3";
  EXPECT_NE(RemedyOf(cause, {}).find("probably holds more work"), std::string::npos);
  cause.place = CausePlace::kPlane;
  cause.line = GridLine{0, 2, 2};
  EXPECT_NE(RemedyOf(cause, {}).find("move the boundaries"), std::string::npos);
  EXPECT_NE(RemedyOf(cause, {}).find("They also fill node n3"), std::string::npos);
}

TEST(CauseText, SaysWithWhichOthersARepairGains) {
  LossRecord losses = MakeLosses();
  losses.causes[1].together = {0};
  losses.causes[1].joint_gain = 2;
  EXPECT_EQ(DescribeGainOf(losses.causes[0], losses), "1.00 s (25.0 %)");
  EXPECT_EQ(DescribeGainOf(losses.causes[1], losses), "2.00 s (50.0 %) together with repair 1");
}

// The work of a group is spread by its size, and what differs within groups is weighed there.
TEST(CauseText, KnowsGroupsOfRanks) {
  LossRecord losses;
  losses.groups = {{"particle", 28, 1}, {"mesh", 4, 1}};
  Cause cause;
  cause.place = CausePlace::kAlone;
  EXPECT_NE(RemedyOf(cause, losses).find("Spread it"), std::string::npos);
  cause.group = "mesh";
  EXPECT_NE(RemedyOf(cause, losses).find("give the group more ranks"), std::string::npos);
  cause.place = CausePlace::kByDegrees;
  EXPECT_NE(RemedyOf(cause, losses).find("Probably more work: within each group, weigh"), std::string::npos);
  cause.parts = {{CauseClass::kMoreWork, 1}};
  EXPECT_TRUE(RemedyOf(cause, losses).starts_with("Within each group, weigh"));
}

// Waiting for a device is nothing that another decomposition of computation helps against.
TEST(CauseText, TellsDevicesFromComputation) {
  Cause cause;
  cause.is_device_call = true;
  cause.in_everything = true;
  cause.ranks = {2};
  cause.rank_count = 1;
  cause.level = 1.5;
  cause.parts = {{CauseClass::kDeviceWait, 1}};
  EXPECT_EQ(DescribePlace(cause, {}), "rank 2 takes 50.0 % longer in calls to devices");
  EXPECT_EQ(DescribeReasons(cause), "waiting for the device");
  EXPECT_NE(RemedyOf(cause, {}).find("not computation"), std::string::npos);
  cause.place = CausePlace::kNode;
  EXPECT_NE(RemedyOf(cause, {}).find("clocks of these devices"), std::string::npos);
}

TEST(CauseText, NamesEveryThirdAndEleventhIteration) {
  Cause cause;
  cause.place = CausePlace::kPeriodic;
  cause.rank_count = 2;
  cause.level = 1.2;
  const std::map<std::size_t, std::string> named = {{2, "2nd"}, {3, "3rd"}, {4, "4th"}, {11, "11th"}, {21, "21st"}};
  for (const auto& [every, text] : named) {
    cause.every = every;
    EXPECT_TRUE(DescribePlace(cause, {}).ends_with("in every " + text + " step"));
  }
  LossRecord losses;
  losses.iterations = cause.columns = 10;  // else columns are visits, or steps between collectives
  EXPECT_TRUE(DescribePlace(cause, losses).ends_with("in every 21st iteration"));
}

TEST(CauseText, NamesRowsColumnsAndPlanes) {
  Cause cause;
  cause.place = CausePlace::kPlane;
  cause.rank_count = 4;
  cause.ranks = {2, 6, 10, 14};
  cause.level = 1.2;
  cause.place = CausePlace::kSocket;
  cause.node = "n3";
  cause.socket = 1;
  EXPECT_EQ(DescribePlace(cause, {}), "all 4 ranks on socket 1 of node n3 take 20.0 % longer in all computation");
  cause.place = CausePlace::kPlane;
  cause.line = GridLine{1, 2, 2};
  EXPECT_EQ(DescribePlace(cause, {}),
            "all 4 ranks in column 2 of the process grid take 20.0 % longer in all computation");
  cause.line = GridLine{0, 2, 2};
  EXPECT_NE(DescribePlace(cause, {}).find("in row 2 of"), std::string::npos);
  cause.line = GridLine{2, 0, 3};
  EXPECT_NE(DescribePlace(cause, {}).find("in plane 0 in dimension 2 of"), std::string::npos);
}

}  // namespace
}  // namespace farscale
