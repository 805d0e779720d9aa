#include "phases/rank_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/clocked_program.h"
#include "support/errors.h"

namespace farscale {
namespace {

using testing::HasSubstr;

// Every third rank enters "mesh", all enter "step".
Trace MakeTrace(int ranks) {
  test::ClockedProgram p(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    p.Compute(rank, 100, "step");
    if (rank % 3 == 2) p.Compute(rank, 100, "mesh");
  }
  return p.Finish();
}

GroupSpec OfRegion(const std::string& region) {
  GroupSpec spec;
  spec.name = region;
  spec.region = region;
  spec.where = "s.toml:1";
  return spec;
}

GroupSpec OfRanks(const std::string& name, const std::string& ranks) {
  GroupSpec spec;
  spec.name = name;
  spec.ranges = ParseRankRanges(ranks, "s.toml:2");
  spec.where = "s.toml:2";
  return spec;
}

GroupSpec Every(std::size_t every, std::size_t offset) {
  GroupSpec spec;
  spec.name = "some";
  spec.every = every;
  spec.offset = offset;
  spec.where = "s.toml:3";
  return spec;
}

std::string GroupsOf(int ranks, const std::vector<GroupSpec>& specs) {
  std::string text;
  for (const RankGroup& group : NamedGroups(MakeTrace(ranks), specs)) {
    text += (text.empty() ? "" : "; ") + group.name + " " + FormatRanks(group.ranks);
  }
  return text;
}

std::string ErrorOf(int ranks, const std::vector<GroupSpec>& specs) {
  return test::ErrorOf(ErrorKind::kUsage, [&] { GroupsOf(ranks, specs); });
}

TEST(NamedGroups, ByRegion) { EXPECT_EQ(GroupsOf(7, {OfRegion("mesh")}), "mesh 2, 5; others 0-1, 3-4, 6"); }

TEST(NamedGroups, ByRanks) {
  EXPECT_EQ(GroupsOf(8, {OfRanks("a", "0-2, 7"), OfRanks("b", "4")}), "a 0-2, 7; b 4; others 3, 5-6");
  EXPECT_EQ(GroupsOf(8, {OfRanks("a", "6-20")}), "a 6-7; others 0-5");
}

// 75 % of 10 ranks are 7.5: rank 7 lies below, 8 and 9 above. Shares that follow each other share no rank.
TEST(NamedGroups, ByShares) {
  EXPECT_EQ(GroupsOf(8, {OfRanks("a", "75%-100%")}), "a 6-7; others 0-5");
  EXPECT_EQ(GroupsOf(10, {OfRanks("a", "0%-75%"), OfRanks("b", "75%-100%")}), "a 0-7; b 8-9");
  EXPECT_EQ(GroupsOf(9, {OfRanks("a", "33.3333333333%-66.6666666667 %")}), "a 3-5; others 0-2, 6-8");
}

TEST(NamedGroups, ByStride) { EXPECT_EQ(GroupsOf(12, {Every(4, 3)}), "some 3 to 11 by 4; others 0-2, 4-6, 8-10"); }

TEST(NamedGroups, OneGroupIsNone) { EXPECT_EQ(GroupsOf(8, {OfRegion("step")}), ""); }

TEST(NamedGroups, SayWhatIsWrong) {
  EXPECT_THAT(ErrorOf(8, {OfRegion("mash")}),
              HasSubstr("s.toml:1, program: no rank enters region 'mash' of group 'mash'; did you mean 'mesh'?"));
  EXPECT_THAT(ErrorOf(8, {OfRanks("a", "8-9")}),
              HasSubstr("group 'a' has none of the 8 ranks; say ranks by their share"));
  EXPECT_THAT(
      ErrorOf(8, {OfRegion("mesh"), OfRanks("a", "4-6")}),
      HasSubstr("s.toml:2, program: rank 5 is in group 'mesh' and in group 'a'; the other group is at s.toml:1"));
}

TEST(RankRanges, Refused) {
  for (const char* text :
       {"", "a", "3-1", "-1", "0-", "50%", "50%-40%", "50%-101%", "1-50%", "0,,2", "1.5", "nan%-1%"}) {
    EXPECT_THROW(ParseRankRanges(text, "s.toml:2"), Error) << text;
  }
}

}  // namespace
}  // namespace farscale
