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

ReliableRange RangeOf(const std::vector<std::pair<double, double>>& widths, double width = 0.2) {
  return *FindReliableRange(Projected({WithWidths(Factor::kParallelEfficiency, widths)}), width);
}

// 0.1 wide at 16 and 0.3 at 64: 0.2 half-way between the logarithms, at 32.
TEST(ReliableRange, WhereTheIntervalGetsTooWide) {
  const ReliableRange reliable_range = RangeOf({{2, 0.5}, {8, 0.02}, {16, 0.1}, {64, 0.3}, {128, 0.1}});
  EXPECT_EQ(reliable_range.reach, Reach::kUpTo);
  EXPECT_EQ(reliable_range.cores, 32);
  EXPECT_EQ(reliable_range.factor, Factor::kParallelEfficiency);
  EXPECT_EQ(reliable_range.width, 0.2);
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

// Between 8 and 9 there is no whole count, so the horizon is the largest run; it is crossed beyond all the same.
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
  EXPECT_EQ(FindReliableRange(Projected({narrow, wide, speedup, global}), 0.2)->factor, Factor::kGlobalEfficiency);
  const ReliableRange first = *FindReliableRange(Projected({narrow, wide, speedup}), 0.2);
  EXPECT_EQ(first.factor, Factor::kTransfer);
  EXPECT_EQ(first.cores, 11);  // 8 · 2^½ = 11.3
  EXPECT_EQ(FindReliableRange(Projected({narrow, speedup}), 0.2)->reach, Reach::kAtLeast);
  EXPECT_FALSE(FindReliableRange(Projected({speedup}), 0.2));
  PhaseProjection obstacle = Projected({narrow});
  obstacle.obstacle = "there is one run";
  EXPECT_FALSE(FindReliableRange(obstacle, 0.2));
}

TEST(ReliableRange, EvidenceUpToAndWith) {
  PhaseProjection phase = Projected({WithWidths(Factor::kParallelEfficiency, {{8, 0.02}, {16, 0.1}, {64, 0.3}})});
  EXPECT_TRUE(IsReliable(phase, 1e6));  // nothing is known of a horizon
  phase.reliable_range = FindReliableRange(phase, 0.2);
  EXPECT_TRUE(IsReliable(phase, 32));
  EXPECT_FALSE(IsReliable(phase, 33));
}

// Of 8 and 16 the mean of two runs: (0.2 + 0.3) / 2 = 0.25 is outside of 0.4 to 0.6, (0.3 + 0.6) / 2 = 0.45 is inside.
TEST(ReliableRange, NoEvidenceWhereNoModelDescribesTheLargestRun) {
  FactorProjection projection = WithWidths(Factor::kParallelEfficiency, {{8, 0.02}, {16, 0.1}});
  for (ProjectedValue& value : projection.curve) value.interval95 = IntervalBounds{0.4, 0.6};
  projection.measured = {{4, 0.9}, {8, 0.2}, {8, 0.3}, {16, 0.1}};
  const ReliableRange reliable_range = *FindReliableRange(Projected({projection}), 0.2);
  EXPECT_EQ(reliable_range.reach, Reach::kMisfit);
  EXPECT_EQ(reliable_range.cores, 8);
  EXPECT_DOUBLE_EQ(FindMisfit(projection, 8)->measured, 0.25);
  EXPECT_EQ(FindMisfit(projection, 8)->fitted95, (IntervalBounds{0.4, 0.6}));
  projection.measured[2].value = 0.6;
  projection.measured[1].value = 0.3;
  EXPECT_FALSE(FindMisfit(projection, 8));
  EXPECT_EQ(FindReliableRange(Projected({projection}), 0.2)->reach, Reach::kAtLeast);
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
  phase.reliable_range = FindReliableRange(phase, 0.2);
  EXPECT_EQ(ReliableUpTo(phase, Factor::kParallelEfficiency), 64);
  EXPECT_EQ(ReliableUpTo(phase, Factor::kTransfer), 22);
  EXPECT_EQ(ReliableUpTo(phase, Factor::kGlobalEfficiency), 32);
  EXPECT_EQ(ReliableUpTo(phase, Factor::kSpeedup), 32);
  EXPECT_EQ(ReliableUpTo(phase, Factor::kSerialization), 64);  // not projected: the horizon alone
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
