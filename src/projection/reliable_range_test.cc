#include "projection/reliable_range.h"

#include <gtest/gtest.h>

#include <cmath>

#include "projection/projection.h"

namespace farscale {
namespace {

using Reach = ReliableRange::Reach;

// A factor of value 0.5 with 80 % intervals of the given widths.
FactorProjection WithWidths(Factor factor, const std::vector<std::pair<double, double>>& widths) {
  FactorProjection projection;
  projection.factor = factor;
  for (const auto& [cores, width] : widths) {
    ProjectedValue value{cores, cores / 8, 0.5, {}, {}};
    if (width >= 0) value.interval80 = IntervalBounds{0.5 - width / 2, 0.5 + width / 2};
    projection.curve.push_back(value);
  }
  return projection;
}

PhaseProjection Projected(const std::vector<FactorProjection>& factors) {
  PhaseProjection phase;
  phase.fitted_cores = {2, 4, 8};
  phase.factors = factors;
  return phase;
}

// Of 0.5 the absolute limit counts here.
ReliabilityLimits UpToWidth(double width) { return {1, width / 2}; }

ReliableRange RangeOf(const std::vector<std::pair<double, double>>& widths, double width = 0.2) {
  return *FindReliableRange(Projected({WithWidths(Factor::kParallelEfficiency, widths)}), UpToWidth(width));
}

Reliability Level(Factor factor, double value, double low, double high) {
  return LevelOf(factor, value, IntervalBounds{low, high}, {});
}

// Of 0.4 a share of 15 % is 0.06; of 0.8 it would be 0.12, but 0.1 is the most. Above 1 that is a share of the value.
TEST(Reliability, BothLimitsHold) {
  constexpr Factor kFactor = Factor::kParallelEfficiency;
  EXPECT_EQ(Level(kFactor, 0.4, 0.34, 0.46), Reliability::kReliable);
  EXPECT_EQ(Level(kFactor, 0.4, 0.33, 0.46), Reliability::kUncertain);
  EXPECT_EQ(Level(kFactor, 0.8, 0.7, 0.9), Reliability::kReliable);
  EXPECT_EQ(Level(kFactor, 0.8, 0.69, 0.9), Reliability::kUncertain);
  EXPECT_EQ(Level(kFactor, 0.212, 0.137, 0.323), Reliability::kUncertain);  // half the width is 44 % of it
  EXPECT_EQ(Level(Factor::kGlobalEfficiency, 2, 1.8, 2.2), Reliability::kReliable);
  EXPECT_EQ(Level(Factor::kGlobalEfficiency, 2, 1.75, 2.2), Reliability::kUncertain);
  EXPECT_EQ(Level(Factor::kSpeedup, 20, 17, 23), Reliability::kReliable);
  EXPECT_EQ(Level(Factor::kSpeedup, 20, 16, 23), Reliability::kUncertain);
}

TEST(Reliability, UncertainWithinAFactorOfTwo) {
  constexpr Factor kFactor = Factor::kParallelEfficiency;
  EXPECT_EQ(Level(kFactor, 0.3, 0.15, 0.6), Reliability::kUncertain);
  EXPECT_EQ(Level(kFactor, 0.3, 0.14, 0.6), Reliability::kUnknown);
  EXPECT_EQ(Level(kFactor, 0.3, 0.15, 0.61), Reliability::kUnknown);
  EXPECT_EQ(Level(kFactor, 0.3, 0, 0.31), Reliability::kUnknown);
  EXPECT_EQ(Level(kFactor, 0, 0, 0.1), Reliability::kUnknown);
  EXPECT_EQ(LevelOf(kFactor, 0.3, std::nullopt, {}), Reliability::kUnknown);
  EXPECT_EQ(Level(kFactor, 0.3, 0.3, 0.3), Reliability::kReliable);
  EXPECT_EQ(Level(kFactor, 0, 0, 0), Reliability::kReliable);
}

// Of 0.5 ± 0.075 the level is reliable, ± 0.25 uncertain. log2(0.5 / low): at 16 cores 1/4 of 0.5 is left below, 0.415
// doublings; at 64 it is 2. One is passed at 16 · 4^(0.585 / 1.585) = 26.7 cores.
TEST(Reliability, NeverGetsBetterWithMoreCores) {
  PhaseProjection phase =
      Projected({WithWidths(Factor::kParallelEfficiency, {{8, 0.1}, {16, 0.25}, {64, 0.75}, {128, 0.1}}),
                 WithWidths(Factor::kTransfer, {{8, 0.1}, {128, 0.1}}),
                 WithWidths(Factor::kLoadBalance, {{8, 0.1}, {9, 0.9}, {128, 0.1}})});
  EXPECT_EQ(ReliabilityOf(phase, 1e6), Reliability::kReliable);  // nothing is known of a range
  EXPECT_TRUE(std::isinf(UncertainUpTo(phase)));
  phase.reliable_range = FindReliableRange(phase, {});
  EXPECT_EQ(phase.reliable_range->cores, 10);  // 8 · 2^(1/3) = 10.08
  EXPECT_EQ(UncertainUpTo(phase), 26);
  EXPECT_EQ(ReliabilityOf(phase, 10), Reliability::kReliable);
  EXPECT_EQ(ReliabilityOf(phase, 11), Reliability::kUncertain);
  EXPECT_EQ(ReliabilityOf(phase, 26), Reliability::kUncertain);
  EXPECT_EQ(ReliabilityOf(phase, 27), Reliability::kUnknown);
  EXPECT_EQ(ReliabilityOf(phase, 128), Reliability::kUnknown);
  // No factor is better than the phase, and each may be worse.
  EXPECT_EQ(ReliabilityOf(phase, Factor::kTransfer, 10), Reliability::kReliable);
  EXPECT_EQ(ReliabilityOf(phase, Factor::kTransfer, 26), Reliability::kUncertain);
  EXPECT_EQ(ReliabilityOf(phase, Factor::kTransfer, 27), Reliability::kUnknown);
  EXPECT_EQ(ReliabilityOf(phase, Factor::kLoadBalance, 8), Reliability::kReliable);
  EXPECT_EQ(ReliabilityOf(phase, Factor::kLoadBalance, 9), Reliability::kUnknown);
}

// Limits wider than a factor of two: what they call reliable is not unknown.
TEST(Reliability, LimitsOfTheUserComeFirst) {
  PhaseProjection phase = Projected({WithWidths(Factor::kParallelEfficiency, {{8, 0.1}, {16, 0.9}})});
  phase.reliable_range = FindReliableRange(phase, {1, 1});
  EXPECT_EQ(phase.reliable_range->cores, 16);
  EXPECT_EQ(UncertainUpTo(phase), 16);
}

// 0.1 wide at 16 and 0.3 at 64: 0.2 half-way between the logarithms, at 32.
TEST(ReliableRange, WhereTheIntervalGetsTooWide) {
  const ReliableRange reliable_range = RangeOf({{2, 0.5}, {8, 0.02}, {16, 0.1}, {64, 0.3}, {128, 0.1}});
  EXPECT_EQ(reliable_range.reach, Reach::kUpTo);
  EXPECT_EQ(reliable_range.cores, 32);
  EXPECT_EQ(reliable_range.factor, Factor::kParallelEfficiency);
  EXPECT_EQ(reliable_range.limits, UpToWidth(0.2));
}

// A quarter of the way from 16 to 64: 16 · 4^¼ = 22.6; a width of exactly 0.3 is allowed.
TEST(ReliableRange, RoundedDownAndByTheWidthAskedFor) {
  EXPECT_EQ(RangeOf({{8, 0.02}, {16, 0.1}, {64, 0.3}}, 0.15).cores, 22);
  EXPECT_EQ(RangeOf({{8, 0.0}, {16, 0.25}, {64, 0.75}}, 0.25).cores, 16);
}

TEST(ReliableRange, AtLeastToTheEndOfTheCurve) {
  const ReliableRange reliable_range = RangeOf({{8, 0.02}, {16, 0.1}, {64, 0.2}});
  EXPECT_EQ(reliable_range.reach, Reach::kAtLeast);
  EXPECT_EQ(reliable_range.cores, 64);
  EXPECT_EQ(RangeOf({{4, 0.3}, {8, 0.02}}).cores, 8);  // nothing beyond the runs was asked for
}

// What is wider below the largest run counts for nothing, what is wider there leaves the runs alone.
TEST(ReliableRange, OnlyMeasuredWhenWideAlreadyAtTheLargestRun) {
  for (const double width : {0.25, -1.0}) {  // -1: unknown
    const ReliableRange reliable_range = RangeOf({{2, 0.1}, {8, width}, {16, 0.1}});
    EXPECT_EQ(reliable_range.reach, Reach::kOnlyMeasured);
    EXPECT_EQ(reliable_range.cores, 8);
  }
  const ReliableRange unknown = RangeOf({{8, 0.1}, {16, 0.1}, {32, -1}});
  EXPECT_EQ(unknown.reach, Reach::kUpTo);
  EXPECT_EQ(unknown.cores, 16);
}

// Between 8 and 9 there is no whole count, so the range ends at the largest run; it is crossed beyond all the same.
TEST(ReliableRange, NeverBelowTheLargestRun) {
  const ReliableRange reliable_range = RangeOf({{8, 0.19}, {9, 0.3}});
  EXPECT_EQ(reliable_range.reach, Reach::kUpTo);
  EXPECT_EQ(reliable_range.cores, 8);
}

TEST(ReliableRange, GlobalEfficiencyThenTheFirstFactor) {
  const FactorProjection wide = WithWidths(Factor::kTransfer, {{8, 0.1}, {16, 0.3}});
  const FactorProjection narrow = WithWidths(Factor::kLoadBalance, {{8, 0.1}, {16, 0.1}});
  const FactorProjection speedup = WithWidths(Factor::kSpeedup, {{8, 3}, {16, 5}});
  const FactorProjection global = WithWidths(Factor::kGlobalEfficiency, {{8, 0.1}, {16, 0.15}});
  EXPECT_EQ(FindReliableRange(Projected({narrow, wide, speedup, global}), UpToWidth(0.2))->factor,
            Factor::kGlobalEfficiency);
  const ReliableRange first = *FindReliableRange(Projected({narrow, wide, speedup}), UpToWidth(0.2));
  EXPECT_EQ(first.factor, Factor::kTransfer);
  EXPECT_EQ(first.cores, 11);  // 8 · 2^½ = 11.3
  EXPECT_EQ(FindReliableRange(Projected({narrow, speedup}), UpToWidth(0.2))->reach, Reach::kAtLeast);
  EXPECT_FALSE(FindReliableRange(Projected({speedup}), UpToWidth(0.2)));
  PhaseProjection obstacle = Projected({narrow});
  obstacle.obstacle = "there is one run";
  EXPECT_FALSE(FindReliableRange(obstacle, UpToWidth(0.2)));
}

TEST(ReliableRange, ReliableUpToAndWith) {
  PhaseProjection phase = Projected({WithWidths(Factor::kParallelEfficiency, {{8, 0.02}, {16, 0.1}, {64, 0.3}})});
  EXPECT_TRUE(IsReliable(phase, 1e6));  // nothing is known of a range
  phase.reliable_range = FindReliableRange(phase, UpToWidth(0.2));
  EXPECT_TRUE(IsReliable(phase, 32));
  EXPECT_FALSE(IsReliable(phase, 33));
}

// Of 8 and 16 the mean of two runs: (0.2 + 0.3) / 2 = 0.25 is outside of 0.4 to 0.6, (0.3 + 0.6) / 2 = 0.45 is inside.
TEST(ReliableRange, EndsWhereNoModelDescribesTheLargestRun) {
  FactorProjection projection = WithWidths(Factor::kParallelEfficiency, {{8, 0.02}, {16, 0.1}});
  for (ProjectedValue& value : projection.curve) value.interval95 = IntervalBounds{0.4, 0.6};
  projection.measured = {{4, 0.9}, {8, 0.2}, {8, 0.3}, {16, 0.1}};
  const ReliableRange reliable_range = *FindReliableRange(Projected({projection}), UpToWidth(0.2));
  EXPECT_EQ(reliable_range.reach, Reach::kMisfit);
  EXPECT_EQ(reliable_range.cores, 8);
  PhaseProjection phase = Projected({projection});
  phase.reliable_range = reliable_range;
  EXPECT_EQ(ReliabilityOf(phase, 9), Reliability::kUnknown);
  EXPECT_DOUBLE_EQ(FindMisfit(projection, 8)->first, 0.25);
  EXPECT_EQ(FindMisfit(projection, 8)->second, (IntervalBounds{0.4, 0.6}));
  projection.measured[2].value = 0.6;
  projection.measured[1].value = 0.3;
  EXPECT_FALSE(FindMisfit(projection, 8));
  EXPECT_EQ(FindReliableRange(Projected({projection}), UpToWidth(0.2))->reach, Reach::kAtLeast);
}

// Parallel efficiency is known to 64, transfer to 16 · 2^½ = 22. Global efficiency is 4 at 64, where 1.2 is a width of
// 0.3 of it: 0.2 is passed half-way from 16. Speedup follows it.
TEST(ReliableRange, EveryFactorByItsOwnIntervalToo) {
  FactorProjection global = WithWidths(Factor::kGlobalEfficiency, {{8, 0.05}, {16, 0.1}, {64, 1.2}});
  global.curve.back().value = 4;
  PhaseProjection phase = Projected({WithWidths(Factor::kParallelEfficiency, {{8, 0.02}, {16, 0.1}, {64, 0.1}}), global,
                                     WithWidths(Factor::kTransfer, {{8, 0.02}, {16, 0.1}, {32, 0.3}}),
                                     WithWidths(Factor::kSpeedup, {{8, 0.1}, {64, 0.1}})});
  EXPECT_TRUE(IsReliable(phase, Factor::kTransfer, 1e6));
  phase.reliable_range = FindReliableRange(phase, UpToWidth(0.2));
  EXPECT_EQ(ReliableUpTo(phase, Factor::kParallelEfficiency), 64);
  EXPECT_EQ(ReliableUpTo(phase, Factor::kTransfer), 22);
  EXPECT_EQ(ReliableUpTo(phase, Factor::kGlobalEfficiency), 32);
  EXPECT_EQ(ReliableUpTo(phase, Factor::kSpeedup), 32);
  EXPECT_EQ(ReliableUpTo(phase, Factor::kSerialization), 64);  // not projected: the range of the phase alone
  EXPECT_TRUE(IsReliable(phase, Factor::kTransfer, 22));
  EXPECT_FALSE(IsReliable(phase, Factor::kTransfer, 23));
  phase.reliable_range->cores = 10;
  EXPECT_EQ(ReliableUpTo(phase, Factor::kTransfer), 10);
}

TEST(WholeCores, RoundsDownWhatIsNotWholeButForItsLastBits) {
  EXPECT_EQ(WholeCores(std::exp(std::log(64.0))), 64);
  EXPECT_EQ(WholeCores(63.999), 63);
  EXPECT_EQ(WholeCores(64), 64);
}

}  // namespace
}  // namespace farscale
