#include "projection/load_balance_by_loads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/random.h"
#include "factors/factor_table.h"
#include "projection/model_settings.h"

namespace farscale {
namespace {

FactorRow RowWithLoads(std::int64_t ranks, double load_balance, std::optional<double> largest_of_half = std::nullopt) {
  FactorRow row;
  row.cores = row.ranks = ranks;
  row.values[Factor::kLoadBalance] = load_balance;
  if (largest_of_half) row.loads.emplace().largest_of_half = largest_of_half;
  return row;
}

using Loads = std::function<std::vector<double>(std::size_t ranks, Random& random)>;

double LoadBalanceOf(const std::vector<double>& loads) {
  const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
  return sum / static_cast<double>(loads.size()) / *std::max_element(loads.begin(), loads.end());
}

FactorRow RowOf(const std::vector<double>& loads) {
  FactorRow row = RowWithLoads(static_cast<std::int64_t>(loads.size()), LoadBalanceOf(loads));
  row.loads = DistributionOf(loads);
  return row;
}

// How well load balance at some multiple of the largest of 8, 16, 32 and 64 ranks is predicted.
struct Quality {
  double bias = 0;     // mean of predicted over expected, less 1
  double error = 0;    // root mean square of the same
  double covered = 0;  // share of new runs within the interval of 80 %
};

Quality QualityOf(const Loads& loads, std::size_t multiple) {
  constexpr int kSeries = 100, kRuns = 200;
  Random random(SeedFor(1, "loads"));
  const std::size_t target = 64 * multiple;
  double expected = 0;
  for (int run = 0; run < kRuns; ++run) expected += LoadBalanceOf(loads(target, random)) / kRuns;
  Quality quality;
  for (int i = 0; i < kSeries; ++i) {
    std::vector<FactorRow> rows;
    for (const std::size_t ranks : {8, 16, 32, 64}) rows.push_back(RowOf(loads(ranks, random)));
    const auto by_loads = LoadBalanceByLoads::From(rows, static_cast<std::uint64_t>(i));
    const auto cores = static_cast<double>(target);
    const double off = by_loads->ValueAt(cores) / expected - 1;
    quality.bias += off / kSeries;
    quality.error += off * off / kSeries;
    std::vector<double> draws = by_loads->DrawsAt(cores);
    std::sort(draws.begin(), draws.end());
    const IntervalBounds interval = IntervalOf(draws, 0.8, by_loads->ValueAt(cores));
    const double seen = LoadBalanceOf(loads(target, random));
    if (interval.low <= seen && seen <= interval.high) quality.covered += 1.0 / kSeries;
  }
  quality.error = std::sqrt(quality.error);
  return quality;
}

Loads Independent(const std::function<double(Random&)>& load) {
  return [=](std::size_t ranks, Random& random) {
    std::vector<double> loads(ranks);
    for (double& one : loads) one = load(random);
    return loads;
  };
}

// Ranks of a grid with one more unit of work for each of their neighbours; 8 rows.
std::vector<double> GridLoads(std::size_t ranks, Random&) {
  const std::size_t rows = ranks < 64 ? 4 : 8, columns = ranks / rows;
  std::vector<double> loads;
  for (std::size_t i = 0; i < ranks; ++i) {
    const std::size_t row = i / columns, column = i % columns;
    const int neighbours = (row > 0) + (row + 1 < rows) + (column > 0) + (column + 1 < columns);
    loads.push_back(1 + 0.02 * neighbours);
  }
  return loads;
}

// Of two and three normal values: 1/√π and 3/(2√π), which the approximation meets to 5 %; from ten on to 1 %.
TEST(LoadBalanceByLoads, ExpectedLargestOfNormalValues) {
  EXPECT_EQ(ExpectedLargestNormal(1), 0);
  EXPECT_NEAR(ExpectedLargestNormal(2) / 0.56419, 1, 0.05);
  EXPECT_NEAR(ExpectedLargestNormal(3) / 0.84628, 1, 0.03);
  EXPECT_NEAR(ExpectedLargestNormal(10) / 1.53875, 1, 0.01);
  EXPECT_NEAR(ExpectedLargestNormal(100) / 2.50759, 1, 0.005);
}

// Many ranks are the largest, so that half of them have it, too: load balance stays but for the prior of 8 ranks to
// 24, a quarter of normal growth.
TEST(LoadBalanceByLoads, LevelsOffWhereManyRanksAreTheLargest) {
  const auto by_loads =
      LoadBalanceByLoads::From({RowWithLoads(6, 0.8), RowWithLoads(12, 0.8), RowWithLoads(24, 0.8, 1.25)}, 1);
  ASSERT_TRUE(by_loads);
  const double growth = 1 + 8.0 / 32 * (ExpectedLargestNormal(96) / ExpectedLargestNormal(24) - 1);
  EXPECT_NEAR(1 / by_loads->ValueAt(96) - 1, 0.25 * growth, 0.02);
  EXPECT_LT(by_loads->ValueAt(96), 0.8);
}

// Half of 24 ranks have what 12 normal ones would: growth as of normal values, at a level that fits all runs.
TEST(LoadBalanceByLoads, GrowsAsTheLargestOfNormalLoads) {
  const auto excess = [](double ranks) { return 0.1 * ExpectedLargestNormal(ranks); };
  std::vector<FactorRow> rows = {RowWithLoads(6, 1 / (1 + excess(6))), RowWithLoads(12, 1 / (1 + excess(12))),
                                 RowWithLoads(24, 1 / (1 + excess(24)), 1 + excess(12))};
  const auto by_loads = LoadBalanceByLoads::From(rows, 1);
  ASSERT_TRUE(by_loads);
  EXPECT_NEAR(by_loads->ValueAt(384), 1 / (1 + excess(384)), 1e-9);
  // Through the measured values, and in the same way below them.
  EXPECT_NEAR(by_loads->ValueAt(12), *rows[1].values[Factor::kLoadBalance], 1e-12);
  EXPECT_NEAR(by_loads->ValueAt(3), 1 / (1 + excess(3)), 1e-9);
}

// One rank sticks out: half of the ranks have it half of the time. It does so by as much in all runs, and will.
TEST(LoadBalanceByLoads, SingleRankStaysWhatItIs) {
  const auto by_loads = LoadBalanceByLoads::From(
      {RowWithLoads(8, 0.8, 1.125), RowWithLoads(16, 0.8, 1.125), RowWithLoads(64, 0.8, 1.125)}, 1);
  ASSERT_TRUE(by_loads);
  EXPECT_DOUBLE_EQ(by_loads->ValueAt(1024), 0.8);
}

// The spread doubles from run to run: some of that goes on.
TEST(LoadBalanceByLoads, GrowingSpreadGoesOn) {
  std::vector<FactorRow> rows;
  for (const double ranks : {8., 32., 128., 512.}) {
    const auto excess = [](double count) { return 0.01 * std::sqrt(count) * ExpectedLargestNormal(count); };
    rows.push_back(RowWithLoads(static_cast<std::int64_t>(ranks), 1 / (1 + excess(ranks)),
                                1 + excess(ranks) * ExpectedLargestNormal(ranks / 2) / ExpectedLargestNormal(ranks)));
  }
  const auto growing = LoadBalanceByLoads::From(rows, 1);
  const auto constant = LoadBalanceByLoads::From({rows.back(), rows.back(), rows.back()}, 1);
  EXPECT_FALSE(constant);  // one core count
  const double without_trend =
      (1 / *rows.back().values[Factor::kLoadBalance] - 1) * ExpectedLargestNormal(2048) / ExpectedLargestNormal(512);
  EXPECT_GT(1 / growing->ValueAt(2048) - 1, 1.2 * without_trend);
  EXPECT_LT(1 / growing->ValueAt(2048) - 1, 2 * without_trend);
}

// Load balance is the same in all runs, but what is persistent halves from run to run, so that its share of the
// variance falls from 4/5 to 1/17. The rest, noise, has grown by √(16/17 / (1/5)) = 2.2 and is nearly all of it now:
// its trend decides. With the parts exchanged the persistent loads grow, and it is theirs.
TEST(LoadBalanceByLoads, PersistentLoadsAndNoiseHaveTrendsOfTheirOwn) {
  std::vector<FactorRow> rows = {RowWithLoads(8, 0.8, 1.2), RowWithLoads(16, 0.8, 1.2), RowWithLoads(64, 0.8, 1.2),
                                 RowWithLoads(256, 0.8, 1.2)};
  const double together = LoadBalanceByLoads::From(rows, 1)->ValueAt(4096);
  std::vector<FactorRow> exchanged = rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].iterations = exchanged[i].iterations = 4;
    rows[i].loads->persistent = std::pow(0.5, static_cast<double>(i));
    rows[i].loads->noise = 1;  // of one iteration, 1/4 of its variance in the mean of four
    exchanged[i].loads->persistent = 0.5;
    exchanged[i].loads->noise = 2 * std::pow(0.5, static_cast<double>(i));
  }
  EXPECT_LT(LoadBalanceByLoads::From(rows, 1)->ValueAt(4096), together);
  EXPECT_NEAR(LoadBalanceByLoads::From(exchanged, 1)->ValueAt(4096), LoadBalanceByLoads::From(rows, 1)->ValueAt(4096),
              1e-12);
}

TEST(LoadBalanceByLoads, EqualLoadsStayEqual) {
  const auto by_loads = LoadBalanceByLoads::From({RowWithLoads(2, 1), RowWithLoads(4, 1), RowWithLoads(8, 1, 1.0)}, 1);
  ASSERT_TRUE(by_loads);
  EXPECT_DOUBLE_EQ(by_loads->ValueAt(64), 1);
  for (const double draw : by_loads->DrawsAt(64)) EXPECT_LE(draw, 1);
}

TEST(LoadBalanceByLoads, NothingWithoutLoadsOrWithFewCounts) {
  EXPECT_FALSE(LoadBalanceByLoads::From({RowWithLoads(4, 0.9), RowWithLoads(8, 0.8), RowWithLoads(16, 0.7)}, 1));
  EXPECT_FALSE(
      LoadBalanceByLoads::From({RowWithLoads(4, 0.9, 1.1), RowWithLoads(8, 0.8, 1.1), RowWithLoads(16, 0.7)}, 1));
  EXPECT_FALSE(LoadBalanceByLoads::From({RowWithLoads(8, 0.8, 1.1), RowWithLoads(16, 0.7, 1.2)}, 1));
  EXPECT_FALSE(LoadBalanceByLoads::From({}, 1));
}

// Threads instead of ranks in the largest run; a group of four ranks, however many the others are.
TEST(LoadBalanceByLoads, NothingWhereRanksDoNotGrowWithTheCores) {
  std::vector<FactorRow> rows = {RowWithLoads(8, 0.9, 1.1), RowWithLoads(16, 0.9, 1.1), RowWithLoads(32, 0.9, 1.1)};
  EXPECT_TRUE(LoadBalanceByLoads::From(rows, 1));
  rows.back().ranks = 16;
  EXPECT_FALSE(LoadBalanceByLoads::From(rows, 1));
  for (FactorRow& row : rows) row.ranks = 4;
  EXPECT_FALSE(LoadBalanceByLoads::From(rows, 1));
}

// The bounds are of the mean over 100 series: of a single one, the largest of 64 loads varies by much more.
TEST(LoadBalanceByLoads, PredictsNormalLoads) {
  const Loads loads = Independent([](Random& random) { return 1 + 0.05 * random.Normal(); });
  for (const std::size_t multiple : {4, 16}) {
    const Quality quality = QualityOf(loads, multiple);
    EXPECT_NEAR(quality.bias, 0, 0.02) << multiple;
    EXPECT_LT(quality.error, 0.06) << multiple;
    EXPECT_GT(quality.covered, 0.75) << multiple;
  }
}

TEST(LoadBalanceByLoads, PredictsLognormalLoads) {
  const Loads loads = Independent([](Random& random) { return std::exp(0.1 * random.Normal()); });
  for (const std::size_t multiple : {4, 16}) {
    const Quality quality = QualityOf(loads, multiple);
    EXPECT_NEAR(quality.bias, 0, 0.03) << multiple;
    EXPECT_LT(quality.error, 0.12) << multiple;
    EXPECT_GT(quality.covered, 0.7) << multiple;
  }
}

TEST(LoadBalanceByLoads, PredictsLoadsOfTwoValues) {
  const Loads loads = Independent([](Random& random) { return random.Uniform() < 0.3 ? 1.1 : 1.0; });
  for (const std::size_t multiple : {4, 16}) {
    const Quality quality = QualityOf(loads, multiple);
    EXPECT_NEAR(quality.bias, 0, 0.01) << multiple;
    EXPECT_LT(quality.error, 0.02) << multiple;
    EXPECT_GT(quality.covered, 0.75) << multiple;
  }
}

TEST(LoadBalanceByLoads, PredictsLoadsOfAGrid) {
  for (const std::size_t multiple : {4, 16}) {
    const Quality quality = QualityOf(GridLoads, multiple);
    EXPECT_LT(quality.error, 0.01) << multiple;
  }
}

}  // namespace
}  // namespace farscale
