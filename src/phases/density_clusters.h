// DBSCAN [Ester96]: points that lie densely together are a cluster, whatever its shape, and points between are noise.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace farscale {

struct ClusterPoint {
  std::size_t weight = 1;              // so many points at one place
  std::optional<std::size_t> cluster;  // found; from 0 in the order of their first points, nothing for noise
};

// Two points are neighbours when their distance is `reach` at most; a point with at least `fewest` neighbours, itself
// included, is part of a cluster with all of them. Every pair of points is looked at.
void FindClusters(std::vector<ClusterPoint>& points, const std::function<double(std::size_t, std::size_t)>& distance,
                  double reach, std::size_t fewest);

}  // namespace farscale
