#include "growth/read/rank_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/text.h"

namespace farscale {
namespace {

std::int64_t SizeWith(const GridVector& extents) {
  std::int64_t size = 1;
  for (const std::int32_t extent : extents) size *= extent;
  return size;
}

std::string TextOf(const GridVector& extents) {
  std::size_t shown = kMostDimensions;
  while (shown > 1 && extents[shown - 1] == 1) --shown;
  std::vector<std::string> parts;
  for (std::size_t d = 0; d < shown; ++d) parts.push_back(fmt::to_string(extents[d]));
  return Join(parts, " × ");
}

// Rising.
std::vector<std::int64_t> Divisors(std::int64_t number) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t divisor = 1; divisor * divisor <= number; ++divisor) {
    if (number % divisor != 0) continue;
    low.push_back(divisor);
    if (divisor * divisor != number) high.push_back(number / divisor);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

void AddGrids(std::int64_t ranks, std::size_t dimension, std::size_t dimensions, RankGrid& grid,
              std::vector<RankGrid>& grids) {
  if (dimension + 1 == dimensions) {
    grid.extents[dimension] = static_cast<std::int32_t>(ranks);
    grids.push_back(grid);
    grid.extents[dimension] = 1;
    return;
  }
  for (const std::int64_t extent : Divisors(ranks)) {
    grid.extents[dimension] = static_cast<std::int32_t>(extent);
    AddGrids(ranks / extent, dimension + 1, dimensions, grid, grids);
  }
  grid.extents[dimension] = 1;
}

}  // namespace

std::int64_t RankGrid::size() const { return SizeWith(extents) + (HasTwo() ? SizeWith(second) : 0); }

std::size_t RankGrid::dimensions() const {
  return static_cast<std::size_t>(std::ranges::count_if(extents, [](std::int32_t extent) { return extent > 1; }));
}

std::int64_t RankGrid::FirstOf(std::size_t program) const { return program == 0 ? 0 : SizeWith(extents); }

std::int64_t RankGrid::SizeOf(std::size_t program) const { return SizeWith(ExtentsOf(program)); }

RankGrid RankGrid::With(std::size_t program, const RankGrid& of_program) const {
  RankGrid grid = *this;
  (program == 0 ? grid.extents : grid.second) = of_program.extents;
  return grid;
}

RankGrid RankGrid::SeenBy(std::size_t program) const {
  return program == 0 ? *this : RankGrid{second, extents, program};
}

std::int64_t RankGrid::Scale() const { return HasTwo() ? std::max(SizeOf(0), SizeOf(1)) : size(); }

GridVector RankGrid::Coordinates(std::int64_t rank) const {
  const std::size_t program = ProgramOf(rank);
  const GridVector& own = ExtentsOf(program);
  if (program > 0) rank -= FirstOf(program);
  GridVector coordinates{};
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (own[d] == 1) continue;
    coordinates[d] = static_cast<std::int32_t>(rank % own[d]);
    rank /= own[d];
  }
  return coordinates;
}

std::int64_t RankGrid::RankAt(const GridVector& coordinates, std::size_t program) const {
  const GridVector& own = ExtentsOf(program);
  std::int64_t rank = 0;
  for (std::size_t d = kMostDimensions; d-- > 0;) rank = rank * own[d] + coordinates[d];
  return rank + FirstOf(program);
}

std::string RankGrid::Text() const { return HasTwo() ? TextOf(extents) + " + " + TextOf(second) : TextOf(extents); }

RankGrid RankGrid::Reversed() const {
  std::size_t last = kMostDimensions;
  while (last > 1 && extents[last - 1] == 1) --last;
  RankGrid reversed = *this;
  std::reverse(reversed.extents.begin(), reversed.extents.begin() + static_cast<std::ptrdiff_t>(last));
  return reversed;
}

std::optional<RankGrid> GridWith(std::span<const std::int64_t> extents) {
  constexpr std::int64_t kMostRanks = std::int64_t{1} << 30;  // chosen: as `--cores` of the commands
  RankGrid grid;
  if (extents.empty() || extents.size() > kMostDimensions) return std::nullopt;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] < 1 || extents[d] > kMostRanks / grid.size()) return std::nullopt;
    grid.extents[d] = static_cast<std::int32_t>(extents[d]);
  }
  return grid;
}

std::vector<RankGrid> GridsOf(std::int64_t ranks, std::size_t dimensions) {
  std::vector<RankGrid> grids;
  RankGrid grid;
  AddGrids(ranks, 0, dimensions, grid, grids);
  return grids;
}

std::optional<std::int64_t> ProgramSplit::FirstOf(std::int64_t ranks) const {
  if (ranks % of != 0 || 2 * std::abs(plus) > ranks) return std::nullopt;
  return ranks / of * n + plus;
}

std::vector<ProgramSplit> SplitsWith(const std::vector<std::int64_t>& ranks,
                                     const std::vector<std::vector<std::int64_t>>& first) {
  std::vector<ProgramSplit> splits;
  const auto add = [&](const ProgramSplit& split) {
    for (std::size_t run = 0; run < ranks.size(); ++run) {
      const std::optional<std::int64_t> here = split.FirstOf(ranks[run]);
      if (!here || std::ranges::find(first[run], *here) == first[run].end()) return;
    }
    splits.push_back(split);
  };
  for (const std::int64_t one : first.back()) {
    const std::int64_t common = std::gcd(one, ranks.back());
    add({0, 1, one});
    add({1, 1, one - ranks.back()});
    add({one / common, ranks.back() / common});
  }
  return splits;
}

std::optional<ProgramSplit> FindSplit(const std::vector<RankGrid>& series) {
  std::vector<std::int64_t> ranks;
  std::vector<std::vector<std::int64_t>> first;
  for (const RankGrid& grid : series) {
    ranks.push_back(grid.size());
    first.push_back({grid.SizeOf(0)});
  }
  const std::vector<ProgramSplit> splits = SplitsWith(ranks, first);
  return splits.empty() ? std::nullopt : std::optional(splits.front());
}

}  // namespace farscale
