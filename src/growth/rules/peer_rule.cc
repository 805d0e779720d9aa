#include "growth/rules/peer_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <numeric>

#include "base/text.h"

namespace farscale {
namespace {

using PeerKind = PeerRule::Kind;

std::int64_t Modulo(std::int64_t value, std::int64_t size) { return ((value % size) + size) % size; }

// Modulo of a value that is less than once around away.
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

// True if steps of this length mean anything in a dimension. Longer ones lead somewhere, too, but not as a rule: 15
// back is the first one seen from the last one of 4, 8 and 16. In a dimension of one rank, the next one is itself.
bool IsStepIn(std::int64_t steps, std::int64_t extent) { return std::abs(steps) < std::max<std::int64_t>(extent, 2); }

// The place of the partner of a rank at a place among so many. `own`: ranks of its program, for partners in the other.
std::int64_t PartnerPlace(const PeerRule& rule, std::int64_t place, std::int64_t size, const Stage& stage = {},
                          std::int64_t own = 1) {
  const std::int64_t up = std::int64_t{1} << std::min(stage.index, 62);
  const std::int64_t down = std::int64_t{1} << std::min(stage.count - 1 - stage.index, 62);
  switch (rule.kind) {
    case PeerKind::kRing: return IsStepIn(rule.n, size) ? Around(place + rule.n, size) : -1;
    case PeerKind::kXor: return place ^ rule.n;
    case PeerKind::kAbsolute: return rule.n;
    case PeerKind::kFromLast: return size - 1 - rule.n;
    case PeerKind::kRingPart: return Modulo(rule.n > 0 ? place + (size >> rule.n) : place - (size >> -rule.n), size);
    case PeerKind::kXorPart: return place ^ (size >> rule.n);
    case PeerKind::kMirror: return size - 1 - place;
    case PeerKind::kShare: return place * size / own + rule.n;
    case PeerKind::kModulo: return place % size;
    case PeerKind::kXorUp: return place ^ up;
    case PeerKind::kXorDown: return place ^ down;
    case PeerKind::kRingUp: return Modulo(place + rule.n * (stage.index + std::int64_t{1}), size);
    case PeerKind::kPowerUp: return Modulo(place + rule.n * up, size);
    case PeerKind::kPowerDown: return Modulo(place + rule.n * down, size);
    case PeerKind::kEach: return stage.index + rule.n;
    case PeerKind::kEachOther: return stage.index < place ? stage.index : stage.index + 1;
    case PeerKind::kShareUp: return place * size / own + stage.index;
    case PeerKind::kModuloUp: return place + stage.index * own;
    default: return -1;
  }
}

bool Varies(std::uint8_t varying, std::size_t dimension) { return (varying >> dimension & 1) != 0; }

// Number of the rank among those of its program that differ in the dimensions of a bit mask.
std::int64_t NumberWithin(const RankGrid& grid, std::uint8_t dimensions, std::int64_t rank) {
  const GridVector at = grid.Coordinates(rank);
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
bool IsLine(const RankDivision& groups) {
  return groups.kind >= RankDivision::Kind::kBlocks && groups.kind <= RankDivision::Kind::kEveryParts;
}
bool IsOfPrograms(const RankDivision& groups) {
  return groups.kind == RankDivision::Kind::kProgram || groups.kind == RankDivision::Kind::kOther;
}
// The program that the members of the group of a rank are of.
std::size_t ProgramIn(const RankGrid& grid, const RankDivision& groups, std::int64_t rank) {
  const std::size_t own = grid.ProgramOf(rank);
  return groups.kind == RankDivision::Kind::kOther && grid.HasTwo() ? 1 - own : own;
}

std::uint8_t Fixed(const RankDivision& groups) { return RankDivision::kAllDimensions & ~groups.varying; }

// A division that does not ask for the grid: blocks of `step` ranks, or every `step`-th rank.
struct Line {
  std::int64_t ranks = 0, step = 1, groups = 1;
  bool is_blocks = false;

  Line(const RankGrid& grid, const RankDivision& of) : ranks(grid.size()) {
    const bool is_part = of.kind == RankDivision::Kind::kBlockParts || of.kind == RankDivision::Kind::kEveryParts;
    is_blocks = of.kind == RankDivision::Kind::kBlocks || of.kind == RankDivision::Kind::kBlockParts;
    step = is_part ? std::max<std::int64_t>(1, ranks / of.n) : of.n;
    groups = std::min<std::int64_t>(ranks, of.kind == RankDivision::Kind::kBlocks       ? (ranks + step - 1) / step
                                           : of.kind == RankDivision::Kind::kBlockParts ? of.n
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

std::int64_t PeerBy(const PeerRule& rule, const RankGrid& grid, std::int64_t rank, const Stage& stage) {
  if (rule.kind == PeerKind::kNobody) return -1;
  if (rule.kind == PeerKind::kTranspose) return Transposed(grid, rank);
  if (rule.kind == PeerKind::kOffset) {
    const std::size_t program = grid.ProgramOf(rank);
    const GridVector& extents = grid.ExtentsOf(program);
    GridVector at = grid.Coordinates(rank);
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      if (!IsStepIn(rule.steps[d], extents[d])) return -1;
      at[d] = static_cast<std::int32_t>(Around(at[d] + rule.steps[d], extents[d]));
    }
    return grid.RankAt(at, program);
  }
  const RankDivision& within = rule.within;
  if (within.IsAll()) {
    const std::int64_t ranks = grid.size(), peer = PartnerPlace(rule, rank, ranks, stage);
    return peer < ranks ? peer : -1;
  }
  const std::int64_t own = within.kind == RankDivision::Kind::kOther ? grid.SizeOf(grid.ProgramOf(rank)) : 1;
  return MemberAt(grid, within, rank,
                  PartnerPlace(rule, PlaceInGroup(grid, within, rank), SizeOfGroup(grid, within, rank), stage, own));
}

namespace {

// Rules among the members of a group, of which one is the rank and another its partner.
void AddWithin(const RankGrid& grid, const RankDivision& groups, std::int64_t rank, std::int64_t peer,
               std::vector<PeerRule>& rules) {
  const std::int64_t size = SizeOfGroup(grid, groups, rank);
  const auto from = static_cast<std::int32_t>(PlaceInGroup(grid, groups, rank));
  const auto to = static_cast<std::int32_t>(PlaceInGroup(grid, groups, peer));
  const auto add = [&](PeerKind kind, std::int64_t n) {
    rules.push_back({kind, static_cast<std::int32_t>(n), {}, groups});
  };
  std::array<std::int64_t, 3> shifts = {to - from, to - from - size, to - from + size};
  std::ranges::stable_sort(shifts, {}, [](std::int64_t n) { return std::abs(n); });
  for (const std::int64_t n : shifts) {
    if (std::abs(n) < size) add(PeerKind::kRing, n);
  }
  add(PeerKind::kXor, from ^ to);
  for (std::int32_t n = 1; (size >> n) > 0; ++n) {
    const bool is_even = (size >> n) << n == size;
    for (const std::int32_t part : {n, -n}) {
      if (PartnerPlace({PeerKind::kRingPart, part, {}, {}}, from, size) == to) add(PeerKind::kRingPart, part);
    }
    if (is_even && PartnerPlace({PeerKind::kXorPart, n, {}, {}}, from, size) == to) add(PeerKind::kXorPart, n);
  }
  if (from + to == size - 1) add(PeerKind::kMirror, 0);
  if (groups.IsAll() && Transposed(grid, rank) == peer) rules.push_back({PeerKind::kTranspose, 0, {}, {}});
  add(PeerKind::kAbsolute, to);
  add(PeerKind::kFromLast, size - 1 - to);
}

std::vector<PeerRule> RulesForOne(const RankGrid& grid, std::int64_t rank, std::int64_t peer,
                                  const std::vector<RankDivision>& groups) {
  if (peer < 0) return {PeerRule{}};
  std::vector<PeerRule> rules;
  const std::size_t program = grid.ProgramOf(rank);
  if (program != grid.ProgramOf(peer)) {
    const RankDivision other = RankDivision::Other();
    const std::int64_t size = SizeOfGroup(grid, other, rank), to = PlaceInGroup(grid, other, peer);
    const auto add = [&](PeerKind kind, std::int64_t n) {
      const PeerRule rule{kind, static_cast<std::int32_t>(n), {}, other};
      if (PeerBy(rule, grid, rank) == peer) rules.push_back(rule);
    };
    const std::int64_t share = PeerBy({PeerKind::kShare, 0, {}, other}, grid, rank);
    add(PeerKind::kShare, to - (share - grid.FirstOf(grid.ProgramOf(peer))));
    add(PeerKind::kModulo, 0);
    add(PeerKind::kAbsolute, to);
    add(PeerKind::kFromLast, size - 1 - to);
    AddWithin(grid, {}, rank, peer, rules);
    return rules;
  }
  std::vector<GridVector> offsets;
  GridVector steps{};
  AddOffsets(grid.ExtentsOf(program), grid.Coordinates(rank), grid.Coordinates(peer), 0, steps, offsets);
  // The nearest ones first: where all extents divide that of the largest run, long ways around hold as well.
  std::ranges::stable_sort(offsets, {}, [](const GridVector& offset) {
    return std::accumulate(offset.begin(), offset.end(), 0, [](int sum, int step) { return sum + std::abs(step); });
  });
  for (const GridVector& offset : offsets) rules.push_back({PeerKind::kOffset, 0, offset, {}});
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

}  // namespace

std::vector<PeerRule> RulesFor(const RankGrid& grid, std::int64_t rank, const std::vector<std::int64_t>& peers,
                               const std::vector<RankDivision>& groups) {
  std::vector<PeerRule> rules;
  std::vector<RankDivision> of_stages;  // all ranks, those of the program, the lines of its grid, and other groups
  if (peers.size() > 1) {
    if (grid.HasTwo()) of_stages.push_back(RankDivision::Program());
    of_stages.emplace_back();
    const GridVector& extents = grid.ExtentsOf(grid.ProgramOf(rank));
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      if (extents[d] > 1) of_stages.push_back(RankDivision::Grid(static_cast<std::uint8_t>(1u << d)));
    }
    for (const RankDivision& one : groups) {
      if (std::ranges::find(of_stages, one) == of_stages.end()) of_stages.push_back(one);
    }
  }
  const auto add = [&](PeerKind kind, std::int32_t n, const RankDivision& within) {
    rules.push_back({kind, n, {}, within});
  };
  for (const PeerKind kind : {PeerKind::kShareUp, PeerKind::kModuloUp, PeerKind::kEach}) {
    if (peers.size() > 1 && grid.HasTwo()) add(kind, 0, RankDivision::Other());
  }
  for (const RankDivision& one : of_stages) {
    for (const PeerKind kind : {PeerKind::kXorUp, PeerKind::kXorDown}) add(kind, 0, one);
    for (const PeerKind kind : {PeerKind::kRingUp, PeerKind::kPowerUp, PeerKind::kPowerDown}) {
      for (const std::int32_t n : {1, -1}) add(kind, n, one);
    }
    for (const std::int32_t n : {0, 1}) add(PeerKind::kEach, n, one);
    add(PeerKind::kEachOther, 0, one);
  }
  std::ranges::copy(RulesForOne(grid, rank, peers.front(), groups), std::back_inserter(rules));
  std::erase_if(rules, [&](const PeerRule& rule) { return !Gives(rule, grid, rank, peers); });
  return rules;
}

std::string PeerRule::Text() const {
  const std::string place = within.IsAll() ? "" : " in " + within.Text();
  std::vector<std::string> parts;
  switch (kind) {
    case PeerKind::kOffset:
      for (std::size_t d = 0; d < kMostDimensions; ++d) {
        if (steps[d] != 0) parts.push_back(fmt::format("{}{:+}", "xyzt"[d], steps[d]));
      }
      return parts.empty() ? "itself" : Join(parts, " ");
    case PeerKind::kTranspose: return "transposed";
    case PeerKind::kNobody: return "nobody";
    case PeerKind::kRing: return fmt::format("rank {:+}", n) + place;
    case PeerKind::kXor: return fmt::format("rank xor {}", n) + place;
    case PeerKind::kAbsolute: return fmt::format("rank {}", n) + place;
    case PeerKind::kFromLast: return (n == 0 ? "last rank" : fmt::format("last rank - {}", n)) + place;
    case PeerKind::kRingPart: return fmt::format("rank {} P/{}", n > 0 ? '+' : '-', 1 << std::abs(n)) + place;
    case PeerKind::kXorPart: return fmt::format("rank xor P/{}", 1 << n) + place;
    case PeerKind::kMirror: return "P - 1 - rank" + place;
    case PeerKind::kShare: return (n == 0 ? "same share" : fmt::format("same share {:+}", n)) + place;
    case PeerKind::kModulo: return "same place" + place;
    case PeerKind::kShareUp: return "each of the same share" + place;
    case PeerKind::kModuloUp: return "each of the same place" + place;
    case PeerKind::kXorUp: return "xor 1, 2, 4, ..." + place;
    case PeerKind::kXorDown: return "xor ..., 4, 2, 1" + place;
    case PeerKind::kRingUp: return (n > 0 ? "+1, +2, +3, ..." : "-1, -2, -3, ...") + place;
    case PeerKind::kPowerUp: return (n > 0 ? "+1, +2, +4, ..." : "-1, -2, -4, ...") + place;
    case PeerKind::kPowerDown: return (n > 0 ? "..., +4, +2, +1" : "..., -4, -2, -1") + place;
    case PeerKind::kEach: return fmt::format("each from {} on{}", n, place);
    case PeerKind::kEachOther: break;
  }
  return "each other" + place;
}

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
  GridVector at = grid.Coordinates(rank);
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
  const GridVector first = grid.Coordinates(members.front());
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    const bool varies =
        std::ranges::any_of(members, [&](std::int32_t rank) { return grid.Coordinates(rank)[d] != first[d]; });
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

std::vector<RankDivision> LineDivisionsWith(const RankGrid& grid, std::vector<std::int32_t> members) {
  std::vector<RankDivision> found;
  if (members.empty()) return found;
  std::ranges::sort(members);
  const auto ranks = static_cast<std::int32_t>(grid.size()), size = static_cast<std::int32_t>(members.size());
  const auto add = [&](RankDivision::Kind kind, std::int32_t n) {
    const RankDivision division = RankDivision::By(kind, n);
    bool is_group = SizeOfGroup(grid, division, members.front()) == size;
    for (std::int32_t place = 0; is_group && place < size; ++place)
      is_group = MemberAt(grid, division, members.front(), place) == members[static_cast<std::size_t>(place)];
    if (is_group) found.push_back(division);
  };
  add(RankDivision::Kind::kBlocks, size);
  if (ranks % size == 0 && size < ranks) add(RankDivision::Kind::kBlockParts, ranks / size);
  if (size > 1 && size < ranks) add(RankDivision::Kind::kEvery, members[1] - members[0]);
  if (ranks % size == 0) add(RankDivision::Kind::kEveryParts, size);
  return found;
}

std::string RankDivision::Text() const {
  const auto ordinal = [](std::int32_t number) {
    const std::int32_t last = number % 100 / 10 == 1 ? 0 : number % 10;
    return fmt::format("{}{}", number, last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
  };
  switch (kind) {
    case RankDivision::Kind::kBlocks: return fmt::format("{} consecutive", n);
    case RankDivision::Kind::kBlockParts: return fmt::format("P/{} consecutive", n);
    case RankDivision::Kind::kEvery: return fmt::format("every {}", ordinal(n));
    case RankDivision::Kind::kEveryParts: return fmt::format("every (P/{})th", n);
    case RankDivision::Kind::kProgram: return "program";
    case RankDivision::Kind::kOther: return "the other program";
    case RankDivision::Kind::kGrid: break;
  }
  if (IsAll()) return "all";
  std::vector<std::string> names;
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (Varies(varying, d)) names.emplace_back(1, "xyzt"[d]);
  }
  return names.empty() ? "itself" : Join(names, ", ");
}

}  // namespace farscale
