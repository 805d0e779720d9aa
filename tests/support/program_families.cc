#include "support/program_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace farscale::test {
namespace {

using Vector = std::array<std::int32_t, 3>;
using Counts = std::vector<std::int32_t>;

template <typename Value>
Value OneOf(Random& random, const std::vector<Value>& values) {
  return values[random.Index(values.size())];
}
bool Toss(Random& random) { return random.Index(2) == 1; }

// The most even grid of all ranks, the largest extent first or last, fastest first.
struct Cartesian {
  Vector extents{1, 1, 1}, at{};

  Cartesian(const SpmdRank& rank, int dimensions, bool is_last_largest) {
    const std::int32_t ranks = rank.ranks();
    extents = {ranks, 1, 1};
    const auto sum = [](const Vector& of) { return of[0] + of[1] + of[2]; };
    for (std::int32_t z = 1; dimensions > 1 && z <= ranks; ++z) {
      if (ranks % z != 0 || (dimensions < 3 && z > 1)) continue;
      for (std::int32_t y = z; y * y * z <= ranks; ++y) {
        const Vector tried{ranks / z / y, y, z};
        if (ranks / z % y == 0 && sum(tried) < sum(extents)) extents = tried;
      }
    }
    if (is_last_largest) std::reverse(extents.begin(), extents.begin() + dimensions);
    std::int32_t left = rank.rank();
    for (std::size_t d = 0; d < 3; ++d) {
      at[d] = left % extents[d];
      left /= extents[d];
    }
  }

  // The rank so many steps away; -1 behind an end where there is no way around.
  std::int32_t Neighbour(const Vector& steps, bool is_periodic) const {
    Vector to = at;
    for (std::size_t d = 0; d < 3; ++d) {
      to[d] += steps[d];
      if (!is_periodic && (to[d] < 0 || to[d] >= extents[d])) return -1;
      to[d] = ((to[d] % extents[d]) + extents[d]) % extents[d];
    }
    return (to[2] * extents[1] + to[1]) * extents[0] + to[0];
  }
};

Vector Opposite(const Vector& steps) { return {-steps[0], -steps[1], -steps[2]}; }

Counts CountsFor(Random& random, int dimensions) {
  static const std::vector<Counts> of_dimensions[] = {{{4, 8, 16}, {5, 7, 12}, {6, 9, 13}, {8, 12, 18}},
                                                      {{9, 16, 36}, {4, 8, 16}, {8, 16, 32}, {12, 16, 36}, {9, 12, 16}},
                                                      {{8, 16, 32}, {8, 16, 32}, {8, 27, 48}, {16, 32, 64}}};
  return OneOf(random, of_dimensions[dimensions - 1]);
}
std::int32_t TargetFor(Random& random, int dimensions) {
  static const Counts of_dimensions[] = {{24, 37, 64}, {64, 100, 128, 144}, {64, 125, 128}};
  return OneOf(random, of_dimensions[dimensions - 1]);
}

std::uint32_t RandomTag(Random& random) { return static_cast<std::uint32_t>(random.Index(1000)); }
std::uint64_t RandomBytes(Random& random) { return 8 * (1 + random.Index(4000)); }

// What a halo exchange sends and receives.
struct Halo {
  enum class Style { kSendReceive, kPosts, kPostedReceives };
  int dimensions = 1;
  bool is_periodic = false, is_last_largest = false, is_strong = false, has_sum = false;
  Style style = Style::kPosts;
  std::vector<Vector> steps;
  std::vector<std::uint32_t> tags;
  std::uint64_t bytes = 8;

  std::uint64_t BytesAlong(const Cartesian& grid, const Vector& step) const {
    if (!is_strong) return bytes;
    std::uint64_t size = 8;
    for (std::size_t d = 0; d < 3; ++d) {  // the extent of the domain across the step
      if (d < static_cast<std::size_t>(dimensions) && step[d] == 0)
        size *= static_cast<std::uint64_t>(3603600 / grid.extents[d]);
    }
    return size;
  }

  void operator()(SpmdRank& rank) const {
    const Cartesian grid(rank, dimensions, is_last_largest);
    rank.Compute(1000);
    if (style == Style::kSendReceive) {
      for (std::size_t i = 0; i < steps.size(); ++i) {
        rank.SendReceive(grid.Neighbour(steps[i], is_periodic), grid.Neighbour(Opposite(steps[i]), is_periodic),
                         BytesAlong(grid, steps[i]), tags[i]);
      }
    } else {
      Posted(rank, grid);
    }
    if (has_sum) rank.AllReduce(8);
  }

  void Posted(SpmdRank& rank, const Cartesian& grid) const {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::int32_t from = grid.Neighbour(Opposite(steps[i]), is_periodic);
      if (from >= 0) rank.PostReceive(from, BytesAlong(grid, steps[i]), tags[i]);
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::int32_t to = grid.Neighbour(steps[i], is_periodic);
      if (to < 0) continue;
      if (style == Style::kPosts) {
        rank.PostSend(to, BytesAlong(grid, steps[i]), tags[i]);
      } else {
        rank.Send(to, BytesAlong(grid, steps[i]), tags[i]);
      }
    }
    rank.WaitAll();
  }
};

std::vector<Vector> StepsOf(int dimensions, bool has_diagonals, std::int32_t reach) {
  std::vector<Vector> all;
  const std::int32_t y_reach = dimensions > 1 ? reach : 0, z_reach = dimensions > 2 ? reach : 0;
  for (std::int32_t z = -z_reach; z <= z_reach; ++z) {
    for (std::int32_t y = -y_reach; y <= y_reach; ++y) {
      for (std::int32_t x = -reach; x <= reach; ++x) {
        const int moved = (x != 0) + (y != 0) + (z != 0);
        const bool is_far = std::max({std::abs(x), std::abs(y), std::abs(z)}) > 1;
        if (moved == 1 || (moved > 1 && has_diagonals && !is_far)) all.push_back({x, y, z});
      }
    }
  }
  return all;
}

}  // namespace

ProgramFamily HaloProgram(Random& random) {
  Halo halo;
  halo.dimensions = 1 + static_cast<int>(random.Index(3));
  halo.is_periodic = Toss(random);
  halo.is_last_largest = Toss(random);
  halo.is_strong = halo.dimensions > 1 && Toss(random);
  halo.has_sum = Toss(random);
  halo.style =
      OneOf<Halo::Style>(random, {Halo::Style::kSendReceive, Halo::Style::kPosts, Halo::Style::kPostedReceives});
  const bool has_diagonals = Toss(random), has_one_tag = Toss(random);
  const auto reach = static_cast<std::int32_t>(1 + random.Index(static_cast<std::size_t>(4 - halo.dimensions)));
  halo.steps = StepsOf(halo.dimensions, has_diagonals, reach);
  if (Toss(random)) random.Shuffle(halo.steps);
  halo.tags.assign(halo.steps.size(), RandomTag(random));
  if (!has_one_tag) {
    for (std::uint32_t& tag : halo.tags) tag = RandomTag(random);
  }
  halo.bytes = RandomBytes(random);
  Counts runs = CountsFor(random, halo.dimensions);
  // Two ranks in a dimension of all runs do not show which way messages go around.
  if (halo.is_periodic && halo.dimensions == 3) runs = {16, 32, 64};
  // An extent that all runs have in common does not show in sizes.
  if (halo.is_strong && halo.dimensions == 3) runs = {27, 48, 64};
  return {"halo",
          fmt::format("{}D {} {} reach {}{}{}{}", halo.dimensions, halo.is_periodic ? "periodic" : "open",
                      static_cast<int>(halo.style), reach, has_diagonals ? " diagonals" : "",
                      halo.is_strong ? " strong" : "", has_one_tag ? " one tag" : ""),
          halo,
          runs,
          TargetFor(random, halo.dimensions),
          halo.dimensions};
}

ProgramFamily WavefrontProgram(Random& random) {
  const int dimensions = 2 + static_cast<int>(random.Index(2));
  const bool is_last_largest = Toss(random);
  const int blocks = 1 + static_cast<int>(random.Index(3));
  std::vector<Vector> corners;
  for (const std::int32_t z : {1, -1}) {
    for (const std::int32_t y : {1, -1}) {
      for (const std::int32_t x : {1, -1}) {
        if (dimensions == 3 || z == 1) corners.push_back({x, y, z});
      }
    }
  }
  random.Shuffle(corners);
  corners.resize(1 + random.Index(corners.size()));
  const std::uint32_t tag = RandomTag(random);
  const std::uint64_t bytes = RandomBytes(random);
  const auto step = [=](SpmdRank& rank) {
    const Cartesian grid(rank, dimensions, is_last_largest);
    for (const Vector& corner : corners) {
      for (int block = 0; block < blocks; ++block) {
        for (const bool sends : {false, true}) {
          if (sends) rank.Compute(500);
          for (std::size_t d = 0; d < static_cast<std::size_t>(dimensions); ++d) {
            Vector one{};
            one[d] = sends ? corner[d] : -corner[d];
            const std::int32_t peer = grid.Neighbour(one, false);
            if (peer < 0) continue;
            sends ? rank.Send(peer, bytes, tag) : rank.Receive(peer, bytes, tag);
          }
        }
      }
    }
  };
  return {"wavefront",
          fmt::format("{}D, {} corners, {} blocks", dimensions, corners.size(), blocks),
          step,
          CountsFor(random, dimensions),
          TargetFor(random, dimensions),
          dimensions};
}

ProgramFamily RingProgram(Random& random) {
  const bool passes_on = Toss(random), is_half = Toss(random);
  const std::int32_t shift = static_cast<std::int32_t>(1 + random.Index(3)) * (Toss(random) ? 1 : -1);
  const std::uint32_t tag = RandomTag(random);
  const std::uint64_t bytes = RandomBytes(random);
  const auto step = [=](SpmdRank& rank) {
    const std::int32_t p = rank.ranks(), r = rank.rank();
    const auto move = [&](std::int32_t by, std::uint32_t with) {
      rank.SendReceive(((r + by) % p + p) % p, ((r - by) % p + p) % p, bytes, with);
    };
    rank.Compute(1000);
    move(shift, tag);
    if (is_half) move(p / 2, tag + 1);
    for (std::int32_t stage = 1; passes_on && stage < p; ++stage) move(1, tag + 2);
  };
  const std::vector<Counts> even = {{8, 12, 18}, {8, 16, 32}, {10, 14, 20}}, any = {{8, 11, 15}, {7, 12, 17}};
  return {"ring", fmt::format("shift {}{}{}", shift, is_half ? ", P/2" : "", passes_on ? ", passes on" : ""), step,
          OneOf(random, is_half ? even : any), OneOf<std::int32_t>(random, {24, 40, 64})};
}

ProgramFamily HypercubeProgram(Random& random) {
  const bool is_down = Toss(random), by_stage = Toss(random), has_sum = Toss(random);
  const std::uint32_t tag = RandomTag(random);
  const std::uint64_t bytes = RandomBytes(random);
  const auto step = [=](SpmdRank& rank) {
    std::int32_t stages = 0;
    while ((2 << stages) <= rank.ranks()) ++stages;
    rank.Compute(1000);
    for (std::int32_t stage = 0; stage < stages; ++stage) {
      const std::int32_t peer = rank.rank() ^ (1 << (is_down ? stages - 1 - stage : stage));
      rank.SendReceive(peer, peer, bytes, tag + (by_stage ? static_cast<std::uint32_t>(stage) : 0));
    }
    if (has_sum) rank.AllReduce(16);
  };
  return {"hypercube", fmt::format("{}{}", is_down ? "down" : "up", by_stage ? ", a tag a stage" : ""), step,
          OneOf<Counts>(random, {{4, 8, 32}, {8, 16, 32}, {4, 16, 32}}), OneOf<std::int32_t>(random, {64, 128, 256})};
}

ProgramFamily MasterProgram(Random& random) {
  const bool is_last = Toss(random), has_own_tags = Toss(random), has_broadcast = Toss(random);
  const int rounds = 1 + static_cast<int>(random.Index(2));
  const std::uint32_t tag = RandomTag(random);
  const std::uint64_t bytes = RandomBytes(random);
  const auto step = [=](SpmdRank& rank) {
    const std::int32_t root = is_last ? rank.ranks() - 1 : 0;
    const auto tag_of = [&](std::int32_t worker) {
      return tag + (has_own_tags ? static_cast<std::uint32_t>(worker) : 0);
    };
    for (int round = 0; round < rounds; ++round) {
      if (rank.rank() == root) {
        for (const bool sends : {true, false}) {
          for (std::int32_t worker = 0; worker < rank.ranks(); ++worker) {
            if (worker == root) continue;
            sends ? rank.Send(worker, bytes, tag_of(worker)) : rank.Receive(worker, 2 * bytes, tag_of(worker));
          }
        }
      } else {
        rank.Receive(root, bytes, tag_of(rank.rank()));
        rank.Compute(2000);
        rank.Send(root, 2 * bytes, tag_of(rank.rank()));
      }
    }
    if (has_broadcast) rank.Broadcast(root, 8);
  };
  return {"master",
          fmt::format("root {}, {} rounds{}", is_last ? "last" : "first", rounds, has_own_tags ? ", own tags" : ""),
          step, OneOf<Counts>(random, {{4, 8, 16}, {5, 8, 12}, {6, 9, 14}}), OneOf<std::int32_t>(random, {20, 33, 50})};
}

ProgramFamily MultigridProgram(Random& random) {
  const int dimensions = 1 + static_cast<int>(random.Index(2));
  const bool is_periodic = Toss(random), goes_back = Toss(random);
  const std::int32_t levels = Toss(random) ? 2 : 30;  // a fixed number, or as many as the extents have
  const std::uint32_t tag = RandomTag(random);
  const std::uint64_t bytes = RandomBytes(random);
  const auto level = [=](SpmdRank& rank, const Cartesian& grid, std::int32_t apart) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(dimensions); ++d) {
      if (grid.at[d] % apart != 0) return;
    }
    rank.Compute(1000 / apart);
    for (const bool sends : {false, true}) {
      for (std::size_t d = 0; d < static_cast<std::size_t>(dimensions); ++d) {
        for (const std::int32_t way : {-apart, apart}) {
          Vector one{};
          one[d] = way;
          const std::int32_t peer = grid.Neighbour(one, is_periodic);
          if (peer < 0 || peer == rank.rank()) continue;
          const std::uint32_t with = tag + ((way > 0) == sends ? 1 : 0);
          sends ? rank.PostSend(peer, bytes, with) : rank.PostReceive(peer, bytes, with);
        }
      }
    }
    rank.WaitAll();
  };
  const auto step = [=](SpmdRank& rank) {
    const Cartesian grid(rank, dimensions, false);
    std::vector<std::int32_t> all;
    for (std::int32_t apart = 1; apart < grid.extents[0] && static_cast<std::int32_t>(all.size()) < levels; apart *= 2)
      all.push_back(apart);
    for (const std::int32_t apart : all) level(rank, grid, apart);
    if (goes_back) std::reverse(all.begin(), all.end());
    for (std::size_t i = 1; goes_back && i < all.size(); ++i) level(rank, grid, all[i]);
    rank.AllReduce(8);
  };
  return {"multigrid",
          fmt::format("{}D {}, {} levels{}", dimensions, is_periodic ? "periodic" : "open", levels,
                      goes_back ? ", and back" : ""),
          step,
          OneOf<Counts>(random, dimensions == 1 ? std::vector<Counts>{{4, 8, 16}, {8, 16, 32}}
                                                : std::vector<Counts>{{16, 32, 64}, {8, 16, 32}}),
          OneOf<std::int32_t>(random, {64, 128, 256})};
}

ProgramFamily SeveralLoopsProgram(Random& random) {
  const auto draw = [&] {
    switch (random.Index(4)) {
      case 0: return HaloProgram(random);
      case 1: return WavefrontProgram(random);
      case 2: return RingProgram(random);
      default: return MasterProgram(random);
    }
  };
  ProgramFamily first = draw(), second = draw();
  if (second.dimensions > first.dimensions) std::swap(first, second);
  first.name = "loops";
  first.parameters += " then " + second.name + " " + second.parameters;
  first.step = [a = first.step, b = second.step](SpmdRank& rank) {
    a(rank);
    b(rank);
  };
  return first;
}

std::function<void(SpmdRank&)> Iterations(const std::function<void(SpmdRank&)>& step, int count) {
  return IterationsInTurns(step, step, 1, count);
}

std::function<void(SpmdRank&)> IterationsInTurns(const std::function<void(SpmdRank&)>& often,
                                                 const std::function<void(SpmdRank&)>& seldom, int period, int count) {
  return [=](SpmdRank& rank) {
    for (int i = 0; i < count; ++i) {
      rank.BeginIteration();
      i % period == 0 ? seldom(rank) : often(rank);
      rank.EndIteration();
    }
  };
}

}  // namespace farscale::test
