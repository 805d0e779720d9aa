#include "imbalance/causes/load_shape.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/random.h"
#include "imbalance/causes/load_matrix.h"
#include "imbalance/diagnosis.h"
#include "support/traces.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

using Ranks = std::vector<std::size_t>;
using Load = std::function<double(std::size_t rank, std::size_t iteration)>;

LoadMatrix Make(std::size_t ranks, std::size_t iterations, const Load& load) {
  LoadMatrix matrix;
  matrix.iterations = iterations;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    matrix.ranks.push_back(rank);
    for (std::size_t i = 0; i < iterations; ++i) matrix.seconds.push_back(load(rank, i));
  }
  return matrix;
}

LoadShape Of(const std::vector<double>& loads) {
  return FindShape(Make(loads.size(), 1, [&](std::size_t rank, std::size_t) { return loads[rank]; }));
}

// Loads 1 and 3: (3 - 2) / 3 * 2 / 1.
TEST(LoadShape, ImbalanceOfSums) {
  EXPECT_DOUBLE_EQ(Of({1, 3}).imbalance, 2.0 / 3);
  EXPECT_DOUBLE_EQ(Of({0, 0, 0, 5}).imbalance, 1);
  EXPECT_DOUBLE_EQ(Of({2, 2, 2}).imbalance, 0);
}

// Three ranks in turn: 4 where the others have 1, so every one has 6 in all. Largest 4, average 2 in each iteration:
// (12 - 6) / 12 * 3 / 2.
TEST(LoadShape, ImbalanceInIterations) {
  const LoadShape shape = FindShape(Make(3, 3, [](std::size_t rank, std::size_t i) { return rank == i ? 4.0 : 1.0; }));
  EXPECT_DOUBLE_EQ(shape.imbalance, 0);
  EXPECT_DOUBLE_EQ(shape.imbalance_in_iteration, 0.75);
  EXPECT_EQ(shape.over_time, ShapeOverTime::kUnknown);
}

TEST(LoadShape, FewAndGroupsAreNamed) {
  const LoadShape over = Of({1, 1.01, 0.99, 1, 2, 1.02, 0.98, 1, 1.01, 2.2, 1, 0.99, 1, 1, 1.01, 0.99});
  EXPECT_EQ(over.over_ranks, ShapeOverRanks::kOverloadedFew);
  EXPECT_EQ(over.ranks, (Ranks{9, 4}));
  EXPECT_EQ(over.count, 2u);
  EXPECT_NEAR(over.level, 2.1, 0.01);
  const LoadShape under = Of({5, 5, 5, 1, 5, 5, 5, 5});
  EXPECT_EQ(under.over_ranks, ShapeOverRanks::kUnderloadedFew);
  EXPECT_EQ(under.ranks, Ranks{3});
  EXPECT_DOUBLE_EQ(under.level, 0.2);
  const LoadShape groups = Of({1, 3, 1, 3, 1, 3, 1, 3});
  EXPECT_EQ(groups.over_ranks, ShapeOverRanks::kTwoGroups);
  EXPECT_EQ(groups.ranks, (Ranks{7, 5, 3, 1}));
  EXPECT_DOUBLE_EQ(groups.clearness, 1);
  EXPECT_DOUBLE_EQ(groups.level, 3);
}

// Of the rank with 3 all 19 others wait 2; those with nothing to do wait 1 each beyond that. One more with nothing less
// to do and they cost more.
TEST(LoadShape, TheSideThatCostsMore) {
  std::vector<double> loads(20, 10);
  loads[0] = 10.5;
  loads[1] = loads[2] = 1;
  EXPECT_EQ(Of(loads).over_ranks, ShapeOverRanks::kUnderloadedFew);  // 0.5 * 20 against 9 + 9
  loads[0] = 11;
  EXPECT_EQ(Of(loads).over_ranks, ShapeOverRanks::kOverloadedFew);  // 1 * 20
}

// Four levels of equally many ranks are no normal distribution, and neither few nor two groups.
TEST(LoadShape, Irregular) {
  std::vector<double> loads;
  for (std::size_t rank = 0; rank < 63; ++rank) loads.push_back(1 + static_cast<double>(rank % 3));
  EXPECT_EQ(Of(loads).over_ranks, ShapeOverRanks::kIrregular);
}

TEST(LoadShape, UnknownAndBalanced) {
  EXPECT_EQ(Of({1, 2, 3, 4, 5, 6, 7}).over_ranks, ShapeOverRanks::kUnknown);
  EXPECT_EQ(Of({}).over_ranks, ShapeOverRanks::kUnknown);
  EXPECT_EQ(Of({7}).over_ranks, ShapeOverRanks::kUnknown);
  EXPECT_EQ(Of({0, 0}).over_ranks, ShapeOverRanks::kUnknown);
  EXPECT_EQ(Of({1, 1.01}).over_ranks, ShapeOverRanks::kBalanced);
  const LoadShape shape =
      FindShape(Make(8, 5, [](std::size_t rank, std::size_t) { return 1 + 0.001 * static_cast<double>(rank); }));
  EXPECT_EQ(shape.over_ranks, ShapeOverRanks::kBalanced);
  EXPECT_EQ(shape.over_time, ShapeOverTime::kBalanced);
}

// One of eight ranks has more: (L - avg) / L · 8/7 = d / (1 + d) for 1 + d. That is no imbalance below 2 %.
TEST(LoadShape, BalancedIsBelowTwoPercent) {
  const auto shape_with = [](double more) {
    return FindShape(Make(8, 40, [&](std::size_t rank, std::size_t) { return rank == 3 ? 1 + more : 1; }));
  };
  EXPECT_NEAR(shape_with(0.019).imbalance, 0.019 / 1.019, 1e-12);
  EXPECT_EQ(shape_with(0.019).over_ranks, ShapeOverRanks::kBalanced);
  EXPECT_EQ(shape_with(0.019).over_time, ShapeOverTime::kBalanced);
  EXPECT_NE(shape_with(0.022).over_ranks, ShapeOverRanks::kBalanced);
  EXPECT_EQ(shape_with(0.022).over_time, ShapeOverTime::kStatic);
}

// A rank alone is never out of balance, which says nothing of its iterations.
TEST(LoadShape, OneRankOverTime) {
  const LoadShape shape = FindShape(Make(1, 40, [](std::size_t, std::size_t i) { return i % 2 == 0 ? 1.0 : 2.0; }));
  EXPECT_EQ(shape.imbalance_in_iteration, 0);
  EXPECT_NE(shape.over_time, ShapeOverTime::kBalanced);
}

// Ten ranks of which every one is slow for five iterations of fifty. Beside an iteration are two others, of 48 inner
// ones 18 with one of the other rank's, so 1 - 9 / 50 of the excess (1 of 0.9 above the average, -0.1 where it is not).
TEST(LoadShape, PartsOverTime) {
  const LoadMatrix load = Make(10, 50, [](std::size_t rank, std::size_t i) { return i / 5 == rank ? 2.0 : 1.0; });
  const LoadShape shape = FindShape(load);
  EXPECT_EQ(shape.over_time, ShapeOverTime::kDrifting);
  EXPECT_NEAR(shape.drifting_part, (50 * 0.9 - 9 * 1.0) / (50 * 0.9), 1e-12);
  EXPECT_DOUBLE_EQ(shape.static_part, 0);
  EXPECT_NEAR(shape.static_part + shape.drifting_part + shape.alternating_part, 1, 1e-12);
  EXPECT_EQ(shape.lasts, 3u);
  EXPECT_EQ(shape.over_ranks, ShapeOverRanks::kOverloadedFew);
  EXPECT_EQ(shape.count, 1u);
  EXPECT_TRUE(shape.ranks.empty());
}

// How many of so many seeds are told right; the rest is described by `others`.
struct Rates {
  double over_ranks = 0, over_time = 0;
};

// Over seeds; loads are made anew by each.
Rates RatesOf(std::size_t ranks, std::size_t iterations, const std::function<Load(Random&)>& make,
              const std::set<ShapeOverRanks>& over_ranks, const std::set<ShapeOverTime>& over_time) {
  constexpr int kSeeds = 100;
  Rates rates;
  for (int seed = 0; seed < kSeeds; ++seed) {
    Random random(static_cast<std::uint64_t>(seed) + 1);
    const LoadShape shape = FindShape(Make(ranks, iterations, make(random)));
    rates.over_ranks += over_ranks.count(shape.over_ranks) / static_cast<double>(kSeeds);
    rates.over_time += over_time.count(shape.over_time) / static_cast<double>(kSeeds);
  }
  return rates;
}

// Every rank its own level, plus noise of every iteration.
std::function<Load(Random&)> Levels(std::function<double(std::size_t, Random&)> level, std::size_t ranks,
                                    double noise) {
  return [=](Random& random) {
    std::vector<double> levels;
    for (std::size_t rank = 0; rank < ranks; ++rank) levels.push_back(level(rank, random));
    return [=, &random](std::size_t rank, std::size_t) { return levels[rank] + noise * random.Normal(); };
  };
}

TEST(LoadShape, ErrorRatesOverRanks) {
  for (const std::size_t ranks : {16u, 64u, 512u}) {
    const auto expect = [&](const char* name, ShapeOverRanks shape, double least,
                            const std::function<double(std::size_t, Random&)>& level) {
      const Rates rates = RatesOf(ranks, 10, Levels(level, ranks, 0.01), {shape}, {ShapeOverTime::kStatic});
      EXPECT_GE(rates.over_ranks, least) << name << " " << ranks;
      EXPECT_GE(rates.over_time, 0.95) << name << " " << ranks;
    };
    const std::size_t few = ranks / 16;
    expect("gaussian", ShapeOverRanks::kGaussian, 0.95,
           [](std::size_t, Random& random) { return 1 + 0.05 * random.Normal(); });
    expect("overloaded", ShapeOverRanks::kOverloadedFew, 0.97,
           [=](std::size_t rank, Random& random) { return (rank < few ? 1.3 : 1) + 0.02 * random.Normal(); });
    expect("underloaded", ShapeOverRanks::kUnderloadedFew, 0.97,
           [=](std::size_t rank, Random& random) { return (rank < few ? 0.7 : 1) + 0.02 * random.Normal(); });
    expect("two halves", ShapeOverRanks::kTwoGroups, 0.97,
           [=](std::size_t rank, Random& random) { return (rank < ranks / 2 ? 1.3 : 1) + 0.03 * random.Normal(); });
    expect("two groups", ShapeOverRanks::kTwoGroups, 0.97,
           [=](std::size_t rank, Random& random) { return (rank < ranks * 3 / 8 ? 1.3 : 1) + 0.03 * random.Normal(); });
  }
}

TEST(LoadShape, ErrorRatesOverTime) {
  for (const std::size_t ranks : {16u, 64u, 512u}) {
    const auto expect = [&](const char* name, ShapeOverRanks shape, ShapeOverTime time, const auto& make) {
      const Rates rates = RatesOf(ranks, 20, make, {shape}, {time});
      EXPECT_GE(rates.over_ranks, 0.95) << name << " " << ranks;
      EXPECT_GE(rates.over_time, 0.95) << name << " " << ranks;
    };
    expect("noise", ShapeOverRanks::kGaussian, ShapeOverTime::kAlternating,
           Levels([](std::size_t, Random&) { return 1.0; }, ranks, 0.05));
    expect("little noise", ShapeOverRanks::kBalanced, ShapeOverTime::kBalanced,
           Levels([](std::size_t, Random&) { return 1.0; }, ranks, 0.003));
    expect("in turn", ShapeOverRanks::kOverloadedFew, ShapeOverTime::kAlternating, [&](Random& random) {
      return [&random](std::size_t rank, std::size_t i) { return (rank == i % 2 ? 1.5 : 1) + 0.01 * random.Normal(); };
    });
    expect("round", ShapeOverRanks::kOverloadedFew, ShapeOverTime::kAlternating, [&](Random& random) {
      return [&random, ranks](std::size_t rank, std::size_t i) {
        return (rank == i * 7 % ranks ? 1.5 : 1) + 0.01 * random.Normal();
      };
    });
    expect("moving", ShapeOverRanks::kOverloadedFew, ShapeOverTime::kDrifting, [&](Random& random) {
      return [&random](std::size_t rank, std::size_t i) { return (rank == i / 5 ? 1.5 : 1) + 0.01 * random.Normal(); };
    });
    expect("trends", ShapeOverRanks::kGaussian, ShapeOverTime::kDrifting, [&](Random& random) {
      std::vector<double> trends;
      for (std::size_t rank = 0; rank < ranks; ++rank) trends.push_back(0.2 * random.Normal());
      return [&random, trends](std::size_t rank, std::size_t i) {
        return 1 + trends[rank] * (static_cast<double>(i) / 9.5 - 1) + 0.01 * random.Normal();
      };
    });
    expect("growing", ShapeOverRanks::kOverloadedFew, ShapeOverTime::kDrifting, [&](Random& random) {
      return [&random](std::size_t rank, std::size_t i) {
        return 1 + (rank == 3 ? 0.05 * static_cast<double>(i) : 0) + 0.01 * random.Normal();
      };
    });
  }
}

// Noise alone is hardly ever taken for a static or a drifting load, however short the run.
TEST(LoadShape, NoiseIsNotStatic) {
  for (const std::size_t ranks : {2u, 3u, 4u, 8u, 64u}) {
    for (const std::size_t iterations : {4u, 5u, 8u, 20u}) {
      const Rates wrong =
          RatesOf(ranks, iterations, Levels([](std::size_t, Random&) { return 1.0; }, ranks, 0.05),
                  {ShapeOverRanks::kOverloadedFew, ShapeOverRanks::kUnderloadedFew, ShapeOverRanks::kTwoGroups},
                  {ShapeOverTime::kStatic, ShapeOverTime::kDrifting});
      EXPECT_LE(wrong.over_ranks, 0.04) << ranks << " " << iterations;
      EXPECT_LE(wrong.over_time, 0.04) << ranks << " " << iterations;
    }
  }
}

// What happens in the first iteration alone, or in every tenth.
TEST(LoadShape, IterationsWithoutLoad) {
  const auto every = [](std::size_t step) {
    return FindShape(Make(16, 60, [=](std::size_t rank, std::size_t i) {
      return i % step > 0 ? 0.0 : rank == 5 ? 2.0 : 1.0;
    }));
  };
  EXPECT_EQ(every(60).over_time, ShapeOverTime::kUnknown);
  EXPECT_EQ(every(10).over_time, ShapeOverTime::kStatic);
}

// One iteration in which a rank is disturbed does not make a static load another one.
TEST(LoadShape, OneDisturbance) {
  const LoadShape shape = FindShape(Make(16, 20, [](std::size_t rank, std::size_t i) {
    return rank == 5 ? 1.2 : rank == 9 && i == 11 ? 20.0 : 1.0;
  }));
  EXPECT_EQ(shape.over_time, ShapeOverTime::kStatic);
}

TEST(LoadShape, HeavyIterationsRecur) {
  const auto every_fifth = [](std::size_t, std::size_t i) { return i % 5 == 4 ? 3.0 : 1.0; };
  EXPECT_EQ(FindShape(Make(16, 20, every_fifth)).heavy.every, 5u);
  EXPECT_DOUBLE_EQ(FindShape(Make(16, 20, every_fifth)).heavy.level, 3);
}

// LULESH gives its regions of material to ranks at random and repeats those of one material more often: few ranks have
// more work, in every iteration the same.
TEST(LoadShape, OfLulesh) {
  for (const std::string& path : test::SharedTraces()) {
    if (path.find("/lulesh-weak/64/") == std::string::npos) continue;
    const Trace trace = ReadTrace(path);
    const PhaseCut cut = CutPhase(trace, PhaseSpec::FoundLoop());
    DiagnosisOptions options;
    options.shapes = 3;
    const Diagnosis diagnosis = Diagnose(trace, MatchTrace(trace), cut, options);
    ASSERT_TRUE(diagnosis.useful_shape);
    EXPECT_EQ(diagnosis.useful_shape->over_ranks, ShapeOverRanks::kOverloadedFew);
    EXPECT_EQ(diagnosis.useful_shape->over_time, ShapeOverTime::kStatic);
    EXPECT_EQ(diagnosis.useful_shape->ranks, (Ranks{56, 57}));
    EXPECT_NEAR(diagnosis.useful_shape->imbalance, 0.582, 0.001);
    EXPECT_LE(diagnosis.shapes.size(), 3u);
    EXPECT_GE(diagnosis.shapes.size(), 1u);
  }
}

TEST(LoadShape, EveryShapeHasItsOwnName) {
  std::set<std::string_view> over_time, over_ranks;
  for (std::size_t i = 0; i < kShapesOverTime; ++i) over_time.insert(IdOf(static_cast<ShapeOverTime>(i)));
  for (std::size_t i = 0; i < kShapesOverRanks; ++i) over_ranks.insert(IdOf(static_cast<ShapeOverRanks>(i)));
  EXPECT_EQ(over_time.size(), kShapesOverTime);
  EXPECT_EQ(over_ranks.size(), kShapesOverRanks);
}

}  // namespace
}  // namespace farscale
