// How many bytes a collective operation of a program has, worked out by hand. One tick is a second; a link has a
// latency of 2 s and carries 10 bytes a second.
#include "replay/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/replay.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

struct Bytes {
  std::uint64_t sent = 0, received = 0;
};

// An alltoall to which all ranks come at 0.
Trace Alltoall(const std::vector<Bytes>& ranks) {
  TraceBuilder builder;
  const auto alltoall = builder.AddRegion("MPI_Alltoall");
  const auto world = builder.AddWorld(static_cast<std::int32_t>(ranks.size()));
  builder.trace().ticks_per_second = 1;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    RankBuilder rank(builder.definitions(), static_cast<std::int32_t>(i));
    rank.Enter(0, alltoall);
    rank.Collective(CollectiveKind::kAlltoall, world, {}, ranks[i].sent, ranks[i].received);
    rank.Leave(100, alltoall);
    builder.SetTimeline(rank);
  }
  return std::move(builder).Finish();
}

// When the alltoall is over, which takes one step for that size.
Tick EndWith(CollectiveSize size, const std::vector<Bytes>& ranks) {
  Network network;
  network.remote = network.local = {2, 10, 0, 100};
  network.collectives[static_cast<std::size_t>(CollectiveKind::kAlltoall)] = {{CollectiveGrowth::kConstant, size}, {}};
  const Trace trace = Alltoall(ranks);
  const ReplayRules rules{RuleSet::kBsc, 32768};
  return Replay(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()), {rules, false, &network}).end[0];
}

// What a rank counts with is the less of both: 10, 30 and 20. So 2 + 1, the mean 2 + 2, 2 + 3, twice that 2 + 6. The
// sums are 50, 110 and 80: 2 + 11, for rank 1, not for the rank that sends or receives most alone.
TEST(Delays, SizesOfACollective) {
  const std::vector<Bytes> ranks = {{10, 40}, {30, 80}, {60, 20}};
  EXPECT_EQ(EndWith(CollectiveSize::kMin, ranks), 3);
  EXPECT_EQ(EndWith(CollectiveSize::kMean, ranks), 4);
  EXPECT_EQ(EndWith(CollectiveSize::kMax, ranks), 5);
  EXPECT_EQ(EndWith(CollectiveSize::kTwiceMax, ranks), 8);
  EXPECT_EQ(EndWith(CollectiveSize::kSendPlusReceive, ranks), 13);
}

// The sum counts what is received (0 + 90) and what is sent (90 + 0); a rank that only does one counts with that.
TEST(Delays, RanksThatOnlySendOrReceive) {
  const std::vector<Bytes> ranks = {{0, 90}, {10, 10}, {50, 0}};
  EXPECT_EQ(EndWith(CollectiveSize::kMin, ranks), 3);   // 90, 10, 50
  EXPECT_EQ(EndWith(CollectiveSize::kMean, ranks), 7);  // 150 / 3
  EXPECT_EQ(EndWith(CollectiveSize::kMax, ranks), 11);
  EXPECT_EQ(EndWith(CollectiveSize::kSendPlusReceive, ranks), 11);
  EXPECT_EQ(EndWith(CollectiveSize::kSendPlusReceive, {{90, 0}, {10, 10}, {0, 50}}), 11);
}

}  // namespace
}  // namespace farscale
