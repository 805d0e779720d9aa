#include "stats/sample_quantiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace farscale {
namespace {

TEST(SampleQuantiles, MedianOfOddAndEven) {
  EXPECT_EQ(Median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(Median(std::vector<double>{4, 1, 2, 3}), 2.5);
  EXPECT_EQ(Median(std::vector<std::int64_t>{4, 1, 2, 3}), 2);
}

// The larger of 2 and 3; of three equal ones the second.
TEST(SampleQuantiles, PlaceOfMedian) {
  EXPECT_EQ(PlaceOfMedian(std::vector<double>{4, 1, 2, 3}), 3u);
  EXPECT_EQ(PlaceOfMedian(std::vector<int>{5, 5, 5}), 1u);
  EXPECT_EQ(PlaceOfMedian(std::vector<int>{7}), 0u);
}

// Places from 0 to 3: 0.9 is at 2.7, so 3 + 0.7 · (7 - 3).
TEST(SampleQuantiles, OnTheLineBetweenNeighbours) {
  EXPECT_DOUBLE_EQ(Quantile({7, 1, 3, 2}, 0.9), 5.8);
  EXPECT_DOUBLE_EQ(Quantile({7, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Quantile({7, 1, 3, 2}, 0), 1);
  EXPECT_DOUBLE_EQ(Quantile({7, 1, 3, 2}, 1), 7);
  EXPECT_DOUBLE_EQ(Quantile({4}, 0.9), 4);
  EXPECT_DOUBLE_EQ(QuantileOfSorted({1, 2, 3, 7}, 0.9), 5.8);
}

// Of 997 numbers in disorder, 617 · i modulo 997, the quantiles are those of all in order.
TEST(SampleQuantiles, PlacedLikeSorted) {
  std::vector<double> placed;
  for (int i = 0; i < 997; ++i) placed.push_back(617 * i % 997);
  std::vector<double> sorted = placed;
  std::sort(sorted.begin(), sorted.end());
  const std::vector<double> shares = {0.9, 0.025, 0.975, 0.1, 0, 1};
  PlaceQuantiles(placed, shares);
  for (const double share : shares)
    EXPECT_EQ(QuantileOfSorted(placed, share), QuantileOfSorted(sorted, share)) << share;
  std::vector<double> none;
  EXPECT_THROW(PlaceQuantiles(none, {0.5}), std::domain_error);
  EXPECT_THROW(PlaceQuantiles(placed, {-0.1}), std::domain_error);
}

TEST(SampleQuantiles, OfNoShareThereIsNone) {
  for (const double share : {-0.1, 1.1, std::nan("")}) {
    EXPECT_THROW(Quantile({1, 2, 3}, share), std::domain_error) << share;
    EXPECT_THROW(QuantileOfSorted({1, 2, 3}, share), std::domain_error) << share;
  }
  EXPECT_THROW(Quantile({}, 0.5), std::domain_error);
}

// Half of any sample is below its median, by either function.
TEST(SampleQuantiles, HalfIsTheMedian) {
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) {
    values.push_back(static_cast<double>(i * 37 % 41) / 7);
    EXPECT_EQ(Quantile(values, 0.5), Median(values)) << values.size();
  }
}

}  // namespace
}  // namespace farscale
