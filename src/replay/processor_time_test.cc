// Processor time on traces worked out by hand. On all real ones: tests/invariants/real_traces_test.cc.
#include "replay/clock_repair.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/anomalies.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

using testing::HasSubstr;

constexpr Tick kMs = 1'000'000;  // ticks are nanoseconds

// Ticks by the clock, and in which of them the rank had a processor.
struct Computation {
  Tick ticks = 0;
  Tick on = 0;
};
using Computations = std::vector<Computation>;

Computations Repeat(std::size_t times, const Computations& bursts) {
  Computations all;
  for (std::size_t i = 0; i < times; ++i) all.insert(all.end(), bursts.begin(), bursts.end());
  return all;
}

// Ranks that compute and call MPI_Barrier in turn; every call takes a millisecond, all of it on the processor. The
// counter counts `rate` a nanosecond there. The bursts from `paused` on, one, are a pause.
Trace Make(const std::string& counter, double rate, const std::vector<Computations>& ranks, std::size_t paused = 1000) {
  TraceBuilder builder;
  builder.trace().path = "test.otf2";
  const auto main = builder.AddRegion("main");
  const auto barrier = builder.AddRegion("MPI_Barrier");
  const auto pause = builder.AddRegion(std::string(kPauseRegion) + ", I/O");
  builder.trace().regions[pause].is_pause = true;
  if (!counter.empty()) builder.AddCounter({counter, "", "#", 1, false, true});
  builder.AddWorld(static_cast<std::int32_t>(ranks.size()));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    RankBuilder events(builder.definitions(), static_cast<std::int32_t>(rank));
    Tick now = 0;
    double count = 0;
    const auto edge = [&](std::uint32_t region, bool is_enter) {
      if (!counter.empty()) events.SetCounter(now, 0, static_cast<std::int64_t>(count));
      is_enter ? events.Enter(now, region) : events.Leave(now, region);
    };
    edge(main, true);
    for (std::size_t i = 0; i < ranks[rank].size(); ++i) {
      if (i == paused) edge(pause, true);
      now += ranks[rank][i].ticks;
      count += rate * static_cast<double>(ranks[rank][i].on);
      if (i == paused) edge(pause, false);
      edge(barrier, true);
      now += kMs;
      count += rate * static_cast<double>(kMs);
      events.Collective(CollectiveKind::kBarrier, 0, std::nullopt, 0, 0);
      edge(barrier, false);
    }
    edge(main, false);
    builder.SetTimeline(events);
  }
  return std::move(builder).Finish();
}

std::string Detail(const Diagnostics& diagnostics) {
  const std::vector<Finding> findings = diagnostics.findings();
  if (findings.empty()) return "";
  EXPECT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "preempted");
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  return DetailOf(findings[0]);
}

std::string Said(const Trace& trace) { return Detail(CheckProcessorTime(trace, {})); }

// Rank 0 has its processor all the time, rank 1 for 20 of 50 ms, rank 2 for 30 of 50: together 50 of 100 ms.
TEST(ProcessorTime, SaysHowMuchOnHowManyRanks) {
  const Trace trace = Make("CPU_TIME", 1, {{{50 * kMs, 50 * kMs}}, {{50 * kMs, 20 * kMs}}, {{50 * kMs, 30 * kMs}}});
  EXPECT_EQ(Said(trace), "2 of 3, first rank 1 with 40.0 % of 50.0 ms; 50.0 % of the time of these ranks");
}

// 4 % of 50 ms are detours; a run of 9 ms is too short to tell.
TEST(ProcessorTime, SilentAboutALittle) {
  EXPECT_EQ(Said(Make("CPU_TIME", 1, {{{50 * kMs, 48 * kMs}}})), "");
  EXPECT_EQ(Said(Make("CPU_TIME", 1, {{{9 * kMs, 3 * kMs}}})), "");
}

TEST(ProcessorTime, SilentWithoutCounters) {
  EXPECT_EQ(Said(Make("", 1, {{{50 * kMs, 5 * kMs}}})), "");
  EXPECT_EQ(Said(Make("PAPI_TOT_INS", 1, {{{50 * kMs, 5 * kMs}}})), "");
}

// 90 us with counts of 45: the counter is read later than the clock, or the clock later than the counter.
TEST(ProcessorTime, ShortBurstsTellNothing) {
  EXPECT_EQ(Said(Make("CPU_TIME", 1, {Repeat(500, {{90'000, 45'000}})})), "");
}

// Of a run of 1 s on two ranks, both on their processors all the time. A clock with another resolution makes it shorter
// or longer: 1.05 s of CPU time a second, 10 GHz and 100 instructions a nanosecond are the limits.
TEST(ProcessorTime, CountsThatNoProcessorReaches) {
  const auto impossible = [](const std::string& counter, double rate, double shorter) {
    const Computations bursts = Repeat(10, {{99 * kMs, 99 * kMs}});
    Trace trace = Make(counter, rate, {bursts, bursts});
    trace.ticks_per_second *= shorter;
    return CheckProcessorTime(trace, {}).count(anomaly::kCountsImpossible);
  };
  for (const double shorter : {0.001, 0.25, 0.5, 0.9, 1.0, 1.04}) {
    EXPECT_EQ(impossible("CPU_TIME", 1, shorter), 0u) << shorter;
    EXPECT_EQ(impossible("PAPI_TOT_CYC", 3, 3 * shorter), 0u) << shorter;
    EXPECT_EQ(impossible("PAPI_TOT_INS", 8, 12 * shorter), 0u) << shorter;
  }
  for (const double shorter : {1.06, 1.5, 2.0, 3.6, 16.0, 1e6}) {
    EXPECT_EQ(impossible("CPU_TIME", 1, shorter), 2u) << shorter;
    EXPECT_EQ(impossible("PAPI_TOT_CYC", 3, 3.34 * shorter), 2u) << shorter;
    EXPECT_EQ(impossible("PAPI_TOT_INS", 8, 12.6 * shorter), 2u) << shorter;
  }
  EXPECT_EQ(impossible("BB_COUNT", 1000, 1000), 0u);  // nobody knows what that counts
}

// A bit of the last sample of rank 0 flips, so that its last burst of 19 ms counts so many nanoseconds more: from 17 ms
// on that is more than a percent of the run of a second.
TEST(ProcessorTime, OneDamagedSample) {
  for (int bit = 10; bit < 40; ++bit) {
    const Tick more = Tick{1} << bit;
    const Trace trace = Make("CPU_TIME", 1, {Repeat(49, {{19 * kMs, 19 * kMs}}), Repeat(49, {{19 * kMs, 19 * kMs}})});
    Computations damaged = Repeat(49, {{19 * kMs, 19 * kMs}});
    damaged.back().on += more;
    const Trace flipped = Make("CPU_TIME", 1, {damaged, Repeat(49, {{19 * kMs, 19 * kMs}})});
    EXPECT_EQ(CheckProcessorTime(trace, {}).count(anomaly::kCountsImpossible), 0u);
    EXPECT_EQ(CheckProcessorTime(flipped, {}).count(anomaly::kCountsImpossible), bit < 24 ? 0u : 1u) << bit;
  }
}

// Twenty bursts of 1 ms at 3 counts a nanosecond show the clock; half of another twenty takes 10 ms at no more counts,
// as processes on one core do: (20 + 10 + 10) ms of (20 + 10 + 100) ms.
TEST(ProcessorTime, CyclesAtTheClockOfTheRun) {
  const Computations shared = Repeat(10, {{kMs, kMs}, {kMs, kMs}, {kMs, kMs}, {10 * kMs, kMs}});
  EXPECT_EQ(Said(Make("PAPI_TOT_CYC", 3, {shared, Repeat(40, {{kMs, kMs}})})),
            "1 of 2, rank 0 with 30.8 % of 130 ms; 30.8 % of the time of these ranks");
}

// Half of the run at three quarters of the clock, since all cores compute then: no preemption, though cycles alone
// would say 12.5 %.
TEST(ProcessorTime, AClockThatChangesIsNoPreemption) {
  EXPECT_EQ(Said(Make("PAPI_TOT_CYC", 3, {Repeat(40, {{kMs, kMs}, {kMs, kMs * 3 / 4}})})), "");
}

// Rank 0 has 45 or 62 % of the cycles of its time in every burst, so that its bursts agree on a slow clock; the three
// other ranks of the node show what the clock is.
TEST(ProcessorTime, CyclesAtTheClockOfTheNode) {
  const Computations full = Repeat(20, {{5 * kMs, 5 * kMs}});
  for (const Tick percent : {45, 62}) {
    const Computations part = Repeat(20, {{5 * kMs, 5 * kMs * percent / 100}});
    EXPECT_EQ(Said(Make("PAPI_TOT_CYC", 2, {part, full, full, full})),
              fmt::format("1 of 4, rank 0 with {0}.0 % of 100 ms; {0}.0 % of the time of these ranks", percent));
  }
}

// All ranks fall to 55 % of the clock of the first three bursts, or half of them are always slower, as on processors of
// two kinds of cores.
TEST(ProcessorTime, AClockThatManyRanksHaveIsNoPreemption) {
  Computations falls = Repeat(20, {{5 * kMs, 5 * kMs * 55 / 100}});
  for (std::size_t i = 0; i < 3; ++i) falls[i].on = 5 * kMs;
  EXPECT_EQ(Said(Make("PAPI_TOT_CYC", 2, {falls, falls, falls, falls})), "");
  const Computations fast = Repeat(20, {{5 * kMs, 5 * kMs}}), slow = Repeat(20, {{5 * kMs, 5 * kMs * 55 / 100}});
  EXPECT_EQ(Said(Make("PAPI_TOT_CYC", 2, {fast, fast, fast, fast, slow, slow, slow, slow})), "");
}

// Input and output is known to the trace, and said by itself.
TEST(ProcessorTime, PausesAreNoPreemption) {
  const Computations bursts = {{50 * kMs, 50 * kMs}, {100 * kMs, kMs}, {50 * kMs, 50 * kMs}};
  EXPECT_EQ(Said(Make("CPU_TIME", 1, {bursts}, 1)), "");
  EXPECT_NE(Said(Make("CPU_TIME", 1, {bursts})), "");
}

// The first 50 ms are disturbed, the phase from 60 ms on is not.
TEST(ProcessorTime, OfThePhaseAlone) {
  const Trace trace = Make("CPU_TIME", 1, {{{50 * kMs, 10 * kMs}, {50 * kMs, 50 * kMs}}});
  const PhaseCut second_half = CutPhase(trace, PhaseSpec::TimeWindow(0.0505, 0.102));
  EXPECT_EQ(Detail(CheckProcessorTime(trace, {}, {second_half})), "");
  EXPECT_THAT(Said(trace), HasSubstr("1, rank 0"));
}

}  // namespace
}  // namespace farscale
