#include "gate/judging.h"

#include <gmock/gmock.h>

#include <cmath>

namespace farscale {
namespace {

using testing::ElementsAre;

CommitSeries SeriesOf(const std::vector<double>& logs) {
  CommitSeries series;
  for (const double log : logs) series.commits.push_back({{16, {{std::exp(log)}, {}}}});
  series.accepted.assign(logs.size(), false);
  return series;
}

std::vector<ComparedValues> Find(const std::vector<double>& logs, double newest, double deviation = 0.01,
                                 std::size_t window = 10, bool is_time = false) {
  SeriesNoise noise;
  noise.mean = Noise{deviation, 20};
  return FindLastingChanges(SeriesOf(logs), {{16, {{std::exp(newest)}, {}}}}, {16}, noise, 0, window, is_time);
}

// Four commits at 0, then two at -0.03 and the newest at -0.06. Last 2: mean -0.045 against the first 4, error
// 0.005 √(1/2 + 1/4). Last 3: -0.04, error 0.005 √(1/3 + 1/4). Windows of 5 leave 2 commits: too few.
TEST(LastingChange, ComparesMeansOfWindowsWithTheReference) {
  const auto found = Find({0, 0, 0, 0, -0.03, -0.03}, -0.06, 0.005);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].commits, 2u);
  EXPECT_THAT(found[0].baseline, ElementsAre(0, 1, 2, 3));
  EXPECT_NEAR(std::log(found[0].change.ratio), -0.045, 1e-12);
  EXPECT_NEAR(found[0].change.error, 0.005 * std::sqrt(0.75), 1e-12);
  EXPECT_EQ(found[0].change.freedom, 20);
  EXPECT_EQ(found[1].commits, 3u);
  EXPECT_NEAR(std::log(found[1].after.value), -0.04, 1e-12);
  EXPECT_NEAR(found[1].change.error, 0.005 * std::sqrt(7. / 12), 1e-12);
  EXPECT_NEAR(found[1].lasting, 0.03, 1e-12);
}

// The reference ends at the window: the first two of the window's three commits do not change with later ones.
TEST(LastingChange, TheReferenceStaysWhereItIs) {
  const auto found = Find({0, 0.001, -0.001, -0.01, -0.02, -0.03}, -0.04, 0.02, 3);
  ASSERT_FALSE(found.empty());
  for (const ComparedValues& change : found) EXPECT_THAT(change.baseline, ElementsAre(0, 1, 2));
  EXPECT_NEAR(std::log(found[0].before.value), 0, 1e-12);
}

// One bad commit among good ones, and one that repairs a change, are no change that lasts.
TEST(LastingChange, NeedsTwoBadCommitsAndTheNewestOfThem) {
  EXPECT_NEAR(Find({0, 0, 0, 0}, -0.5)[0].lasting, 0, 1e-12);
  EXPECT_NEAR(Find({0, 0, 0, 0, -0.05, -0.05}, 0)[1].lasting, 0, 1e-12);
  EXPECT_NEAR(Find({0, 0, 0, 0, 0.05}, 0.07, 0.01, 10, true)[0].lasting, 0.05, 1e-12);
}

// A level that got better by 10 times the noise is the reference; one that got worse is not.
TEST(LastingChange, TheReferenceIsTheBestLevel) {
  EXPECT_THAT(Find({0, 0, 0, 0, 0.1, 0.1, 0.1, 0.1, 0.1}, 0.1)[0].baseline, ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(Find({0, 0, 0, 0, -0.1, -0.1, -0.1, -0.1}, -0.1)[0].baseline, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Find({0, 0, 0, 0, -0.1, -0.1, -0.1, -0.1, -0.1}, -0.1, 0.01, 10, true)[0].baseline,
              ElementsAre(4, 5, 6, 7));
}

TEST(LastingChange, NeedsCommitsAndNoise) {
  EXPECT_TRUE(Find({0, 0, 0}, 0).empty());
  EXPECT_EQ(Find({0, 0, 0, 0}, 0).size(), 1u);
  EXPECT_TRUE(FindLastingChanges(SeriesOf({0, 0, 0, 0}), {{16, {{1}, {}}}}, {16}, {}, 0, 10, false).empty());
  EXPECT_TRUE(FindLastingChanges(SeriesOf({0, 0, 0, 0}), {{32, {{1}, {}}}}, {16}, {}, 0, 10, false).empty());
}

// Neighbours that alternate are not correlated. Of 1, 1, 1, 1, -1, -1, -1, -1: s² = 8/7, Σ d² / 2n = 4/14, r = 1 - 1/4,
// above 1.645 / √8 = 0.58, so 1.75 / 0.25². Of 1, 1, -1, -1: s² = 4/3, 4/6, r = 1/2, below 0.82: may be chance.
TEST(LastingChange, VarianceOfNeighbours) {
  EXPECT_EQ(VarianceOfNeighbours({1, -1, 1, -1, 1, -1}), 1);
  EXPECT_NEAR(VarianceOfNeighbours({1, 1, 1, 1, -1, -1, -1, -1}), 28, 1e-9);
  EXPECT_EQ(VarianceOfNeighbours({1, 1, -1, -1}), 1);
  EXPECT_EQ(VarianceOfNeighbours({1, 1, 1}), 1);
  EXPECT_EQ(VarianceOfNeighbours({1, 2}), 1);
}

TEST(LastingChange, WhereTheReferenceBegins) {
  History history(4);
  const char* const kDates[] = {"2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z", "2026-11-03T00:00:00Z",
                                "2026-11-04T00:00:00Z"};
  const char* const kCommits[] = {"v1.0", "abc123", "v1.1", "def456"};
  for (std::size_t i = 0; i < 4; ++i) {
    history[i].date = kDates[i];
    history[i].commit = kCommits[i];
  }
  EXPECT_EQ(ReferenceBegin(history, "accepted"), 0u);
  EXPECT_EQ(ReferenceBegin(history, "2026-11-02"), 1u);
  EXPECT_EQ(ReferenceBegin(history, "2026-12-01"), std::nullopt);
  EXPECT_EQ(ReferenceBegin(history, "v1.1"), 2u);
  EXPECT_EQ(ReferenceBegin(history, "v2"), std::nullopt);
  history[1].accepted = "twice the physics";
  EXPECT_EQ(ReferenceBegin(history, "accepted"), 1u);
  EXPECT_EQ(ReferenceBegin(history, "v1.0"), 1u);
  EXPECT_EQ(ReferenceBegin(history, "v1.1"), 2u);
}

}  // namespace
}  // namespace farscale
