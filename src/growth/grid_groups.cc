#include "growth/grid_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace farscale {
namespace {

using Kind = RankDivision::Kind;

bool Varies(std::uint8_t varying, std::size_t dimension) { return (varying >> dimension & 1) != 0; }

// Number of the rank among those of its program that differ in the dimensions of a bit mask.
std::int64_t NumberWithin(const RankGrid& grid, std::uint8_t dimensions, std::int64_t rank) {
  const GridVector at = grid.CoordinatesOf(rank);
  const GridVector& extents = grid.ExtentsOf(grid.ProgramOf(rank));
  std::int64_t number = 0;
  for (std::size_t d = kMostDimensions; d-- > 0;) {
    if (Varies(dimensions, d)) number = number * extents[d] + at[d];
  }
  return number;
}

std::int64_t CountWithin(const GridVector& extents, std::uint8_t dimensions) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (Varies(dimensions, d)) count *= extents[d];
  }
  return count;
}

// All ranks of a program, or of both.
bool IsLine(const RankDivision& groups) { return groups.kind >= Kind::kBlocks && groups.kind <= Kind::kEveryParts; }
bool IsOfPrograms(const RankDivision& groups) { return groups.kind == Kind::kProgram || groups.kind == Kind::kOther; }
// The program that the members of the group of a rank are of.
std::size_t ProgramIn(const RankGrid& grid, const RankDivision& groups, std::int64_t rank) {
  const std::size_t own = grid.ProgramOf(rank);
  return groups.kind == Kind::kOther && grid.HasTwo() ? 1 - own : own;
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
  if (groups.IsAll()) return 1;
  if (IsOfPrograms(groups)) return static_cast<std::int64_t>(grid.programs());
  if (IsLine(groups)) return Line(grid, groups).groups;
  return CountWithin(grid.extents, Fixed(groups)) + (grid.HasTwo() ? CountWithin(grid.second, Fixed(groups)) : 0);
}

std::int64_t GroupOf(const RankGrid& grid, const RankDivision& groups, std::int64_t rank) {
  if (groups.IsAll()) return 0;
  if (IsOfPrograms(groups)) return static_cast<std::int64_t>(ProgramIn(grid, groups, rank));
  if (IsLine(groups)) return Line(grid, groups).GroupOf(rank);
  return NumberWithin(grid, Fixed(groups), rank) +
         (grid.ProgramOf(rank) > 0 ? CountWithin(grid.extents, Fixed(groups)) : 0);
}

std::int64_t PlaceInGroup(const RankGrid& grid, const RankDivision& groups, std::int64_t rank) {
  if (groups.IsAll()) return rank;
  if (IsOfPrograms(groups)) return rank - grid.FirstOf(grid.ProgramOf(rank));
  return IsLine(groups) ? Line(grid, groups).PlaceOf(rank) : NumberWithin(grid, groups.varying, rank);
}

std::int64_t SizeOfGroup(const RankGrid& grid, const RankDivision& groups, std::int64_t rank) {
  if (groups.IsAll()) return grid.size();
  if (IsOfPrograms(groups)) return grid.SizeOf(ProgramIn(grid, groups, rank));
  if (!IsLine(groups)) return CountWithin(grid.ExtentsOf(grid.ProgramOf(rank)), groups.varying);
  const Line line(grid, groups);
  return line.SizeOf(line.GroupOf(rank));
}

std::int64_t MemberAt(const RankGrid& grid, const RankDivision& groups, std::int64_t rank, std::int64_t place) {
  if (place < 0 || place >= SizeOfGroup(grid, groups, rank)) return -1;
  if (groups.IsAll()) return place;
  if (IsOfPrograms(groups)) return grid.FirstOf(ProgramIn(grid, groups, rank)) + place;
  if (IsLine(groups)) {
    const Line line(grid, groups);
    return line.At(line.GroupOf(rank), place);
  }
  const std::size_t program = grid.ProgramOf(rank);
  const GridVector& extents = grid.ExtentsOf(program);
  GridVector at = grid.CoordinatesOf(rank);
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (!Varies(groups.varying, d)) continue;
    at[d] = static_cast<std::int32_t>(place % extents[d]);
    place /= extents[d];
  }
  return grid.RankAt(at, program);
}

std::int64_t MemberAtPlaceOf(const RankGrid& grid, const RankDivision& groups, std::int64_t rank, std::int64_t other) {
  return groups.IsAll() ? other : MemberAt(grid, groups, rank, PlaceInGroup(grid, groups, other));
}

// A dimension of extent 1 may be among those that vary on more ranks. Of two programs, all dimensions are those of one.
std::vector<RankDivision> GridDivisionsWith(const RankGrid& grid, const std::vector<std::int32_t>& members) {
  std::vector<RankDivision> found;
  if (members.empty()) return found;
  const std::size_t program = grid.ProgramOf(members.front());
  if (std::ranges::any_of(members, [&](std::int32_t rank) { return grid.ProgramOf(rank) != program; })) {
    if (static_cast<std::int64_t>(members.size()) == grid.size()) found.push_back({});
    return found;
  }
  const GridVector& extents = grid.ExtentsOf(program);
  std::uint8_t varying = 0, alone = 0;
  const GridVector first = grid.CoordinatesOf(members.front());
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    const bool varies =
        std::ranges::any_of(members, [&](std::int32_t rank) { return grid.CoordinatesOf(rank)[d] != first[d]; });
    if (varies) varying |= 1u << d;
    if (extents[d] == 1) alone |= 1u << d;
  }
  if (CountWithin(extents, varying) != static_cast<std::int64_t>(members.size())) return found;
  for (std::uint8_t more = alone;; more = (more - 1) & alone) {
    const RankDivision one = RankDivision::Grid(varying | more);
    found.push_back(one.IsAll() && grid.HasTwo() ? RankDivision::Program() : one);
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
    case Kind::kProgram: return "program";
    case Kind::kOther: return "the other program";
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
