// Programs of known rules: what three small runs teach must be the program at every larger number of ranks, call by
// call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/diagnostics.h"
#include "base/random.h"
#include "growth/make/grown_program.h"
#include "growth/growth_model.h"
#include "phases/phase_cut.h"
#include "replay/replay.h"
#include "support/learned_growth.h"
#include "support/spmd_program.h"

namespace farscale {
namespace {

using Step = std::function<void(test::SpmdRank&)>;

Network SomeNetwork() {
  Network network;
  network.remote = {3e-6, 2e9, 0.5e-6, 16384};
  network.local = {1e-6, 8e9, 0.2e-6, 16384};
  return network;
}

// Replays of the program that is made directly must be at the tick those of the grown trace.
void ExpectSameReplays(const GrowthModel& model, const RankGrid& grid, const Network* network, RuleSet rules) {
  const Trace trace = GrowTrace(model, grid, 1);
  const PhaseCut cut = CutPhase(trace, PhaseSpec::Region("step"));
  const ReplayResult expected = Replay(trace, MatchTrace(trace), cut, {{rules, 32768}, false, network});
  const GridPlan plan = PlanGrid(model, grid, ChooseIterations(model.runs.back().kinds, 1000));
  const Program program =
      CompileGrown(model, plan, MatchGrown(plan), DrawLoads(model, plan, 1), {rules, 32768}, network);
  const ReplayResult result = ReplayProgram(program, network, "test");
  EXPECT_EQ(result.end, expected.end);
  EXPECT_EQ(result.calls, expected.calls);
  EXPECT_EQ(result.iteration_ends.back(), expected.Duration());
}

void ExpectSameReplays(const GrowthModel& model, const RankGrid& grid) {
  Network network = SomeNetwork();
  for (const RuleSet rules : {RuleSet::kBsc, RuleSet::kCausal}) {
    ExpectSameReplays(model, grid, nullptr, rules);
    ExpectSameReplays(model, grid, &network, rules);
    network.remote.starts_at_receive = true;
    ExpectSameReplays(model, grid, &network, rules);
  }
}

// Grows the program from its runs and compares it with itself at the target.
void ExpectGrows(const Step& program, const std::vector<std::int32_t>& counts, std::int32_t target) {
  const GrowthModel model = test::LearnSpmd(program, counts);
  EXPECT_EQ(model.rules.Share(), 1);
  const RankGrid grid = ContinueSeries(model.rules.grids, target);
  ASSERT_EQ(grid.size(), target);
  EXPECT_EQ(test::CallDifference(GrowTrace(model, grid, 1), test::RunSpmd(target, program)), "");
  ExpectSameReplays(model, grid);
}

// Two iterations of a step.
Step Steps(const Step& step) {
  return [step](test::SpmdRank& rank) {
    for (int i = 0; i < 2; ++i) {
      rank.BeginIteration();
      step(rank);
      rank.EndIteration();
    }
  };
}

// The most even grid of two dimensions, the first one the larger, fastest first.
struct Place {
  std::int32_t nx, ny, x, y;

  explicit Place(const test::SpmdRank& rank) {
    ny = static_cast<std::int32_t>(std::sqrt(rank.ranks()));
    while (rank.ranks() % ny != 0) --ny;
    nx = rank.ranks() / ny;
    x = rank.rank() % nx;
    y = rank.rank() / nx;
  }
  bool IsIn(std::int32_t i, std::int32_t j) const { return i >= 0 && i < nx && j >= 0 && j < ny; }
  std::int32_t At(std::int32_t i, std::int32_t j) const { return (j + ny) % ny * nx + (i + nx) % nx; }
};

TEST(Growth, Chain) {
  const Step program = Steps([](test::SpmdRank& rank) {
    rank.Compute(1000);
    for (const std::int32_t step : {-1, 1}) {
      const std::int32_t peer = rank.rank() + step;
      if (peer >= 0 && peer < rank.ranks()) rank.PostReceive(peer, 800, 1);
    }
    for (const std::int32_t step : {-1, 1}) {
      const std::int32_t peer = rank.rank() + step;
      if (peer >= 0 && peer < rank.ranks()) rank.PostSend(peer, 800, 1);
    }
    rank.WaitAll();
    rank.AllReduce(8);
  });
  ExpectGrows(program, {4, 8, 16}, 64);
  ExpectGrows(program, {3, 5, 7}, 11);
}

TEST(Growth, RingOfReachTwo) {
  const Step program = Steps([](test::SpmdRank& rank) {
    const std::int32_t p = rank.ranks(), r = rank.rank();
    rank.Compute(1000);
    rank.SendReceive((r + 1) % p, (r + p - 1) % p, 100, 1);
    rank.SendReceive((r + 2) % p, (r + p - 2) % p, 200, 2);
  });
  ExpectGrows(program, {6, 8, 12}, 40);
}

TEST(Growth, TorusWithDiagonals) {
  const Step program = Steps([](test::SpmdRank& rank) {
    const Place at(rank);
    rank.Compute(1000);
    for (std::int32_t j = -1; j <= 1; ++j) {
      for (std::int32_t i = -1; i <= 1; ++i) {
        if (i == 0 && j == 0) continue;
        rank.SendReceive(at.At(at.x + i, at.y + j), at.At(at.x - i, at.y - j), i != 0 && j != 0 ? 8 : 800,
                         static_cast<std::uint32_t>(3 * j + i + 4));
      }
    }
  });
  ExpectGrows(program, {9, 12, 16}, 64);
}

Step Torus() {
  return Steps([](test::SpmdRank& rank) {
    const Place at(rank);
    rank.Compute(1000);
    for (const std::int32_t step : {1, -1}) {
      rank.SendReceive(at.At(at.x + step, at.y), at.At(at.x - step, at.y), 800, 1);
      rank.SendReceive(at.At(at.x, at.y + step), at.At(at.x, at.y - step), 800, 2);
    }
  });
}

// Of a study, in either order; with others, nothing is explained.
TEST(Growth, NamedLayouts) {
  GrowthModel model = test::LearnSpmd(Torus(), {16, 32, 64});
  const std::vector<RankGrid> found = model.rules.grids;
  EXPECT_EQ(found[1].Text(), "8 × 4");
  model.runs[1].named = RankGrid{{4, 8, 1, 1}};
  EXPECT_EQ(FindCallRules(model.runs).grids, found);
  model.runs[1].named = RankGrid{{16, 2, 1, 1}};
  const CallRules otherwise = FindCallRules(model.runs);
  EXPECT_TRUE(otherwise.grids[1] == *model.runs[1].named || otherwise.grids[1] == model.runs[1].named->Reversed());
  EXPECT_FALSE(otherwise.Suffice());
}

// As MPI_Cart_create counts: the last dimension changes fastest.
TEST(Growth, RecordedLayouts) {
  Trace trace = test::RunSpmd(8, Torus());
  std::vector<std::size_t> places = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::uint32_t world = 0;
  ASSERT_EQ(trace.communicators[world].members.size(), 8u);
  trace.topologies.push_back({"cart", world, {2, 4}, {true, true}, places});
  std::swap(places[2], places[5]);
  trace.topologies.push_back({"reordered", world, {2, 4}, {true, true}, places});
  std::vector<std::string> functions;
  const RunCalls run = ReadRunCalls(trace, CutPhase(trace, PhaseSpec::Region("step")), functions);
  ASSERT_EQ(run.recorded.size(), 1u);
  EXPECT_EQ(run.recorded[0].Text(), "4 × 2");
}

TEST(Growth, OpenGrid) {
  const Step program = Steps([](test::SpmdRank& rank) {
    const Place at(rank);
    rank.Compute(1000);
    const std::pair<std::int32_t, std::int32_t> steps[] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    for (const auto& [i, j] : steps) {
      if (at.IsIn(at.x + i, at.y + j)) rank.PostReceive(at.At(at.x + i, at.y + j), 80, 5);
    }
    for (const auto& [i, j] : steps) {
      if (at.IsIn(at.x + i, at.y + j)) rank.PostSend(at.At(at.x + i, at.y + j), 80, 5);
    }
    rank.WaitAll();
  });
  ExpectGrows(program, {9, 16, 36}, 144);
}

// A lattice in four dimensions, around all ends, as MPI_Dims_create makes it; sizes of messages follow the extents.
Step Lattice(std::uint64_t bytes, bool is_strong, bool waits) {
  return Steps([=](test::SpmdRank& rank) {
    std::array<std::int32_t, 4> extents = {1, 1, 1, 1};
    for (std::int32_t left = rank.ranks(), factor = 2; left > 1; ++factor) {
      for (; left % factor == 0; left /= factor) *std::ranges::min_element(extents) *= factor;
    }
    std::ranges::sort(extents, std::greater<>());
    rank.Compute(1000);
    for (const bool sends : {false, true}) {
      std::int32_t stride = 1;
      for (std::size_t d = 0; d < 4; stride *= extents[d++]) {
        const std::int32_t n = extents[d], at = rank.rank() / stride % n;
        if (n == 1) continue;
        const std::uint64_t size =
            is_strong ? bytes * static_cast<std::uint64_t>(n) * 2304 / static_cast<std::uint64_t>(rank.ranks()) : bytes;
        const std::int32_t up = rank.rank() + ((at + 1) % n - at) * stride;
        const std::int32_t down = rank.rank() + ((at + n - 1) % n - at) * stride;
        const auto tag = static_cast<std::uint32_t>(2 * d);
        if (!waits && sends) {
          rank.SendReceive(down, up, size, tag);
          rank.SendReceive(up, down, size, tag + 1);
        } else if (waits) {
          sends ? rank.PostSend(down, size, tag) : rank.PostReceive(up, size, tag);
          sends ? rank.PostSend(up, size, tag + 1) : rank.PostReceive(down, size, tag + 1);
        }
      }
    }
    if (waits) rank.WaitAll();
    rank.AllReduce(16);
  });
}

TEST(Growth, LatticeInFourDimensions) {
  ExpectGrows(Lattice(8192, false, true), {32, 64, 128}, 256);
  ExpectGrows(Lattice(8192, false, false), {24, 54, 81}, 256);
  ExpectGrows(Lattice(10368, true, true), {24, 81, 144}, 256);
}

TEST(Growth, WavefrontsFromAllCorners) {
  const Step program = Steps([](test::SpmdRank& rank) {
    const Place at(rank);
    for (const std::int32_t dy : {1, -1}) {
      for (const std::int32_t dx : {1, -1}) {
        for (std::uint32_t block = 0; block < 3; ++block) {
          if (at.IsIn(at.x - dx, at.y)) rank.Receive(at.At(at.x - dx, at.y), 64, block);
          if (at.IsIn(at.x, at.y - dy)) rank.Receive(at.At(at.x, at.y - dy), 96, block);
          rank.Compute(500);
          if (at.IsIn(at.x + dx, at.y)) rank.Send(at.At(at.x + dx, at.y), 64, block);
          if (at.IsIn(at.x, at.y + dy)) rank.Send(at.At(at.x, at.y + dy), 96, block);
        }
      }
    }
  });
  ExpectGrows(program, {4, 8, 16}, 128);
}

TEST(Growth, Hypercube) {
  const Step program = Steps([](test::SpmdRank& rank) {
    rank.Compute(1000);
    for (std::int32_t bit = 1; bit < rank.ranks(); bit *= 2) {
      rank.SendReceive(rank.rank() ^ bit, rank.rank() ^ bit, 64, 7);
    }
  });
  ExpectGrows(program, {8, 16, 32}, 256);
}

// Four ranks further is the next row of four, where the traces have recorded rows.
TEST(Growth, RecordedLayoutsComeFirst) {
  const Step program = Steps([](test::SpmdRank& rank) {
    const std::int32_t p = rank.ranks();
    rank.Compute(1000);
    rank.SendReceive((rank.rank() + 4) % p, (rank.rank() + p - 4) % p, 64, 7);
  });
  GrowthModel model = test::LearnSpmd(program, {12, 20, 32});
  EXPECT_EQ(model.rules.grids.back().Text(), "32");
  const std::vector<RankGrid> recorded = {{{4, 3, 1, 1}}, {{4, 5, 1, 1}}, {{4, 8, 1, 1}}};
  for (std::size_t run = 0; run < recorded.size(); ++run) model.runs[run].recorded = {recorded[run]};
  EXPECT_EQ(FindCallRules(model.runs).grids, recorded);
}

TEST(Growth, RingThatPassesEverythingOn) {
  const Step program = Steps([](test::SpmdRank& rank) {
    const std::int32_t p = rank.ranks(), r = rank.rank();
    rank.Compute(1000);
    for (std::int32_t step = 1; step < p; ++step) rank.SendReceive((r + 1) % p, (r + p - 1) % p, 64, 1);
  });
  ExpectGrows(program, {5, 8, 13}, 30);
}

TEST(Growth, MasterAndWorkers) {
  const Step program = Steps([](test::SpmdRank& rank) {
    if (rank.rank() == 0) {
      for (std::int32_t worker = 1; worker < rank.ranks(); ++worker) rank.Send(worker, 128, 1);
      for (std::int32_t worker = 1; worker < rank.ranks(); ++worker) rank.Receive(worker, 256, 2);
    } else {
      rank.Receive(0, 128, 1);
      rank.Compute(2000);
      rank.Send(0, 256, 2);
    }
    rank.Broadcast(0, 8);
  });
  ExpectGrows(program, {5, 8, 12}, 50);
}

// Every third iteration begins with a reduction, in whichever runs have as many.
TEST(Growth, IterationsOfTwoKinds) {
  const Step program = [](test::SpmdRank& rank) {
    const std::int32_t p = rank.ranks(), r = rank.rank();
    for (int i = 0; i < 6; ++i) {
      rank.BeginIteration();
      if (i % 3 == 0) rank.AllReduce(16);
      rank.Compute(1000);
      rank.SendReceive((r + 1) % p, (r + p - 1) % p, 100, 1);
      rank.EndIteration();
    }
  };
  ExpectGrows(program, {3, 5, 8}, 21);
}

// Messages of a strong-scaling halo shrink with the faces of the domains, to the byte.
TEST(Growth, SizesFollowTheExtents) {
  const Step program = Steps([](test::SpmdRank& rank) {
    const Place at(rank);
    rank.Compute(6400000 / rank.ranks());
    rank.SendReceive(at.At(at.x + 1, at.y), at.At(at.x - 1, at.y), static_cast<std::uint64_t>(8 * 4800 / at.ny), 1);
    rank.SendReceive(at.At(at.x, at.y + 1), at.At(at.x, at.y - 1), static_cast<std::uint64_t>(8 * 4800 / at.nx), 2);
  });
  ExpectGrows(program, {9, 12, 16}, 64);
}

// Partners that no rule gives are not taken for one.
TEST(Growth, RandomPartnersAreNotUnderstood) {
  const Step program = Steps([](test::SpmdRank& rank) {
    const std::int32_t p = rank.ranks(), r = rank.rank();
    const std::int32_t half = p / 2;
    const auto other = [&](std::int32_t one) { return one < half ? half + (one * one + 3 * one + 1) % half : -1; };
    rank.Compute(1000);
    for (std::int32_t one = 0; one < half; ++one) {
      if (one == r) rank.Send(other(one), 8, static_cast<std::uint32_t>(one));
      if (other(one) == r) rank.Receive(one, 8, static_cast<std::uint32_t>(one));
    }
  });
  EXPECT_LT(test::LearnSpmd(program, {16, 26, 38}).rules.Confirmed(), 0.9);
}

// On networks with limited transfers, too, up to the order of those that may start at the same tick.
TEST(Growth, ReplaysUnderContention) {
  Network network = SomeNetwork();
  network.sending = network.receiving = 1;
  const GrowthModel model = test::LearnSpmd(Steps([](test::SpmdRank& rank) {
                                              const std::int32_t p = rank.ranks(), r = rank.rank();
                                              rank.Compute(1000 * (r + 1));
                                              rank.SendReceive((r + 1) % p, (r + p - 1) % p, 8000, 1);
                                            }),
                                            {8, 12, 18});
  ExpectSameReplays(model, model.rules.grids.back(), &network, RuleSet::kBsc);
}

// Consecutive ranks on nodes of four, or ranks in turn.
Trace RunOnNodes(std::int32_t ranks, const Step& program, bool is_in_turn) {
  Trace trace = test::RunSpmd(ranks, program);
  const std::int32_t nodes = ranks / 4;
  trace.nodes.clear();
  for (std::int32_t node = 0; node < nodes; ++node) trace.nodes.push_back("node " + std::to_string(node));
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    trace.ranks[static_cast<std::size_t>(rank)].node = is_in_turn ? rank % nodes : rank / 4;
  return trace;
}

// Grown runs are on nodes as the runs are, and wait for transfers there as the program itself does.
TEST(Growth, ReplaysOnNodesUnderContention) {
  const Step program = Steps([](test::SpmdRank& rank) {
    const Place at(rank);
    rank.Compute(1000);
    for (const std::int32_t step : {-1, 1}) {
      rank.PostReceive(at.At(at.x + step, at.y), 8000, 1);
      rank.PostReceive(at.At(at.x, at.y + step), 4000, 2);
      rank.PostSend(at.At(at.x - step, at.y), 8000, 1);
      rank.PostSend(at.At(at.x, at.y - step), 4000, 2);
    }
    rank.WaitAll();
    rank.AllReduce(8);
  });
  for (const bool is_in_turn : {false, true}) {
    GrowthModel model;
    model.region = "step";
    for (const std::int32_t ranks : {16, 32, 64}) {
      const Trace trace = RunOnNodes(ranks, program, is_in_turn);
      model.runs.push_back(ReadRunCalls(trace, CutPhase(trace, PhaseSpec::Region("step")), model.functions));
    }
    LearnGrowth(model);
    const Trace grown = GrowTrace(model, ContinueSeries(model.rules.grids, 256), 1);
    const Trace expected = RunOnNodes(256, program, is_in_turn);
    for (std::size_t rank = 0; rank < grown.size(); ++rank)
      ASSERT_EQ(grown.ranks[rank].node, expected.ranks[rank].node) << rank;
    const auto end_of = [](const Trace& trace, const Network& network) {
      const PhaseCut cut = CutPhase(trace, PhaseSpec::Region("step"));
      return Replay(trace, MatchTrace(trace), cut, {{RuleSet::kBsc, 32768}, false, &network}).end;
    };
    Network network = SomeNetwork();
    const std::vector<Tick> without = end_of(grown, network);
    EXPECT_EQ(without, end_of(expected, network));
    network.sending = network.receiving = 1;
    EXPECT_EQ(end_of(grown, network), end_of(expected, network));
    EXPECT_NE(end_of(grown, network), without);
    ExpectSameReplays(model, model.rules.grids.back(), nullptr, RuleSet::kBsc);
  }
}

PhaseTotals TotalsFrom(const GrowthModel& model, const RankGrid& grid, std::size_t iterations) {
  const Network network = SomeNetwork();
  const GridPlan plan = PlanGrid(model, grid, ChooseIterations(model.runs.back().kinds, iterations));
  return MeasureGrown(model, plan, MatchComplete(model, plan), DrawLoads(model, plan, 1), {}, &network);
}

// Replays of some iterations give the times of all where ranks wait for all others in every iteration.
TEST(Growth, SomeIterationsShowAll) {
  const GrowthModel synchronous = test::LearnSpmd(
      [](test::SpmdRank& rank) {
        for (int i = 0; i < 12; ++i) {
          rank.BeginIteration();
          if (i % 4 == 0) rank.AllReduce(16);
          rank.Compute(100000 + 100 * (rank.rank() % 3));
          rank.AllReduce(8);
          rank.EndIteration();
        }
      },
      {4, 8, 16});
  const RankGrid grid = ContinueSeries(synchronous.rules.grids, 64);
  const PhaseTotals all = TotalsFrom(synchronous, grid, 12);
  for (const std::size_t some : {2u, 3u, 5u, 8u}) {
    const PhaseTotals totals = TotalsFrom(synchronous, grid, some);
    EXPECT_NEAR(totals.elapsed, all.elapsed, 1e-3 * all.elapsed) << some;
    EXPECT_NEAR(totals.ideal_elapsed, all.ideal_elapsed, 1e-3 * all.elapsed) << some;
    EXPECT_EQ(totals.largest_useful, all.largest_useful);
  }
}

TEST(Growth, PipelinesFillOnce) {
  const GrowthModel model = test::LearnSpmd(
      [](test::SpmdRank& rank) {
        for (int i = 0; i < 12; ++i) {
          rank.BeginIteration();
          if (rank.rank() > 0) rank.Receive(rank.rank() - 1, 100);
          rank.Compute(100000);
          if (rank.rank() + 1 < rank.ranks()) rank.Send(rank.rank() + 1, 100);
          rank.EndIteration();
        }
      },
      {4, 8, 16});
  const RankGrid grid = ContinueSeries(model.rules.grids, 64);
  const PhaseTotals all = TotalsFrom(model, grid, 12);
  for (const std::size_t some : {2u, 3u, 8u})
    EXPECT_NEAR(TotalsFrom(model, grid, some).elapsed, all.elapsed, 1e-3 * all.elapsed) << some;
  EXPECT_GT(TotalsFrom(model, grid, 1).elapsed, 2 * all.elapsed);
  // One does not show them, so less memory than two need is refused, with how far it goes.
  const std::vector<std::size_t>& kinds = model.runs.back().kinds;
  const auto bytes = [&](std::size_t count) {
    return BytesToGrow(model, grid, CountKinds(kinds, ChooseIterations(kinds, count)));
  };
  std::map<std::size_t, bool> sufficient;
  EXPECT_EQ(CountFitting(model, grid, bytes(2), {}, nullptr, sufficient), 2u);
  EXPECT_EQ(CountFitting(model, grid, bytes(12), {}, nullptr, sufficient), 12u);
  try {
    CountFitting(model, grid, bytes(1), {}, nullptr, sufficient);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNotEnoughData);
    EXPECT_THAT(error.what(), testing::HasSubstr("ranks can be replayed"));
  }
}

TEST(Growth, ChosenIterationsHaveAllKinds) {
  EXPECT_THAT(ChooseIterations({0, 0, 0, 0}, 2), testing::ElementsAre(0, 1));
  EXPECT_THAT(ChooseIterations({1, 0, 0, 0, 1, 0, 0, 0}, 2), testing::ElementsAre(0, 1));
  EXPECT_THAT(ChooseIterations({1, 0, 0, 0, 1, 0, 0, 0}, 4), testing::ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ChooseIterations({0, 1}, 9), testing::ElementsAre(0, 1));
}

// A chain whose ranks share the work; the first one has a tenth less.
GrowthModel LearnSharedWork() {
  return test::LearnSpmd(Steps([](test::SpmdRank& rank) {
                           const std::int32_t last = rank.ranks() - 1;
                           const Tick share = 64000000 / rank.ranks();
                           rank.Compute(rank.rank() == 0 ? share * 9 / 10 : share);
                           if (rank.rank() > 0) rank.Receive(rank.rank() - 1, 100);
                           if (rank.rank() < last) rank.Send(rank.rank() + 1, 100);
                         }),
                         {4, 8, 16});
}

TEST(LoadModel, ComputationFollowsTheNumberOfRanks) {
  const GrowthModel model = LearnSharedWork();
  EXPECT_EQ(model.load.common_law.power, -1);
  EXPECT_TRUE(model.load.laws.empty());
  EXPECT_EQ(model.load.noise, 0);
  const Trace grown = GrowTrace(model, ContinueSeries(model.rules.grids, 64), 1);
  EXPECT_NEAR(static_cast<double>(grown.timelines[0].enter(0)), 900000, 2);
  EXPECT_NEAR(static_cast<double>(grown.timelines[7].enter(0)), 1000000, 2);
}

// Work that is shared, and caches that hold ever less of it: 4 % fewer instructions per cycle with every doubling of
// the ranks. Time alone would be taken for shared work with edges.
TEST(LoadModel, CountersHaveLawsOfTheirOwn) {
  GrowthModel model = LearnSharedWork();
  EXPECT_FALSE(model.load.instructions);
  const auto fit = [&](const std::vector<double>& per_cycle) {
    for (std::size_t run = 0; run < model.runs.size(); ++run) {
      model.runs[run].instructions = 1e12;
      model.runs[run].cycles = 1e12 / per_cycle[run];
    }
    return FitLoadModel(model.runs, model.rules);
  };
  const LoadModel steady = fit({2, 2 * 0.96, 2 * 0.96 * 0.96});
  EXPECT_DOUBLE_EQ(steady.instructions->power, -1);
  EXPECT_NEAR(steady.per_cycle->power, std::log2(0.96), 1e-12);
  EXPECT_NEAR(steady.common_law.power, -1 - std::log2(0.96), 1e-12);
  // Up and down by chance is no trend; half as many are, whatever the cause.
  EXPECT_EQ(fit({2, 2.1, 1.95}).common_law.power, -1);
  EXPECT_NEAR(fit({2, 1.8, 1}).common_law.power, -0.5, 1e-12);
  model.runs.front().cycles.reset();
  EXPECT_FALSE(FitLoadModel(model.runs, model.rules).instructions);
}

// Loads whose logarithms are normal with a standard deviation of 0.05: the slowest of 4096 ranks is slower than all of
// the 64 measured ones, and the spread stays.
TEST(LoadModel, TheSlowestOfManyRanksIsSlowerThanAllMeasured) {
  const GrowthModel model =
      test::LearnSpmd(Steps([](test::SpmdRank& rank) {
                        Random random(SeedFor(7, std::to_string(rank.ranks() * 1000 + rank.rank())));
                        rank.Compute(std::llround(1e6 * std::exp(0.05 * random.Normal())));
                        rank.AllReduce(8);
                      }),
                      {16, 32, 64});
  EXPECT_NEAR(model.load.spread, 0.05, 0.015);
  EXPECT_EQ(model.load.common_law.power, 0);
  const Trace grown = GrowTrace(model, ContinueSeries(model.rules.grids, 4096), 1);
  double sum = 0, squares = 0, largest = -INFINITY, measured = -INFINITY;
  for (const double deviation : model.load.persistent) measured = std::max(measured, deviation);
  for (const RankTimeline& timeline : grown.timelines) {
    const double value = std::log(static_cast<double>(timeline.enter(0)) / 1e6);
    sum += value;
    squares += value * value;
    largest = std::max(largest, value);
  }
  const double mean = sum / 4096;
  EXPECT_NEAR(std::sqrt(squares / 4096 - mean * mean), model.load.spread, 0.2 * model.load.spread);
  EXPECT_GT(largest, measured + 0.01);
}

// A run grown to its own size is that run, where nothing is random.
TEST(Growth, ToTheOwnSize) {
  const GrowthModel model = LearnSharedWork();
  const Trace grown = GrowTrace(model, model.rules.grids.back(), 1);
  for (std::size_t rank = 0; rank < 16; ++rank) {
    EXPECT_EQ(grown.timelines[rank].enter(0), rank == 0 ? 3600000 : 4000000);
  }
}

// Each of the runs by its own rules is that run, with its own computation.
TEST(Growth, RepeatsItsRuns) {
  const Step program = Steps([](test::SpmdRank& rank) {
    const std::int32_t p = rank.ranks(), r = rank.rank();
    rank.Compute(1000 * (r + 1));
    rank.SendReceive((r + 1) % p, (r + p - 1) % p, 100, 1);
  });
  const GrowthModel model = test::LearnSpmd(program, {8, 12, 18});
  for (const std::size_t run : {0u, 1u, 2u}) {
    const auto ranks = static_cast<std::int32_t>(model.runs[run].ranks);
    const std::optional<Trace> repeated = RepeatRun(model, run);
    ASSERT_TRUE(repeated);
    const Trace original = test::RunSpmd(ranks, program);
    EXPECT_EQ(test::CallDifference(*repeated, original), "");
    for (std::size_t rank = 0; rank < repeated->size(); ++rank) {
      EXPECT_EQ(repeated->timelines[rank].end(), original.timelines[rank].end());
    }
  }
}

// Sends one further than receives expect, on the grown ranks alone.
TEST(Growth, MessagesNeedBothEnds) {
  const GrowthModel model = test::LearnSpmd(Torus(), {16, 32, 64});
  GrowthModel wrong = model;
  const RankGrid grid{{16, 8, 1, 1}};
  EXPECT_NO_THROW(MatchComplete(model, PlanGrid(model, grid, {0, 1})));
  for (auto& [key, of_class] : wrong.rules.classes) {
    for (CallBlock& block : of_class.kinds.front()) {
      PartRule& sent = block.calls.front().parts.front();
      ASSERT_EQ(sent.peers.front().Text(), "x+1");
      sent.peers.front().steps[0] = 2;
    }
  }
  try {
    MatchComplete(model, PlanGrid(wrong, grid, {0, 1}));
    FAIL() << "messages without an end were replayed";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the rules do not fit together on 16 × 8: MPI_Sendrecv x-1 of rank 0 awaits a message of rank 15, and "
                 "MPI_Sendrecv x+2 of rank 15 goes to rank 1");
  }
}

TEST(Growth, ARunOfAnotherProgramContradicts) {
  const auto shifts = [](bool is_other) {
    return Steps([is_other](test::SpmdRank& rank) {
      const std::int32_t p = rank.ranks();
      rank.Compute(1000);
      if (is_other) rank.AllReduce(8);
      for (int i = 0; i < (is_other ? 2 : 1); ++i) {
        rank.SendReceive((rank.rank() + 1) % p, (rank.rank() + p - 1) % p, 100);
      }
    });
  };
  GrowthModel model;
  model.region = "step";
  for (const std::int32_t ranks : {8, 12, 18}) {
    const Trace trace = test::RunSpmd(ranks, shifts(ranks == 12));
    model.runs.push_back(ReadRunCalls(trace, CutPhase(trace, PhaseSpec::Region("step")), model.functions));
  }
  LearnGrowth(model);
  EXPECT_TRUE(model.rules.Share() < 0.95 || testing::Value(model.rules.RunsAlone(), testing::Contains(1u)));
}

}  // namespace
}  // namespace farscale
