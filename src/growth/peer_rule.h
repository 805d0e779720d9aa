// Rules by which a rank finds the partner of a message or the root of a collective, on any number of ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "growth/grid_groups.h"
#include "growth/rank_grid.h"

namespace farscale {

struct PeerRule {
  enum class Kind : std::uint8_t {
    kOffset,     // by steps of the grid, around its ends
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
  friend bool operator==(const PeerRule&, const PeerRule&) = default;
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

}  // namespace farscale
