#include "gate/commit_series.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/random.h"

namespace farscale {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<double> Levels(const std::vector<std::pair<int, double>>& levels, double noise, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values;
  for (const auto& [count, level] : levels) {
    for (int i = 0; i < count; ++i) values.push_back(level + noise * random.Normal());
  }
  return values;
}

CommitSeries SeriesOfLogs(const std::vector<double>& logs) {
  CommitSeries series;
  for (const double log : logs) {
    series.commits.push_back({{64, {{std::exp(log)}, {std::nullopt}}}});
    series.accepted.push_back(false);
  }
  return series;
}

// Differences 1, -1, 1: Σ d² / 2n = 3 / 6.
TEST(NoiseOfDifferences, IsHalfTheirMeanSquare) {
  const auto noise = NoiseOfDifferences({{0, 1, 0, 1}});
  ASSERT_TRUE(noise);
  EXPECT_DOUBLE_EQ(noise->deviation, std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(noise->freedom, 2);
  EXPECT_FALSE(NoiseOfDifferences({{1}, {}}));
}

TEST(NoiseOfDifferences, StepsAndBadRunsDoNotCount) {
  std::vector<double> values = Levels({{30, 0}, {30, -0.2}}, 0.01, 3);
  values[10] += 0.3;
  EXPECT_THAT(NoiseOfDifferences({values})->deviation, DoubleNear(0.01, 0.002));
}

TEST(FindSteps, FindsEveryLevelAndNoneInNoise) {
  const Noise noise{0.01, 20};
  EXPECT_THAT(FindSteps(Levels({{40, 0}}, 0.01, 1), noise), IsEmpty());
  EXPECT_THAT(FindSteps(Levels({{10, 0}, {10, -0.08}, {2, 0.02}}, 0.01, 2), noise), ElementsAre(10, 20));
}

TEST(FindSteps, OneBadCommitIsNone) {
  std::vector<double> values = Levels({{12, 0}}, 0.01, 4);
  values[6] = -0.3;
  values.back() = -0.3;
  EXPECT_THAT(FindSteps(values, {0.01, 20}), IsEmpty());
}

TEST(BaselineCommits, BeginAtTheLastStepOrAcceptedLevel) {
  CommitSeries series = SeriesOfLogs(Levels({{8, 0}, {5, -0.1}}, 0.005, 5));
  SeriesNoise noise = LearnNoise(series, {}, {64}, Noise());
  EXPECT_THAT(BaselineCommits(series, {64}, noise, 10), ElementsAre(8, 9, 10, 11, 12));
  EXPECT_THAT(BaselineCommits(series, {64}, noise, 2), ElementsAre(11, 12));
  series.accepted[12] = true;
  EXPECT_THAT(BaselineCommits(series, {64}, noise, 10), ElementsAre(12));
}

// The median of 1, 1, 1 and a run ten times as long is 1.
TEST(BaselineAt, OneBadCommitDoesNotMoveIt) {
  const CommitSeries series = SeriesOfLogs({0, 0, std::log(10), 0});
  const SeriesNoise noise = LearnNoise(series, {}, {64}, Noise());
  EXPECT_DOUBLE_EQ(BaselineAt(series, {0, 1, 2, 3}, 64, noise)->value, 1);
  EXPECT_FALSE(BaselineAt(series, {0, 1}, 128, noise));
}

// Two files alone: the change is that of factors/factor_table.h, with the usual noise of 1 % in each.
TEST(NewestAt, WithoutHistoryIsAMeasurement) {
  const CommitSeries series = SeriesOfLogs({std::log(2)});
  const Samples newest{{1.8}, {std::nullopt}};
  const SeriesNoise noise = LearnNoise(series, {{64, newest}}, {64}, Noise());
  const Change change = ChangeBetween(*BaselineAt(series, {0}, 64, noise), *NewestAt(newest, 64, noise));
  EXPECT_DOUBLE_EQ(change.ratio, 0.9);
  EXPECT_NEAR(change.error, 0.01 * std::sqrt(2), 1e-12);
  EXPECT_NEAR(change.freedom, 8, 1e-9);
}

// One of three repeats is half as fast: the mean falls by a fifth, and the scatter says that this may be chance.
TEST(NewestAt, OneBadRepeatWidensTheError) {
  CommitSeries series;
  for (int i = 0; i < 10; ++i) {
    series.commits.push_back({{64, {{0.99, 1, 1.01}, {}}}});
    series.accepted.push_back(false);
  }
  const Samples newest{{1, 1, 0.5}, {}};
  const SeriesNoise noise = LearnNoise(series, {{64, newest}}, {64}, Noise());
  const auto before = BaselineAt(series, {7, 8, 9}, 64, noise);
  EXPECT_FALSE(ChangeBetween(*before, *NewestAt(newest, 64, noise)).IsBeyondNoise(0.999));
  EXPECT_TRUE(ChangeBetween(*before, *NewestAt({{0.9, 0.9, 0.91}, {}}, 64, noise)).IsBeyondNoise(0.999));
}

}  // namespace
}  // namespace farscale
