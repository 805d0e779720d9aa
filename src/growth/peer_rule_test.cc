// Groups of ranks and rules of partners, each by itself.
#include "growth/rules/peer_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "growth/growth_model.h"
#include "support/learned_growth.h"

namespace farscale {
namespace {

using Kind = PeerRule::Kind;
using GroupKind = RankDivision::Kind;

// Every rank is in one group, at a place of its own, and what the functions say of groups, places and sizes agrees.
void ExpectPartition(const RankGrid& grid, const RankDivision& division) {
  const std::int64_t ranks = grid.size();
  std::vector<std::set<std::int64_t>> places(static_cast<std::size_t>(CountGroups(grid, division)));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const std::int64_t group = GroupOf(grid, division, rank), place = PlaceInGroup(grid, division, rank);
    ASSERT_LT(group, static_cast<std::int64_t>(places.size()));
    EXPECT_TRUE(places[static_cast<std::size_t>(group)].insert(place).second) << "rank " << rank << " stands alone";
    EXPECT_EQ(MemberAt(grid, division, rank, place), rank);
    EXPECT_EQ(MemberAt(grid, division, rank, SizeOfGroup(grid, division, rank)), -1) << "behind the last";
  }
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const std::set<std::int64_t>& of = places[static_cast<std::size_t>(GroupOf(grid, division, rank))];
    EXPECT_EQ(SizeOfGroup(grid, division, rank), static_cast<std::int64_t>(of.size()))
        << division.Text() << " " << rank;
    EXPECT_EQ(*of.rbegin() + 1, static_cast<std::int64_t>(of.size())) << "places have no gaps";
  }
}

TEST(GridGroups, ArePartitions) {
  for (const RankGrid& grid : {RankGrid{{7, 1, 1, 1}}, RankGrid{{4, 3, 1, 1}}, RankGrid{{2, 3, 4, 1}}}) {
    for (const GroupKind kind :
         {GroupKind::kBlocks, GroupKind::kBlockParts, GroupKind::kEvery, GroupKind::kEveryParts}) {
      for (std::int32_t n = 1; n <= 5; ++n) ExpectPartition(grid, RankDivision::By(kind, n));
    }
    for (std::uint8_t varying = 0; varying < 16; ++varying) ExpectPartition(grid, RankDivision::Grid(varying));
  }
}

// 7 ranks: blocks of 3 are 0 1 2, 3 4 5, 6; three blocks have 2 ranks and the last one the rest; every third rank.
TEST(GridGroups, OfSevenRanks) {
  const RankGrid grid{{7, 1, 1, 1}};
  const auto groups = [&](GroupKind kind) {
    std::vector<std::int64_t> of;
    for (std::int64_t rank = 0; rank < 7; ++rank) of.push_back(GroupOf(grid, RankDivision::By(kind, 3), rank));
    return of;
  };
  EXPECT_THAT(groups(GroupKind::kBlocks), testing::ElementsAre(0, 0, 0, 1, 1, 1, 2));
  EXPECT_THAT(groups(GroupKind::kBlockParts), testing::ElementsAre(0, 0, 1, 1, 2, 2, 2));
  EXPECT_THAT(groups(GroupKind::kEvery), testing::ElementsAre(0, 1, 2, 0, 1, 2, 0));
  EXPECT_THAT(groups(GroupKind::kEveryParts), testing::ElementsAre(0, 1, 0, 1, 0, 1, 0)) << "every (7 / 3)rd";
}

TEST(PeerRule, IsNamedByItsSteps) {
  const auto text = [](Kind kind, std::int32_t n) { return PeerRule{kind, n}.Text(); };
  EXPECT_EQ(text(Kind::kRing, -2), "rank -2");
  EXPECT_EQ(text(Kind::kFromLast, 0), "last rank");
  EXPECT_EQ(text(Kind::kFromLast, 1), "last rank - 1");
  EXPECT_EQ(text(Kind::kRingUp, 1), "+1, +2, +3, ...");
  EXPECT_EQ(text(Kind::kRingUp, -1), "-1, -2, -3, ...");
  EXPECT_EQ(text(Kind::kPowerUp, 1), "+1, +2, +4, ...");
  EXPECT_EQ(text(Kind::kPowerUp, -1), "-1, -2, -4, ...");
  EXPECT_EQ(text(Kind::kPowerDown, 1), "..., +4, +2, +1");
  EXPECT_EQ(text(Kind::kPowerDown, -1), "..., -4, -2, -1");
}

// On 8 ranks of a chain, 7 send up and 7 down, and all 8 make a sum: 7, 7 and 8 of 22.
TEST(RuleShares, CountTheMessagesOfTheLargestRun) {
  const GrowthModel model = test::LearnSpmd(
      [](test::SpmdRank& rank) {
        rank.BeginIteration();
        rank.Compute(1000);
        for (const std::int32_t step : {1, -1}) {
          const std::int32_t to = rank.rank() + step, from = rank.rank() - step;
          if (from >= 0 && from < rank.ranks()) rank.PostReceive(from, 100);
          if (to >= 0 && to < rank.ranks()) rank.PostSend(to, 100);
        }
        rank.WaitAll();
        rank.AllReduce(8);
        rank.EndIteration();
      },
      {4, 6, 8});
  const RuleShares shares = SharesOfPartners(model);
  ASSERT_EQ(shares.size(), 3u);
  EXPECT_EQ(shares.front().first, "collectives of all");
  EXPECT_DOUBLE_EQ(shares[0].second, 8.0 / 22);
  EXPECT_DOUBLE_EQ(shares[1].second, 7.0 / 22);
  EXPECT_DOUBLE_EQ(shares[2].second, 7.0 / 22);
  EXPECT_EQ(WhyAmbiguous(model), "");
}

// Iterations with as many calls are of different kinds where the functions differ.
TEST(MatchKinds, TellsFunctionsApart) {
  GrowthModel model = test::LearnSpmd(
      [](test::SpmdRank& rank) {
        for (int i = 0; i < 4; ++i) {
          rank.BeginIteration();
          rank.Compute(1000);
          i % 3 == 0 ? rank.AllReduce(8) : rank.Broadcast(0, 8);
          rank.EndIteration();
        }
      },
      {2, 4, 8});
  EXPECT_THAT(model.runs.back().kinds, testing::ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(model.runs.front().kinds, testing::ElementsAre(0, 1, 1, 0));
}

}  // namespace
}  // namespace farscale
