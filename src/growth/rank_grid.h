// Layouts of ranks as Cartesian grids of one to four dimensions. Every order of the dimensions is a layout of its own,
// so one rule suffices: the first dimension changes fastest.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace farscale {

inline constexpr std::size_t kMostDimensions = 4;
using GridVector = std::array<std::int32_t, kMostDimensions>;  // 1 or 0 for dimensions that are not there

struct RankGrid {
  GridVector extents{1, 1, 1, 1};

  std::int64_t size() const;
  std::size_t dimensions() const;  // larger than one
  GridVector CoordinatesOf(std::int64_t rank) const;
  std::int64_t RankAt(const GridVector& coordinates) const;
  std::string Text() const;   // "4 × 2"
  RankGrid Reversed() const;  // the last of its dimensions first, as MPI_Cart_create counts

  friend bool operator==(const RankGrid&, const RankGrid&) = default;
};

// Nothing where there are none or too many extents, one is not positive, or they have more than 2^30 ranks.
std::optional<RankGrid> GridWith(std::span<const std::int64_t> extents);

// All ordered factorisations of a number of ranks into the given number of extents, some of which may be 1.
std::vector<RankGrid> GridsOf(std::int64_t ranks, std::size_t dimensions);

}  // namespace farscale
