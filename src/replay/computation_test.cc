// Every source of clean computation on traces worked out by hand.
#include "replay/anomalies.h"
#include "replay/computation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/computation_recipe.h"
#include "support/errors.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

using test::Burst;
using test::From;
using test::Make;
using test::OverLoop;
using test::Recipe;
using test::WithCounter;
using testing::ElementsAre;
using testing::HasSubstr;

std::string MessageOf(const Trace& trace, const ComputationOptions& options) {
  return test::ErrorOf(ErrorKind::kUsage, [&] { CleanComputation(trace, options); });
}

TEST(Computation, NamesOfSources) {
  for (const auto source : {ComputationSource::kMeasured, ComputationSource::kCycles, ComputationSource::kCpuTime,
                            ComputationSource::kIterations, ComputationSource::kInstructions}) {
    EXPECT_EQ(ParseComputationSource(ToString(source)), source);
  }
  EXPECT_EQ(ToString(ComputationSource::kCpuTime), "cpu-time");
  EXPECT_EQ(ParseComputationSource("time"), std::nullopt);
}

TEST(Computation, AsMeasured) {
  const Trace trace = WithCounter("", {{{30, 0}, {50, 0}, {20, 0}}, {{1, 0}, {0, 0}, {2, 0}}});
  const Computation computation = MeasuredComputation(trace);
  EXPECT_THAT(computation.lengths, ElementsAre(ElementsAre(30, 50, 20), ElementsAre(1, 0, 2)));
  EXPECT_EQ(computation.source, ComputationSource::kMeasured);
  EXPECT_DOUBLE_EQ(computation.measured_seconds, 103e-9);
  EXPECT_DOUBLE_EQ(computation.clean_seconds, 103e-9);
  EXPECT_EQ(CleanComputation(trace, From(ComputationSource::kMeasured)).lengths, computation.lengths);
}

// A rank that begins and ends with a call has nothing before and after; one that never did anything has one burst of
// no length.
TEST(Computation, RanksWithoutEdgesOrEvents) {
  TraceBuilder builder;
  const auto barrier = builder.AddRegion("MPI_Barrier");
  const auto cycles = builder.AddCounter({"PAPI_TOT_CYC", "", "#", 1, false, true});
  builder.AddWorld(2);
  RankBuilder rank(builder.definitions(), 0), empty(builder.definitions(), 1);
  for (const Tick tick : {0, 1000, 2000}) {
    rank.SetCounter(tick, cycles, 2 * tick);
    rank.Enter(tick, barrier);
    rank.SetCounter(tick + 100, cycles, 2 * tick + 200);
    rank.Leave(tick + 100, barrier);
  }
  builder.SetTimeline(rank);
  builder.SetTimeline(empty);
  const Trace trace = std::move(builder).Finish();
  EXPECT_THAT(MeasuredComputation(trace).lengths, ElementsAre(ElementsAre(0, 900, 900, 0), ElementsAre(0)));
  EXPECT_EQ(CleanComputation(trace, {}).lengths, MeasuredComputation(trace).lengths);
  EXPECT_EQ(CleanComputation(trace, {}).source, ComputationSource::kCycles);
}

// 2 cycles a nanosecond. The third burst works for 1000 ns and is preempted for 5000 ns, the last for 500 ns.
TEST(Computation, CyclesTakePreemptionOut) {
  const Trace trace =
      WithCounter("PAPI_TOT_CYC", {{{1000, 2000}, {1500, 3000}, {6000, 2000}, {1000, 2000}, {1500, 2000}}});
  const Computation computation = CleanComputation(trace, From(ComputationSource::kCycles));
  EXPECT_THAT(computation.lengths, ElementsAre(ElementsAre(1000, 1500, 1000, 1000, 1000)));
  EXPECT_EQ(computation.description, "cycles (PAPI_TOT_CYC) at 2.00 GHz, estimated from this trace");
  EXPECT_DOUBLE_EQ(computation.measured_seconds, 11000e-9);
  EXPECT_DOUBLE_EQ(computation.clean_seconds, 5500e-9);
  EXPECT_TRUE(computation.diagnostics.empty());
}

// Ranks at 2 and 3 GHz: 6000 cycles take 3000 ns and 2000 ns, and the imbalance between the ranks stays.
TEST(Computation, RanksWithDifferentClocks) {
  const std::vector<Burst> slow = {{1000, 2000}, {3000, 6000}, {9000, 6000}, {500, 1000}};
  const std::vector<Burst> fast = {{1000, 3000}, {2000, 6000}, {9000, 6000}, {500, 1500}};
  const Computation computation =
      CleanComputation(WithCounter("PAPI_TOT_CYC", {slow, fast}), From(ComputationSource::kCycles));
  EXPECT_THAT(computation.lengths, ElementsAre(ElementsAre(1000, 3000, 3000, 500), ElementsAre(1000, 2000, 2000, 500)));
  EXPECT_EQ(computation.description,
            "cycles (PAPI_TOT_CYC) at 2.00 to 3.00 GHz, estimated for every rank from this trace");
}

// Estimates of 2.000, 2.002 and 1.998 GHz differ by a thousandth: one clock of 2 GHz, so that equal cycles are equal
// time.
TEST(Computation, RanksThatAgreeShareOneClock) {
  const auto rank = [](std::int64_t cycles) { return std::vector<Burst>(5, {100000, cycles}); };
  const Computation computation = CleanComputation(
      WithCounter("PAPI_TOT_CYC", {rank(200000), rank(200200), rank(199800)}), From(ComputationSource::kCycles));
  EXPECT_EQ(computation.lengths[0], std::vector<Tick>(5, 100000));
  EXPECT_EQ(computation.lengths[1], std::vector<Tick>(5, 100100));
  EXPECT_EQ(computation.lengths[2], std::vector<Tick>(5, 99900));
}

// The third rank has one burst, half of it preempted: it cannot know its clock and takes the median of 2 and 3 GHz.
TEST(Computation, ARankWithFewBurstsBorrowsItsClock) {
  const Computation computation = CleanComputation(
      WithCounter("PAPI_TOT_CYC",
                  {std::vector<Burst>(4, {1000, 2000}), std::vector<Burst>(4, {1000, 3000}), {{2000, 2500}}}),
      From(ComputationSource::kCycles));
  EXPECT_THAT(computation.lengths[2], ElementsAre(1000));
  EXPECT_EQ(computation.diagnostics.count(anomaly::kClockBorrowed), 1u);
}

// Four bursts of 2/3 ticks each would be 4 ticks if rounded one by one. The totals are 0.67, 1.33, 2 and 2.67 ticks,
// rounded 1, 1, 2 and 3.
TEST(Computation, TheRunningTotalIsRounded) {
  Trace trace = WithCounter("CPU_TIME", {{{1, 1}, {1, 1}, {1, 1}, {1, 1}}}, "ns");
  trace.ticks_per_second = 1e9 * 2 / 3;
  EXPECT_THAT(CleanComputation(trace, {}).lengths, ElementsAre(ElementsAre(1, 0, 1, 1)));
}

// Nanoseconds of CPU time; 40 of the second burst were lost to another process.
TEST(Computation, CpuTime) {
  const Computation computation =
      CleanComputation(WithCounter("CPU_TIME", {{{30, 30}, {90, 50}, {20, 20}}}), From(ComputationSource::kCpuTime));
  EXPECT_THAT(computation.lengths, ElementsAre(ElementsAre(30, 50, 20)));
  EXPECT_EQ(computation.description, "CPU time (CPU_TIME)");
  const Computation microseconds =
      CleanComputation(WithCounter("task-clock", {{{3000, 3}, {9000, 5}}}, "us"), From(ComputationSource::kCpuTime));
  EXPECT_THAT(microseconds.lengths, ElementsAre(ElementsAre(3000, 5000)));
}

// 140 ticks of CPU time in 100, or 1 in 1000: the unit is wrong.
TEST(Computation, CpuTimeThatCannotBe) {
  const Trace more = WithCounter("CPU_TIME", {{{60, 80}, {40, 60}}});
  EXPECT_THAT(MessageOf(more, From(ComputationSource::kCpuTime)), HasSubstr("CPU_TIME counts 140 ns in 100 ns"));
  const Trace less = WithCounter("CPU_TIME", {{{600, 1}, {400, 0}}});
  EXPECT_THAT(MessageOf(less, From(ComputationSource::kCpuTime)), HasSubstr("it has another unit"));
}

// 600 instructions in 300 ticks over both ranks: half a tick each, wherever they ran.
TEST(Computation, InstructionsAtTheMeanRateOfTheRun) {
  const Trace trace = WithCounter("PAPI_TOT_INS", {{{50, 100}, {50, 200}}, {{120, 100}, {80, 200}}});
  const Computation computation = CleanComputation(trace, From(ComputationSource::kInstructions));
  EXPECT_THAT(computation.lengths, ElementsAre(ElementsAre(50, 100), ElementsAre(50, 100)));
  EXPECT_THAT(computation.description, HasSubstr("a what-if about a uniform machine"));
  EXPECT_DOUBLE_EQ(computation.clean_seconds, computation.measured_seconds);
}

// Four iterations of two bursts, 5 ticks apart. First burst, without the gap: 10, 11, 90, 12 -> (11 + 12) / 2 = 11.
// Second: 20, 80, 20, 22 -> 21. What follows the iterations stays.
const std::vector<Burst> kFourIterations = {{10, 0}, {20, 0}, {11, 0}, {80, 0}, {90, 0},
                                            {20, 0}, {12, 0}, {22, 0}, {3, 0}};

TEST(Computation, MedianOverIterations) {
  Recipe recipe;
  recipe.iterations = 4;
  recipe.gap = 5;
  const Trace trace = Make(recipe, {kFourIterations});
  const Computation computation = OverLoop(trace);
  EXPECT_THAT(MeasuredComputation(trace).lengths[0], ElementsAre(10, 20, 16, 80, 95, 20, 17, 22, 8));
  EXPECT_THAT(computation.lengths[0], ElementsAre(11, 21, 16, 21, 16, 21, 16, 21, 8));
  EXPECT_EQ(computation.source, ComputationSource::kIterations);
  EXPECT_EQ(computation.description, "median over iterations of region loop: an estimate");
  EXPECT_TRUE(computation.diagnostics.empty());
}

// The second iteration makes another call and stays as measured. Of the others 10, 90, 12 -> 12 and 20, 20, 22 -> 20.
TEST(Computation, IterationsWithOtherCallsAreApart) {
  Recipe recipe;
  recipe.iterations = 4;
  recipe.gap = 5;
  recipe.other_call = 3;
  const Trace trace = Make(recipe, {kFourIterations});
  const Computation computation = OverLoop(trace);
  EXPECT_THAT(computation.lengths[0], ElementsAre(12, 20, 16, 80, 17, 20, 17, 20, 8));
  EXPECT_EQ(computation.diagnostics.count(anomaly::kIterationWithoutLike), 1u);
}

TEST(Computation, TwoIterationsSayNothing) {
  Recipe recipe;
  recipe.iterations = 2;
  const Trace trace = Make(recipe, {{{10, 0}, {20, 0}, {11, 0}, {80, 0}, {3, 0}}});
  const Computation computation = OverLoop(trace);
  EXPECT_EQ(computation.source, ComputationSource::kMeasured);
  EXPECT_EQ(computation.lengths, MeasuredComputation(trace).lengths);
  EXPECT_THAT(computation.description, HasSubstr("no 3 iterations of phase 'loop' have the same calls on any rank"));
  EXPECT_TRUE(computation.diagnostics.empty());
  const PhaseCut cut = CutPhase(trace, PhaseSpec::Region("loop"));
  ComputationOptions options = From(ComputationSource::kIterations);
  options.iterations = &cut;
  EXPECT_THAT(MessageOf(trace, options), HasSubstr("computation cannot be taken from iterations"));
}

TEST(Computation, CyclesGoBeforeCpuTimeBeforeIterations) {
  Recipe recipe;
  recipe.iterations = 4;
  recipe.counters = {"CPU_TIME", "PAPI_TOT_CYC"};
  std::vector<Burst> bursts = kFourIterations;
  for (Burst& burst : bursts) burst.counts = burst.ticks;
  const auto source_of = [&] { return OverLoop(Make(recipe, {bursts})).source; };
  EXPECT_EQ(source_of(), ComputationSource::kCycles);
  recipe.counters = {"CPU_TIME"};
  EXPECT_EQ(source_of(), ComputationSource::kCpuTime);
  recipe.counters = {};
  EXPECT_EQ(source_of(), ComputationSource::kIterations);
  recipe.iterations = 1;
  EXPECT_EQ(source_of(), ComputationSource::kMeasured);
}

// Bursts at 100, 1110, 2120 and so on. The flush at 3000 lies in the third, which keeps its 8000 ns; the one at 1100
// lies in a call.
TEST(Computation, InterruptedBurstsStayAsMeasured) {
  for (const bool is_flush : {false, true}) {
    Recipe recipe;
    recipe.counters = {"PAPI_TOT_CYC"};
    recipe.interruptions = {{1100, 1110, is_flush}, {3000, 9000, is_flush}};
    const Trace trace = Make(recipe, {{{1000, 2000}, {1000, 2000}, {8000, 9000}, {4000, 2000}, {1000, 2000}}});
    for (const auto source : {ComputationSource::kCycles, ComputationSource::kInstructions}) {
      ComputationOptions options = From(source);
      options.counters.instructions = "PAPI_TOT_CYC";
      const Computation computation = CleanComputation(trace, options);
      EXPECT_EQ(computation.diagnostics.count(anomaly::kBurstInterrupted), 1u);
      EXPECT_EQ(computation.diagnostics.findings().at(0).population, 5u);
      // 7000 ns and 8000 instructions in the other bursts: 1750 ns for 2000.
      const Tick clean = source == ComputationSource::kCycles ? 1000 : 1750;
      EXPECT_THAT(computation.lengths[0], ElementsAre(clean, clean, 8000, clean, clean));
    }
  }
}

std::string WhyNot(const Recipe& recipe, const std::vector<std::vector<Burst>>& ranks) {
  const Trace trace = Make(recipe, ranks);
  const Computation computation = CleanComputation(trace, {});
  EXPECT_EQ(computation.source, ComputationSource::kMeasured);
  EXPECT_EQ(computation.lengths, MeasuredComputation(trace).lengths);
  EXPECT_EQ(computation.diagnostics.count(anomaly::kCounterNotUsed), 1u);
  EXPECT_THAT(MessageOf(trace, From(ComputationSource::kCycles)), HasSubstr("it has PAPI_TOT_CYC"));
  return computation.diagnostics.findings().at(0).example;
}

TEST(Computation, CountersThatCannotBeUsed) {
  const std::vector<std::vector<Burst>> good = {{{100, 100}, {100, 100}}, {{100, 100}, {100, 100}}};
  Recipe recipe;
  recipe.counters = {"PAPI_TOT_CYC"};
  EXPECT_EQ(WhyNot(recipe, {good[0], {{100, 100}, {100, -50}}}),
            "PAPI_TOT_CYC goes backwards or begins late on rank 1");
  EXPECT_EQ(WhyNot(recipe, {{{100, 0}, {100, 0}}}), "PAPI_TOT_CYC counts nothing outside MPI");
  recipe.rank_without_counter = 1;
  EXPECT_EQ(WhyNot(recipe, good), "PAPI_TOT_CYC has no samples on rank 1");
  recipe.rank_without_counter.reset();
  recipe.edges_a_sample = 2;
  EXPECT_EQ(WhyNot(recipe, good),
            "PAPI_TOT_CYC has samples at only 50.0 % of the edges of calls and regions on rank 0");
  Trace level = WithCounter("PAPI_TOT_CYC", good);
  level.counters[0].accumulates = false;
  EXPECT_THAT(MessageOf(level, From(ComputationSource::kCycles)), HasSubstr("PAPI_TOT_CYC is a level, not a count"));
}

// Counts as large as can be recorded, and lengths of zero.
TEST(Computation, LargeCountsDoNotOverflow) {
  const std::int64_t huge = std::int64_t{1} << 60;
  const Trace trace =
      WithCounter("PAPI_TOT_CYC", {{{1000, huge}, {1000, huge}, {0, huge}, {1000, huge}, {1000, huge}}});
  EXPECT_THAT(CleanComputation(trace, {}).lengths[0], ElementsAre(1000, 1000, 1000, 1000, 1000));
}

TEST(Computation, MissingSourcesAreNamed) {
  const Trace trace = WithCounter("L2_MISSES", {{{30, 30}, {90, 50}}});
  EXPECT_THAT(MessageOf(trace, From(ComputationSource::kCycles)),
              HasSubstr("computation cannot be taken from cycles: no counter of cycles in this trace"));
  EXPECT_THAT(MessageOf(trace, From(ComputationSource::kCpuTime)), HasSubstr("it has L2_MISSES"));
  EXPECT_THAT(MessageOf(trace, From(ComputationSource::kInstructions)), HasSubstr("no counter of instructions"));
  EXPECT_THAT(MessageOf(trace, From(ComputationSource::kIterations)), HasSubstr("no phase is given"));
  ComputationOptions misspelt;
  misspelt.counters.cycles = "L3_MISSES";
  EXPECT_THAT(MessageOf(trace, misspelt), HasSubstr("no counter 'L3_MISSES'"));
}

}  // namespace
}  // namespace farscale
