#include "growth/peer_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/text.h"

namespace farscale {
namespace {

using Kind = PeerRule::Kind;

std::int64_t Modulo(std::int64_t value, std::int64_t size) { return ((value % size) + size) % size; }

// Of a value that is less than once around away.
std::int64_t Around(std::int64_t value, std::int64_t size) {
  return value < 0 ? value + size : value >= size ? value - size : value;
}

// With n rows and n or 2 n columns, as NAS CG exchanges a distributed vector.
std::int64_t Transposed(const RankGrid& grid, std::int64_t rank) {
  const std::int64_t columns = grid.extents[0], rows = grid.extents[1];
  if (grid.dimensions() > 2 || columns * rows != grid.size()) return -1;
  if (columns == rows) return rank % rows * rows + rank / rows;
  if (columns == 2 * rows) return 2 * (rank / 2 % rows * rows + rank / 2 / rows) + rank % 2;
  return -1;
}

// Steps in every dimension, without and with a way around its end.
void AddOffsets(const RankGrid& grid, const GridVector& from, const GridVector& to, std::size_t dimension,
                GridVector& steps, std::vector<GridVector>& all) {
  if (dimension == kMostDimensions) {
    all.push_back(steps);
    return;
  }
  const std::int32_t extent = grid.extents[dimension], straight = to[dimension] - from[dimension];
  steps[dimension] = straight;
  AddOffsets(grid, from, to, dimension + 1, steps, all);
  if (straight == 0) return;
  steps[dimension] = straight > 0 ? straight - extent : straight + extent;
  AddOffsets(grid, from, to, dimension + 1, steps, all);
}

// Whether steps of this length mean anything in a dimension. Longer ones lead somewhere, too, but not as a rule: 15
// back is the first one seen from the last one of 4, 8 and 16. In a dimension of one rank, the next one is itself.
bool IsStepIn(std::int64_t steps, std::int64_t extent) { return std::abs(steps) < std::max<std::int64_t>(extent, 2); }

// Of a rank at a place among so many.
std::int64_t PlaceInStage(const PeerRule& rule, std::int64_t place, std::int64_t size, const Stage& stage) {
  const std::int64_t up = std::int64_t{1} << std::min(stage.index, 62);
  const std::int64_t down = std::int64_t{1} << std::min(stage.count - 1 - stage.index, 62);
  std::int64_t result = -1;
  switch (rule.kind) {
    case Kind::kXorUp: result = place ^ up; break;
    case Kind::kXorDown: result = place ^ down; break;
    case Kind::kRingUp: return Modulo(place + rule.n * (stage.index + std::int64_t{1}), size);
    case Kind::kPowerUp: return Modulo(place + rule.n * up, size);
    case Kind::kPowerDown: return Modulo(place + rule.n * down, size);
    case Kind::kEach: result = stage.index + rule.n; break;
    case Kind::kEachOther: result = stage.index < place ? stage.index : stage.index + 1; break;
    default: break;
  }
  return result < size ? result : -1;
}

std::int64_t PeerInStage(const PeerRule& rule, const RankGrid& grid, std::int64_t rank, const Stage& stage) {
  if (rule.dimension < 0) return PlaceInStage(rule, rank, grid.size(), stage);
  const auto d = static_cast<std::size_t>(rule.dimension);
  GridVector at = grid.CoordinatesOf(rank);
  const std::int64_t place = PlaceInStage(rule, at[d], grid.extents[d], stage);
  if (place < 0) return -1;
  at[d] = static_cast<std::int32_t>(place);
  return grid.RankAt(at);
}

}  // namespace

std::int64_t PeerBy(const PeerRule& rule, const RankGrid& grid, std::int64_t rank, const Stage& stage) {
  const std::int64_t ranks = grid.size();
  if (rule.IsOfStages()) return PeerInStage(rule, grid, rank, stage);
  switch (rule.kind) {
    case Kind::kOffset: {
      GridVector at = grid.CoordinatesOf(rank);
      for (std::size_t d = 0; d < kMostDimensions; ++d) {
        if (!IsStepIn(rule.steps[d], grid.extents[d])) return -1;
        at[d] = static_cast<std::int32_t>(Around(at[d] + rule.steps[d], grid.extents[d]));
      }
      return grid.RankAt(at);
    }
    case Kind::kRing: return IsStepIn(rule.n, ranks) ? Around(rank + rule.n, ranks) : -1;
    case Kind::kXor: return (rank ^ rule.n) < ranks ? rank ^ rule.n : -1;
    case Kind::kAbsolute: return rule.n < ranks ? rule.n : -1;
    case Kind::kFromLast: return ranks - 1 - rule.n;
    case Kind::kRingPart: return Modulo(rule.n > 0 ? rank + (ranks >> rule.n) : rank - (ranks >> -rule.n), ranks);
    case Kind::kXorPart: return (rank ^ (ranks >> rule.n)) < ranks ? rank ^ (ranks >> rule.n) : -1;
    case Kind::kMirror: return ranks - 1 - rank;
    case Kind::kTranspose: return Transposed(grid, rank);
    default: return -1;
  }
}

namespace {

std::vector<PeerRule> RulesForOne(const RankGrid& grid, std::int64_t rank, std::int64_t peer) {
  if (peer < 0) return {PeerRule{}};
  const std::int64_t ranks = grid.size();
  std::vector<PeerRule> rules;
  std::vector<GridVector> offsets;
  GridVector steps{};
  AddOffsets(grid, grid.CoordinatesOf(rank), grid.CoordinatesOf(peer), 0, steps, offsets);
  std::ranges::stable_sort(offsets, {}, [](const GridVector& offset) {
    return std::accumulate(offset.begin(), offset.end(), 0, [](int sum, int step) { return sum + std::abs(step); });
  });
  for (const GridVector& offset : offsets) rules.push_back({Kind::kOffset, 0, offset});
  const auto straight = static_cast<std::int32_t>(peer - rank);
  for (const std::int64_t n : {std::int64_t{straight}, straight - ranks, straight + ranks}) {
    if (std::abs(n) < ranks) rules.push_back({Kind::kRing, static_cast<std::int32_t>(n), {}});
  }
  rules.push_back({Kind::kXor, static_cast<std::int32_t>(rank ^ peer), {}});
  for (std::int32_t n = 1; (ranks >> n) > 0; ++n) {
    const bool is_even = (ranks >> n) << n == ranks;
    for (const PeerRule& rule :
         {PeerRule{Kind::kRingPart, n, {}}, {Kind::kRingPart, -n, {}}, {Kind::kXorPart, n, {}}}) {
      if ((is_even || rule.kind == Kind::kRingPart) && PeerBy(rule, grid, rank) == peer) rules.push_back(rule);
    }
  }
  if (PeerBy({Kind::kMirror, 0, {}}, grid, rank) == peer) rules.push_back({Kind::kMirror, 0, {}});
  if (PeerBy({Kind::kTranspose, 0, {}}, grid, rank) == peer) rules.push_back({Kind::kTranspose, 0, {}});
  rules.push_back({Kind::kAbsolute, static_cast<std::int32_t>(peer), {}});
  rules.push_back({Kind::kFromLast, static_cast<std::int32_t>(ranks - 1 - peer), {}});
  return rules;
}

std::vector<PeerRule> RulesOfStages() {
  std::vector<PeerRule> rules;
  for (std::int8_t dimension = -1; dimension < static_cast<std::int8_t>(kMostDimensions); ++dimension) {
    const auto add = [&](Kind kind, std::int32_t n) { rules.push_back({kind, n, {}, dimension}); };
    for (const Kind kind : {Kind::kXorUp, Kind::kXorDown}) add(kind, 0);
    for (const Kind kind : {Kind::kRingUp, Kind::kPowerUp, Kind::kPowerDown}) {
      for (const std::int32_t n : {1, -1}) add(kind, n);
    }
    for (const std::int32_t n : {0, 1}) add(Kind::kEach, n);
    add(Kind::kEachOther, 0);
  }
  return rules;
}

}  // namespace

std::vector<PeerRule> RulesFor(const RankGrid& grid, std::int64_t rank, const std::vector<std::int64_t>& peers) {
  static const std::vector<PeerRule> of_stages = RulesOfStages();
  std::vector<PeerRule> rules = RulesForOne(grid, rank, peers.front());
  if (peers.size() > 1) rules.insert(rules.begin(), of_stages.begin(), of_stages.end());
  std::erase_if(rules, [&](const PeerRule& rule) {
    for (std::size_t stage = 0; stage < peers.size(); ++stage) {
      const Stage at{static_cast<std::int32_t>(stage), static_cast<std::int32_t>(peers.size())};
      if (PeerBy(rule, grid, rank, at) != peers[stage]) return true;
    }
    return false;
  });
  return rules;
}

std::string PeerRule::Text() const {
  switch (kind) {
    case Kind::kOffset: {
      std::vector<std::string> parts;
      for (std::size_t d = 0; d < kMostDimensions; ++d) {
        if (steps[d] != 0) parts.push_back(fmt::format("{}{:+}", "xyzt"[d], steps[d]));
      }
      return parts.empty() ? "itself" : Join(parts, " ");
    }
    case Kind::kRing: return fmt::format("rank {:+}", n);
    case Kind::kXor: return fmt::format("rank xor {}", n);
    case Kind::kAbsolute: return fmt::format("rank {}", n);
    case Kind::kFromLast: return n == 0 ? "last rank" : fmt::format("last rank - {}", n);
    case Kind::kRingPart: return fmt::format("rank {} P/{}", n > 0 ? '+' : '-', 1 << std::abs(n));
    case Kind::kXorPart: return fmt::format("rank xor P/{}", 1 << n);
    case Kind::kMirror: return "P - 1 - rank";
    case Kind::kTranspose: return "transposed";
    case Kind::kNobody: return "nobody";
    default: break;
  }
  const std::string within = dimension < 0 ? "" : fmt::format(" in {}", "xyzt"[dimension]);
  switch (kind) {
    case Kind::kXorUp: return "xor 1, 2, 4, ..." + within;
    case Kind::kXorDown: return "xor ..., 4, 2, 1" + within;
    case Kind::kRingUp: return (n > 0 ? "+1, +2, +3, ..." : "-1, -2, -3, ...") + within;
    case Kind::kPowerUp: return (n > 0 ? "+1, +2, +4, ..." : "-1, -2, -4, ...") + within;
    case Kind::kPowerDown: return (n > 0 ? "..., +4, +2, +1" : "..., -4, -2, -1") + within;
    case Kind::kEach: return fmt::format("each from {} on{}", n, within);
    default: return "each other" + within;
  }
}

}  // namespace farscale
