#include "phases/density_clusters.h"

namespace farscale {
namespace {

std::vector<std::size_t> Neighbours(std::size_t count, std::size_t of,
                                    const std::function<double(std::size_t, std::size_t)>& distance, double reach) {
  std::vector<std::size_t> neighbours;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == of || distance(of, i) <= reach) neighbours.push_back(i);
  }
  return neighbours;
}

std::size_t Weight(const std::vector<ClusterPoint>& points, const std::vector<std::size_t>& of) {
  std::size_t weight = 0;
  for (const std::size_t i : of) weight += points[i].weight;
  return weight;
}

}  // namespace

void FindClusters(std::vector<ClusterPoint>& points, const std::function<double(std::size_t, std::size_t)>& distance,
                  double reach, std::size_t fewest) {
  std::size_t clusters = 0;
  std::vector<bool> visited(points.size());
  for (ClusterPoint& point : points) point.cluster.reset();
  for (std::size_t first = 0; first < points.size(); ++first) {
    if (visited[first]) continue;
    visited[first] = true;
    const std::vector<std::size_t> reached = Neighbours(points.size(), first, distance, reach);
    if (Weight(points, reached) < fewest) continue;  // noise, unless a cluster reaches it later
    const auto take = [&](const std::vector<std::size_t>& found, std::vector<std::size_t>& queue) {
      for (const std::size_t i : found) {
        if (points[i].cluster) continue;
        points[i].cluster = clusters;
        queue.push_back(i);
      }
    };
    std::vector<std::size_t> queue;
    take(reached, queue);
    for (std::size_t next = 0; next < queue.size(); ++next) {
      if (visited[queue[next]]) continue;  // the first, or noise before
      visited[queue[next]] = true;
      const std::vector<std::size_t> more = Neighbours(points.size(), queue[next], distance, reach);
      if (Weight(points, more) >= fewest) take(more, queue);
    }
    ++clusters;
  }
}

}  // namespace farscale
