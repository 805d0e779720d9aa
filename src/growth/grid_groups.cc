#include "growth/grid_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace farscale {
namespace {

using Kind = RankDivision::Kind;

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

std::int64_t CountWithin(const RankGrid& grid, std::uint8_t dimensions) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (Varies(dimensions, d)) count *= grid.extents[d];
  }
  return count;
}

std::uint8_t Fixed(const RankDivision& groups) { return RankDivision::kAllDimensions & ~groups.varying; }

// A division that does not ask for the grid: blocks of `step` ranks, or every `step`-th rank.
struct Line {
  std::int64_t ranks = 0, step = 1, groups = 1;
  bool is_blocks = false;

  Line(const RankGrid& grid, const RankDivision& of) : ranks(grid.size()) {
    const bool is_part = of.kind == Kind::kBlockParts || of.kind == Kind::kEveryParts;
    is_blocks = of.kind == Kind::kBlocks || of.kind == Kind::kBlockParts;
    step = is_part ? std::max<std::int64_t>(1, ranks / of.n) : of.n;
    groups = std::min<std::int64_t>(ranks, of.kind == Kind::kBlocks       ? (ranks + step - 1) / step
                                           : of.kind == Kind::kBlockParts ? of.n
                                                                          : step);
  }
  std::int64_t GroupOf(std::int64_t rank) const { return is_blocks ? std::min(rank / step, groups - 1) : rank % step; }
  std::int64_t PlaceOf(std::int64_t rank) const { return is_blocks ? rank - GroupOf(rank) * step : rank / step; }
  std::int64_t SizeOf(std::int64_t group) const {
    if (!is_blocks) return (ranks - group + step - 1) / step;
    return group + 1 < groups ? step : ranks - group * step;
  }
  std::int64_t At(std::int64_t group, std::int64_t place) const {
    return is_blocks ? group * step + place : group + place * step;
  }
};

}  // namespace

std::int64_t CountGroups(const RankGrid& grid, const RankDivision& groups) {
  return groups.kind == Kind::kGrid ? CountWithin(grid, Fixed(groups)) : Line(grid, groups).groups;
}

std::int64_t GroupOf(const RankGrid& grid, const RankDivision& groups, std::int64_t rank) {
  return groups.kind == Kind::kGrid ? NumberWithin(grid, Fixed(groups), rank) : Line(grid, groups).GroupOf(rank);
}

std::int64_t PlaceInGroup(const RankGrid& grid, const RankDivision& groups, std::int64_t rank) {
  return groups.kind == Kind::kGrid ? NumberWithin(grid, groups.varying, rank) : Line(grid, groups).PlaceOf(rank);
}

std::int64_t SizeOfGroup(const RankGrid& grid, const RankDivision& groups, std::int64_t rank) {
  if (groups.kind == Kind::kGrid) return CountWithin(grid, groups.varying);
  const Line line(grid, groups);
  return line.SizeOf(line.GroupOf(rank));
}

std::int64_t MemberAt(const RankGrid& grid, const RankDivision& groups, std::int64_t rank, std::int64_t place) {
  if (place < 0 || place >= SizeOfGroup(grid, groups, rank)) return -1;
  if (groups.kind != Kind::kGrid) {
    const Line line(grid, groups);
    return line.At(line.GroupOf(rank), place);
  }
  GridVector at = grid.CoordinatesOf(rank);
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (!Varies(groups.varying, d)) continue;
    at[d] = static_cast<std::int32_t>(place % grid.extents[d]);
    place /= grid.extents[d];
  }
  return grid.RankAt(at);
}

std::int64_t MemberAtPlaceOf(const RankGrid& grid, const RankDivision& groups, std::int64_t rank, std::int64_t other) {
  return groups.IsAll() ? other : MemberAt(grid, groups, rank, PlaceInGroup(grid, groups, other));
}

// A dimension of extent 1 may be among those that vary on more ranks.
std::vector<RankDivision> GridDivisionsWith(const RankGrid& grid, const std::vector<std::int32_t>& members) {
  std::vector<RankDivision> found;
  if (members.empty()) return found;
  std::uint8_t varying = 0, alone = 0;
  const GridVector first = grid.CoordinatesOf(members.front());
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    const bool varies =
        std::ranges::any_of(members, [&](std::int32_t rank) { return grid.CoordinatesOf(rank)[d] != first[d]; });
    if (varies) varying |= 1u << d;
    if (grid.extents[d] == 1) alone |= 1u << d;
  }
  if (CountWithin(grid, varying) != static_cast<std::int64_t>(members.size())) return found;
  for (std::uint8_t more = alone;; more = (more - 1) & alone) {
    found.push_back(RankDivision::Grid(varying | more));
    if (more == 0) break;
  }
  return found;
}

namespace {

bool IsGroup(const RankGrid& grid, const RankDivision& division, const std::vector<std::int32_t>& rising) {
  const std::int64_t first = rising.front();
  if (SizeOfGroup(grid, division, first) != static_cast<std::int64_t>(rising.size())) return false;
  for (std::size_t place = 0; place < rising.size(); ++place) {
    if (MemberAt(grid, division, first, static_cast<std::int64_t>(place)) != rising[place]) return false;
  }
  return true;
}

}  // namespace

std::vector<RankDivision> LineDivisionsWith(const RankGrid& grid, std::vector<std::int32_t> members) {
  std::vector<RankDivision> found;
  if (members.empty()) return found;
  std::ranges::sort(members);
  const auto ranks = static_cast<std::int32_t>(grid.size()), size = static_cast<std::int32_t>(members.size());
  const auto add = [&](Kind kind, std::int32_t n) {
    if (IsGroup(grid, RankDivision::By(kind, n), members)) found.push_back(RankDivision::By(kind, n));
  };
  add(Kind::kBlocks, size);
  if (ranks % size == 0 && size < ranks) add(Kind::kBlockParts, ranks / size);
  if (size > 1 && size < ranks) add(Kind::kEvery, members[1] - members[0]);
  if (ranks % size == 0) add(Kind::kEveryParts, size);
  return found;
}

std::string RankDivision::Text() const {
  const auto ordinal = [](std::int32_t number) {
    const std::int32_t last = number % 100 / 10 == 1 ? 0 : number % 10;
    return fmt::format("{}{}", number, last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
  };
  switch (kind) {
    case Kind::kBlocks: return fmt::format("{} consecutive", n);
    case Kind::kBlockParts: return fmt::format("P/{} consecutive", n);
    case Kind::kEvery: return fmt::format("every {}", ordinal(n));
    case Kind::kEveryParts: return fmt::format("every (P/{})th", n);
    case Kind::kGrid: break;
  }
  if (IsAll()) return "all";
  std::vector<std::string> names;
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (Varies(varying, d)) names.emplace_back(1, "xyzt"[d]);
  }
  return names.empty() ? "itself" : Join(names, ", ");
}

}  // namespace farscale
