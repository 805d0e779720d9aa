// Rules by which a rank finds the partner of a message or the root of a collective, on any number of ranks.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "growth/read/rank_grid.h"

namespace farscale {

// Groups of the ranks of a run, as the communicators of a program are: every division puts each rank into one group.

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
  std::uint8_t copy = 0;                  // which of several communicators with these members; else 0

  static RankDivision Grid(std::uint8_t varying) { return {Kind::kGrid, varying}; }
  static RankDivision By(Kind kind, std::int32_t n) { return {kind, 0, n}; }
  static RankDivision Program() { return {Kind::kProgram, 0}; }
  static RankDivision Other() { return {Kind::kOther, 0}; }
  RankDivision Copy(std::uint8_t number) const { return {kind, varying, n, number}; }
  bool IsAll() const { return kind == Kind::kGrid && varying == kAllDimensions; }
  std::string Text() const;  // one group: "all", "x", "x, z", "4 consecutive", "every 4th"
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

struct PeerRule {
  enum class Kind : std::uint8_t {
    kOffset,     // steps of the grid, around its ends
    kTranspose,  // the first two coordinates change places, pairs of columns staying together on a 2 n × n grid
    // Among all P ranks or within the group of the rank, of which `rank` and P are the place and the size then:
    kRing,      // rank + n, around the last rank
    kXor,       // rank xor n
    kAbsolute,  // rank n
    kFromLast,  // the n-th from the last rank
    kRingPart,  // rank + P / 2^n, around the last rank; with n < 0, rank - P / 2^-n
    kXorPart,   // rank xor P / 2^n
    kMirror,    // P - 1 - rank
    // Among the ranks of the other program, after the place of the rank in its own:
    kShare,   // at the same part of all ranks, rounded down, and n further: of three times as many, 3 place + n
    kModulo,  // the same place, around the end
    // Likewise, of the s-th of several stages:
    kXorUp,      // xor 2^s
    kXorDown,    // xor 2^(stages - 1 - s)
    kRingUp,     // n (s + 1) further, around the end
    kPowerUp,    // n 2^s further, around the end
    kPowerDown,  // n 2^(stages - 1 - s) further
    kEach,       // the (s + n)-th
    kEachOther,  // the s-th without this rank
    kShareUp,    // as kShare, the s-th
    kModuloUp,   // as kModulo, s times the ranks of this program further
    kNobody,
  };
  Kind kind = Kind::kNobody;
  std::int32_t n = 0;
  GridVector steps{};
  RankDivision within = {};

  bool IsOfStages() const { return kind >= Kind::kXorUp && kind < Kind::kNobody; }
  std::string Text() const;
  friend auto operator<=>(const PeerRule&, const PeerRule&) = default;
};

// Which of how many stages a call is in; one that is not repeated is the only one.
struct Stage {
  std::int32_t index = 0, count = 1;
};

// The partner of a rank, or -1 where the rule gives none.
std::int64_t PeerBy(const PeerRule& rule, const RankGrid& grid, std::int64_t rank, const Stage& stage = {});

// All rules that give these partners in as many stages, the plainest first. `groups`: of ranks among whom partners may
// be found, beside all ranks and, for stages, the lines of the grid.
std::vector<PeerRule> RulesFor(const RankGrid& grid, std::int64_t rank, const std::vector<std::int64_t>& peers,
                               const std::vector<RankDivision>& groups);

// Details of a phase that is not grown by rules.
struct StatisticalGrowth {
  std::string reason = {};                  // the gap in the rules
  double explained = 0, confirmed = 0;      // shares of the messages, as in CallRules
  std::int64_t ranks = 0;                   // in the run, the largest where a phase is grown
  double fewest = 0, median = 0, most = 0;  // ranks to which a rank sends messages
  double messages = 0;                      // sent by a rank in an iteration, in the mean
};

// A summary of the rules that the messages of a program follow ("x+1", "ring+2", "P^-1"), with the part of the messages
// and collectives of the largest run that ranks send or enter.
using RuleShares = std::vector<std::pair<std::string, double>>;

}  // namespace farscale
