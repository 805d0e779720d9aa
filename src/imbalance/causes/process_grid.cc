#include "imbalance/causes/process_grid.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "base/parallel.h"
#include "phases/rank_profile.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Chosen, and tested on the grids of the sample traces (process_grid_test.cc).
constexpr std::size_t kFewestRanks = 4;    // with fewer, every layout is a line
constexpr std::size_t kMostPartners = 40;  // a rank: more than a grid has, with room for those that it does not explain
// Pairs with less than this part of the messages of the pair in the middle are no partners.
constexpr double kRare = 0.05;
constexpr double kExplained = 0.9;  // share of pairs of partners that are neighbours in the grid
constexpr double kUsed = 0.9;       // share of pairs of neighbours in one direction that are partners
constexpr std::size_t kDirections = 27;

using Extents = std::array<std::size_t, 3>;  // 1 for dimensions that are not there

Extents Coordinates(const Extents& extents, std::size_t index) {
  return {index / (extents[1] * extents[2]), index / extents[2] % extents[1], index % extents[2]};
}

// Directions are steps of -1, 0, 1 in each dimension, as a number to the base of three; a pair has one direction and
// its opposite, of which the larger number counts.
constexpr std::size_t kNoNeighbours = kDirections / 2;  // no step, or more than one

std::size_t Straight(std::size_t dimension) {
  constexpr std::size_t kSteps[] = {9, 3, 1};
  return kNoNeighbours + kSteps[dimension];
}

std::size_t Direction(const Extents& extents, const Partners& pair, const std::array<bool, 3>& is_periodic) {
  const Extents a = Coordinates(extents, pair.a), b = Coordinates(extents, pair.b);
  std::size_t direction = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    auto step = static_cast<std::ptrdiff_t>(b[d]) - static_cast<std::ptrdiff_t>(a[d]);
    const auto ring = static_cast<std::ptrdiff_t>(extents[d]);
    if (is_periodic[d] && step == ring - 1) step = -1;
    if (is_periodic[d] && step == 1 - ring) step = 1;
    if (step < -1 || step > 1) return kNoNeighbours;
    direction = direction * 3 + static_cast<std::size_t>(step + 1);
  }
  return std::max(direction, kDirections - 1 - direction);
}

// The partners in a grid with these extents, and whether it explains them: every dimension has neighbours that exchange
// messages, and most partners are neighbours.
std::pair<ProcessGrid, bool> LayOut(const Extents& extents, const std::vector<Partners>& partners) {
  ProcessGrid grid;
  std::array<bool, 3> is_periodic{};
  for (std::size_t d = 0; d < 3; ++d) {
    if (extents[d] == 1) continue;
    if (extents[d] > 2) {
      std::size_t closing = 0;  // pairs at both ends of a ring in this dimension alone
      std::array<bool, 3> alone{};
      alone[d] = true;
      for (const Partners& pair : partners) {
        const Extents a = Coordinates(extents, pair.a), b = Coordinates(extents, pair.b);
        const bool is_closing = std::max(a[d], b[d]) - std::min(a[d], b[d]) == extents[d] - 1;
        closing += is_closing && Direction(extents, pair, alone) == Straight(d);
      }
      const std::size_t lines = extents[0] * extents[1] * extents[2] / extents[d];
      is_periodic[d] = static_cast<double>(closing) >= kUsed * static_cast<double>(lines);
    }
    grid.extents.push_back(extents[d]);
    grid.periodic.push_back(is_periodic[d]);
  }
  std::array<std::size_t, kDirections> used{};  // pairs of partners, by direction
  for (const Partners& pair : partners) ++used[Direction(extents, pair, is_periodic)];
  const auto is_used = [&](std::size_t direction) {
    double pairs = 1;
    for (std::size_t d = 0, step = 9; d < 3; ++d, step /= 3) {
      const bool moves = direction / step % 3 != 1;
      pairs *= static_cast<double>(extents[d] - (moves && !is_periodic[d] ? 1 : 0));
    }
    return pairs > 0 && used[direction] > 0 && static_cast<double>(used[direction]) >= kUsed * pairs;
  };
  std::size_t explained = 0;
  for (std::size_t direction = kNoNeighbours + 1; direction < kDirections; ++direction) {
    if (!is_used(direction)) continue;
    explained += used[direction];
    grid.has_diagonals |= direction != Straight(0) && direction != Straight(1) && direction != Straight(2);
  }
  if (!partners.empty()) grid.explained = static_cast<double>(explained) / static_cast<double>(partners.size());
  bool explains = grid.explained >= kExplained;
  for (std::size_t d = 0; d < 3; ++d) explains = explains && (extents[d] == 1 || is_used(Straight(d)));
  return {std::move(grid), explains};
}

std::vector<std::size_t> Divisors(std::size_t n) {
  std::vector<std::size_t> divisors;
  for (std::size_t d = 1; d <= n; ++d) {
    if (n % d == 0) divisors.push_back(d);
  }
  return divisors;
}

// All layouts, those of fewer dimensions first.
std::vector<Extents> Layouts(std::size_t ranks) {
  std::vector<Extents> layouts;
  for (const std::size_t first : Divisors(ranks)) {
    for (const std::size_t second : Divisors(ranks / first)) {
      const std::size_t third = ranks / first / second;
      const bool is_ordered = (first == 1 || second > 1) && (second == 1 || third > 1);  // dimensions of 1 in front
      if (is_ordered) layouts.push_back({first, second, third});
    }
  }
  return layouts;
}

Extents ThreeOf(const std::vector<std::size_t>& extents) {
  Extents three = {1, 1, 1};
  std::copy(extents.begin(), extents.end(), three.end() - static_cast<std::ptrdiff_t>(extents.size()));
  return three;
}

// As the program laid it out. Of several topologies the one that explains most of the partners.
std::optional<ProcessGrid> GridOfTopologies(const Trace& trace, const PhaseCut& cut,
                                            const std::vector<Partners>& partners) {
  std::optional<ProcessGrid> best;
  for (const CartesianTopology& topology : trace.topologies) {
    const std::vector<std::int32_t>& members = trace.communicators[topology.communicator].members;
    std::vector<std::optional<std::size_t>> place_of(trace.size());
    for (std::size_t i = 0; i < members.size(); ++i)
      place_of[static_cast<std::size_t>(members[i])] = topology.places[i];
    std::vector<std::size_t> places;  // one for every rank of the phase
    std::size_t present = 0;
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      present += cut.ranks[rank].present;
      if (cut.ranks[rank].present && place_of[rank]) places.push_back(*place_of[rank]);
    }
    // It must have a place for each and for no others.
    if (places.size() != present || places.size() != members.size()) continue;
    std::vector<std::size_t> extents;
    std::vector<bool> periodic;
    for (std::size_t d = 0; d < topology.extents.size(); ++d) {
      if (topology.extents[d] == 1) continue;
      extents.push_back(topology.extents[d]);
      periodic.push_back(topology.periodic[d] && topology.extents[d] > 2);
    }
    if (places.empty() || extents.empty() || extents.size() > 3) continue;
    std::vector<Partners> placed;
    for (const Partners& pair : partners) {
      const auto [a, b] = std::minmax(places[pair.a], places[pair.b]);
      placed.push_back({a, b, pair.messages});
    }
    ProcessGrid grid = LayOut(ThreeOf(extents), placed).first;
    grid.periodic = std::move(periodic);
    grid.source = GridSource::kTopology;
    if (!std::is_sorted(places.begin(), places.end())) grid.places = std::move(places);
    if (!best || grid.explained > best->explained) best = std::move(grid);
  }
  return best;
}

constexpr std::size_t kMostDimensions = 3;
constexpr std::size_t kNotThere = std::numeric_limits<std::size_t>::max();

// For every rank of the trace its place among those of the phase.
std::vector<std::size_t> PlacesOf(const PhaseCut& cut) {
  std::vector<std::size_t> places;
  std::size_t present = 0;
  for (const RankCut& rank : cut.ranks) places.push_back(rank.present ? present++ : kNotThere);
  return places;
}

// The members of a communicator by their places among the ranks of the phase, rising, if they are at equal distances,
// as ranks lie in one dimension of a grid; else empty.
std::vector<std::size_t> LineOf(const Communicator& communicator, const std::vector<std::size_t>& place) {
  if (communicator.is_self || !communicator.remote.empty() || communicator.members.size() < 2) return {};
  std::vector<std::size_t> members;
  for (const std::int32_t rank : communicator.members) {
    const auto world = static_cast<std::size_t>(rank);
    if (rank < 0 || world >= place.size() || place[world] == kNotThere) return {};
    members.push_back(place[world]);
  }
  std::sort(members.begin(), members.end());
  const std::size_t first = members[0], stride = members[1] - first;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (stride == 0 || members[i] != first + i * stride) return {};
  }
  if (first / stride % members.size() != 0) return {};  // over the edge of a grid
  return members;
}

}  // namespace

std::string_view ToString(GridSource source) {
  constexpr std::string_view kIds[] = {"topology", "messages", "communicators"};
  return kIds[static_cast<std::size_t>(source)];
}

std::size_t ProcessGrid::size() const {
  std::size_t size = 1;
  for (const std::size_t extent : extents) size *= extent;
  return size;
}

std::vector<std::size_t> ProcessGrid::CoordinatesOf(std::size_t index) const {
  std::vector<std::size_t> coordinates(extents.size());
  std::size_t place = PlaceOf(index);
  for (std::size_t d = extents.size(); d-- > 0; place /= extents[d]) coordinates[d] = place % extents[d];
  return coordinates;
}

std::optional<ProcessGrid> GridOfPartners(std::size_t ranks, const std::vector<Partners>& partners) {
  if (ranks < kFewestRanks || partners.empty() || partners.size() > ranks * kMostPartners / 2) return std::nullopt;
  std::vector<std::uint64_t> messages;
  for (const Partners& pair : partners) messages.push_back(pair.messages);
  const double least = kRare * static_cast<double>(Median(messages));
  std::vector<Partners> often = partners;
  std::erase_if(often, [&](const Partners& pair) { return !(static_cast<double>(pair.messages) >= least); });
  std::optional<ProcessGrid> best;
  for (const Extents& extents : Layouts(ranks)) {
    auto [grid, explains] = LayOut(extents, often);
    if (explains && (!best || grid.explained > best->explained)) best = std::move(grid);
  }
  return best;
}

std::vector<Partners> PartnersOf(const Trace& trace, const PhaseCut& cut) {
  std::vector<MessageCounts> counts(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (cut.ranks[rank].present) counts[rank] = CountMessages(trace, cut, rank);
  });
  const std::vector<std::size_t> place = PlacesOf(cut);
  // Both ranks count a message, one when it is sent and one when it is received.
  std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> messages;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    for (const auto& [peer, count] : counts[rank].by_peer) {
      const auto other = static_cast<std::size_t>(peer);
      if (peer < 0 || other >= trace.size() || other == rank || !cut.ranks[other].present) continue;
      messages[std::minmax(place[rank], place[other])] += count;
    }
  }
  std::vector<Partners> partners;
  for (const auto& [pair, count] : messages) partners.push_back({pair.first, pair.second, (count + 1) / 2});
  return partners;
}

std::vector<std::size_t> ExtentsOfCommunicators(const Trace& trace, const PhaseCut& cut) {
  const std::vector<std::size_t> place = PlacesOf(cut);
  const std::size_t ranks = place.size() - static_cast<std::size_t>(std::ranges::count(place, kNotThere));
  std::map<std::pair<std::size_t, std::size_t>, std::vector<char>> covered;  // indexed by stride, then size
  for (const Communicator& communicator : trace.communicators) {
    const std::vector<std::size_t> line = LineOf(communicator, place);
    if (line.empty() || line.size() == ranks) continue;
    std::vector<char>& of_all = covered[{line[1] - line[0], line.size()}];
    of_all.resize(ranks);
    for (const std::size_t member : line) of_all[member] = 1;
  }
  // From the fastest dimension on; of several at one stride the shortest lines, longer ones are planes.
  std::vector<std::size_t> extents;
  std::size_t stride = 1;
  for (const auto& [line, of_all] : covered) {
    if (line.first != stride || std::count(of_all.begin(), of_all.end(), 1) < static_cast<std::ptrdiff_t>(ranks))
      continue;
    extents.push_back(line.second);
    stride *= line.second;
  }
  if (ranks == 0 || stride != ranks || extents.size() < 2 || extents.size() > kMostDimensions) return {};
  std::reverse(extents.begin(), extents.end());
  return extents;
}

std::optional<ProcessGrid> FindProcessGrid(const Trace& trace, const PhaseCut& cut) {
  const auto ranks =
      std::count_if(cut.ranks.begin(), cut.ranks.end(), [](const RankCut& rank) { return rank.present; });
  const std::vector<Partners> partners = PartnersOf(trace, cut);
  std::optional<ProcessGrid> grid = GridOfTopologies(trace, cut, partners);
  if (!grid) grid = GridOfPartners(static_cast<std::size_t>(ranks), partners);
  if (grid) return grid;
  const std::vector<std::size_t> lines = ExtentsOfCommunicators(trace, cut);
  if (lines.empty()) return std::nullopt;
  grid = LayOut(ThreeOf(lines), partners).first;
  grid->source = GridSource::kCommunicators;
  return grid;
}

}  // namespace farscale
