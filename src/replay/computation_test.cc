// Every source of clean computation on traces worked out by hand, on random ones, and on real ones whose counters say
// what must come out.
#include "replay/anomalies.h"
#include "replay/computation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "base/error.h"
#include "support/traces.h"
#include "trace/trace_builder.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Tick kCall = 10;                 // a call takes 10 ticks,
constexpr std::int64_t kCountsInCall = 7;  // of which no source may take notice

// A burst: ticks by the clock, counts by the counter.
struct Burst {
  Tick ticks;
  std::int64_t counts;
};

// Ranks that compute and call MPI_Barrier in turn, in the region "main", with the same counts in every counter; ticks
// are nanoseconds and the first is 100. There is no call after the last burst.
struct Recipe {
  std::vector<std::string> counters;
  std::string unit = "#";
  std::size_t iterations = 0;             // of the region "loop", from the first burst on,
  std::size_t in_iteration = 2;           // of so many bursts and the calls behind them,
  Tick gap = 0;                           // and with so much between them
  std::optional<std::size_t> other_call;  // in place of this barrier
  std::vector<Interruption> interruptions;
  std::optional<std::size_t> rank_without_counter;
  std::size_t edges_a_sample = 1;
};

class RankMaker {
 public:
  RankMaker(const Recipe& recipe, RankBuilder& events, std::size_t rank)
      : recipe_(recipe), events_(events), has_counters_(rank != recipe.rank_without_counter) {}

  void Add(const std::vector<Burst>& bursts) {
    Edge(kMain, true);
    for (std::size_t i = 0; i < bursts.size(); ++i) {
      AddLoopEdges(i);
      now_ += bursts[i].ticks;
      count_ += bursts[i].counts;
      if (i + 1 < bursts.size()) AddCall(i == recipe_.other_call ? kOther : kBarrier);
    }
    Edge(kMain, false);
  }

  enum Region : std::uint32_t { kMain, kLoop, kBarrier, kOther };

 private:
  void AddLoopEdges(std::size_t burst) {
    if (burst % recipe_.in_iteration != 0) return;
    const std::size_t iteration = burst / recipe_.in_iteration;
    if (iteration > 0 && iteration <= recipe_.iterations) {
      Edge(kLoop, false);
      now_ += recipe_.gap;
    }
    if (iteration < recipe_.iterations) Edge(kLoop, true);
  }

  void AddCall(Region region) {
    Edge(region, true);
    now_ += kCall;
    count_ += kCountsInCall;
    if (region == kBarrier) events_.Collective(CollectiveKind::kBarrier, 0, std::nullopt, 0, 0);
    Edge(region, false);
  }

  void AddInterruptions() {
    for (; interrupted_ < recipe_.interruptions.size(); ++interrupted_) {
      const Interruption& next = recipe_.interruptions[interrupted_];
      if (next.begin >= now_) break;
      if (next.is_flush) {
        events_.BufferFlush(next.begin, next.end);
      } else {
        events_.MeasurementOff(next.begin);
        events_.MeasurementOn(next.end);
      }
    }
  }

  void Edge(Region region, bool is_enter) {
    AddInterruptions();
    for (std::uint32_t counter = 0; counter < recipe_.counters.size(); ++counter) {
      if (has_counters_ && edges_ % recipe_.edges_a_sample == 0) events_.SetCounter(now_, counter, count_);
    }
    ++edges_;
    if (is_enter) events_.Enter(now_, region);
    if (!is_enter) events_.Leave(now_, region);
  }

  const Recipe& recipe_;
  RankBuilder& events_;
  bool has_counters_;
  Tick now_ = 100;
  std::int64_t count_ = 1000;
  std::size_t edges_ = 0;
  std::size_t interrupted_ = 0;
};

Trace Make(const Recipe& recipe, const std::vector<std::vector<Burst>>& ranks) {
  TraceBuilder builder;
  builder.trace().path = "test.otf2";
  for (const char* region : {"main", "loop", "MPI_Barrier", "MPI_Comm_rank"}) builder.AddRegion(region);
  for (const std::string& counter : recipe.counters) builder.AddCounter({counter, "", recipe.unit, 1, false, true});
  builder.AddWorld(static_cast<std::int32_t>(ranks.size()));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    RankBuilder events(builder.definitions(), static_cast<std::int32_t>(rank));
    RankMaker(recipe, events, rank).Add(ranks[rank]);
    builder.SetTimeline(events);
  }
  return std::move(builder).Finish();
}

Trace WithCounter(const std::string& counter, const std::vector<std::vector<Burst>>& ranks,
                  const std::string& unit = "#") {
  Recipe recipe;
  if (!counter.empty()) recipe.counters = {counter};
  recipe.unit = unit;
  return Make(recipe, ranks);
}

ComputationOptions From(ComputationSource source) {
  ComputationOptions options;
  options.source = source;
  return options;
}

Tick Sum(const std::vector<Tick>& lengths) { return std::accumulate(lengths.begin(), lengths.end(), Tick{0}); }

std::string MessageOf(const Trace& trace, const ComputationOptions& options) {
  try {
    CleanComputation(trace, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "nothing was thrown";
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
  const PhaseCut cut = CutPhase(trace, PhaseSpec::Region("loop"));
  ComputationOptions options;
  options.iterations = &cut;
  const Computation computation = CleanComputation(trace, options);
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
  const PhaseCut cut = CutPhase(trace, PhaseSpec::Region("loop"));
  ComputationOptions options;
  options.iterations = &cut;
  const Computation computation = CleanComputation(trace, options);
  EXPECT_THAT(computation.lengths[0], ElementsAre(12, 20, 16, 80, 17, 20, 17, 20, 8));
  EXPECT_EQ(computation.diagnostics.count(anomaly::kIterationWithoutLike), 1u);
}

TEST(Computation, TwoIterationsSayNothing) {
  Recipe recipe;
  recipe.iterations = 2;
  const Trace trace = Make(recipe, {{{10, 0}, {20, 0}, {11, 0}, {80, 0}, {3, 0}}});
  const PhaseCut cut = CutPhase(trace, PhaseSpec::Region("loop"));
  ComputationOptions options;
  options.iterations = &cut;
  const Computation computation = CleanComputation(trace, options);
  EXPECT_EQ(computation.source, ComputationSource::kMeasured);
  EXPECT_EQ(computation.lengths, MeasuredComputation(trace).lengths);
  EXPECT_THAT(computation.description, HasSubstr("no 3 iterations of phase 'loop' have the same calls on any rank"));
  EXPECT_TRUE(computation.diagnostics.empty());
  options.source = ComputationSource::kIterations;
  EXPECT_THAT(MessageOf(trace, options), HasSubstr("computation cannot be taken from iterations"));
}

TEST(Computation, CyclesGoBeforeCpuTimeBeforeIterations) {
  Recipe recipe;
  recipe.iterations = 4;
  recipe.counters = {"CPU_TIME", "PAPI_TOT_CYC"};
  std::vector<Burst> bursts = kFourIterations;
  for (Burst& burst : bursts) burst.counts = burst.ticks;
  const auto source_of = [&] {
    const Trace trace = Make(recipe, {bursts});
    const PhaseCut cut = CutPhase(trace, PhaseSpec::Region("loop"));
    ComputationOptions options;
    options.iterations = &cut;
    return CleanComputation(trace, options).source;
  };
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

// Random ranks of up to 40 bursts, some preempted.
std::vector<std::vector<Burst>> RandomRanks(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<Burst>> ranks(1 + random() % 5);
  for (std::vector<Burst>& rank : ranks) {
    rank.resize(1 + random() % 40);
    for (Burst& burst : rank) {
      const auto work = static_cast<Tick>(random() % 5000);
      burst = {work + (random() % 3 == 0 ? static_cast<Tick>(random() % 9000) : 0), work};
    }
  }
  return ranks;
}

constexpr std::uint64_t kSeeds = 200;
const std::vector<ComputationSource> kAllSources = {ComputationSource::kMeasured, ComputationSource::kCycles,
                                                    ComputationSource::kCpuTime, ComputationSource::kIterations,
                                                    ComputationSource::kInstructions};

struct RandomCase {
  Trace trace;
  PhaseCut cut;
  ComputationOptions options;

  explicit RandomCase(std::uint64_t seed) {
    Recipe recipe;
    recipe.counters = {"PAPI_TOT_CYC", "CPU_TIME", "PAPI_TOT_INS"};
    recipe.iterations = 3 + seed % 5;
    recipe.in_iteration = 1 + seed % 3;
    recipe.gap = static_cast<Tick>(seed % 4);
    std::vector<std::vector<Burst>> ranks = RandomRanks(seed);
    ranks[0].resize(60, {777, 777});  // one rank at least has all iterations
    trace = Make(recipe, ranks);
    cut = CutPhase(trace, PhaseSpec::Region("loop"));
    options.iterations = &cut;
  }
};

// One length for every burst, none negative; sums are the counts by the rate to the tick.
TEST(ComputationProperty, LengthsAndSums) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    RandomCase random(seed);
    const Computation measured = MeasuredComputation(random.trace);
    for (const ComputationSource source : kAllSources) {
      random.options.source = source;
      const Computation computation = CleanComputation(random.trace, random.options);
      ASSERT_EQ(computation.lengths.size(), random.trace.size());
      double total = 0;
      for (std::size_t rank = 0; rank < random.trace.size(); ++rank) {
        ASSERT_EQ(computation.lengths[rank].size(), measured.lengths[rank].size());
        for (const Tick length : computation.lengths[rank]) ASSERT_GE(length, 0) << "seed " << seed;
        total += random.trace.Seconds(Sum(computation.lengths[rank]));
      }
      EXPECT_NEAR(computation.clean_seconds, total, 1e-12) << "seed " << seed;
      EXPECT_EQ(computation.measured_seconds, measured.measured_seconds) << "seed " << seed;
    }
  }
}

Tick CountsOutsideMpi(const RankTimeline& timeline, std::size_t counter) {
  double counts =
      timeline.counter_at_event(counter, timeline.region_events() - 1) - timeline.counter_at_event(counter, 0);
  for (std::size_t call = 0; call < timeline.calls(); ++call) counts -= timeline.counter_in_call(counter, call);
  return static_cast<Tick>(counts);
}

TEST(ComputationProperty, SumsAreThoseOfTheCounter) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomCase random(seed);
    const Computation cpu = CleanComputation(random.trace, From(ComputationSource::kCpuTime));
    const Computation instructions = CleanComputation(random.trace, From(ComputationSource::kInstructions));
    double counts = 0;
    for (const RankTimeline& timeline : random.trace.timelines) {
      counts += static_cast<double>(CountsOutsideMpi(timeline, 0));
    }
    const double rate = instructions.measured_seconds * 1e9 / counts;
    for (std::size_t rank = 0; rank < random.trace.size(); ++rank) {
      const Tick own = CountsOutsideMpi(random.trace.timelines[rank], 0);
      EXPECT_EQ(Sum(cpu.lengths[rank]), own) << "seed " << seed;
      EXPECT_NEAR(static_cast<double>(Sum(instructions.lengths[rank])), rate * static_cast<double>(own), 0.5 + 1e-6);
    }
  }
}

TEST(ComputationProperty, DoesNotDependOnThreads) {
  for (std::uint64_t seed = 0; seed < kSeeds; seed += 10) {
    RandomCase random(seed);
    for (const ComputationSource source : kAllSources) {
      random.options.source = source;
      const Computation many = CleanComputation(random.trace, random.options);
      const tbb::global_control one_thread(tbb::global_control::max_allowed_parallelism, 1);
      const Computation one = CleanComputation(random.trace, random.options);
      EXPECT_EQ(one.lengths, many.lengths) << "seed " << seed;
      EXPECT_EQ(one.description, many.description) << "seed " << seed;
      EXPECT_EQ(one.clean_seconds, many.clean_seconds) << "seed " << seed;
    }
  }
}

// Replacing iterations by their median a second time changes nothing: all that are alike are equal.
TEST(ComputationProperty, LikeIterationsBecomeEqual) {
  std::vector<Burst> bursts = RandomRanks(7)[0];
  bursts.resize(31, {100, 0});
  Recipe recipe;
  recipe.iterations = 10;
  recipe.in_iteration = 3;
  const Trace trace = Make(recipe, {bursts});
  const PhaseCut cut = CutPhase(trace, PhaseSpec::Region("loop"));
  ComputationOptions options;
  options.iterations = &cut;
  const std::vector<Tick> lengths = CleanComputation(trace, options).lengths[0];
  for (std::size_t burst = 3; burst < 30; ++burst) EXPECT_EQ(lengths[burst], lengths[burst - 3]);
}

// Real traces of the shared data; nothing when they are not there.
class RealComputation : public testing::Test {
 protected:
  void SetUp() override {
    if (test::SharedTraces().empty()) GTEST_SKIP() << "no traces under " << test::SharedDataFolder();
  }
  static Trace Read(const std::string& name) {
    return ReadTrace(test::SharedDataFolder() + "/traces/" + name + "/traces.otf2");
  }
};

double LoadBalanceOf(const std::vector<std::vector<Tick>>& lengths) {
  double sum = 0, largest = 0;
  for (const std::vector<Tick>& rank : lengths) {
    sum += static_cast<double>(Sum(rank));
    largest = std::max(largest, static_cast<double>(Sum(rank)));
  }
  return sum / static_cast<double>(lengths.size()) / largest;
}

double HertzOf(const Trace& trace, const Computation& computation, std::size_t counter) {
  double counts = 0;
  for (const RankTimeline& timeline : trace.timelines)
    counts += static_cast<double>(CountsOutsideMpi(timeline, counter));
  return counts / computation.clean_seconds;
}

TEST_F(RealComputation, CpuTimeToTheTick) {
  for (const char* name :
       {"comd-weak-noise/8", "comd-weak-noise/32", "lammps-lj-strong-real/8", "lulesh-weak-cpu/27"}) {
    const Trace trace = Read(name);
    const Computation computation = CleanComputation(trace, {});
    EXPECT_EQ(computation.source, ComputationSource::kCpuTime) << name;
    EXPECT_TRUE(computation.diagnostics.empty()) << name;
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      EXPECT_EQ(Sum(computation.lengths[rank]), CountsOutsideMpi(trace.timelines[rank], 0))
          << name << ", rank " << rank;
    }
  }
}

// The counter is in nanoseconds, so that a cycle is one. Recording is switched off while the program sets up, in one
// burst of every rank, which stays as measured.
TEST_F(RealComputation, OneGigahertz) {
  for (const char* name : {"2", "4", "8", "16"}) {
    const Trace trace = Read(std::string("lammps-lj-weak-cpu-papinames/") + name);
    const Computation computation = CleanComputation(trace, {});
    EXPECT_EQ(computation.description, "cycles (PAPI_TOT_CYC) at 1.00 GHz, estimated from this trace") << name;
    EXPECT_EQ(computation.diagnostics.count(anomaly::kBurstInterrupted), trace.size()) << name;
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      std::size_t others = 0;
      for (std::size_t call = 0; call < computation.lengths[rank].size(); ++call) {
        const double cycles = trace.timelines[rank].counter_before_call(0, call);
        others += std::abs(static_cast<double>(computation.lengths[rank][call]) - cycles) > 1 + 1e-4 * cycles;
      }
      EXPECT_EQ(others, 1u) << name << ", rank " << rank;
    }
  }
}

// CPU time taken for cycles: the clock must come out as one, though the processes lose the core half of the time and
// more. Reading the counter takes a quarter of a microsecond that it does not see.
TEST_F(RealComputation, ClockOfPreemptedProcesses) {
  ComputationOptions options = From(ComputationSource::kCycles);
  options.counters.cycles = "CPU_TIME";
  for (const char* name :
       {"lammps-lj-strong-real/1", "lammps-lj-strong-real/2", "lammps-lj-strong-real/4", "lammps-lj-strong-real/8",
        "comd-weak-noise/8", "comd-weak-noise/16", "comd-weak-noise/32"}) {
    const Trace trace = Read(name);
    EXPECT_NEAR(HertzOf(trace, CleanComputation(trace, options), 0), 1e9, 0.005e9) << name;
  }
}

TEST_F(RealComputation, LoadBalanceIsThatOfCpuTime) {
  const Trace trace = Read("lammps-lj-strong-real/8");
  std::vector<std::vector<Tick>> cpu;
  for (const RankTimeline& timeline : trace.timelines) cpu.push_back({CountsOutsideMpi(timeline, 0)});
  EXPECT_DOUBLE_EQ(LoadBalanceOf(CleanComputation(trace, {}).lengths), LoadBalanceOf(cpu));
  EXPECT_GT(std::abs(LoadBalanceOf(MeasuredComputation(trace).lengths) - LoadBalanceOf(cpu)), 0.05);
}

// The instruction counts are those of the runs without noise, in which a basic block takes a constant time.
TEST_F(RealComputation, InstructionsBringBackTheRunWithoutNoise) {
  ComputationOptions options = From(ComputationSource::kInstructions);
  options.counters.instructions = "BB_COUNT";
  for (const char* ranks : {"8", "16", "32"}) {
    const Trace noisy = Read(std::string("comd-weak-noise/") + ranks);
    const Trace quiet = Read(std::string("comd-weak/") + ranks);
    const Computation computation = CleanComputation(noisy, options);
    double counts = 0;
    for (const RankTimeline& timeline : noisy.timelines) counts += static_cast<double>(CountsOutsideMpi(timeline, 1));
    const double rate = computation.measured_seconds * 1e9 / counts;
    for (std::size_t rank = 0; rank < noisy.size(); ++rank) {
      const double own = rate * static_cast<double>(CountsOutsideMpi(noisy.timelines[rank], 1));
      EXPECT_NEAR(static_cast<double>(Sum(computation.lengths[rank])), own, 0.51) << ranks << ", rank " << rank;
    }
    EXPECT_NEAR(LoadBalanceOf(computation.lengths), LoadBalanceOf(MeasuredComputation(quiet).lengths), 1e-4) << ranks;
  }
}

}  // namespace
}  // namespace farscale
