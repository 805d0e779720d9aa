#include "phases/iteration_shape.h"

#include <gtest/gtest.h>

#include <random>

namespace farscale {
namespace {

using RankLoads = std::vector<std::vector<double>>;

HeavyIterations Find(const RankLoads& load) {
  return FindHeavyIterations(load.size(), [&](std::size_t rank) { return std::span(load[rank]); });
}

// Every tenth of 30 iterations takes three times as long on ranks 0 to 4; ranks 5 to 7 do the same all the time.
RankLoads EveryTenth(double level, std::size_t ranks = 5, std::size_t others = 3) {
  RankLoads load(ranks + others, std::vector<double>(30, 10));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (const std::size_t k : {9, 19, 29}) load[rank][k] = 10 * level;
  }
  return load;
}

TEST(HeavyIterations, RecurOnMostRanks) {
  const HeavyIterations heavy = Find(EveryTenth(3));
  EXPECT_EQ(heavy.every, 10u);
  EXPECT_EQ(heavy.first, 9u);
  EXPECT_DOUBLE_EQ(heavy.level, (5 * 30.0 + 3 * 10) / 80);  // 180 instead of 80
  EXPECT_DOUBLE_EQ(heavy.share, 3 * 100.0 / (27 * 80 + 3 * 180));
}

TEST(HeavyIterations, OfFewRanksAreNoWorkOfAll) { EXPECT_EQ(Find(EveryTenth(9, 3, 5)).every, 0u); }

TEST(HeavyIterations, MustRecurAtOneDistance) {
  RankLoads load = EveryTenth(3);
  for (std::vector<double>& of_rank : load) std::swap(of_rank[19], of_rank[17]);
  EXPECT_EQ(Find(load).every, 0u);
  load = EveryTenth(3);
  for (std::vector<double>& of_rank : load) of_rank[4] = 30;  // one more
  EXPECT_EQ(Find(load).every, 0u);
  load = EveryTenth(3);
  for (std::vector<double>& of_rank : load) of_rank.resize(29);  // two are no rule
  EXPECT_EQ(Find(load).every, 0u);
  load = EveryTenth(3);
  for (std::vector<double>& of_rank : load) of_rank.insert(of_rank.begin(), 10, 10.0);  // the first tenth has none
  EXPECT_EQ(Find(load).every, 0u);
}

// One rank is held up in an iteration between, and another one in a heavy one.
TEST(HeavyIterations, DelaysOfOneRankHideNothing) {
  RankLoads load = EveryTenth(3);
  load[2][14] = 500;
  load[4][19] = 500;
  EXPECT_EQ(Find(load).every, 10u);
}

TEST(HeavyIterations, NoiseHasNone) {
  std::mt19937 random(7);
  std::gamma_distribution<double> noise(2, 1);
  int found = 0;
  for (int trial = 0; trial < 500; ++trial) {
    RankLoads load(8, std::vector<double>(20));
    for (std::vector<double>& of_rank : load) {
      for (double& value : of_rank) value = 10 + noise(random);
    }
    found += Find(load).every > 0;
  }
  EXPECT_LE(found, 1);
}

TEST(HeavyIterations, NothingIsNone) {
  EXPECT_EQ(Find({}).every, 0u);
  EXPECT_EQ(Find({{}, {0, 0, 0, 0, 0, 0}}).every, 0u);
}

}  // namespace
}  // namespace farscale
