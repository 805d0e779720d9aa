// Programs whose partners follow no rule: copies of a run must be that run, rank by rank.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/diagnostics.h"
#include "growth/growth_model.h"
#include "growth/make/grown_program.h"
#include "replay/network.h"
#include "support/mesh_program.h"

namespace farscale {
namespace {

using testing::HasSubstr;

GrowthModel Lift(const std::function<void(test::SpmdRank&)>& program, const std::vector<std::int32_t>& counts) {
  GrowthModel all;
  all.region = "step";
  for (const std::int32_t ranks : counts) {
    const Trace trace = test::RunSpmd(ranks, program);
    all.runs.push_back(ReadRunCalls(trace, CutPhase(trace, PhaseSpec::Region("step")), all.functions));
  }
  return LearnStatistically(all, 0, all.runs.size());
}

Tick SameWork(std::int32_t) { return 400000; }

// To whom a rank of a run sends, in the order of its calls.
std::vector<std::int32_t> Partners(const Trace& trace, std::size_t rank) {
  std::vector<std::string> functions;
  const RunCalls run = ReadRunCalls(trace, CutPhase(trace, PhaseSpec::Region("step")), functions);
  std::vector<std::int32_t> partners;
  for (const CallPart& part : run.of_ranks[rank].parts) {
    if (part.kind == RecordKind::kSendPost) partners.push_back(part.peer);
  }
  return partners;
}

// One copy is the run itself, call by call, whatever is drawn.
TEST(StatisticalGrowth, OneCopyIsTheRun) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto program = test::MeshProgram(seed, SameWork, 2);
    const auto ranks = static_cast<std::int32_t>(20 + seed);
    const GrowthModel model = Lift(program, {8, ranks});
    const Trace grown = GrowTrace(model, LayoutFor(model.rules, ranks), seed);
    EXPECT_EQ(test::CallDifference(grown, test::RunSpmd(ranks, program)), "") << seed;
  }
}

// Every copy of a rank has the partners of that rank, in the same or the next copy, which have it as a partner, too.
TEST(StatisticalGrowth, CopiesHaveThePartnersOfTheirRank) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    constexpr std::int32_t kRanks = 24, kCopies = 5;
    const GrowthModel model = Lift(test::MeshProgram(seed, SameWork, 1), {8, kRanks});
    const RankGrid grid = LayoutFor(model.rules, kRanks * kCopies + 3);
    ASSERT_EQ(grid.size(), kRanks * kCopies);
    const GridPlan plan = PlanGrid(model, grid, {0});
    EXPECT_NO_THROW(MatchComplete(model, plan)) << seed;
    const Trace run = test::RunSpmd(kRanks, test::MeshProgram(seed, SameWork, 1)), grown = GrowTrace(model, grid, 1);
    bool leaves_copy = false;
    for (std::size_t rank = 0; rank < grown.size(); rank += 7) {
      std::vector<std::int32_t> partners = Partners(grown, rank);
      for (std::int32_t& one : partners) {
        const std::int32_t further = (one / kRanks - static_cast<std::int32_t>(rank) / kRanks + kCopies) % kCopies;
        EXPECT_TRUE(further <= 1 || further == kCopies - 1) << one;
        leaves_copy = leaves_copy || further != 0;
        one %= kRanks;
      }
      EXPECT_EQ(partners, Partners(run, rank % kRanks)) << seed;
    }
    EXPECT_TRUE(leaves_copy) << "else the run is cut into parts";
  }
}

// Bytes follow the power of the number of ranks that they follow in the runs.
TEST(StatisticalGrowth, BytesFollowTheRuns) {
  const auto program = [](test::SpmdRank& rank) {
    const std::uint64_t bytes = 1u << 20 >> std::countr_zero(static_cast<unsigned>(rank.ranks()));
    rank.BeginIteration();
    rank.Compute(1000);
    const std::int32_t of_pair = rank.rank() ^ 1;
    rank.SendReceive(of_pair, of_pair, bytes);
    rank.AllReduce(8);
    rank.EndIteration();
  };
  const GrowthModel model = Lift(program, {8, 16, 32});
  const Trace grown = GrowTrace(model, LayoutFor(model.rules, 128), 1);
  std::vector<std::string> functions;
  const RunCalls run = ReadRunCalls(grown, CutPhase(grown, PhaseSpec::Region("step")), functions);
  EXPECT_EQ(run.of_ranks[100].parts.front().bytes, (1u << 20) / 128);
  EXPECT_EQ(run.of_ranks[100].parts.back().bytes, 8u) << "of the sum";
}

// All ranks compute by the same law, also one that is near to none but clearly another: P^-0.06.
TEST(StatisticalGrowth, ComputationHasOneLaw) {
  const auto program = test::MeshProgram(
      1, [](std::int32_t ranks) { return std::llround(1e9 * std::pow(ranks, -0.06)); }, 2);
  const GrowthModel model = Lift(program, {32, 64, 128});
  EXPECT_NEAR(model.load.common_law.power, -0.06, 0.01);
  for (const auto& [of_class, rules] : model.rules.classes)
    EXPECT_EQ(model.load.Law(of_class).power, model.load.common_law.power);
}

TEST(StatisticalGrowth, RefusesPartnersThatChange) {
  const auto program = [](test::SpmdRank& rank) {
    for (std::int32_t i = 0; i < 4; ++i) {
      rank.BeginIteration();
      rank.Compute(1000);
      const std::int32_t steps = i * i + 1;
      rank.SendReceive((rank.rank() + steps) % rank.ranks(), (rank.rank() - steps + 2 * rank.ranks()) % rank.ranks(),
                       8);
      rank.EndIteration();
    }
  };
  try {
    Lift(program, {16, 24});
    FAIL() << "is learned";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNotEnoughData);
    EXPECT_THAT(error.what(), HasSubstr("100 % of the messages go to other ranks in every iteration"));
  }
}

TEST(StatisticalGrowth, RefusesCollectivesAmongSomeRanks) {
  const auto program = [](test::SpmdRank& rank) {
    rank.BeginIteration();
    rank.Compute(1000);
    if (rank.rank() < 3) {
      rank.Use({0, 1, 2});
      rank.AllReduce(8);
      rank.Use();
    }
    rank.EndIteration();
  };
  try {
    Lift(program, {8, 16});
    FAIL() << "is learned";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("collective operations among 3 of 16 ranks"));
  }
}

PhaseTotals ReplayOn(const Network& network, const GrowthModel& model, const GridPlan& plan, const GrownLoads& loads) {
  return MeasureGrown(model, plan, MatchComplete(model, plan), loads, {}, &network);
}

// What messages cost on a mesh of four times the ranks is what they cost among copies of the ranks of a smaller one:
// to 3 % of the time, in weak scaling and in strong. One in a hundred more neighbours costs 0.3 % there.
TEST(StatisticalGrowth, MeshesLoseWhatTheirCopiesDo) {
  const Network network = ParseNetwork(test::kSlowNetwork, "n.toml", "n");
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto program = test::MeshProgram(
        seed, [&](std::int32_t ranks) { return seed % 2 == 0 ? SameWork(ranks) : 25600000 / ranks; }, 3);
    const GrowthModel model = Lift(program, {32, 64});
    const GridPlan plan = PlanGrid(model, LayoutFor(model.rules, 256), {0, 1, 2});
    const PhaseTotals grown = ReplayOn(network, model, plan, DrawLoads(model, plan, 1));
    const GrowthModel target = Lift(program, {64, 256});
    const GridPlan itself = PlanRun(target, 1, {0, 1, 2});
    const PhaseTotals truth = ReplayOn(network, target, itself, LoadsOfRun(target, itself, 1));
    EXPECT_NEAR(grown.ideal_elapsed / grown.elapsed, truth.ideal_elapsed / truth.elapsed, 0.03) << seed;
    EXPECT_NEAR(grown.largest_useful / grown.ideal_elapsed, truth.largest_useful / truth.ideal_elapsed, 0.03) << seed;
    EXPECT_GE(grown.largest_node_load, grown.average_useful) << "one rank a node";
    EXPECT_LE(grown.largest_node_load, grown.largest_useful);
  }
}

TEST(StatisticalGrowth, CountsPartners) {
  const auto program = [](test::SpmdRank& rank) {  // the first rank sends to all others, twice
    for (int i = 0; i < 2; ++i) {
      rank.BeginIteration();
      rank.Compute(1000);
      for (std::int32_t to = 1; to < rank.ranks(); ++to) {
        if (rank.rank() == 0) rank.Send(to, 100);
        if (rank.rank() == to) rank.Receive(0, 100);
      }
      rank.EndIteration();
    }
  };
  const Trace trace = test::RunSpmd(5, program);
  std::vector<std::string> functions;
  const StatisticalGrowth counts =
      CountPartners(ReadRunCalls(trace, CutPhase(trace, PhaseSpec::Region("step")), functions));
  EXPECT_EQ(counts.ranks, 5);
  EXPECT_EQ(counts.fewest, 0);
  EXPECT_EQ(counts.median, 0);
  EXPECT_EQ(counts.most, 4);
  EXPECT_DOUBLE_EQ(counts.messages, 4.0 / 5) << "4 an iteration of 5 ranks";
}

TEST(StatisticalGrowth, LayoutsAreCopies) {
  CallRules rules;
  rules.scheme.is_lifted = true;
  rules.grids = {{{8, 1, 1, 1}}, {{24, 1, 1, 1}}};
  EXPECT_EQ(LayoutFor(rules, 100), (RankGrid{{24, 4, 1, 1}}));
  EXPECT_EQ(LayoutFor(rules, 109), (RankGrid{{24, 5, 1, 1}}));
  EXPECT_EQ(LayoutFor(rules, 1), (RankGrid{{24, 1, 1, 1}}));
}

}  // namespace
}  // namespace farscale
