#include "phases/phase_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/program.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

using testing::HasSubstr;

std::string UsageErrorOf(const Trace& trace, const PhaseSpec& spec) {
  return test::ErrorOf(ErrorKind::kUsage, [&] { CutPhase(trace, spec); });
}

// Rank r: three times [step 100 wide, of which its force takes 10, and a barrier of 20 at the end], from 1000 + r on,
// inside main. The steps follow each other without gap, the forces do not.
Trace MakeSteps(int ranks = 2, int steps = 3) {
  TraceBuilder builder;
  const auto main = builder.AddRegion("main"), step = builder.AddRegion("step"), force = builder.AddRegion("force"),
             barrier = builder.AddRegion("MPI_Barrier");
  const auto world = builder.AddWorld(ranks);
  builder.trace().ticks_per_second = 1000;
  for (std::int32_t r = 0; r < ranks; ++r) {
    RankBuilder rank(builder.definitions(), r);
    Tick t = 1000 + r;
    rank.Enter(t, main);
    t += 50;
    for (int i = 0; i < steps; ++i, t += 100) {
      rank.Enter(t, step);
      rank.Enter(t + 30, force);
      rank.Leave(t + 40, force);
      rank.Enter(t + 80, barrier);
      rank.Collective(CollectiveKind::kBarrier, world, {}, 0, 0);
      rank.Leave(t + 100, barrier);
      rank.Leave(t + 100, step);
    }
    rank.Leave(t + 50, main);
    builder.SetTimeline(rank);
  }
  return std::move(builder).Finish();
}

TEST(PhaseCut, WholeRun) {
  const Trace trace = MakeSteps();
  const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  EXPECT_EQ(cut.span, Span::kWhole);
  EXPECT_EQ(cut.iterations, 1u);
  EXPECT_EQ(cut.begin(), 1000);
  EXPECT_EQ(cut.end(), 1401);
  EXPECT_EQ(cut.ranks[1].window.begin.tick, 1001);
  EXPECT_EQ(cut.ranks[1].window.end.call, 3u);
}

TEST(PhaseCut, RegionThatRepeatsWithoutGapIsOneWindow) {
  const PhaseCut cut = CutPhase(MakeSteps(), PhaseSpec::Region("step"));
  EXPECT_EQ(cut.span, Span::kWhole);
  EXPECT_EQ(cut.iterations, 3u);
  const RankCut& rank = cut.ranks[1];
  EXPECT_EQ(rank.window.begin.tick, 1051);
  EXPECT_EQ(rank.window.end.tick, 1351);
  EXPECT_EQ(rank.iterations[1].begin.tick, 1151);
  EXPECT_EQ(rank.iterations[1].begin.call, 1u);
  EXPECT_EQ(rank.iterations[1].end.call, 2u);
}

TEST(PhaseCut, RegionWithGapsIsCountedEachByItself) {
  const PhaseCut cut = CutPhase(MakeSteps(), PhaseSpec::Region("force"));
  EXPECT_EQ(cut.span, Span::kEach);
  EXPECT_EQ(cut.ranks[0].iterations[2].begin.tick, 1000 + 50 + 200 + 30);
  EXPECT_EQ(cut.ranks[0].iterations[2].length(), 10);
}

TEST(PhaseCut, TheStudyMaySayTheSpan) {
  PhaseSpec spec = PhaseSpec::Region("force");
  spec.span = Span::kWhole;
  EXPECT_EQ(CutPhase(MakeSteps(), spec).span, Span::kWhole);
  spec = PhaseSpec::Region("step");
  spec.span = Span::kEach;
  EXPECT_EQ(CutPhase(MakeSteps(), spec).span, Span::kEach);
}

// The limit is 2 % of the occurrences' time: gaps of 1 beside occurrences of 100 pass, gaps of 3 do not.
TEST(PhaseCut, GapsBelowTwoPerCentAreWhole) {
  EXPECT_EQ(CutPhase(test::ParseTrace("r0: A 0-100 | B 100-101 | A 101-201"), PhaseSpec::Region("A")).span,
            Span::kWhole);
  EXPECT_EQ(CutPhase(test::ParseTrace("r0: A 0-100 | B 100-106 | A 106-206"), PhaseSpec::Region("A")).span,
            Span::kEach);
}

TEST(PhaseCut, SkipAndKeep) {
  PhaseSpec spec = PhaseSpec::Region("step");
  spec.skip = 1;
  spec.keep = 1;
  const PhaseCut cut = CutPhase(MakeSteps(), spec);
  EXPECT_EQ(cut.iterations, 1u);
  EXPECT_EQ(cut.begin(), 1150);
  EXPECT_EQ(cut.ranks[0].window.end.tick, 1250);
  spec.skip = 2;
  spec.keep = 2;
  spec.where = "study.toml:9";
  EXPECT_THAT(UsageErrorOf(MakeSteps(), spec), HasSubstr("study.toml:9"));
  EXPECT_THAT(UsageErrorOf(MakeSteps(), spec), HasSubstr("has 3 iterations on rank 0, so iterations 3 to 4 do not"));
}

TEST(PhaseCut, RegularExpressionsAndNestedOccurrences) {
  const Trace trace = MakeSteps();
  EXPECT_EQ(CutPhase(trace, PhaseSpec::Region("/st.*/")).iterations, 3u);
  // force lies inside step, so the outer occurrences are it.
  EXPECT_EQ(CutPhase(trace, PhaseSpec::Region("/step|force/")).ranks[0].iterations[0].length(), 100);
  EXPECT_THAT(UsageErrorOf(trace, PhaseSpec::Region("/(/")), HasSubstr("is not a regular expression"));
}

TEST(PhaseCut, UnknownRegionSuggestsTheNearest) {
  EXPECT_THAT(UsageErrorOf(MakeSteps(), PhaseSpec::Region("forec")), HasSubstr("did you mean 'force'?"));
  EXPECT_THAT(UsageErrorOf(MakeSteps(), PhaseSpec::Region("MPI_Barrier")), HasSubstr("no region 'MPI_Barrier'"));
}

constexpr auto Window = PhaseSpec::TimeWindow;

// Seconds count from the earliest event, tick 1000. [0.14, 0.24] begins at 1140 inside rank 0's barrier 1130-1150 and
// ends at 1240 inside its barrier 1230-1250.
TEST(PhaseCut, TimeWindowCutsThroughCalls) {
  const PhaseCut cut = CutPhase(MakeSteps(), Window(0.14, 0.24));
  const RankCut& rank = cut.ranks[0];
  EXPECT_EQ(rank.window.begin.tick, 1140);
  EXPECT_EQ(rank.window.end.tick, 1240);
  EXPECT_EQ(rank.window.begin.call, 0u);
  EXPECT_EQ(rank.window.end.call, 2u);
}

TEST(PhaseCut, TimeWindowOutsideTheRun) {
  EXPECT_THAT(UsageErrorOf(MakeSteps(), Window(5, 6)), HasSubstr("after the end of the run"));
  EXPECT_THAT(UsageErrorOf(MakeSteps(), Window(2, 1)), HasSubstr("ends before it begins"));
  EXPECT_EQ(CutPhase(MakeSteps(), Window(0.3, 60)).end(), 1401);  // cut to the run
}

TEST(PhaseCut, RanksThatDiffer) {
  const Trace trace = test::ParseTrace(
      "r0: A 0-10 | Barrier@1 10-20 | A 20-30\n"
      "r1: A 0-10 | Barrier@1 10-20\n"
      "r2: B 0-10 | Barrier@1 10-20\n");
  const PhaseCut cut = CutPhase(trace, PhaseSpec::Region("A"));
  EXPECT_EQ(cut.iterations, 2u);
  EXPECT_FALSE(cut.ranks[2].present);
  EXPECT_EQ(cut.diagnostics.count(anomaly::kRankWithoutPhase), 1u);
  EXPECT_EQ(cut.diagnostics.count(anomaly::kUnevenIterations), 1u);
}

// Two ranks of 400 each; steps cover 300 of them, forces lie inside the steps.
TEST(Coverage, UnionOfPhases) {
  const Trace trace = MakeSteps();
  const PhaseCut step = CutPhase(trace, PhaseSpec::Region("step")), force = CutPhase(trace, PhaseSpec::Region("force"));
  EXPECT_DOUBLE_EQ(Coverage(trace, {step}), 0.75);
  EXPECT_DOUBLE_EQ(Coverage(trace, {force}), 30.0 / 400);
  EXPECT_DOUBLE_EQ(Coverage(trace, {step, force}), 0.75);
  EXPECT_DOUBLE_EQ(Coverage(trace, {}), 0);
}

TEST(Regions, Summaries) {
  const std::vector<RegionSummary> regions = SummarizeRegions(MakeSteps());
  ASSERT_EQ(regions.size(), 3u);
  EXPECT_EQ(regions[0].name, "main");
  EXPECT_EQ(regions[1].name, "step");
  EXPECT_EQ(regions[1].fewest, 3u);
  EXPECT_EQ(regions[1].ranks, 2u);
  EXPECT_DOUBLE_EQ(regions[1].share, 0.75);
  EXPECT_DOUBLE_EQ(regions[1].seconds, 0.1);
}

TEST(PhaseSpec, Words) {
  EXPECT_EQ(Describe(PhaseSpec::WholeRun()), "the whole run");
  PhaseSpec spec = PhaseSpec::Region("cycle");
  spec.skip = 1;
  spec.keep = 4;
  EXPECT_EQ(Describe(spec), "region cycle, without the first 1, 4 iterations");
  EXPECT_EQ(PhaseSpec::Region("/a|b/").kind, PhaseSpec::Kind::kRegularExpression);
}

}  // namespace
}  // namespace farscale
