#include "projection/key_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "results/factor_table_files.h"
#include "projection/projection.h"
#include "results/results_json.h"

namespace farscale {

void PrintTo(const CountBound& bound, std::ostream* stream) {
  *stream << (bound.kind == CountBound::Kind::kAt      ? ""
              : bound.kind == CountBound::Kind::kBelow ? "below "
                                                       : "more than ")
          << bound.cores;
}

namespace {

using testing::HasSubstr;
using testing::Not;
using Kind = CountBound::Kind;

CountBound At(double cores) { return {Kind::kAt, cores}; }
CountBound Below(double cores) { return {Kind::kBelow, cores}; }
CountBound MoreThan(double cores) { return {Kind::kMoreThan, cores}; }

// Values with bounds this far below and above them.
FactorProjection Curve(Factor factor, const std::vector<std::pair<double, double>>& values, double below,
                       double above) {
  FactorProjection projection;
  projection.factor = factor;
  for (const auto& [cores, value] : values) {
    projection.curve.push_back({cores, cores / 8, value, IntervalBounds{value - below, value + above}, {}});
  }
  projection.targets = {projection.curve.back()};
  return projection;
}

PhaseProjection Phase(const std::vector<FactorProjection>& factors) {
  PhaseProjection phase;
  phase.fitted_cores = {2, 4, 8};
  phase.factors = factors;
  return phase;
}

// Runs on 2 cores that take 3 iterations of 8 s, and on 4 cores.
FactorTable Times(Scaling scaling) {
  FactorTable table = ReadFactorCsv("cores,globalEfficiency,runtime,iterations\n2,1,24,3\n4,1,12,3\n", "t.csv");
  table.scaling = scaling;
  table.reference = 2;
  for (FactorRow& row : table.rows) row.values[Factor::kSpeedup] = static_cast<double>(row.cores) / 2;
  return table;
}

LevelCounts Level(const PhaseProjection& phase, double level) {
  return FindKeyResults(phase, Times(Scaling::kStrong), {level})->levels.at(0);
}

// From 0.9 at 8 to 0.7 at 32 cores: 0.8 in the middle of the logarithms, at 16. With 0.05 to either side the lower
// bound is 0.8 a quarter of the way, at 8 · 4^¼ = 11.3, and the upper three quarters, at 8 · 4^¾ = 22.6.
TEST(Answers, LargestCountIsReadOffTheCurveAndItsBounds) {
  const PhaseProjection phase =
      Phase({Curve(Factor::kParallelEfficiency, {{2, 0.98}, {8, 0.9}, {32, 0.7}, {64, 0.5}}, 0.05, 0.05)});
  const CountEstimate answer = *Level(phase, 0.8).parallel;
  EXPECT_EQ(answer.value, At(16));
  EXPECT_EQ(answer.low, At(11));
  EXPECT_EQ(answer.high, At(22));
  EXPECT_FALSE(Level(phase, 0.8).relative);  // without speedup
}

// At 64, where the curve ends, 0.5 is still reached; the lower bound leaves it between 32 (0.65) and 64 (0.45), three
// quarters of the way: 32 · 2^¾ = 53.8.
TEST(Answers, OpenEnds) {
  const PhaseProjection phase =
      Phase({Curve(Factor::kParallelEfficiency, {{2, 0.98}, {8, 0.9}, {32, 0.7}, {64, 0.5}}, 0.05, 0.05)});
  const CountEstimate half = *Level(phase, 0.5).parallel;
  EXPECT_EQ(half.value, MoreThan(64));
  EXPECT_EQ(half.low, At(53));
  EXPECT_EQ(half.high, MoreThan(64));
  const CountEstimate little = *Level(phase, 0.1).parallel;
  EXPECT_EQ(little.low, MoreThan(64));
  // The upper bound falls from 1.03 at 2 to 0.95 at 8 cores: 0.99 half-way, at 2 · 4^½ = 4.
  const CountEstimate all = *Level(phase, 0.99).parallel;
  EXPECT_EQ(all.value, Below(2));
  EXPECT_EQ(all.low, Below(2));
  EXPECT_EQ(all.high, At(4));
}

// A curve that rises again after a bad count: the largest count at which the level is reached is asked for. And what
// lies below the smallest run, where a target was asked for, is not looked at.
TEST(Answers, TheLastCrossingCounts) {
  const FactorProjection bumpy =
      Curve(Factor::kParallelEfficiency, {{1, 0.99}, {2, 0.6}, {8, 0.85}, {32, 0.75}, {64, 0.5}}, 0, 0);
  EXPECT_EQ(Level(Phase({bumpy}), 0.8).parallel->value, At(16));
  EXPECT_EQ(Level(Phase({bumpy}), 0.9).parallel->value, Below(2));
}

// The curve is 0.8 at 16, but the run on 8 has 0.79: no more than 7. It is 0.75 at 22.6, and all runs reach that. With
// 0.82 on 8 and 0.85 on 4 the level of 0.83 is reached on 4, though the curve says less on 2 already.
TEST(Answers, RunsAreStrongerThanTheCurve) {
  PhaseProjection phase =
      Phase({Curve(Factor::kParallelEfficiency, {{2, 0.98}, {8, 0.9}, {32, 0.7}, {64, 0.5}}, 0.05, 0.05)});
  phase.factors[0].measured = {{2, 0.97}, {4, 0.9}, {8, 0.79}, {16, 0.1}};  // the last one was not fitted
  EXPECT_EQ(Level(phase, 0.8).parallel->value, At(7));
  EXPECT_LE(Level(phase, 0.8).parallel->low->cores, 7);
  EXPECT_EQ(Level(phase, 0.75).parallel->value, At(22));
  phase.factors[0] = Curve(Factor::kParallelEfficiency, {{2, 0.8}, {8, 0.7}, {64, 0.5}}, 0.05, 0.05);
  phase.factors[0].measured = {{2, 0.9}, {4, 0.85}, {8, 0.82}};
  EXPECT_EQ(Level(phase, 0.83).parallel->value, At(4));
  phase.factors[0].measured = {{2, 0.7}, {4, 0.6}, {8, 0.5}};
  EXPECT_EQ(Level(phase, 0.75).parallel->value, Below(2));
}

// Where the upper bound falls below 0.5 is the end, though it is 0.5 again at the end of the curve.
TEST(Answers, WhatRisesAgainFarBehindIsNoAnswer) {
  PhaseProjection phase =
      Phase({Curve(Factor::kParallelEfficiency, {{2, 0.9}, {8, 0.8}, {32, 0.4}, {128, 0.2}}, 0, 0)});
  phase.factors[0].curve[3].interval80 = IntervalBounds{0, 0.51};
  EXPECT_EQ(Level(phase, 0.5).parallel->high->kind, Kind::kAt);
  EXPECT_LT(Level(phase, 0.5).parallel->high->cores, 32);
}

TEST(Answers, WithoutIntervalsThereIsOnlyTheValue) {
  FactorProjection curve = Curve(Factor::kParallelEfficiency, {{2, 0.9}, {8, 0.7}}, 0.1, 0.1);
  curve.curve.back().interval80.reset();
  const CountEstimate answer = *Level(Phase({curve}), 0.8).parallel;
  EXPECT_EQ(answer.value, At(4));
  EXPECT_FALSE(answer.low || answer.high);
}

// Against 2 cores, speedup 3.6 on 8 cores is an efficiency of 3.6 / 4 = 0.9, 12 on 32 is 12 / 16 = 0.75, 30 on 128 is
// 0.47. Where the table's speedups compare with yet another run that took twice as long, all are twice as large and the
// efficiencies stay.
TEST(Answers, EfficiencyRelativeToTheReference) {
  for (const double scale : {1.0, 2.0}) {
    const PhaseProjection phase =
        Phase({Curve(Factor::kSpeedup, {{2, scale}, {8, 3.6 * scale}, {32, 12 * scale}, {128, 30 * scale}}, 0, 0)});
    FactorTable table = Times(Scaling::kStrong);
    for (FactorRow& row : table.rows) *row.values[Factor::kSpeedup] *= scale;
    const KeyResults key_results = *FindKeyResults(phase, table, {0.9, 0.75, 0.4});
    EXPECT_EQ(key_results.reference, 2);
    EXPECT_EQ(key_results.levels[0].relative->value, At(8));
    EXPECT_EQ(key_results.levels[1].relative->value, At(32));
    EXPECT_EQ(key_results.levels[2].relative->value, MoreThan(128));
    EXPECT_FALSE(key_results.levels[0].parallel);
  }
}

// ln S = ln 10 - (ln P - ln 64)² is largest at 64, whatever points of it are known.
TEST(Answers, PeakOfSpeedupLiesBetweenThePoints) {
  std::vector<std::pair<double, double>> values;
  for (const double cores : {2.0, 8.0, 50.0, 70.0, 200.0, 1000.0}) {
    values.emplace_back(cores, 10 * std::exp(-std::pow(std::log(cores / 64), 2)));
  }
  const SpeedupPeak peak =
      *FindKeyResults(Phase({Curve(Factor::kSpeedup, values, 0, 0)}), Times(Scaling::kStrong))->peak;
  EXPECT_EQ(peak.count.value, At(64));
  EXPECT_NEAR(peak.speedup, 10, 0.1);
}

// 1, 4, 9, 10, 8, 2 with ± 1: the largest lower bound is 9, so every count with an upper bound of 9 could be the peak:
// from between 8 (5) and 32 (10), 8 · 4^⅘ = 24.3, rounded up, to between 128 (9) itself and 512. The top lies between
// 32 and 128.
TEST(Answers, CountsThatNoneSurelyBeats) {
  const PhaseProjection phase =
      Phase({Curve(Factor::kSpeedup, {{2, 1}, {8, 4}, {32, 9}, {64, 10}, {128, 8}, {512, 2}}, 1, 1)});
  const CountEstimate count = FindKeyResults(phase, Times(Scaling::kStrong))->peak->count;
  EXPECT_EQ(count.low, At(25));
  EXPECT_EQ(count.high, At(128));
  EXPECT_EQ(count.value.kind, Kind::kAt);
  EXPECT_GT(count.value.cores, 32);
  EXPECT_LT(count.value.cores, 128);
}

TEST(Answers, SpeedupWithoutPeakAndWithoutGrowth) {
  const auto peak = [](const std::vector<std::pair<double, double>>& values) {
    return *FindKeyResults(Phase({Curve(Factor::kSpeedup, values, 0.5, 0.5)}), Times(Scaling::kStrong))->peak;
  };
  const SpeedupPeak growing = peak({{2, 1}, {8, 4}, {32, 9}});
  EXPECT_EQ(growing.count.value, MoreThan(32));
  EXPECT_EQ(growing.count.high, MoreThan(32));
  EXPECT_EQ(growing.count.low, At(25));  // 4.5 at 8 to 9.5 at 32, and 8.5 is sure: 8 · 4^⅘ = 24.3, rounded up
  EXPECT_EQ(growing.speedup, 9);
  const SpeedupPeak falling = peak({{2, 1}, {8, 0.8}, {32, 0.1}});
  EXPECT_EQ(falling.count.value, At(2));
  EXPECT_EQ(falling.count.low, At(2));
}

// 8 s an iteration on 2 cores, T_0 S_0 = 8 s · 1. On 32 cores 8 / 12 = 0.667 s, between 8 / 16 = 0.5 s and 8 / 10 = 0.8
// s, which are 32 · 0.667 / 3600 = 5.93e-3 core hours.
TEST(Answers, TimeOfStrongScaling) {
  FactorProjection speedup = Curve(Factor::kSpeedup, {{2, 1}, {32, 12}}, 2, 4);
  speedup.targets.back().interval95 = IntervalBounds{0, 20};
  const TimeEstimate time = *FindKeyResults(Phase({speedup}), Times(Scaling::kStrong))->time;
  EXPECT_EQ(time.iterations, 3);
  ASSERT_EQ(time.targets.size(), 1u);
  const ProjectedTime& target = time.targets[0];
  EXPECT_DOUBLE_EQ(target.seconds, 8.0 / 12);
  EXPECT_DOUBLE_EQ(target.interval80->low, 0.5);
  EXPECT_DOUBLE_EQ(*target.interval80->high, 0.8);
  EXPECT_DOUBLE_EQ(target.interval95->low, 0.4);
  EXPECT_FALSE(target.interval95->high);  // a speedup of 0 takes for ever
  EXPECT_NEAR(CoreHours(32, target.seconds), 5.93e-3, 1e-5);
}

// Weak scaling counts the larger problem: a speedup of 12 on 32 cores is 16 times the work in 16 / 12 of the
// time, 10.67 s instead of 8 s. Perfect, 16, it would be 8 s.
TEST(Answers, TimeOfWeakScaling) {
  FactorTable table = Times(Scaling::kWeak);
  table.rows[1].runtime = 24;  // as long on 4 cores
  const PhaseProjection phase = Phase({Curve(Factor::kSpeedup, {{2, 1}, {32, 12}}, 2, 4)});
  const ProjectedTime target = FindKeyResults(phase, table)->time->targets.at(0);
  EXPECT_DOUBLE_EQ(target.seconds, 8.0 * 16 / 12);
  EXPECT_DOUBLE_EQ(target.interval80->low, 8);
  // The same from the run on 4 cores, speedup 2: T_0 S_0 = 8 · 2 at 4 cores, 16 / 12 · 32 / 4.
  table.reference = 4;
  EXPECT_DOUBLE_EQ(FindKeyResults(phase, table)->time->targets.at(0).seconds, 8.0 * 16 / 12);
}

// Repeats of 6 s and 12 s an iteration with speedups 2 and 1 against a run of 12 s: both say 12 s at a speedup of 1.
TEST(Answers, RepeatsOfTheReference) {
  FactorTable table = ReadFactorCsv("cores,globalEfficiency,runtime,iterations\n2,1,24,4\n2,1,24,2\n", "t.csv");
  table.scaling = Scaling::kStrong;
  table.reference = 2;
  table.rows[0].values[Factor::kSpeedup] = 2;
  table.rows[1].values[Factor::kSpeedup] = 1;
  const TimeEstimate time = *FindKeyResults(Phase({Curve(Factor::kSpeedup, {{2, 1}, {32, 12}}, 0, 0)}), table)->time;
  EXPECT_DOUBLE_EQ(time.targets[0].seconds, 1);
  EXPECT_DOUBLE_EQ(time.iterations, 3);
}

TEST(Answers, NoTimesWithoutRunTimesScalingOrSpeedup) {
  const PhaseProjection phase = Phase({Curve(Factor::kSpeedup, {{2, 1}, {32, 12}}, 0, 0)});
  FactorTable table = Times(Scaling::kStrong);
  table.scaling.reset();
  *table.rows[1].runtime = 15;  // 30 s at a speedup of 1: neither the 24 s of 2 cores nor twice that
  EXPECT_FALSE(FindKeyResults(phase, table)->time);
  table = Times(Scaling::kStrong);
  table.rows[0].runtime.reset();
  EXPECT_FALSE(FindKeyResults(phase, table)->time);
  const PhaseProjection other = Phase({Curve(Factor::kParallelEfficiency, {{2, 1}, {32, 0.5}}, 0, 0)});
  const KeyResults key_results = *FindKeyResults(other, Times(Scaling::kStrong));
  EXPECT_FALSE(key_results.time || key_results.peak || key_results.reference);
  EXPECT_THAT(WriteProjectionCsv({other}), Not(HasSubstr("runtime")));
}

// Files with run times and speedups tell how the runs scale without saying it: 24 s · 1 = 12 s · 2, or 24 s · 1 = 24 s
// · 2 · 2 / 4.
TEST(Answers, RunTimesAndSpeedupsTellTheScaling) {
  const PhaseProjection phase = Phase({Curve(Factor::kSpeedup, {{2, 1}, {32, 12}}, 0, 0)});
  FactorTable table = Times(Scaling::kStrong);
  table.scaling.reset();
  EXPECT_DOUBLE_EQ(FindKeyResults(phase, table)->time->targets.at(0).seconds, 8.0 / 12);
  *table.rows[1].runtime = 24;
  EXPECT_DOUBLE_EQ(FindKeyResults(phase, table)->time->targets.at(0).seconds, 8.0 * 16 / 12);
  table.rows.pop_back();
  EXPECT_FALSE(FindKeyResults(phase, table)->time);
}

// LB 0.8 (0.75 to 0.9), communication 0.5, computation 1.25: PE 0.4, GE 0.5. Perfect communication brings 100 %, PE 0.8
// and GE 1, in half of the time; perfect load balance 25 % (11 to 33 %). Computation above 1 brings nothing.
TEST(Answers, OnePerfectFactor) {
  const auto one = [](Factor factor, double value, bool is_product) {
    FactorProjection projection = Curve(factor, {{2, 1}, {32, value}}, 0.05, 0.1);
    projection.is_product = is_product;
    return projection;
  };
  const PhaseProjection phase =
      Phase({one(Factor::kGlobalEfficiency, 0.5, true), one(Factor::kParallelEfficiency, 0.4, true),
             one(Factor::kLoadBalance, 0.8, false), one(Factor::kCommunicationEfficiency, 0.5, false),
             one(Factor::kComputationScalability, 1.25, false), one(Factor::kSpeedup, 8, true)});
  const KeyResults key_results = *FindKeyResults(phase, Times(Scaling::kStrong));
  ASSERT_EQ(key_results.perfect.size(), 1u);
  const std::vector<PerfectFactor>& factors = key_results.perfect[0].factors;
  ASSERT_EQ(factors.size(), 3u);
  EXPECT_EQ(factors[0].factor, Factor::kCommunicationEfficiency);
  EXPECT_DOUBLE_EQ(factors[0].gain, 1);
  EXPECT_DOUBLE_EQ(*factors[0].parallel_efficiency, 0.8);
  EXPECT_DOUBLE_EQ(*factors[0].global_efficiency, 1);
  EXPECT_DOUBLE_EQ(*factors[0].seconds, 0.5);
  EXPECT_EQ(factors[1].factor, Factor::kLoadBalance);
  EXPECT_DOUBLE_EQ(factors[1].gain, 0.25);
  EXPECT_NEAR(factors[1].gain80->low, 1 / 0.9 - 1, 1e-12);
  EXPECT_NEAR(*factors[1].gain80->high, 1 / 0.75 - 1, 1e-12);
  EXPECT_EQ(factors[2].factor, Factor::kComputationScalability);
  EXPECT_DOUBLE_EQ(factors[2].gain, -0.2);
  EXPECT_FALSE(factors[2].parallel_efficiency);
  EXPECT_DOUBLE_EQ(*factors[2].global_efficiency, 0.4);
}

TEST(Answers, LevelsOfCounts) {
  const auto level = [](const PhaseProjection& phase, const CountBound& count) {
    return ReliabilityOf(phase, Factor::kParallelEfficiency, count);
  };
  PhaseProjection phase = Phase({});
  phase.reliable_range = ReliableRange{Factor::kParallelEfficiency, {}, 64, ReliableRange::Reach::kUpTo};
  EXPECT_EQ(level(phase, At(64)), Reliability::kReliable);
  EXPECT_EQ(level(phase, At(65)), Reliability::kUnknown);  // there is no curve
  EXPECT_EQ(level(phase, MoreThan(128)), Reliability::kUnknown);
  EXPECT_EQ(level(phase, Below(128)), Reliability::kReliable);
  phase.reliable_range = ReliableRange{Factor::kParallelEfficiency, {}, 128, ReliableRange::Reach::kAtLeast};
  EXPECT_EQ(level(phase, MoreThan(128)), Reliability::kReliable);
}

}  // namespace
}  // namespace farscale
