// Groups of the ranks of a run, as the communicators of a program are: every division puts each rank into one group.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "growth/rank_grid.h"

namespace farscale {

struct RankDivision {
  enum class Kind : std::uint8_t {
    kGrid,        // ranks that agree in all coordinates but those of the dimensions in `varying`; with all, all ranks
    kBlocks,      // n consecutive ranks each, the last one the rest
    kBlockParts,  // n groups of consecutive ranks, the last one with the rest
    kEvery,       // every n-th rank, in n groups
    kEveryParts,  // every (P / n)-th rank
    kProgram,     // all ranks of a program
    kOther,       // the ranks of the other program: partners of a rank, and no group that it is in
  };
  static constexpr std::uint8_t kAllDimensions = (1u << kMostDimensions) - 1;

  Kind kind = Kind::kGrid;
  std::uint8_t varying = kAllDimensions;  // a bit for every dimension; of kGrid
  std::int32_t n = 0;                     // 1 or more; of the others

  static RankDivision Grid(std::uint8_t varying) { return {Kind::kGrid, varying, 0}; }
  static RankDivision By(Kind kind, std::int32_t n) { return {kind, 0, n}; }
  static RankDivision Program() { return {Kind::kProgram, 0, 0}; }
  static RankDivision Other() { return {Kind::kOther, 0, 0}; }
  bool IsAll() const { return kind == Kind::kGrid && varying == kAllDimensions; }
  std::string Text() const;  // of one group: "all", "x", "x, z", "4 consecutive", "every 4th"
  friend auto operator<=>(const RankDivision&, const RankDivision&) = default;
};

// Groups, and the places of ranks in them, count from 0 on. Those of two programs' grids follow each other.
std::int64_t CountGroups(const RankGrid& grid, const RankDivision& groups);
std::int64_t GroupOf(const RankGrid& grid, const RankDivision& groups, std::int64_t rank);
std::int64_t PlaceInGroup(const RankGrid& grid, const RankDivision& groups, std::int64_t rank);
std::int64_t SizeOfGroup(const RankGrid& grid, const RankDivision& groups, std::int64_t rank);  // that the rank is in

// The rank at a place of the group of `rank`; -1 where it has no such place.
std::int64_t MemberAt(const RankGrid& grid, const RankDivision& groups, std::int64_t rank, std::int64_t place);
// The rank in the group of `rank` at the place that `other` has in its own; -1 where there is none.
std::int64_t MemberAtPlaceOf(const RankGrid& grid, const RankDivision& groups, std::int64_t rank, std::int64_t other);

// All divisions one of whose groups has these members: of the grid, and those that do not ask for it.
std::vector<RankDivision> GridDivisionsWith(const RankGrid& grid, const std::vector<std::int32_t>& members);
std::vector<RankDivision> LineDivisionsWith(const RankGrid& grid, std::vector<std::int32_t> members);

}  // namespace farscale
