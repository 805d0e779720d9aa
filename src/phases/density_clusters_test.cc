#include "phases/density_clusters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace farscale {
namespace {

// Points on a line; the clusters as letters, noise as a dot.
std::string Clusters(const std::vector<double>& places, double reach, std::size_t fewest,
                     const std::vector<std::size_t>& weights = {}) {
  std::vector<ClusterPoint> points(places.size());
  for (std::size_t i = 0; i < weights.size(); ++i) points[i].weight = weights[i];
  FindClusters(
      points, [&](std::size_t i, std::size_t j) { return std::fabs(places[i] - places[j]); }, reach, fewest);
  std::string text;
  for (const ClusterPoint& point : points) {
    text += point.cluster ? static_cast<char>('a' + static_cast<int>(*point.cluster)) : '.';
  }
  return text;
}

TEST(DensityClusters, ChainsAndNoise) { EXPECT_EQ(Clusters({0, 1, 2, 3, 10, 11, 20}, 1, 2), "aaaabb."); }

// With three as the fewest, 1 and 2 have enough neighbours; 0 and 3 are in their reach. 10 and 11 are too few.
TEST(DensityClusters, FewestCountsThePointItself) { EXPECT_EQ(Clusters({0, 1, 2, 3, 10, 11}, 1, 3), "aaaa.."); }

// 0 has too few neighbours itself and is taken for noise, until 1 reaches it.
TEST(DensityClusters, BorderPointsMayBeNoiseFirst) { EXPECT_EQ(Clusters({0, 1, 2, 1.5}, 1, 4), "aaaa"); }

// 3.5 is in the reach of both clusters and dense in none: the first takes it, and it does not join them.
TEST(DensityClusters, BorderPointsDoNotJoinClusters) {
  EXPECT_EQ(Clusters({0, 1, 2, 3.5, 5, 6, 7}, 1.5, 4, {2, 2, 1, 1, 1, 2, 2}), "aaaabbb");
}

TEST(DensityClusters, WeightsAreSeveralPoints) { EXPECT_EQ(Clusters({0, 10, 20}, 1, 2, {1, 2, 1}), ".a."); }

TEST(DensityClusters, Nothing) { EXPECT_EQ(Clusters({}, 1, 2), ""); }

}  // namespace
}  // namespace farscale
