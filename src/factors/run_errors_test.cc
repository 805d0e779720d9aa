// Errors of runs side by side, worked out on paper. Of four iterations left out one at a time, 3/4 of the squared
// deviations count.
#include "factors/run_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace farscale {
namespace {

BlockSamples Samples(const std::vector<double>& elapsed) {
  BlockSamples samples;
  samples.iterations = elapsed.size();
  samples.elapsed = elapsed;
  samples.useful.assign(elapsed.size(), 1);
  samples.values.resize(elapsed.size());
  return samples;
}

double FirstError(const std::vector<BlockSamples>& runs) { return ErrorsOf(runs).front().relative.elapsed; }

// -0.3, 0.1, 0.1, 0.1: 3/4 · 0.12 = 0.3².
TEST(RunErrors, ARunAloneErrsByAllThatVaries) { EXPECT_NEAR(FirstError({Samples({0.7, 1.1, 1.1, 1.1})}), 0.3, 1e-12); }

// Both have one shorter iteration, the second twice as much shorter. Nothing else varies.
TEST(RunErrors, WhatAllRunsDoIsNoError) {
  const BlockSamples once = Samples({0.7, 1.1, 1.1, 1.1}), twice = Samples({0.4, 1.2, 1.2, 1.2});
  EXPECT_EQ(FirstError({once, twice}), 0);
  EXPECT_EQ(FirstError({twice, once}), 0);
}

// Besides the pattern the first has 0, 0.1, -0.1, 0 of its own, at right angles to it: 0.02, of which one direction out
// of three is gone: 3/4 · 0.02 · 3/2 = 0.15².
TEST(RunErrors, TheRestIsTheRunsOwn) {
  EXPECT_NEAR(FirstError({Samples({0.7, 1.2, 1.0, 1.1}), Samples({0.4, 1.2, 1.2, 1.2})}), 0.15, 1e-12);
}

// Three runs with the pattern and one with something else: it hardly hides the pattern from the others, and they take
// nothing from it but one direction in three.
TEST(RunErrors, OneNoisyRunDoesNotMakeThePattern) {
  const BlockSamples usual = Samples({0.97, 1.01, 1.01, 1.01}), noisy = Samples({1, 1, 0.2, 1.8});
  EXPECT_LT(FirstError({usual, usual, usual, usual, noisy}), 0.4 * FirstError({usual}));
  EXPECT_NEAR(FirstError({noisy, usual, usual, usual}), FirstError({noisy}) * std::sqrt(1.5), 1e-12);
}

TEST(RunErrors, ARunMayLackWhatOthersShare) {
  EXPECT_EQ(FirstError({Samples({1, 1, 1, 1}), Samples({0.7, 1.1, 1.1, 1.1}), Samples({0.4, 1.2, 1.2, 1.2})}), 0);
}

TEST(RunErrors, RunsWithoutVariationTellNothing) {
  EXPECT_NEAR(FirstError({Samples({0.7, 1.1, 1.1, 1.1}), Samples({1, 1, 1, 1})}), 0.3, 1e-12);
}

TEST(RunErrors, RunsWithOtherIterationsStandAlone) {
  EXPECT_NEAR(FirstError({Samples({0.7, 1.1, 1.1, 1.1}), Samples({0.7, 1.1, 1.1, 1.1, 1})}), 0.3, 1e-12);
}

// Runs that vary by chance alone: to take out the pattern of the others changes the squared errors little, and on
// average not at all.
TEST(RunErrors, ChanceIsNotTakenForAPattern) {
  std::mt19937_64 engine(3);
  double alone = 0, beside = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<BlockSamples> runs;
    for (int run = 0; run < 4; ++run) {
      std::vector<double> shares;
      for (int k = 0; k < 10; ++k)
        shares.push_back(1 + 0.1 * (static_cast<double>(engine() >> 11) / 9007199254740992.0));
      runs.push_back(Samples(shares));
    }
    alone += std::pow(FirstError({runs.front()}), 2);
    beside += std::pow(FirstError(runs), 2);
  }
  EXPECT_NEAR(beside / alone, 1, 0.02);
}

// Runs of 5 and 4 s with other numbers of iterations; the second errs by 0.3 of T, so does its run time, its speedup
// 5/4 and its global efficiency 10/16.
TEST(RunErrors, ReachTheValuesOfTheTable) {
  FactorTable table;
  table.scaling = Scaling::kStrong;
  for (const std::int64_t cores : {2, 4}) {
    FactorRow row;
    row.cores = row.ranks = cores;
    row.totals = PhaseTotals();
    row.runtime = row.totals->elapsed = cores == 2 ? 5 : 4;
    row.totals->total_useful = 10;
    row.values[Factor::kParallelEfficiency] = 10 / (static_cast<double>(cores) * *row.runtime);
    row.samples = cores == 2 ? Samples({1, 1, 1}) : Samples({0.7, 1.1, 1.1, 1.1});
    for (FactorValues& values : row.samples->values) values[Factor::kParallelEfficiency] = 0.8;
    row.samples->values[0][Factor::kParallelEfficiency] = cores == 2 ? 0.8 : 0.4;
    table.rows.push_back(row);
  }
  CompleteTable(table);
  EXPECT_EQ(*table.rows[0].runtime_error, 0);
  const FactorRow& row = table.rows[1];
  EXPECT_NEAR(*row.runtime_error, 4 * 0.3, 1e-12);
  EXPECT_NEAR(*row.standard_errors[Factor::kSpeedup], 1.25 * 0.3, 1e-12);
  EXPECT_NEAR(*row.standard_errors[Factor::kGlobalEfficiency], 10.0 / 16 * 0.3, 1e-12);
  EXPECT_EQ(*row.standard_errors[Factor::kComputationScalability], 0);
  EXPECT_NEAR(*row.standard_errors[Factor::kParallelEfficiency], 0.3, 1e-12);  // 3/4 · (0.3² + 3 · 0.1²)
  EXPECT_FALSE(row.samples);
}

}  // namespace
}  // namespace farscale
