#include "growth/grid_groups.h"

namespace farscale {
namespace {

bool Varies(std::uint8_t varying, std::size_t dimension) { return (varying >> dimension & 1) != 0; }

// Number of the rank among those that differ in the dimensions of a bit mask.
std::int64_t NumberWithin(const RankGrid& grid, std::uint8_t dimensions, std::int64_t rank) {
  const GridVector at = grid.CoordinatesOf(rank);
  std::int64_t number = 0;
  for (std::size_t d = kMostDimensions; d-- > 0;) {
    if (Varies(dimensions, d)) number = number * grid.extents[d] + at[d];
  }
  return number;
}

}  // namespace

std::int64_t CountGroups(const RankGrid& grid, std::uint8_t varying) {
  std::int64_t groups = 1;
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (!Varies(varying, d)) groups *= grid.extents[d];
  }
  return groups;
}

std::int64_t GroupOf(const RankGrid& grid, std::uint8_t varying, std::int64_t rank) {
  return NumberWithin(grid, static_cast<std::uint8_t>(~varying), rank);
}

std::int64_t PlaceInGroup(const RankGrid& grid, std::uint8_t varying, std::int64_t rank) {
  return NumberWithin(grid, varying, rank);
}

std::int64_t MemberAtPlaceOf(const RankGrid& grid, std::uint8_t varying, std::int64_t rank, std::int64_t other) {
  if (CountGroups(grid, varying) == 1) return other;
  GridVector at = grid.CoordinatesOf(rank);
  const GridVector place = grid.CoordinatesOf(other);
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (Varies(varying, d)) at[d] = place[d];
  }
  return grid.RankAt(at);
}

}  // namespace farscale
