#include "factors/run_scaling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/error.h"

namespace farscale {
namespace {

FactorRow Row(std::int64_t cores, double runtime, std::optional<double> speedup, double iterations = 1) {
  FactorRow row;
  row.cores = row.ranks = cores;
  row.runtime = runtime;
  row.iterations = iterations;
  row.values[Factor::kSpeedup] = speedup;
  return row;
}

// 10 s · 1 and 6.25 s · 1.6 are both 10 s. Weak scaling: 10 s · 1 and 12.5 s · 1.6 = 20 s on twice the cores.
TEST(RunScaling, TimesAndSpeedupsShowIt) {
  EXPECT_EQ(ScalingShownBy({Row(4, 10, 1), Row(8, 6.25, 1.6)}), Scaling::kStrong);
  EXPECT_EQ(ScalingShownBy({Row(4, 10, 1), Row(8, 12.5, 1.6)}), Scaling::kWeak);
  EXPECT_EQ(ScalingShownBy({Row(4, 20, 1, 2), Row(8, 6.25, 1.6)}), Scaling::kStrong);  // times of an iteration
}

// GE · P instead: 10 · 4 and 6.25 · 0.8 · 8 are both 40.
TEST(RunScaling, GlobalEfficiencyDoes) {
  std::vector<FactorRow> rows = {Row(4, 10, std::nullopt), Row(8, 6.25, std::nullopt)};
  rows[0].values[Factor::kGlobalEfficiency] = 1;
  rows[1].values[Factor::kGlobalEfficiency] = 0.8;
  EXPECT_EQ(ScalingShownBy(rows), Scaling::kStrong);
  rows[1].runtime = 12.5;
  EXPECT_EQ(ScalingShownBy(rows), Scaling::kWeak);
}

TEST(RunScaling, NothingWhereItDoesNotShow) {
  EXPECT_FALSE(ScalingShownBy({}));
  EXPECT_FALSE(ScalingShownBy({Row(4, 10, 1)}));
  EXPECT_FALSE(ScalingShownBy({Row(4, 10, 1), Row(4, 10, 1)}));
  EXPECT_FALSE(ScalingShownBy({Row(4, 10, 1), Row(8, 6.25, std::nullopt)}));
  EXPECT_FALSE(ScalingShownBy({Row(4, 10, 1), Row(8, 9, 1.6)}));
}

TEST(RunScaling, WhatTheTableSaysComesFirst) {
  FactorTable table;
  const std::vector<FactorRow> rows = {Row(4, 10, 1), Row(8, 6.25, 1.6)};
  EXPECT_EQ(ScalingOf(table, rows), Scaling::kStrong);
  table.scaling = Scaling::kWeak;
  EXPECT_EQ(ScalingOf(table, rows), Scaling::kWeak);
}

// Rows with times and parallel efficiency alone.
FactorTable Told(const std::vector<std::array<double, 3>>& runs, const std::string& phase = "") {
  FactorTable table;
  for (const auto& [cores, runtime, efficiency] : runs) {
    table.rows.push_back(Row(static_cast<std::int64_t>(cores), runtime, std::nullopt));
    table.rows.back().phase = phase;
    table.rows.back().values[Factor::kParallelEfficiency] = efficiency;
  }
  return table;
}

std::string WhyNot(FactorTable table, Scaling scaling) {
  try {
    PutInTerms(table, scaling, std::nullopt);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// 16 · 8 · 0.9 = 115.2 s of computation and 64 · 2.5 · 0.75 = 120 s: 1.04 times as much on 4 times the cores.
TEST(RunScaling, WeakRunsHaveMoreToCompute) {
  const FactorTable strong = Told({{16, 8, 0.9}, {64, 2.5, 0.75}});
  EXPECT_THAT(WhyNot(strong, Scaling::kWeak),
              testing::HasSubstr("--scaling weak: the problem does not grow with the cores: from 16 to 64 cores an "
                                 "iteration falls from 8 to 2.5 s, and its computation on all cores together is 1.04 "
                                 "times as much, not 4 times"));
  EXPECT_EQ(WhyNot(strong, Scaling::kStrong), "");
  EXPECT_EQ(WhyNot(Told({{16, 8, 0.9}, {32, 3.5, 0.9}}), Scaling::kWeak), "");  // too few cores to be sure
}

// In turn: weak runs; those that waited for something at first; computation that every rank repeats; one rank that
// computes while the others wait.
TEST(RunScaling, KeepsSilentWhenUnsure) {
  EXPECT_EQ(WhyNot(Told({{16, 8, 0.9}, {64, 9, 0.8}}), Scaling::kWeak), "");
  EXPECT_EQ(WhyNot(Told({{16, 8, 0.2}, {64, 2, 0.8}}), Scaling::kWeak), "");
  EXPECT_EQ(WhyNot(Told({{16, 8, 0.9}, {64, 8, 0.9}}), Scaling::kStrong), "");
  EXPECT_EQ(WhyNot(Told({{16, 8, 1. / 16}, {64, 8, 1. / 64}}), Scaling::kWeak), "");
}

// Speedups 1 and 1.6 from 4 cores on are 0.625 and 1 from 8 cores on, whatever is asked for besides.
TEST(RunScaling, ReferenceAndScalingCanBeAskedForAlone) {
  const auto table_in = [](std::optional<Scaling> scaling, std::optional<std::int64_t> reference) {
    FactorTable table;
    table.rows = {Row(4, 10, 1), Row(8, 6.25, 1.6)};
    PutInTerms(table, scaling, reference);
    return table;
  };
  const FactorTable referred = table_in(std::nullopt, 8);
  EXPECT_EQ(referred.reference, 8);
  EXPECT_DOUBLE_EQ(*referred.rows[0].values[Factor::kSpeedup], 0.625);
  EXPECT_DOUBLE_EQ(*referred.rows[1].values[Factor::kSpeedup], 1);
  EXPECT_EQ(referred.scaling_source, kShownByTimes);
  const FactorTable scaled = table_in(Scaling::kStrong, std::nullopt);
  EXPECT_EQ(scaled.scaling_source, "command line");
  EXPECT_DOUBLE_EQ(*scaled.rows[1].values[Factor::kSpeedup], 1.6);
}

// Work of a fixed size inside a weak run shows nothing of the run.
TEST(RunScaling, TheLongestPhaseTells) {
  FactorTable table = Told({{16, 80, 0.9}, {64, 85, 0.8}}, "iteration");
  const FactorTable fixed = Told({{16, 8, 0.9}, {64, 2.5, 0.75}}, "table");
  table.rows.insert(table.rows.begin(), fixed.rows.begin(), fixed.rows.end());
  EXPECT_EQ(WhyNot(table, Scaling::kWeak), "");
}

}  // namespace
}  // namespace farscale
