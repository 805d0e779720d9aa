// Standard errors worked out on paper; one tick is a second in programs written as text.
// Errors of runs side by side, worked out on paper. Of four iterations left out one at a time, 3/4 of the squared
// deviations count.
#include "factors/spread.h"

#include <cmath>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

#include "factors/factor_table.h"
#include "replay/matching.h"
#include "support/program.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

PhaseFactors Measure(const test::TextProgram& program, Span span = Span::kWhole) {
  PhaseCut cut = test::CutOf(program);
  cut.span = span;
  return MeasurePhase(program.trace, MatchTrace(program.trace), cut, {});
}

double OfThree(double a, double b, double c) {
  const double mean = (a + b + c) / 3;
  return std::sqrt(2.0 / 3 * (std::pow(a - mean, 2) + std::pow(b - mean, 2) + std::pow(c - mean, 2)));
}

// t in iterations 1 to 3: 4, 2, 3 and 2, 4, 3; T 5, 6, 4; on the ideal network 4, 4, 3. Of what is left without one:
//
//   without   t       avg t  max t  T    T_ideal  PE    LB   CommE  Ser  Trf
//   1         5, 7    6      7      10   7        6/10  6/7  7/10   1    7/10
//   2         7, 5    6      7      9    7        6/9   6/7  7/9    1    7/9
//   3         6, 6    6      6      11   8        6/11  1    6/11   3/4  8/11
//
// With n = 3 and m = 1 the squared error is 2/3 of the sum of the squared deviations from the mean. LB: mean 19/21,
// deviations -1/21, -1/21, 2/21, so 2/3 · 6/441 = (2/21)². Ser: mean 11/12, deviations 1/12, 1/12, -2/12, so (1/6)².
// T an iteration: 5, 4.5, 5.5, so 2/3 · 0.5 = 1/3, which is the variance of 5, 6, 4 over three; as share of 5.
TEST(Spread, ThreeIterations) {
  const PhaseFactors factors = Measure(
      test::ParseProgram("r0: comp 0-4 | Barrier@1 4-5 | comp 5-7 | Barrier@2 7-11 | comp 11-14 | Barrier@3 14-15\n"
                         "r1: comp 0-2 | Barrier@1 2-5 | comp 5-9 | Barrier@2 9-11 | comp 11-14 | Barrier@3 14-15\n"
                         "cuts: all 5 11 15"));
  ASSERT_TRUE(factors.samples);
  const FactorValues errors = ErrorsOf({*factors.samples}).front().first;
  EXPECT_NEAR(*errors[Factor::kLoadBalance], 2.0 / 21, 1e-12);
  EXPECT_NEAR(*errors[Factor::kSerialization], 1.0 / 6, 1e-12);
  EXPECT_NEAR(*errors[Factor::kParallelEfficiency], OfThree(6.0 / 10, 6.0 / 9, 6.0 / 11), 1e-12);
  EXPECT_NEAR(*errors[Factor::kCommunicationEfficiency], OfThree(7.0 / 10, 7.0 / 9, 6.0 / 11), 1e-12);
  EXPECT_NEAR(*errors[Factor::kTransfer], OfThree(7.0 / 10, 7.0 / 9, 8.0 / 11), 1e-12);
  // By profiles T_ideal is 4 + 4 + 3, the same here.
  EXPECT_NEAR(*errors[Factor::kSerializationPhaseEstimate], 1.0 / 6, 1e-12);
  const RelativeErrors relative = ErrorsOf({*factors.samples}).front().second;
  EXPECT_NEAR(relative.elapsed, std::sqrt(1.0 / 3) / 5, 1e-12);
  EXPECT_EQ(relative.useful, 0);  // 6 in each
  EXPECT_FALSE(relative.instructions);
}

// No synchronisation: t and lengths 4, 1, 3 and 1, 4, 3. By occurrences T is that of the longer rank: 7, 7, 5 without
// one, PE 5.5/7, 5.5/7, 1 with mean 6/7, so 2/3 · 6/14² = (1/7)². In one window the iterations end after 4, 5 and 8 s:
// T is 4, 7, 5 without one. Where ranks run ahead like that, the error comes out large.
TEST(Spread, TimeOfOccurrencesAndOfWindows) {
  const test::TextProgram program = test::ParseProgram(
      "r0: comp 0-4 | comp 4-5 | comp 5-8\n"
      "r1: comp 0-1 | comp 1-5 | comp 5-8\n"
      "cuts: r0 4 5 8; r1 1 5 8");
  const auto error = [&](Span span) {
    return *ErrorsOf({*Measure(program, span).samples}).front().first[Factor::kParallelEfficiency];
  };
  EXPECT_NEAR(error(Span::kEach), 1.0 / 7, 1e-12);
  EXPECT_NEAR(error(Span::kWhole), OfThree(5.5 / 4, 5.5 / 7, 1), 1e-12);
}

// Iterations of 10 s in which rank 0 computes for 5 s and rank 1 for 8 s.
test::TextProgram MakeEqualIterations(int count) {
  std::string r0 = "r0: ", r1 = "r1: ", cuts = "cuts: all";
  for (int k = 0; k < count; ++k) {
    const int t = 10 * k;
    const std::string more = k + 1 < count ? " | " : "";
    r0 += fmt::format("comp {}-{} | Barrier@{} {}-{}{}", t, t + 5, k, t + 5, t + 10, more);
    r1 += fmt::format("comp {}-{} | Barrier@{} {}-{}{}", t, t + 8, k, t + 8, t + 10, more);
    cuts += fmt::format(" {}", t + 10);
  }
  return test::ParseProgram(r0 + "\n" + r1 + "\n" + cuts);
}

TEST(Spread, EqualIterationsHaveNone) {
  for (const int count : {3, 7, 20, 23, 61}) {
    for (const Span span : {Span::kWhole, Span::kEach}) {
      const PhaseFactors factors = Measure(MakeEqualIterations(count), span);
      ASSERT_TRUE(factors.samples);
      const auto [errors, relative] = ErrorsOf({*factors.samples}).front();
      for (const FactorType& type : AllFactors()) {
        EXPECT_EQ(errors[type.factor].has_value(), factors.values[type.factor].has_value());
        EXPECT_EQ(errors[type.factor].value_or(0), 0) << type.id << ", " << count;
      }
      EXPECT_EQ(relative, RelativeErrors());
    }
  }
}

TEST(Spread, TwoIterationsAreTooFew) { EXPECT_FALSE(Measure(MakeEqualIterations(2)).samples); }

// Which iteration of the one belongs to which of the other is unknown.
TEST(Spread, RanksMustRunEquallyManyIterations) {
  const PhaseFactors factors =
      Measure(test::ParseProgram("r0: comp 0-4 | comp 4-5 | comp 5-8 | comp 8-9\n"
                                 "r1: comp 0-1 | comp 1-5 | comp 5-9\n"
                                 "cuts: r0 4 5 8 9; r1 1 5 9"));
  EXPECT_FALSE(factors.samples);
}

// Σ ins 10, 14, 12 and Σ cyc 4, 8, 6 in the iterations, t 2, 2, 2. Without one: ins 26, 22, 24, half of them 13, 11,
// 12, so 2/3 · 2 = 4/3 as share of 12; IPC 26/14, 22/10, 24/12; f 14/4, 10/4, 12/4. Shares are the same in thousands.
RelativeErrors ErrorsOfCounters(double scale) {
  TraceBuilder builder;
  const auto step = builder.AddRegion("step");
  builder.AddWorld(1);
  builder.trace().ticks_per_second = 1;
  const auto ins = builder.AddCounter({"PAPI_TOT_INS", "", "#"}), cyc = builder.AddCounter({"PAPI_TOT_CYC", "", "#"});
  RankBuilder rank(builder.definitions(), 0);
  const std::int64_t at_ins[] = {0, 10, 24, 36}, at_cyc[] = {0, 4, 12, 18};
  for (Tick k = 0; k < 4; ++k) {
    rank.SetCounter(2 * k, ins, at_ins[k]);
    rank.SetCounter(2 * k, cyc, at_cyc[k]);
    if (k > 0) rank.Leave(2 * k, step);
    if (k < 3) rank.Enter(2 * k, step);
  }
  builder.SetTimeline(rank);
  Trace trace = std::move(builder).Finish();
  for (Counter& counter : trace.counters) counter.scale = scale;
  const PhaseFactors factors = MeasurePhase(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::Region("step")), {});
  return factors.samples ? ErrorsOf({*factors.samples}).front().second : RelativeErrors();
}

TEST(Spread, Counters) {
  for (const double scale : {1.0, 1000.0}) {
    const RelativeErrors errors = ErrorsOfCounters(scale);
    ASSERT_TRUE(errors.instructions && errors.ipc && errors.frequency);
    EXPECT_EQ(errors.useful, 0);
    EXPECT_NEAR(*errors.instructions, std::sqrt(4.0 / 3) / 12, 1e-12);
    EXPECT_NEAR(*errors.ipc, JackknifeError({26.0 / 14, 22.0 / 10, 24.0 / 12}, 3, 1) / 2, 1e-12);
    EXPECT_NEAR(*errors.frequency, JackknifeError({14.0 / 4, 10.0 / 4, 12.0 / 4}, 3, 1) / 3, 1e-12);
  }
}

TEST(Spread, Blocks) {
  const auto expect = [](std::size_t iterations, std::size_t count, std::size_t size) {
    EXPECT_EQ(BlocksOf(iterations).first, count) << iterations;
    EXPECT_EQ(BlocksOf(iterations).second, size) << iterations;
  };
  expect(2, 0, 1);
  expect(3, 3, 1);
  expect(20, 20, 1);
  expect(21, 10, 2);  // the last one is in every sample
  expect(45, 15, 3);
  expect(1000, 20, 50);
}

// The mean of 1, 2, 3, 6: leaving one out gives 11/3, 10/3, 3, 2; the error is s / √n with s² = 14/3. In two blocks of
// two, 1.5 and 4.5: 4.5, 1.5 are left, and the error is that of a mean of two blocks, √(4.5 / 2).
TEST(Spread, ErrorOfAMean) {
  EXPECT_NEAR(JackknifeError({11.0 / 3, 10.0 / 3, 3, 2}, 4, 1), std::sqrt(14.0 / 3 / 4), 1e-12);
  EXPECT_NEAR(JackknifeError({4.5, 1.5}, 4, 2), std::sqrt(4.5 / 2), 1e-12);
}

// Five iterations in blocks of two, the fifth in both samples: (n - m) / (m B) = 3/4. Of 1 2 | 3 4 | 5 the means
// without a block are 12/3 and 8/3, with squared deviations of 4/9 each.
TEST(Spread, LeftOverIterationsStay) {
  EXPECT_NEAR(JackknifeError({12.0 / 3, 8.0 / 3}, 5, 2), std::sqrt(2.0 / 3), 1e-12);
}

}  // namespace
namespace {

BlockSamples Samples(const std::vector<double>& elapsed) {
  BlockSamples samples;
  samples.iterations = elapsed.size();
  samples.elapsed = elapsed;
  samples.useful.assign(elapsed.size(), 1);
  samples.values.resize(elapsed.size());
  return samples;
}

double FirstError(const std::vector<BlockSamples>& runs) { return ErrorsOf(runs).front().second.elapsed; }

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
