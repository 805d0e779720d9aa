// Two programs that run together: how ranks are split between them, their layouts, and partners in the other one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "growth/rules/peer_rule.h"
#include "growth/growth_model.h"
#include "growth/read/rank_grid.h"

namespace farscale {
namespace {

using Kind = PeerRule::Kind;

RankGrid Two(GridVector first, GridVector second) { return RankGrid::OfTwo({first}, {second}); }

// Ranks 0 to 5 stand in 3 × 2, ranks 6 to 9 in 2 × 2.
TEST(Programs, RanksStandInTheGridsOfTheirPrograms) {
  const RankGrid grid = Two({3, 2, 1, 1}, {2, 2, 1, 1});
  EXPECT_EQ(grid.size(), 10);
  EXPECT_EQ(grid.Text(), "3 × 2 + 2 × 2");
  EXPECT_EQ(grid.Coordinates(5), (GridVector{2, 1, 0, 0}));
  EXPECT_EQ(grid.Coordinates(7), (GridVector{1, 0, 0, 0}));
  EXPECT_EQ(grid.RankAt({1, 1, 0, 0}, 1), 9);
  EXPECT_EQ(grid.SeenBy(1).extents, (GridVector{2, 2, 1, 1}));
  EXPECT_EQ(grid.SeenBy(1).size(), 10);
  EXPECT_EQ(grid.Scale(), 6);
  EXPECT_EQ((RankGrid{{3, 2, 1, 1}}).Scale(), 6);
}

// Rows of the first program are 0 1 2 and 3 4 5, those of the second 6 7 and 8 9.
TEST(Programs, HaveGroupsOfTheirOwn) {
  const RankGrid grid = Two({3, 2, 1, 1}, {2, 2, 1, 1});
  const RankDivision rows = RankDivision::Grid(1);
  EXPECT_EQ(CountGroups(grid, rows), 4);
  EXPECT_EQ(GroupOf(grid, rows, 4), 1);
  EXPECT_EQ(GroupOf(grid, rows, 8), 3);
  EXPECT_EQ(SizeOfGroup(grid, rows, 8), 2);
  EXPECT_EQ(MemberAt(grid, rows, 8, 1), 9);
  EXPECT_EQ(GroupOf(grid, RankDivision::Program(), 5), 0);
  EXPECT_EQ(PlaceInGroup(grid, RankDivision::Program(), 7), 1);
  EXPECT_EQ(SizeOfGroup(grid, RankDivision::Other(), 7), 6);
  EXPECT_EQ(MemberAt(grid, RankDivision::Other(), 0, 3), 9);
  EXPECT_THAT(GridDivisionsWith(grid, {6, 7, 8, 9}), testing::Contains(RankDivision::Program()));
  EXPECT_THAT(GridDivisionsWith(grid, {3, 4, 5}), testing::Contains(rows));
  EXPECT_THAT(GridDivisionsWith(grid, {4, 5, 6}), testing::IsEmpty());
}

// Of 6 and 2 ranks, three stand for one.
TEST(Programs, FindPartnersInTheOther) {
  const RankGrid grid = Two({6, 1, 1, 1}, {2, 1, 1, 1});
  const RankDivision other = RankDivision::Other();
  const auto peer = [&](Kind kind, std::int32_t n, std::int64_t rank, Stage stage = {}) {
    return PeerBy({kind, n, {}, other}, grid, rank, stage);
  };
  EXPECT_EQ(peer(Kind::kShare, 0, 2), 6);
  EXPECT_EQ(peer(Kind::kShare, 0, 3), 7);
  EXPECT_EQ(peer(Kind::kShare, 2, 7), 5);
  EXPECT_EQ(peer(Kind::kModulo, 0, 3), 7);
  EXPECT_EQ(peer(Kind::kModulo, 0, 4), 6);
  EXPECT_EQ(peer(Kind::kShareUp, 0, 7, {1, 3}), 4);
  EXPECT_EQ(peer(Kind::kModuloUp, 0, 7, {1, 3}), 3);
  EXPECT_EQ(peer(Kind::kFromLast, 0, 7), 5);
  EXPECT_EQ(peer(Kind::kShare, 3, 7), -1) << "behind the last";
}

TEST(ProgramSplit, FollowsLaws) {
  const auto split_of = [](const std::vector<std::pair<std::int32_t, std::int32_t>>& sizes) {
    std::vector<RankGrid> series;
    for (const auto& [first, second] : sizes) series.push_back(Two({first, 1, 1, 1}, {second, 1, 1, 1}));
    return FindSplit(series);
  };
  EXPECT_EQ(split_of({{2, 6}, {2, 14}, {2, 30}})->FirstOf(100), 2);
  EXPECT_EQ(split_of({{7, 1}, {15, 1}, {31, 1}})->FirstOf(100), 99);
  EXPECT_EQ(split_of({{6, 2}, {12, 4}, {24, 8}})->FirstOf(100), 75);
  EXPECT_EQ(split_of({{6, 2}, {12, 4}, {24, 8}})->FirstOf(101), std::nullopt);
  EXPECT_EQ(split_of({{6, 2}, {12, 4}, {24, 6}}), std::nullopt);
  EXPECT_EQ((ProgramSplit{1, 1, -4}.FirstOf(6)), std::nullopt) << "these would not be fewer";
}

// 37 ranks have six times six workers; 64 of a grid and one server are the nearest to 66.
TEST(ProgramSplit, ContinuesSeries) {
  const std::vector<RankGrid> series = {Two({3, 3, 1, 1}, {1, 1, 1, 1}), Two({4, 4, 1, 1}, {1, 1, 1, 1}),
                                        Two({6, 6, 1, 1}, {1, 1, 1, 1})};
  EXPECT_EQ(ContinueSeries(series, 145).Text(), "12 × 12 + 1");
  EXPECT_EQ(ContinueSeries(series, 66).Text(), "8 × 8 + 1");
}

}  // namespace
}  // namespace farscale
