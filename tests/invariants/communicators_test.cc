// Programs on communicators of their own, with parameters drawn at random: three small runs must give the program at a
// larger number of ranks, call by call.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/random.h"
#include "growth/make/grown_program.h"
#include "growth/growth_model.h"
#include "phases/phase_cut.h"
#include "replay/replay.h"
#include "support/repeats.h"
#include "support/learned_growth.h"
#include "support/spmd_program.h"

namespace farscale {
namespace {

using test::SpmdRank;
using Ranks = std::vector<std::int32_t>;
using Action = std::function<void(SpmdRank&)>;  // of an iteration

const int kParameterSets = test::Repeats(20);

struct GeneratedProgram {
  std::string text;  // its parameters
  Action action;
  Ranks counts;
  std::int32_t target = 0;
};

Action TwoIterations(const Action& action) {
  return [action](SpmdRank& rank) {
    for (int i = 0; i < 2; ++i) {
      rank.BeginIteration();
      rank.Compute(1000);
      action(rank);
      rank.Use();
      rank.EndIteration();
    }
  };
}

// The program that is made directly must take the times of the grown trace.
void ExpectSameTimes(const GrowthModel& model, const RankGrid& grid, const Trace& grown) {
  Network network;
  network.remote = {3e-6, 2e9, 0.5e-6, 16384};
  const PhaseCut cut = CutPhase(grown, PhaseSpec::Region("step"));
  const ReplayRules rules{RuleSet::kBsc, 32768};
  const ReplayResult expected = Replay(grown, MatchTrace(grown), cut, {rules, false, &network});
  const GridPlan plan = PlanGrid(model, grid, ChooseIterations(model.runs.back().kinds, 1000));
  const Program program = CompileGrown(model, plan, MatchGrown(plan), DrawLoads(model, plan, 1), rules, &network);
  EXPECT_EQ(ReplayProgram(program, &network, "test").end, expected.end);
}

void ExpectGrowsExactly(const GeneratedProgram& program) {
  SCOPED_TRACE(program.text);
  const GrowthModel model = test::LearnSpmd(TwoIterations(program.action), program.counts);
  EXPECT_EQ(model.rules.Share(), 1);
  const RankGrid grid = ContinueSeries(model.rules.grids, program.target);
  ASSERT_EQ(grid.size(), program.target) << grid.Text();
  const Trace grown = GrowTrace(model, grid, 1);
  EXPECT_EQ(test::CallDifference(grown, test::RunSpmd(program.target, TwoIterations(program.action))), "");
  ExpectSameTimes(model, grid, grown);
}

template <typename Value>
const Value& OneOf(Random& random, const std::vector<Value>& values) {
  return values[random.Index(values.size())];
}

// A grid as even as can be, rank by rank along the first dimension.
struct Layout {
  std::vector<std::int32_t> extents;

  Layout(std::int32_t ranks, std::size_t dimensions, bool is_rising) {
    for (std::size_t left = dimensions; left > 0; --left) {
      std::int32_t best = ranks;
      for (std::int32_t extent = ranks; extent >= 1; --extent) {
        std::int64_t power = 1;
        for (std::size_t i = 0; i < left; ++i) power *= extent;
        if (ranks % extent == 0 && power >= ranks) best = extent;
      }
      extents.push_back(best);
      ranks /= best;
    }
    std::ranges::sort(extents, std::greater<>());
    if (is_rising) std::ranges::reverse(extents);
  }
  std::int32_t Stride(std::size_t d) const {
    return std::accumulate(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(d), 1, std::multiplies<>());
  }
  std::int32_t At(std::int32_t rank, std::size_t d) const { return rank / Stride(d) % extents[d]; }
  // Ranks that differ from this one in the dimensions of a bit mask.
  Ranks Members(std::int32_t rank, unsigned varying) const {
    Ranks members = {rank};
    for (std::size_t d = 0; d < extents.size(); ++d) {
      if ((varying >> d & 1) == 0) continue;
      Ranks more;
      for (const std::int32_t one : members) {
        for (std::int32_t i = 0; i < extents[d]; ++i) more.push_back(one + (i - At(one, d)) * Stride(d));
      }
      members = more;
    }
    std::ranges::sort(members);
    return members;
  }
};

// Numbers of ranks in whose grids some rank has neighbours on all sides.
GeneratedProgram WithCounts(Random& random, std::size_t dimensions) {
  struct Series {
    Ranks counts;
    std::int32_t target;
  };
  const std::vector<Series> of_two = {
      {{9, 12, 16}, 36}, {{9, 16, 36}, 144}, {{12, 20, 30}, 56}, {{16, 32, 64}, 256}, {{16, 24, 36}, 64}};
  const std::vector<Series> of_three = {{{27, 36, 64}, 125}, {{27, 48, 64}, 216}, {{27, 48, 64}, 100}};
  const Series& series = dimensions == 3 ? OneOf(random, of_three) : OneOf(random, of_two);
  return {"", {}, series.counts, series.target};
}

std::uint64_t Bytes(Random& random) { return 8 * (1 + random.Index(4000)); }

// All-to-all exchanges of a field that is shared out in slabs.
TEST(Communicators, SlabFft) {
  for (int set = 0; set < kParameterSets; ++set) {
    Random random(static_cast<std::uint64_t>(set));
    GeneratedProgram program;
    program.counts = OneOf(random, std::vector<Ranks>{{2, 4, 8}, {4, 8, 16}, {4, 6, 12}, {8, 16, 32}, {3, 6, 12}});
    program.target = program.counts.back() * OneOf(random, Ranks{2, 4, 8});
    const std::uint64_t bytes = 16 * 96ull * 96 * 96 * (1 + random.Index(9));
    const std::size_t transposes = 1 + random.Index(3);
    const bool sums = random.Index(2) == 0;
    program.action = [=](SpmdRank& rank) {
      for (std::size_t i = 0; i < transposes; ++i) {
        rank.AllToAll(bytes / static_cast<std::uint64_t>(rank.ranks()));
        rank.Compute(500);
      }
      if (sums) rank.AllReduce(16);
    };
    program.text = fmt::format("set {}: {} B, {} transposes, from {}", set, bytes, transposes, program.counts.back());
    ExpectGrowsExactly(program);
  }
}

// The same in pencils, on communicators of rows and columns of the ranks.
TEST(Communicators, PencilFft) {
  for (int set = 0; set < kParameterSets; ++set) {
    Random random(static_cast<std::uint64_t>(100 + set));
    GeneratedProgram program = WithCounts(random, 2);
    const bool is_rising = random.Index(2) == 0, halo = random.Index(2) == 0;
    const unsigned first = 1 + static_cast<unsigned>(random.Index(2));
    const std::uint64_t bytes = 16 * 5040ull * 64 * (1 + random.Index(99));
    program.action = [=](SpmdRank& rank) {
      const Layout layout(rank.ranks(), 2, is_rising);
      for (const unsigned varying : {first, 3 - first, first}) {
        rank.Use(layout.Members(rank.rank(), varying));
        rank.AllToAll(bytes / static_cast<std::uint64_t>(rank.ranks()));
        rank.Compute(300);
      }
      rank.Use();
      if (halo) {
        const std::int32_t p = rank.ranks(), r = rank.rank();
        rank.SendReceive((r + 1) % p, (r + p - 1) % p, 80, 3);
      }
      rank.AllReduce(8);
    };
    program.text = fmt::format("set {}: rising {}, first {}, from {}", set, is_rising, first, program.counts.back());
    ExpectGrowsExactly(program);
  }
}

// What a communicator does: one of several collectives.
struct LineCollective {
  unsigned varying = 0;
  std::size_t kind = 0;
  std::uint64_t bytes = 0;
  bool root_is_last = false;

  void Call(SpmdRank& rank, const Ranks& members) const {
    rank.Use(members);
    const std::int32_t root = root_is_last ? members.back() : members.front();
    if (kind == 0) rank.AllReduce(bytes);
    if (kind == 1) rank.Broadcast(root, bytes);
    if (kind == 2) rank.Gather(root, bytes);
    if (kind == 3) rank.AllGather(bytes);
  }
};

TEST(Communicators, CollectivesOnLinesAndPlanes) {
  for (int set = 0; set < kParameterSets; ++set) {
    Random random(static_cast<std::uint64_t>(200 + set));
    const std::size_t dimensions = 2 + random.Index(2);
    GeneratedProgram program = WithCounts(random, dimensions);
    const bool is_rising = random.Index(2) == 0;
    std::vector<LineCollective> calls;
    std::string text;
    for (std::size_t i = 0, count = dimensions + 1 + random.Index(3); i < count; ++i) {
      // A line of every dimension, so that there is one layout alone.
      const auto varying = i < dimensions ? 1u << i : 1 + static_cast<unsigned>(random.Index((1u << dimensions) - 1));
      calls.push_back({varying, random.Index(4), Bytes(random), random.Index(2) == 0});
      text += fmt::format(" {}/{}", calls.back().varying, calls.back().kind);
    }
    program.action = [=](SpmdRank& rank) {
      const Layout layout(rank.ranks(), dimensions, is_rising);
      for (const LineCollective& call : calls) {
        call.Call(rank, layout.Members(rank.rank(), call.varying));
        rank.Compute(100);
      }
    };
    program.text = fmt::format("set {}: {} dimensions, rising {},{}, from {}", set, dimensions, is_rising, text,
                               program.counts.back());
    ExpectGrowsExactly(program);
  }
}

// Ranks of a division that does not follow a grid: blocks of n, parts of P, every n-th.
Ranks Division(std::size_t kind, std::int32_t n, std::int32_t rank, std::int32_t ranks) {
  const std::int32_t size = kind == 0 ? n : ranks / n;
  Ranks members;
  for (std::int32_t other = 0; other < ranks; ++other) {
    if (kind == 2 ? other % n == rank % n : other / size == rank / size) members.push_back(other);
  }
  return members;
}

TEST(Communicators, BlocksPartsAndEveryNth) {
  for (int set = 0; set < kParameterSets; ++set) {
    Random random(static_cast<std::uint64_t>(300 + set));
    GeneratedProgram program;
    const std::int32_t n = OneOf(random, Ranks{2, 3, 4});
    const std::int32_t unit = n * OneOf(random, Ranks{1, 2});
    program.counts = {2 * unit, 4 * unit, 8 * unit};
    program.target = unit * OneOf(random, Ranks{16, 32});
    const std::size_t kind = random.Index(3);
    const LineCollective call{0, random.Index(4), Bytes(random), random.Index(2) == 0};
    const bool ring = random.Index(2) == 0;
    program.action = [=](SpmdRank& rank) {
      const Ranks members = Division(kind, n, rank.rank(), rank.ranks());
      call.Call(rank, members);
      if (ring && members.size() > 1) {
        const auto at = static_cast<std::size_t>(std::ranges::find(members, rank.rank()) - members.begin());
        rank.SendReceive(members[(at + 1) % members.size()], members[(at + members.size() - 1) % members.size()], 640,
                         9);
      }
      rank.Use();
      rank.AllReduce(8);
    };
    program.text = fmt::format("set {}: kind {}, n {}, collective {}, ring {}, last {}, from {}", set, kind, n,
                               call.kind, ring, call.root_is_last, program.counts.back());
    ExpectGrowsExactly(program);
  }
}

// Reductions in two steps: within nodes, and among the first ranks of all nodes.
TEST(Communicators, LeadersOfNodes) {
  for (int set = 0; set < kParameterSets; ++set) {
    Random random(static_cast<std::uint64_t>(400 + set));
    GeneratedProgram program;
    const std::int32_t n = OneOf(random, Ranks{3, 4, 6, 8});
    const std::int32_t fewest = OneOf(random, Ranks{2, 3});
    program.counts = {fewest * n, 2 * fewest * n, 4 * fewest * n};
    program.target = n * OneOf(random, Ranks{16, 25, 32});
    const LineCollective call{0, random.Index(4), Bytes(random), false};
    const bool halo = random.Index(2) == 0;
    program.action = [=](SpmdRank& rank) {
      const std::int32_t p = rank.ranks(), r = rank.rank();
      rank.Use(Division(0, n, r, p));
      rank.Gather(r / n * n, 64);
      if (r % n == 0) {
        const Ranks leaders = Division(2, n, r, p);
        call.Call(rank, leaders);
      }
      rank.Use(Division(0, n, r, p));
      rank.Broadcast(r / n * n, 64);
      rank.Use();
      if (halo) rank.SendReceive((r + 1) % p, (r + p - 1) % p, 80, 3);
    };
    program.text = fmt::format("set {}: nodes of {}, collective {}, ring {}, from {}", set, n, call.kind, halo,
                               program.counts.back());
    ExpectGrowsExactly(program);
  }
}

// Messages on communicators of rows and columns: rings, all pairs in turn, halving exchanges, and a transposition.
TEST(Communicators, MessagesInRowsAndColumns) {
  for (int set = 0; set < kParameterSets; ++set) {
    Random random(static_cast<std::uint64_t>(500 + set));
    GeneratedProgram program;
    program.counts = OneOf(random, std::vector<Ranks>{{4, 16, 64}});
    program.target = 4 * program.counts.back();
    const std::size_t in_rows = random.Index(3), in_columns = random.Index(3);
    const std::uint64_t bytes = 1024 * (1 + random.Index(64));
    const bool transposes = random.Index(2) == 0;
    program.action = [=](SpmdRank& rank) {
      const Layout layout(rank.ranks(), 2, false);
      for (const unsigned varying : {1u, 2u}) {
        const Ranks members = layout.Members(rank.rank(), varying);
        const auto size = static_cast<std::int32_t>(members.size());
        const std::int32_t at = layout.At(rank.rank(), varying - 1);
        const auto member = [&](std::int32_t place) {
          return members[static_cast<std::size_t>((place + size) % size)];
        };
        const std::size_t kind = varying == 1 ? in_rows : in_columns;
        const std::uint64_t some = bytes / static_cast<std::uint64_t>(size);
        rank.Use(members);
        if (kind == 0) rank.SendReceive(member(at + 1), member(at - 1), some, 4);
        for (std::int32_t step = 1; kind == 1 && step < size; step *= 2)
          rank.SendReceive(member(at ^ step), member(at ^ step), some, 5);
        for (std::int32_t step = 1; kind == 2 && step < size; ++step)
          rank.SendReceive(member(at + 1), member(at - 1), some, 6);
        rank.Compute(200);
      }
      rank.Use();
      const std::int32_t n = layout.extents[0], other = rank.rank() % n * n + rank.rank() / n;
      if (transposes) rank.SendReceive(other, other, 96, 7);
    };
    program.text = fmt::format("set {}: rows {}, columns {}, transposes {}, from {}", set, in_rows, in_columns,
                               transposes, program.counts.back());
    ExpectGrowsExactly(program);
  }
}

}  // namespace
}  // namespace farscale
