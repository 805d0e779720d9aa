#include "base/median.h"

#include <gtest/gtest.h>

namespace farscale {
namespace {

TEST(Median, OddAndEven) {
  EXPECT_EQ(Median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(Median(std::vector<double>{4, 1, 2, 3}), 2.5);
  EXPECT_EQ(UpperMedian(std::vector<double>{4, 1, 2, 3}), 3);
}

// Places from 0 to 3: 0.9 is at 2.7, so 3 + 0.7 · (7 - 3).
TEST(Percentile, OnTheLineBetweenNeighbours) {
  EXPECT_DOUBLE_EQ(Percentile({7, 1, 3, 2}, 0.9), 5.8);
  EXPECT_DOUBLE_EQ(Percentile({7, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Percentile({7, 1, 3, 2}, 0), 1);
  EXPECT_DOUBLE_EQ(Percentile({7, 1, 3, 2}, 1), 7);
  EXPECT_DOUBLE_EQ(Percentile({4}, 0.9), 4);
}

}  // namespace
}  // namespace farscale
