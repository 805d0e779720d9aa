#include "factors/factor_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace farscale {
namespace {

FactorRow SplitRow(std::int64_t cores, std::int64_t threads, double seconds) {
  FactorRow row;
  row.cores = cores;
  row.threads = threads;
  row.ranks = cores / threads;
  row.runtime = seconds;
  return row;
}

// Numbers every repeat.
FactorTable TableOf(std::vector<FactorRow> rows) {
  FactorTable table;
  for (FactorRow& row : rows) {
    row.repeat = std::ranges::count(table.rows, row.cores, &FactorRow::cores);
    table.rows.push_back(row);
  }
  return table;
}

FactorTable Times(const std::vector<std::pair<std::int64_t, double>>& times) {
  std::vector<FactorRow> rows;
  for (const auto& [cores, seconds] : times) rows.push_back(SplitRow(cores, 1, seconds));
  return TableOf(rows);
}

std::string ExampleOf(const FactorTable& table, std::string_view id) {
  for (const Finding& finding : table.findings) {
    if (finding.id == id) return finding.example;
  }
  return "";
}

// 101 s is the median of 100, 101 and 180; 101 / 16.5 / 8 = 0.765.
TEST(CountedRows, OneBadRepeatOfTheReference) {
  FactorTable table = Times({{1, 100}, {1, 101}, {1, 180}, {2, 52}, {2, 51}, {4, 28}, {4, 29}, {8, 16}, {8, 17}});
  CompleteTable(table);
  EXPECT_EQ(ExampleOf(table, "outlyingRepeat"), "repeat 2 on 1 core takes 180 s, the median 101 s");
  EXPECT_DOUBLE_EQ(*table.rows[7].values[Factor::kGlobalEfficiency], 101.0 / 16 / 8);
  EXPECT_EQ(table.Rows("", {}).size(), 8u);
  EXPECT_EQ(table.rows.size(), 9u) << "files keep what was measured";
  ChangeTerms(table, std::nullopt, 2);
  EXPECT_DOUBLE_EQ(*table.rows[7].values[Factor::kGlobalEfficiency], 51.5 / 16 / 4);
}

// Of two repeats nothing tells which is bad; repeats that all scatter are no outliers of each other.
TEST(CountedRows, WhatNothingTells) {
  for (const auto& times : std::vector<std::vector<std::pair<std::int64_t, double>>>{
           {{1, 100}, {1, 180}, {2, 50}, {4, 26}},
           {{1, 100}, {1, 120}, {1, 150}, {2, 60}, {2, 50}, {2, 75}},
           {{1, 100}, {1, 100.5}, {1, 103}, {2, 50}},
           {{1, 80}, {1, 100}, {1, 101}, {2, 51}, {2, 50}, {2, 63}, {4, 30}, {4, 25}, {4, 25.1}, {8, 13}}}) {
    FactorTable table = Times(times);
    CompleteTable(table);
    EXPECT_EQ(ExampleOf(table, "outlyingRepeat"), "");
    EXPECT_EQ(table.Rows("", {}).size(), times.size());
  }
}

TEST(CountedRows, FactorsWithoutTimes) {
  FactorTable table = Times({{1, 1}, {2, 1}, {2, 1}, {2, 1}, {2, 1}});
  const double values[] = {0.95, 0.9, 0.91, 0.45, 0.9};
  for (std::size_t i = 0; i < 5; ++i) {
    table.rows[i].runtime.reset();
    table.rows[i].values[Factor::kLoadBalance] = values[i];
  }
  CompleteTable(table);
  EXPECT_EQ(ExampleOf(table, "outlyingRepeat"), "repeat 2 on 2 cores has loadBalance 0.45, the median 0.9");
}

// Random tables of T = a / P^b with 1 % noise and one bad repeat, 1.3 to 4 times as long, at a random place.
TEST(CountedRows, OneBadRepeatAnywhere) {
  std::mt19937 random(7);
  const auto between = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
  for (int round = 0; round < 50; ++round) {
    const double seconds = std::pow(10.0, between(-3, 4)), exponent = between(0.5, 1);
    const auto first = static_cast<std::int64_t>(between(1, 100)), counts = static_cast<std::int64_t>(between(2, 7));
    std::vector<FactorRow> rows;
    std::vector<std::size_t> candidates;  // with two others of their count
    for (std::int64_t i = 0; i < counts; ++i) {
      const auto repeats = i == 0 ? 3 : static_cast<int>(between(1, 6));
      for (int repeat = 0; repeat < repeats; ++repeat) {
        if (repeats > 2) candidates.push_back(rows.size());
        rows.push_back(SplitRow(first << i, 1,
                                seconds / std::pow(2.0, exponent * static_cast<double>(i)) *
                                    std::exp(std::normal_distribution(0.0, 0.01)(random))));
      }
    }
    const std::size_t bad = candidates[random() % candidates.size()];
    *rows[bad].runtime *= between(1.35, 4);
    FactorTable table = TableOf(rows);
    table.scaling = Scaling::kStrong;
    CompleteTable(table);
    const CountedRows counted = CountRows(PointersTo(table.rows));
    ASSERT_EQ(counted.outlying.size(), 1u) << "round " << round;
    EXPECT_EQ(counted.outlying[0], &table.rows[bad]) << "round " << round;
    for (const FactorRow* row : counted.counted) {
      const double truth = std::pow(static_cast<double>(row->cores) / static_cast<double>(first), exponent - 1);
      EXPECT_NEAR(*row->values[Factor::kGlobalEfficiency] / truth, 1, 0.06) << "round " << round;
    }
  }
}

// Good repeats, 1 to 3 % apart, all count.
TEST(CountedRows, GoodRepeatsCount) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const double noise = std::uniform_real_distribution(0.001, 0.03)(random);
    std::vector<FactorRow> rows;
    for (std::int64_t i = 0; i < 5; ++i) {
      for (int repeat = 0; repeat < 5; ++repeat) {
        rows.push_back(SplitRow(1 << i, 1, std::exp(std::normal_distribution(0.0, noise)(random)) / (1 << i)));
      }
    }
    EXPECT_TRUE(CountRows(PointersTo(TableOf(rows).rows)).outlying.empty()) << "round " << round;
  }
}

// Of run times the best split of every core count, with its repeats; the efficiencies are those of the best:
// 96 / 51 / 2 and 96 / 28 / 4.
TEST(CountedRows, BestSplitsOfRunTimes) {
  FactorTable table = TableOf({SplitRow(16, 1, 100), SplitRow(16, 2, 96), SplitRow(16, 4, 105), SplitRow(32, 1, 55),
                               SplitRow(32, 2, 51), SplitRow(32, 4, 56), SplitRow(64, 1, 33), SplitRow(64, 2, 28),
                               SplitRow(64, 4, 30)});
  CompleteTable(table);
  const std::vector<FactorRow> rows = table.Rows("", {});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_DOUBLE_EQ(*rows[0].values[Factor::kGlobalEfficiency], 1);
  EXPECT_DOUBLE_EQ(*rows[1].values[Factor::kGlobalEfficiency], 96.0 / 51 / 2);
  EXPECT_DOUBLE_EQ(*rows[2].values[Factor::kGlobalEfficiency], 96.0 / 28 / 4);
  EXPECT_EQ(ExampleOf(table, "slowerSplits"), "16 = 8 × 2, 32 = 16 × 2, 64 = 32 × 2");
  EXPECT_EQ(ExampleOf(table, "threadsDifferBetweenRuns"), "");
}

// Whatever is divided how, and in whatever order.
TEST(CountedRows, BestSplitsOfRandomTables) {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<FactorRow> rows;
    std::map<std::int64_t, double> best;
    for (std::int64_t cores = 16; cores <= 256; cores *= 2) {
      for (std::int64_t threads = 1; threads <= 16; threads *= 2) {
        if (random() % 3 == 0 && threads > 1) continue;
        const double seconds = 1000 / static_cast<double>(cores) * std::uniform_real_distribution(1.0, 1.5)(random);
        rows.push_back(SplitRow(cores, threads, seconds));
        best[cores] = std::min(best.try_emplace(cores, seconds).first->second, seconds);
      }
    }
    std::ranges::shuffle(rows, random);
    FactorTable table = TableOf(rows);
    CompleteTable(table);
    const std::vector<FactorRow> counted = table.Rows("", {});
    ASSERT_EQ(counted.size(), best.size());
    for (const FactorRow& row : counted) {
      EXPECT_EQ(*row.runtime, best.at(row.cores));
      EXPECT_NEAR(*row.values[Factor::kGlobalEfficiency], best.at(16) * 16 / (*row.runtime * row.cores), 1e-12);
    }
  }
}

}  // namespace
}  // namespace farscale
