#include "growth/class_counts.h"

#include <algorithm>

namespace farscale {
namespace {

// Coordinates of a dimension that are the same to a class: the first of them, and how many.
struct Stretch {
  std::int32_t first = 0, count = 0;
};

std::vector<Stretch> StretchesOf(std::int32_t extent, std::int32_t reach) {
  std::vector<Stretch> stretches;
  if (extent <= 2 * reach) {
    for (std::int32_t at = 0; at < extent; ++at) stretches.push_back({at, 1});
    return stretches;
  }
  for (std::int32_t at = 0; at < reach; ++at) stretches.push_back({at, 1});
  stretches.push_back({reach, extent - 2 * reach});
  for (std::int32_t at = extent - reach; at < extent; ++at) stretches.push_back({at, 1});
  return stretches;
}

void AddClasses(const ClassScheme& scheme, const RankGrid& grid, std::size_t program, std::size_t dimension,
                GridVector& at, std::int64_t ranks, std::vector<ClassCount>& counts) {
  if (dimension == kMostDimensions) {
    const std::int64_t rank = grid.RankAt(at, program);
    counts.push_back({ClassOf(scheme, grid, rank), rank, ranks});
    return;
  }
  for (const Stretch& stretch : StretchesOf(grid.ExtentsOf(program)[dimension], scheme.ReachOf(program)[dimension])) {
    at[dimension] = stretch.first;
    AddClasses(scheme, grid, program, dimension + 1, at, ranks * stretch.count, counts);
  }
}

}  // namespace

std::vector<ClassCount> CountClasses(const ClassScheme& scheme, const RankGrid& grid) {
  std::vector<ClassCount> counts;
  if (scheme.is_lifted) {
    for (std::int64_t rank = 0; rank < grid.extents[0]; ++rank)
      counts.push_back({ClassOf(scheme, grid, rank), rank, grid.size() / grid.extents[0]});
    return counts;
  }
  for (std::size_t program = 0; program < grid.programs(); ++program) {
    GridVector at{};
    AddClasses(scheme, grid, program, 0, at, 1, counts);
  }
  std::ranges::sort(counts, {}, &ClassCount::first);
  return counts;
}

}  // namespace farscale
