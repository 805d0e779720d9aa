#include "growth/peer_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
  if (grid.HasTwo() || grid.dimensions() > 2 || columns * rows != grid.size()) return -1;
  if (columns == rows) return rank % rows * rows + rank / rows;
  if (columns == 2 * rows) return 2 * (rank / 2 % rows * rows + rank / 2 / rows) + rank % 2;
  return -1;
}

// Steps in every dimension of these extents, without and with a way around its end.
void AddOffsets(const GridVector& extents, const GridVector& from, const GridVector& to, std::size_t dimension,
                GridVector& steps, std::vector<GridVector>& all) {
  if (dimension == kMostDimensions) {
    all.push_back(steps);
    return;
  }
  const std::int32_t extent = extents[dimension], straight = to[dimension] - from[dimension];
  steps[dimension] = straight;
  AddOffsets(extents, from, to, dimension + 1, steps, all);
  if (straight == 0) return;
  steps[dimension] = straight > 0 ? straight - extent : straight + extent;
  AddOffsets(extents, from, to, dimension + 1, steps, all);
}

// Whether steps of this length mean anything in a dimension. Longer ones lead somewhere, too, but not as a rule: 15
// back is the first one seen from the last one of 4, 8 and 16. In a dimension of one rank, the next one is itself.
bool IsStepIn(std::int64_t steps, std::int64_t extent) { return std::abs(steps) < std::max<std::int64_t>(extent, 2); }

// Of a rank at a place among so many, in a stage.
std::int64_t PlaceInStage(const PeerRule& rule, std::int64_t place, std::int64_t size, const Stage& stage) {
  const std::int64_t up = std::int64_t{1} << std::min(stage.index, 62);
  const std::int64_t down = std::int64_t{1} << std::min(stage.count - 1 - stage.index, 62);
  switch (rule.kind) {
    case Kind::kXorUp: return place ^ up;
    case Kind::kXorDown: return place ^ down;
    case Kind::kRingUp: return Modulo(place + rule.n * (stage.index + std::int64_t{1}), size);
    case Kind::kPowerUp: return Modulo(place + rule.n * up, size);
    case Kind::kPowerDown: return Modulo(place + rule.n * down, size);
    case Kind::kEach: return stage.index + rule.n;
    case Kind::kEachOther: return stage.index < place ? stage.index : stage.index + 1;
    default: return -1;
  }
}

// The same in no stage.
std::int64_t PlaceBy(const PeerRule& rule, std::int64_t place, std::int64_t size) {
  switch (rule.kind) {
    case Kind::kRing: return IsStepIn(rule.n, size) ? Around(place + rule.n, size) : -1;
    case Kind::kXor: return place ^ rule.n;
    case Kind::kAbsolute: return rule.n;
    case Kind::kFromLast: return size - 1 - rule.n;
    case Kind::kRingPart: return Modulo(rule.n > 0 ? place + (size >> rule.n) : place - (size >> -rule.n), size);
    case Kind::kXorPart: return place ^ (size >> rule.n);
    case Kind::kMirror: return size - 1 - place;
    default: return -1;
  }
}

// Of a rank at a place among `own` ranks of its program; the other one has `size`.
std::int64_t PlaceInOther(const PeerRule& rule, std::int64_t place, std::int64_t own, std::int64_t size,
                          const Stage& stage) {
  switch (rule.kind) {
    case Kind::kShare: return place * size / own + rule.n;
    case Kind::kShareUp: return place * size / own + stage.index;
    case Kind::kModulo: return place % size;
    case Kind::kModuloUp: return place + stage.index * own;
    default: return rule.IsOfStages() ? PlaceInStage(rule, place, size, stage) : PlaceBy(rule, place, size);
  }
}

}  // namespace

std::int64_t PeerBy(const PeerRule& rule, const RankGrid& grid, std::int64_t rank, const Stage& stage) {
  if (rule.kind == Kind::kNobody) return -1;
  if (rule.kind == Kind::kTranspose) return Transposed(grid, rank);
  if (rule.kind == Kind::kOffset) {
    const std::size_t program = grid.ProgramOf(rank);
    const GridVector& extents = grid.ExtentsOf(program);
    GridVector at = grid.CoordinatesOf(rank);
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      if (!IsStepIn(rule.steps[d], extents[d])) return -1;
      at[d] = static_cast<std::int32_t>(Around(at[d] + rule.steps[d], extents[d]));
    }
    return grid.RankAt(at, program);
  }
  const auto place_by = [&](std::int64_t place, std::int64_t size) {
    return rule.IsOfStages() ? PlaceInStage(rule, place, size, stage) : PlaceBy(rule, place, size);
  };
  if (rule.within.IsAll()) {
    const std::int64_t ranks = grid.size(), peer = place_by(rank, ranks);
    return peer < ranks ? peer : -1;
  }
  const std::int64_t place = PlaceInGroup(grid, rule.within, rank), size = SizeOfGroup(grid, rule.within, rank);
  if (rule.within.kind == RankDivision::Kind::kOther) {
    const std::int64_t own = SizeOfGroup(grid, RankDivision::Program(), rank);
    return MemberAt(grid, rule.within, rank, PlaceInOther(rule, place, own, size, stage));
  }
  return MemberAt(grid, rule.within, rank, place_by(place, size));
}

namespace {

// Rules among the members of a group, of which one is the rank and another its partner.
void AddWithin(const RankGrid& grid, const RankDivision& groups, std::int64_t rank, std::int64_t peer,
               std::vector<PeerRule>& rules) {
  const std::int64_t size = SizeOfGroup(grid, groups, rank);
  const auto from = static_cast<std::int32_t>(PlaceInGroup(grid, groups, rank));
  const auto to = static_cast<std::int32_t>(PlaceInGroup(grid, groups, peer));
  const auto add = [&](Kind kind, std::int64_t n) {
    rules.push_back({kind, static_cast<std::int32_t>(n), {}, groups});
  };
  std::array<std::int64_t, 3> shifts = {to - from, to - from - size, to - from + size};
  std::ranges::stable_sort(shifts, {}, [](std::int64_t n) { return std::abs(n); });
  for (const std::int64_t n : shifts) {
    if (std::abs(n) < size) add(Kind::kRing, n);
  }
  add(Kind::kXor, from ^ to);
  for (std::int32_t n = 1; (size >> n) > 0; ++n) {
    const bool is_even = (size >> n) << n == size;
    for (const std::int32_t part : {n, -n}) {
      if (PlaceBy({Kind::kRingPart, part, {}, {}}, from, size) == to) add(Kind::kRingPart, part);
    }
    if (is_even && PlaceBy({Kind::kXorPart, n, {}, {}}, from, size) == to) add(Kind::kXorPart, n);
  }
  if (from + to == size - 1) add(Kind::kMirror, 0);
  if (groups.IsAll() && Transposed(grid, rank) == peer) rules.push_back({Kind::kTranspose, 0, {}, {}});
  add(Kind::kAbsolute, to);
  add(Kind::kFromLast, size - 1 - to);
}

// Partners in the other program.
void AddInOther(const RankGrid& grid, std::int64_t rank, std::int64_t peer, std::vector<PeerRule>& rules) {
  const RankDivision other = RankDivision::Other();
  const std::int64_t size = SizeOfGroup(grid, other, rank), to = PlaceInGroup(grid, other, peer);
  const auto add = [&](Kind kind, std::int64_t n) {
    const PeerRule rule{kind, static_cast<std::int32_t>(n), {}, other};
    if (PeerBy(rule, grid, rank) == peer) rules.push_back(rule);
  };
  add(Kind::kShare, to - (PeerBy({Kind::kShare, 0, {}, other}, grid, rank) - grid.FirstOf(grid.ProgramOf(peer))));
  add(Kind::kModulo, 0);
  add(Kind::kAbsolute, to);
  add(Kind::kFromLast, size - 1 - to);
}

std::vector<PeerRule> RulesForOne(const RankGrid& grid, std::int64_t rank, std::int64_t peer,
                                  const std::vector<RankDivision>& groups) {
  if (peer < 0) return {PeerRule{}};
  std::vector<PeerRule> rules;
  const std::size_t program = grid.ProgramOf(rank);
  if (program != grid.ProgramOf(peer)) {
    AddInOther(grid, rank, peer, rules);
    AddWithin(grid, {}, rank, peer, rules);
    return rules;
  }
  std::vector<GridVector> offsets;
  GridVector steps{};
  AddOffsets(grid.ExtentsOf(program), grid.CoordinatesOf(rank), grid.CoordinatesOf(peer), 0, steps, offsets);
  // The nearest ones first: where all extents divide that of the largest run, long ways around hold as well.
  std::ranges::stable_sort(offsets, {}, [](const GridVector& offset) {
    return std::accumulate(offset.begin(), offset.end(), 0, [](int sum, int step) { return sum + std::abs(step); });
  });
  for (const GridVector& offset : offsets) rules.push_back({Kind::kOffset, 0, offset, {}});
  if (grid.HasTwo()) AddWithin(grid, RankDivision::Program(), rank, peer, rules);
  AddWithin(grid, {}, rank, peer, rules);
  for (const RankDivision& one : groups) {
    if (!one.IsAll() && one != RankDivision::Program() && GroupOf(grid, one, rank) == GroupOf(grid, one, peer))
      AddWithin(grid, one, rank, peer, rules);
  }
  return rules;
}

bool Gives(const PeerRule& rule, const RankGrid& grid, std::int64_t rank, const std::vector<std::int64_t>& peers) {
  for (std::size_t stage = 0; stage < peers.size(); ++stage) {
    const Stage at{static_cast<std::int32_t>(stage), static_cast<std::int32_t>(peers.size())};
    if (PeerBy(rule, grid, rank, at) != peers[stage]) return false;
  }
  return true;
}

// All ranks, those of the program, the lines of its grid, and other groups.
std::vector<RankDivision> DivisionsOfStages(const RankGrid& grid, std::int64_t rank,
                                            const std::vector<RankDivision>& groups) {
  std::vector<RankDivision> all = {{}};
  if (grid.HasTwo()) all.insert(all.begin(), RankDivision::Program());
  const GridVector& extents = grid.ExtentsOf(grid.ProgramOf(rank));
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (extents[d] > 1) all.push_back(RankDivision::Grid(static_cast<std::uint8_t>(1u << d)));
  }
  for (const RankDivision& one : groups) {
    if (std::ranges::find(all, one) == all.end()) all.push_back(one);
  }
  return all;
}

template <typename Add>
void AddOfStages(const RankDivision& groups, const Add& add) {
  const auto rule = [&](Kind kind, std::int32_t n) { add(PeerRule{kind, n, {}, groups}); };
  for (const Kind kind : {Kind::kXorUp, Kind::kXorDown}) rule(kind, 0);
  for (const Kind kind : {Kind::kRingUp, Kind::kPowerUp, Kind::kPowerDown}) {
    for (const std::int32_t n : {1, -1}) rule(kind, n);
  }
  for (const std::int32_t n : {0, 1}) rule(Kind::kEach, n);
  rule(Kind::kEachOther, 0);
}

template <typename Add>
void AddStagesInOther(const Add& add) {
  for (const Kind kind : {Kind::kShareUp, Kind::kModuloUp, Kind::kEach})
    add(PeerRule{kind, 0, {}, RankDivision::Other()});
}

}  // namespace

std::vector<PeerRule> RulesFor(const RankGrid& grid, std::int64_t rank, const std::vector<std::int64_t>& peers,
                               const std::vector<RankDivision>& groups) {
  std::vector<PeerRule> rules;
  const auto add = [&](const PeerRule& rule) {
    if (Gives(rule, grid, rank, peers)) rules.push_back(rule);
  };
  if (peers.size() > 1) {
    if (grid.HasTwo()) AddStagesInOther(add);
    for (const RankDivision& one : DivisionsOfStages(grid, rank, groups)) AddOfStages(one, add);
  }
  for (const PeerRule& rule : RulesForOne(grid, rank, peers.front(), groups)) add(rule);
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
    case Kind::kTranspose: return "transposed";
    case Kind::kNobody: return "nobody";
    default: break;
  }
  const std::string place = within.IsAll() ? "" : " in " + within.Text();
  switch (kind) {
    case Kind::kRing: return fmt::format("rank {:+}", n) + place;
    case Kind::kXor: return fmt::format("rank xor {}", n) + place;
    case Kind::kAbsolute: return fmt::format("rank {}", n) + place;
    case Kind::kFromLast: return (n == 0 ? "last rank" : fmt::format("last rank - {}", n)) + place;
    case Kind::kRingPart: return fmt::format("rank {} P/{}", n > 0 ? '+' : '-', 1 << std::abs(n)) + place;
    case Kind::kXorPart: return fmt::format("rank xor P/{}", 1 << n) + place;
    case Kind::kMirror: return "P - 1 - rank" + place;
    case Kind::kShare: return (n == 0 ? "same share" : fmt::format("same share {:+}", n)) + place;
    case Kind::kModulo: return "same place" + place;
    case Kind::kShareUp: return "each of the same share" + place;
    case Kind::kModuloUp: return "each of the same place" + place;
    case Kind::kXorUp: return "xor 1, 2, 4, ..." + place;
    case Kind::kXorDown: return "xor ..., 4, 2, 1" + place;
    case Kind::kRingUp: return (n > 0 ? "+1, +2, +3, ..." : "-1, -2, -3, ...") + place;
    case Kind::kPowerUp: return (n > 0 ? "+1, +2, +4, ..." : "-1, -2, -4, ...") + place;
    case Kind::kPowerDown: return (n > 0 ? "..., +4, +2, +1" : "..., -4, -2, -1") + place;
    case Kind::kEach: return fmt::format("each from {} on{}", n, place);
    default: return "each other" + place;
  }
}

}  // namespace farscale
