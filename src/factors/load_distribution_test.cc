#include "factors/phase_totals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace farscale {
namespace {

// Loads 1/2, 1, 1 and 3/2: variance 1/8 by P, 1/6 by P - 1; symmetric; m4 = 2 (1/2)^4 / 4 = 1/32, so m4 / m2² - 3 = -1.
TEST(LoadDistribution, OfFourRanks) {
  const std::optional<LoadDistribution> loads = DistributionOf({6, 2, 4, 4});
  ASSERT_TRUE(loads);
  EXPECT_DOUBLE_EQ(*loads->deviation, std::sqrt(1.0 / 6));
  EXPECT_NEAR(*loads->skewness, 0, 1e-12);
  EXPECT_NEAR(*loads->kurtosis, -1, 1e-12);
  EXPECT_DOUBLE_EQ(*loads->quantile50, 1);
  EXPECT_DOUBLE_EQ(*loads->quantile25, 0.875);  // three quarters of the way from the first to the second
  EXPECT_DOUBLE_EQ(*loads->quantile5, 0.575);
  // Of the six pairs three contain the largest, 3/2; the other three have 1.
  EXPECT_DOUBLE_EQ(*loads->largest_of_half, 1.25);
  EXPECT_FALSE(loads->persistent);
  EXPECT_FALSE(loads->noise);
}

// One of four ranks has 3 and the others 1, in units of 2/3: loads 2 and 2/3. m2 = (1 + 3/9) / 4 = 1/3,
// m3 = (1 - 3/27) / 4 = 2/9, m4 = (1 + 3/81) / 4 = 7/27.
TEST(LoadDistribution, SkewedByOneRank) {
  const std::optional<LoadDistribution> loads = DistributionOf({1, 3, 1, 1});
  ASSERT_TRUE(loads);
  EXPECT_NEAR(*loads->skewness, 2.0 / 9 * std::pow(3, 1.5), 1e-12);
  EXPECT_NEAR(*loads->kurtosis, 7.0 / 27 * 9 - 3, 1e-12);
  EXPECT_NEAR(*loads->largest_of_half, (2 + 2.0 / 3) / 2, 1e-12);
}

TEST(LoadDistribution, EqualLoads) {
  const std::optional<LoadDistribution> loads = DistributionOf(std::vector<double>(7, 0.1));
  ASSERT_TRUE(loads);
  EXPECT_NEAR(*loads->deviation, 0, 1e-12);
  EXPECT_GE(*loads->largest_of_half, 1);  // readers of files ask for that
  EXPECT_NEAR(*loads->largest_of_half, 1, 1e-12);
}

TEST(LoadDistribution, NothingForASingleRankOrWithoutLoad) {
  EXPECT_FALSE(DistributionOf({3}));
  EXPECT_FALSE(DistributionOf({}));
  EXPECT_FALSE(DistributionOf({0, 0}));
}

// Of 1, 2, 3: one is 2 on average, two have 2 once and 3 twice, three have 3.
TEST(LoadDistribution, ExpectedLargest) {
  EXPECT_DOUBLE_EQ(ExpectedLargestOf({1, 2, 3}, 1), 2);
  EXPECT_DOUBLE_EQ(ExpectedLargestOf({1, 2, 3}, 2), 8.0 / 3);
  EXPECT_DOUBLE_EQ(ExpectedLargestOf({1, 2, 3}, 3), 3);
}

// Against the mean over subsets drawn at random.
TEST(LoadDistribution, ExpectedLargestOfManyRanks) {
  Random random(1);
  std::vector<double> values;
  for (int i = 0; i < 101; ++i) values.push_back(random.Normal());
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  double sum = 0;
  constexpr int kTrials = 20000;
  for (int trial = 0; trial < kTrials; ++trial) {
    random.Shuffle(values);
    sum += *std::max_element(values.begin(), values.begin() + 50);
  }
  EXPECT_NEAR(ExpectedLargestOf(sorted, 50), sum / kTrials, 0.01);
}

// Two ranks in two iterations: 1.2 and 1.0, 0.8 and 1.0. Means 1.1 and 0.9; within: 4 times 0.1² over (2 - 1) (2 - 1),
// so noise is 0.2, and the variance of the means, 0.02, is that of noise alone, 0.04 / 2.
TEST(LoadDistribution, NoiseOfTwoRanks) {
  LoadDistribution loads;
  SplitVariation({{1.2, 1.0}, {0.8, 1.0}}, loads);
  EXPECT_NEAR(*loads.noise, 0.2, 1e-12);
  EXPECT_NEAR(*loads.persistent, 0, 1e-7);
}

TEST(LoadDistribution, PersistentLoads) {
  LoadDistribution loads;
  SplitVariation({{1.5, 1.5, 1.5}, {0.5, 0.5, 0.5}}, loads);
  EXPECT_DOUBLE_EQ(*loads.noise, 0);
  EXPECT_DOUBLE_EQ(*loads.persistent, std::sqrt(0.5));
}

// Both parts are found again: 400 ranks with a deviation of 5 %, and 20 iterations with 10 %.
TEST(LoadDistribution, PartsOfRandomLoads) {
  Random random(2);
  std::vector<std::vector<double>> of_ranks(400);
  for (std::vector<double>& of_rank : of_ranks) {
    const double own = 1 + 0.05 * random.Normal();
    for (int i = 0; i < 20; ++i) of_rank.push_back(own + 0.1 * random.Normal());
  }
  LoadDistribution loads;
  SplitVariation(of_ranks, loads);
  EXPECT_NEAR(*loads.noise, 0.1, 0.005);
  EXPECT_NEAR(*loads.persistent, 0.05, 0.01);
}

TEST(LoadDistribution, NoVariationOfOneIteration) {
  LoadDistribution loads;
  SplitVariation({{1.5}, {0.5}}, loads);
  EXPECT_FALSE(loads.noise);
  EXPECT_FALSE(loads.persistent);
}

}  // namespace
}  // namespace farscale
