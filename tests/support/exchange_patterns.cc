#include "support/exchange_patterns.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace farscale::test {
namespace {

using Members = std::vector<std::int32_t>;

std::int32_t Root(std::int32_t number) { return static_cast<std::int32_t>(std::lround(std::sqrt(number))); }
std::int32_t Around(std::int32_t place, std::int32_t size) { return ((place % size) + size) % size; }
std::int32_t Log2(std::int32_t number) {
  return static_cast<std::int32_t>(std::bit_width(static_cast<std::uint32_t>(number))) - 1;
}

// q × q × 2 ranks: blocks are broadcast along rows, shifted along columns, and added up over the layers.
void MultiplyMatrices(SpmdRank& rank) {
  const std::int32_t q = Root(rank.ranks() / 2), r = rank.rank();
  const std::int32_t x = r % q, y = r / q % q, z = r / q / q;
  const auto at = [&](std::int32_t i, std::int32_t j, std::int32_t k) { return (k * q + j) * q + i; };
  Members row, layers;
  for (std::int32_t i = 0; i < q; ++i) row.push_back(at(i, y, z));
  for (std::int32_t k = 0; k < 2; ++k) layers.push_back(at(x, y, k));
  rank.Use(row);
  rank.Broadcast(row.front(), 4096);
  rank.Use();
  rank.Compute(5000);
  rank.SendReceive(at(x, Around(y - 1, q), z), at(x, Around(y + 1, q), z), 4096, 3);
  rank.Use(layers);
  rank.AllReduce(4096);
  rank.Use();
}

// Cannon's multiplication begins with shifts of every row by its number.
void SkewMatrices(SpmdRank& rank) {
  const std::int32_t q = Root(rank.ranks()), x = rank.rank() % q, y = rank.rank() / q;
  rank.SendReceive(y * q + Around(x - y, q), y * q + Around(x + y, q), 800, 1);
  rank.Compute(1000);
  rank.SendReceive(y * q + Around(x - 1, q), y * q + Around(x + 1, q), 800, 2);
}

// Sweeps along x and y in turn, forwards and backwards, the second from the opposite corner.
void SweepInTurns(SpmdRank& rank) {
  const std::int32_t q = Root(rank.ranks()), x = rank.rank() % q, y = rank.rank() / q;
  const auto pass = [&](std::int32_t place, std::int32_t stride, std::int32_t way, std::uint32_t tag) {
    const bool has_before = place - way >= 0 && place - way < q, has_behind = place + way >= 0 && place + way < q;
    for (std::uint32_t block = 0; block < 3; ++block) {
      if (has_before) rank.Receive(rank.rank() - way * stride, 480, tag + block);
      rank.Compute(300);
      if (has_behind) rank.Send(rank.rank() + way * stride, 480, tag + block);
    }
  };
  pass(x, 1, 1, 10);
  pass(x, 1, -1, 20);
  pass(y, q, -1, 30);
  pass(y, q, 1, 40);
}

// A sum towards rank 0 along a binomial tree.
void ReduceAlongTree(SpmdRank& rank) {
  rank.Compute(1000);
  for (std::int32_t bit = 1; bit < rank.ranks(); bit *= 2) {
    if ((rank.rank() & bit) != 0) {
      rank.Send(rank.rank() - bit, 64, 4);
      break;
    }
    if (rank.rank() + bit < rank.ranks()) rank.Receive(rank.rank() + bit, 64, 4);
  }
}

// P - 1 steps that add up parts and P - 1 that hand them round.
void ReduceAroundRing(SpmdRank& rank) {
  const std::int32_t p = rank.ranks(), r = rank.rank();
  rank.Compute(1000);
  for (std::int32_t step = 0; step < 2 * (p - 1); ++step) {
    rank.SendReceive(Around(r + 1, p), Around(r - 1, p), static_cast<std::uint64_t>(737280 / p), 5);
    if (step < p - 1) rank.Compute(100);
  }
}

// Neighbours of even and odd pairs in turn, four times.
void SortInPairs(SpmdRank& rank) {
  const std::int32_t r = rank.rank();
  for (std::int32_t phase = 0; phase < 4; ++phase) {
    const std::int32_t partner = r + ((r + phase) % 2 == 0 ? 1 : -1);
    rank.Compute(500);
    if (partner >= 0 && partner < rank.ranks()) rank.SendReceive(partner, partner, 256, 6);
  }
}

// Two ranks far in every direction, and the corners, in an open cube.
void ReachTwoWithCorners(SpmdRank& rank) {
  const auto q = static_cast<std::int32_t>(std::lround(std::cbrt(rank.ranks())));
  const std::int32_t x = rank.rank() % q, y = rank.rank() / q % q, z = rank.rank() / q / q;
  const auto for_each = [&](const auto& see) {
    for (std::int32_t k = -2; k <= 2; ++k) {
      for (std::int32_t j = -2; j <= 2; ++j) {
        for (std::int32_t i = -2; i <= 2; ++i) {
          const std::int32_t moved = (i != 0) + (j != 0) + (k != 0);
          const bool is_corner = std::abs(i) == 1 && std::abs(j) == 1 && std::abs(k) == 1;
          if (moved != 1 && !is_corner) continue;
          const auto in = [q](std::int32_t place) { return place >= 0 && place < q; };
          if (!in(x + i) || !in(y + j) || !in(z + k)) continue;
          see((z + k) * q * q + (y + j) * q + x + i, is_corner ? 8u : 640u);
        }
      }
    }
  };
  rank.Compute(1000);
  for_each([&](std::int32_t peer, std::uint64_t bytes) { rank.PostReceive(peer, bytes, 7); });
  for_each([&](std::int32_t peer, std::uint64_t bytes) { rank.PostSend(peer, bytes, 7); });
  rank.WaitAll();
}

// Ten segments down a chain that begins in the middle.
void BroadcastFromMiddle(SpmdRank& rank) {
  const std::int32_t p = rank.ranks(), r = rank.rank(), root = p / 2;
  for (std::int32_t segment = 0; segment < 10; ++segment) {
    if (r > root) rank.Receive(r - 1, 1000, 8);
    if (r < root) rank.Receive(r + 1, 1000, 8);
    if (r >= root && r + 1 < p) rank.Send(r + 1, 1000, 8);
    if (r <= root && r > 0) rank.Send(r - 1, 1000, 8);
    rank.Compute(100);
  }
}

void BroadcastDownChain(SpmdRank& rank) {
  for (std::int32_t segment = 0; segment < 10; ++segment) {
    if (rank.rank() > 0) rank.Receive(rank.rank() - 1, 1000, 8);
    if (rank.rank() + 1 < rank.ranks()) rank.Send(rank.rank() + 1, 1000, 8);
    rank.Compute(100);
  }
}

// Recursive doubling, in front of which ranks beyond a power of two hand their values to others.
void DoubleBeyondPowers(SpmdRank& rank) {
  const std::int32_t p = rank.ranks(), r = rank.rank(), power = 1 << Log2(p), rest = p - power;
  rank.Compute(1000);
  if (r < 2 * rest && r % 2 == 0) {
    rank.Send(r + 1, 64, 9);
    rank.Receive(r + 1, 64, 9);
    return;
  }
  if (r < 2 * rest) rank.Receive(r - 1, 64, 9);
  const std::int32_t number = r < 2 * rest ? r / 2 : r - rest;
  for (std::int32_t bit = 1; bit < power; bit *= 2) {
    const std::int32_t other = number ^ bit, peer = other < rest ? 2 * other + 1 : other + rest;
    rank.SendReceive(peer, peer, 64, 9);
  }
  if (r < 2 * rest) rank.Send(r - 1, 64, 9);
}

// Even ranks send before they receive, odd ones after.
void SendByParity(SpmdRank& rank) {
  const std::int32_t p = rank.ranks(), r = rank.rank();
  rank.Compute(1000);
  for (const bool sends : {r % 2 == 0, r % 2 != 0}) {
    sends ? rank.Send(Around(r + 1, p), 320, 10) : rank.Receive(Around(r - 1, p), 320, 10);
  }
}

// The same on a board of squares of two colours.
void SendByColour(SpmdRank& rank) {
  const std::int32_t q = Root(rank.ranks()), x = rank.rank() % q, y = rank.rank() / q;
  rank.Compute(1000);
  for (const bool sends : {(x + y) % 2 == 0, (x + y) % 2 != 0}) {
    for (const std::int32_t way : {-1, 1}) {
      const std::int32_t across = y * q + Around(x + way, q), along = Around(y + way, q) * q + x;
      const auto tag = static_cast<std::uint32_t>(sends ? way + 12 : 12 - way);
      sends ? rank.Send(across, 320, tag) : rank.Receive(across, 320, tag);
      sends ? rank.Send(along, 320, tag) : rank.Receive(along, 320, tag);
    }
  }
}

// All within four ranks, the far ones with less.
void ExchangeWithNeighbours(SpmdRank& rank) {
  const std::int32_t p = rank.ranks(), r = rank.rank();
  rank.Compute(1000);
  for (const bool sends : {false, true}) {
    for (std::int32_t away = -4; away <= 4; ++away) {
      const std::int32_t peer = r + away;
      if (away == 0 || peer < 0 || peer >= p) continue;
      const auto bytes = static_cast<std::uint64_t>(960 / std::abs(away));
      sends ? rank.PostSend(peer, bytes, 14) : rank.PostReceive(peer, bytes, 14);
    }
  }
  rank.WaitAll();
}

// All to all in log2 P steps, each of half of all blocks.
void ExchangeInLogSteps(SpmdRank& rank) {
  const std::int32_t p = rank.ranks(), r = rank.rank();
  rank.Compute(1000);
  for (std::int32_t away = 1; away < p; away *= 2)
    rank.SendReceive(Around(r + away, p), Around(r - away, p), static_cast<std::uint64_t>(64 * p / 2), 15);
}

// Recursive doubling of which every step sends twice as much as the one before.
void GatherByDoubling(SpmdRank& rank) {
  std::uint64_t bytes = 64;
  rank.Compute(1000);
  for (std::int32_t bit = 1; bit < rank.ranks(); bit *= 2, bytes *= 2)
    rank.SendReceive(rank.rank() ^ bit, rank.rank() ^ bit, bytes, 16);
}

// And of which every step sends half as much, beginning far away.
void ReduceByHalving(SpmdRank& rank) {
  std::uint64_t bytes = 1 << 20;
  rank.Compute(1000);
  for (std::int32_t bit = rank.ranks() / 2; bit > 0; bit /= 2)
    rank.SendReceive(rank.rank() ^ bit, rank.rank() ^ bit, bytes /= 2, 17);
}

// The next rank of which the square root of P comes before, in one dimension.
void ShiftByRoot(SpmdRank& rank) {
  const std::int32_t p = rank.ranks(), q = Root(p), r = rank.rank();
  rank.Compute(1000);
  rank.SendReceive(Around(r + q, p), Around(r - q, p), 320, 18);
}

// As many times as half of the ranks.
void ShiftHalfAsOften(SpmdRank& rank) {
  const std::int32_t p = rank.ranks(), r = rank.rank();
  for (std::int32_t i = 0; i < p / 2; ++i) {
    rank.Compute(100);
    rank.SendReceive(Around(r + 1, p), Around(r - 1, p), 320, 19);
  }
}

// The middle rank is the root.
void BroadcastOfMiddle(SpmdRank& rank) {
  rank.Compute(1000);
  rank.Broadcast(rank.ranks() / 2, 800);
}

// Partners that are a third of the ranks away, of numbers that are no multiples of three.
void ShiftByThird(SpmdRank& rank) {
  const std::int32_t p = rank.ranks(), r = rank.rank(), third = p / 3;
  rank.Compute(1000);
  rank.SendReceive(Around(r + third, p), Around(r - third, p), 320, 20);
}

// The last rank has what does not divide.
void ShiftWithRemainder(SpmdRank& rank) {
  const std::int32_t p = rank.ranks(), r = rank.rank();
  const auto share = [p](std::int32_t of) {
    return static_cast<std::uint64_t>(8 * (3603600 / p + (of == p - 1 ? 17 : 0)));
  };
  rank.Compute(1000);
  if (r + 1 < p) rank.Send(r + 1, share(r), 21);
  if (r > 0) rank.Receive(r - 1, share(r - 1), 21);
}

// A mesh of 240³ points in bricks, as even as can be, or in pencils that are whole along x.
struct Mesh {
  std::array<std::int32_t, 3> bricks{}, pencils{};

  explicit Mesh(std::int32_t ranks) {
    bricks = {ranks, 1, 1};
    pencils = {1, ranks, 1};
    for (std::int32_t z = 1; z * z <= ranks; ++z) {
      if (ranks % z != 0) continue;
      pencils = {1, ranks / z, z};
      for (std::int32_t y = z; z * y * y <= ranks; ++y) {
        if (ranks / z % y == 0 && y + z + ranks / z / y < bricks[0] + bricks[1] + bricks[2])
          bricks = {ranks / z / y, y, z};
      }
    }
  }
  // First and last point of a rank along a dimension.
  static std::pair<std::int32_t, std::int32_t> Range(const std::array<std::int32_t, 3>& grid, std::int32_t rank,
                                                     std::size_t d, std::int32_t points) {
    for (std::size_t before = 0; before < d; ++before) rank /= grid[before];
    rank %= grid[d];
    return {rank * points / grid[d], (rank + 1) * points / grid[d] - 1};
  }
  std::uint64_t Overlap(std::int32_t brick, std::int32_t pencil, std::int32_t points) const {
    std::uint64_t bytes = 8;
    for (std::size_t d = 0; d < 3; ++d) {
      const auto a = Range(bricks, brick, d, points), b = Range(pencils, pencil, d, points);
      bytes *= static_cast<std::uint64_t>(std::max(0, std::min(a.second, b.second) - std::max(a.first, b.first) + 1));
    }
    return bytes;
  }
};

// From bricks to pencils and back, as PPPM of LAMMPS does before and after its Fourier transforms: receives are posted
// from all ranks whose parts overlap, beginning behind this one. Of as many points, or as many a rank.
void Remap(SpmdRank& rank, bool is_strong) {
  const std::int32_t p = rank.ranks(), r = rank.rank();
  const Mesh mesh(p);
  const std::int32_t points = is_strong ? 240 : 24 * mesh.pencils[1];
  rank.Compute(1000);
  rank.AllReduce(8);
  for (const bool goes_back : {false, true}) {
    rank.BeginSweep();
    for (const bool sends : {false, true}) {
      for (std::int32_t step = 1; step < p; ++step) {
        const std::int32_t peer = (r + step) % p;
        const std::uint64_t bytes = sends != goes_back ? mesh.Overlap(r, peer, points) : mesh.Overlap(peer, r, points);
        if (bytes == 0) continue;
        sends ? rank.Send(peer, bytes, 22) : rank.PostReceive(peer, bytes, 22);
      }
    }
    rank.WaitAll();
    rank.EndSweep();
    rank.Compute(1000);
  }
}

// Every rank computes with the parts of all others, which go round: P times a part of P squared.
void ComputeAroundRing(SpmdRank& rank) {
  const std::int32_t p = rank.ranks(), r = rank.rank();
  for (std::int32_t step = 1; step < p; ++step) {
    rank.Compute(737280000 / p / p);
    rank.SendReceive(Around(r + 1, p), Around(r - 1, p), static_cast<std::uint64_t>(737280 / p), 23);
  }
}

// Along the slowest of three dimensions, which grow in turn. Its 2, 4 and 4 ranks could be those of two dimensions.
void ShiftInOneOfThree(SpmdRank& rank) {
  const std::int32_t doublings = Log2(rank.ranks()), x = 1 << (doublings + 2) / 3, stride = rank.ranks() / x;
  rank.Compute(1000);
  const std::int32_t to = rank.rank() + stride, from = rank.rank() - stride;
  rank.SendReceive(to < rank.ranks() ? to : -1, from >= 0 ? from : -1, 800, 1);
}

}  // namespace

std::vector<ExchangePattern> ExchangePatterns() {
  const std::vector<std::int32_t> squares = {9, 16, 25}, powers = {8, 16, 32}, even = {8, 12, 16};
  return {{"matrices in layers", MultiplyMatrices, {18, 32, 72}, {288, 512}},
          {"skewed matrices", SkewMatrices, squares, {100, 196}, false},
          {"sweeps in turns", SweepInTurns, squares, {100, 196}},
          {"binomial tree", ReduceAlongTree, powers, {128, 256}, false},
          {"reduction around a ring", ReduceAroundRing, {6, 9, 12}, {48, 96}},
          {"computation around a ring", ComputeAroundRing, {8, 12, 16}, {64, 128}},
          {"odd and even pairs", SortInPairs, even, {64, 128}},
          {"reach two with corners", ReachTwoWithCorners, {27, 64, 125}, {512, 1000}},
          {"chain from the middle", BroadcastFromMiddle, even, {64, 128}},
          {"chain", BroadcastDownChain, even, {64, 128}},
          {"doubling, 3 2^n ranks", DoubleBeyondPowers, {6, 12, 24}, {96, 192}},
          {"doubling, any ranks", DoubleBeyondPowers, {6, 9, 13}, {52, 104}, false},
          {"order by parity", SendByParity, even, {64, 128}},
          {"order by colour", SendByColour, {16, 36, 64}, {256, 576}, false},
          {"eight neighbours", ExchangeWithNeighbours, {9, 12, 16}, {64, 128}},
          {"eight neighbours of few", ExchangeWithNeighbours, {5, 6, 8}, {32, 64}, false},
          {"all to all in log steps", ExchangeInLogSteps, powers, {128, 256}},
          {"gather by doubling", GatherByDoubling, powers, {128, 256}},
          {"reduction by halving", ReduceByHalving, powers, {128, 256}},
          {"shift by the root", ShiftByRoot, {16, 36, 64}, {256, 576}},
          {"half as often", ShiftHalfAsOften, even, {64, 128}, false},
          {"middle root", BroadcastOfMiddle, powers, {128, 256}, false},
          {"shift by a third", ShiftByThird, {8, 11, 16}, {64, 128}, false},
          {"shift in one of three", ShiftInOneOfThree, powers, {64, 128}, false},
          {"shift with remainder", ShiftWithRemainder, {8, 12, 18}, {72, 144}},
          {"remap, strong", [](SpmdRank& rank) { Remap(rank, true); }, powers, {128, 256}, false},
          {"remap, weak", [](SpmdRank& rank) { Remap(rank, false); }, {16, 32, 64}, {256, 512}, false},
          {"remap of cubes", [](SpmdRank& rank) { Remap(rank, true); }, {8, 27, 64}, {216, 512}, false}};
}

namespace {

// Of the ranks from `first` on: borders of an open grid as even as can be, of so many bytes along x and y in all.
void ExchangeBorders(SpmdRank& rank, std::int32_t first, std::int32_t count, std::uint64_t bytes) {
  std::int32_t ny = Root(count);
  while (count % ny != 0) --ny;
  const std::int32_t nx = count / ny, place = rank.rank() - first, x = place % nx, y = place / nx;
  for (const bool sends : {false, true}) {
    for (const auto& [i, j] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
      if (x + i < 0 || x + i >= nx || y + j < 0 || y + j >= ny) continue;
      const std::int32_t peer = first + (y + j) * nx + x + i;
      const std::uint64_t size = bytes / static_cast<std::uint64_t>(i != 0 ? ny : nx);
      sends ? rank.PostSend(peer, size, 30) : rank.PostReceive(peer, size, 30);
    }
  }
  rank.WaitAll();
}

void ShiftWithin(SpmdRank& rank, std::int32_t first, std::int32_t count, std::uint64_t bytes) {
  const std::int32_t place = rank.rank() - first;
  rank.SendReceive(first + Around(place + 1, count), first + Around(place - 1, count), bytes, 31);
}

Members RanksFrom(std::int32_t first, std::int32_t count) {
  Members members;
  for (std::int32_t i = 0; i < count; ++i) members.push_back(first + i);
  return members;
}

// Ocean and atmosphere: a grid and a ring of half of the ranks each, which exchange fluxes rank by rank.
void CoupleHalves(SpmdRank& rank) {
  const std::int32_t half = rank.ranks() / 2, r = rank.rank();
  if (r < half) {
    rank.Compute(720720000 / half);
    ExchangeBorders(rank, 0, half, 8 * 720720);
    rank.Send(r + half, 512, 32);
    rank.Receive(r + half, 256, 33);
  } else {
    rank.Compute(5000);
    ShiftWithin(rank, half, half, 640);
    rank.Receive(r - half, 512, 32);
    rank.Send(r - half, 256, 33);
  }
  rank.AllReduce(8);
}

// A grid of workers, which hand their results to one rank.
void ServeWorkers(SpmdRank& rank, bool is_first) {
  const std::int32_t workers = rank.ranks() - 1, server = is_first ? 0 : workers, first = is_first ? 1 : 0;
  if (rank.rank() == server) {
    for (std::int32_t i = 0; i < workers; ++i) {
      rank.Receive(first + i, 4096, 34);
      rank.Compute(200);
    }
    for (std::int32_t i = 0; is_first && i < workers; ++i) rank.Send(first + i, 16, 35);
    return;
  }
  rank.Compute(720720000 / workers);
  ExchangeBorders(rank, first, workers, 8 * 720720);
  rank.Send(server, 4096, 34);
  if (is_first) rank.Receive(server, 16, 35);
}

// Of every four ranks, the last one of all couples what three others compute.
void CoupleByQuarter(SpmdRank& rank) {
  const std::int32_t couplers = rank.ranks() / 4, workers = rank.ranks() - couplers, r = rank.rank();
  if (r < workers) {
    rank.Compute(10000);
    ExchangeBorders(rank, 0, workers, 8 * 720720);
    rank.Use(RanksFrom(0, workers));
    rank.AllReduce(8);
    rank.Use();
    rank.Send(workers + r / 3, 1024, 36);
    rank.Receive(workers + r / 3, 512, 37);
    return;
  }
  const std::int32_t place = r - workers;
  for (std::int32_t i = 0; i < 3; ++i) rank.Receive(3 * place + i, 1024, 36);
  rank.Compute(3000);
  ShiftWithin(rank, workers, couplers, 128);
  rank.Use(RanksFrom(workers, couplers));
  rank.AllReduce(64);
  rank.Use();
  for (std::int32_t i = 0; i < 3; ++i) rank.Send(3 * place + i, 512, 37);
}

// Two ranks write what the others send them in turn, or each half of them.
void WriteByTwo(SpmdRank& rank, bool is_in_turn) {
  const std::int32_t workers = rank.ranks() - 2, r = rank.rank();
  if (r < workers) {
    rank.Compute(10000);
    ShiftWithin(rank, 0, workers, 1280);
    rank.Send(workers + (is_in_turn ? r % 2 : 2 * r / workers), 2048, 38);
    return;
  }
  const std::int32_t place = r - workers;
  for (std::int32_t i = 0; i < workers / 2; ++i) {
    rank.Receive(is_in_turn ? place + 2 * i : place * (workers / 2) + i, 2048, 38);
    rank.Compute(100);
  }
}

// As many ranks write as the square root of all.
void WriteByRoot(SpmdRank& rank) {
  const std::int32_t writers = Root(rank.ranks()), workers = rank.ranks() - writers, r = rank.rank();
  if (r < workers) {
    rank.Compute(10000);
    ShiftWithin(rank, 0, workers, 1280);
    rank.Send(workers + r % writers, 2048, 38);
    return;
  }
  for (std::int32_t from = r - workers; from < workers; from += writers) rank.Receive(from, 2048, 38);
}

// Every fourth rank couples the three before it.
void CoupleEveryFourth(SpmdRank& rank) {
  const std::int32_t p = rank.ranks(), r = rank.rank(), coupler = r / 4 * 4 + 3;
  if (r != coupler) {
    rank.Compute(720720000 / p);
    rank.Send(coupler, 1024, 39);
    return;
  }
  for (std::int32_t i = 3; i > 0; --i) rank.Receive(r - i, 1024, 39);
  rank.Compute(3000);
  rank.SendReceive(Around(r + 4, p), Around(r - 4, p), 128, 40);
}

// A third of the ranks each for reading, computing and writing.
void PassThroughThirds(SpmdRank& rank) {
  const std::int32_t third = rank.ranks() / 3, r = rank.rank(), part = r / third;
  if (part > 0) rank.Receive(r - third, 2048, 41);
  if (part == 0) rank.Compute(1000);
  if (part == 1) rank.Compute(720720000 / third);
  ShiftWithin(rank, part * third, third, part == 1 ? 640 : 8);
  if (part < 2) rank.Send(r + third, 2048, 41);
}

}  // namespace

std::vector<ExchangePattern> CoupledPrograms() {
  return {{"halves", CoupleHalves, {18, 32, 72}, {288, 512}},
          {"workers and a last server", [](SpmdRank& rank) { ServeWorkers(rank, false); }, {10, 17, 37}, {145, 257}},
          {"workers and a first server", [](SpmdRank& rank) { ServeWorkers(rank, true); }, {10, 17, 26}, {101, 197}},
          {"a quarter of couplers", CoupleByQuarter, {16, 32, 64}, {256, 512}},
          {"two writers in turn", [](SpmdRank& rank) { WriteByTwo(rank, true); }, {10, 16, 22}, {88, 176}},
          {"two writers of a half", [](SpmdRank& rank) { WriteByTwo(rank, false); }, {10, 16, 22}, {88, 176}},
          {"every fourth", CoupleEveryFourth, {16, 32, 48}, {192, 384}},
          {"thirds", PassThroughThirds, {12, 24, 36}, {144, 288}},
          {"writers by the root", WriteByRoot, {16, 36, 64}, {256, 576}, false}};
}

}  // namespace farscale::test
