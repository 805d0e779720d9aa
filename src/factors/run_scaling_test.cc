#include "factors/run_scaling.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace farscale
