// Factors of runs of which the trace does not tell who waits for whom; one tick is a second in programs written as
// text.
#include "factors/anomalies.h"
#include "factors/phase_factors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/diagnostics.h"
#include "phases/phase_cut.h"
#include "replay/matching.h"
#include "support/program.h"
#include "support/traces.h"
#include "trace/anomalies.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

PhaseFactors MeasureWaits(const Trace& trace, const PhaseSpec& spec = PhaseSpec::WholeRun(),
                          const FactorOptions& options = {}) {
  return MeasurePhase(trace, MatchTrace(trace), CutPhase(trace, spec), options);
}

// Two ranks in two epochs of a window. The first fence ends at 5, when rank 0 comes; rank 1 computes for 5 s more and
// comes to the second at 10, rank 0 at 6. max t = 8, T = 12; without the fences rank 1 would end at 8.
constexpr const char* kFences =
    "r0: comp 0-5 | {0} 5-6 | Put 6-7 | comp 7-8 | {1} 8-12\n"
    "r1: comp 0-3 | {0} 3-6 | comp 6-11 | {1} 11-12";

TEST(UnknownPhaseWaits, FencesSerializeLikeBarriers) {
  const auto measure = [](const char* first, const char* second) {
    return MeasureWaits(test::ParseTrace(fmt::format(kFences, first, second)));
  };
  const PhaseFactors fences = measure("Win_fence@1", "Win_fence@2"), barriers = measure("Barrier@1", "Barrier@2");
  EXPECT_DOUBLE_EQ(*fences.values[Factor::kSerialization], 8.0 / 10);
  EXPECT_DOUBLE_EQ(*fences.values[Factor::kTransfer], 10.0 / 12);
  EXPECT_EQ(fences.values, barriers.values);
  EXPECT_EQ(fences.diagnostics.count(anomaly::kWaitsUnknown), 0u);
}

// Where the trace does not say who waits for whom, load balance and communication efficiency are all that is known:
// t = 6 and 8, T = 12.
TEST(UnknownPhaseWaits, WaitsThatTheTraceDoesNotTellWithholdSerializationAndTransfer) {
  const std::vector<std::pair<const char*, const char*>> programs = {
      {"Win_fence", "Win_fence"}, {"Win_lock", "Win_unlock"}, {"Win_lock_all", "Win_unlock_all"}};
  for (const RuleSet set : {RuleSet::kBsc, RuleSet::kCausal}) {
    for (const auto& [first, second] : programs) {
      const PhaseFactors factors = MeasureWaits(test::ParseTrace(fmt::format(kFences, first, second)),
                                                PhaseSpec::WholeRun(), {{set, 32768}, {}});
      EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalance], 7.0 / 8) << first;
      EXPECT_DOUBLE_EQ(*factors.values[Factor::kCommunicationEfficiency], 8.0 / 12) << first;
      EXPECT_FALSE(factors.values[Factor::kSerialization]) << first;
      EXPECT_FALSE(factors.values[Factor::kTransfer]) << first;
      EXPECT_EQ(factors.totals.ideal_elapsed, 0) << first;
      EXPECT_EQ(factors.diagnostics.count(anomaly::kWaitsUnknown), 4u) << first;
    }
  }
}

// A phase without such calls has all factors, and so has an epoch of lock_all in which nothing is done.
TEST(UnknownPhaseWaits, UnknownWaitsElsewhereAreNoMatter) {
  const Trace trace = test::ParseTrace(
      "r0: Win_lock 0-1 | Put 1-2 | Win_unlock 2-3 | loop 3-5 | Barrier@1 5-8 | loop 8-8\n"
      "r1: comp 0-3 | loop 3-7 | Barrier@1 7-8 | loop 8-8");
  PhaseSpec loop = PhaseSpec::Region("loop");
  loop.span = Span::kWhole;
  EXPECT_FALSE(MeasureWaits(trace).values[Factor::kSerialization]);
  EXPECT_DOUBLE_EQ(*MeasureWaits(trace, loop).values[Factor::kSerialization], 1);
  const Trace nothing_done = test::ParseTrace(
      "r0: Win_lock_all 0-1 | comp 1-5 | Barrier@1 5-6 | Win_unlock_all 6-7\n"
      "r1: Win_lock_all 0-1 | comp 1-3 | Barrier@1 3-6 | Win_unlock_all 6-7");
  EXPECT_TRUE(MeasureWaits(nothing_done).values[Factor::kSerialization]);
}

// A collective without records, such as one among neighbours: who waits for whom is not known. t = 6 and 8, T = 12;
// replayed as if nobody waited, serialization would be 8/8, where a barrier in its place gives 8/10.
TEST(UnknownPhaseWaits, CollectivesWithoutRecordsWithholdSerializationAndTransfer) {
  const PhaseFactors factors =
      MeasureWaits(test::ParseTrace(fmt::format(kFences, "Neighbor_alltoall", "Neighbor_alltoall")));
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalance], 7.0 / 8);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kCommunicationEfficiency], 8.0 / 12);
  EXPECT_FALSE(factors.values[Factor::kSerialization]);
  EXPECT_FALSE(factors.values[Factor::kTransfer]);
  EXPECT_EQ(factors.diagnostics.count(anomaly::kWaitsUnknown), 4u);
}

// Of 1,000 s that rank 0 spends in the phase, 10 s in them still pass, 11 s do not.
TEST(UnknownPhaseWaits, CollectivesWithoutRecordsMatterFromAHundredthOn) {
  const auto measure = [](int length) {
    return MeasureWaits(
        test::ParseTrace(fmt::format("r0: comp 0-500 | Neighbor_alltoall 500-{0} | comp {0}-990 | Barrier@1 990-1000\n"
                                     "r1: comp 0-500 | Neighbor_alltoall 500-501 | comp 501-995 | Barrier@1 995-1000",
                                     500 + length)));
  };
  EXPECT_TRUE(measure(10).values[Factor::kSerialization]);
  EXPECT_EQ(measure(10).diagnostics.count(anomaly::kWaitsUnknown), 0u);
  EXPECT_FALSE(measure(11).values[Factor::kSerialization]);
  EXPECT_EQ(measure(11).diagnostics.count(anomaly::kWaitsUnknown), 2u);
}

// One that does not block takes its time in the wait that completes it, which has no record either: the first on each
// rank. Without such a collective before it, a wait is nothing to doubt.
TEST(UnknownPhaseWaits, CollectivesWithoutRecordsMayCompleteInWaits) {
  const auto measure = [](const char* first) {
    return MeasureWaits(
        test::ParseTrace(fmt::format("r0: {} 0-0 | comp 0-5 | Wait 5-10 | comp 10-12 | Wait 12-14 | Barrier@1 14-15\n"
                                     "r1: {} 0-0 | comp 0-9 | Wait 9-10 | comp 10-14 | Wait 14-14 | Barrier@1 14-15",
                                     first, first)));
  };
  EXPECT_TRUE(measure("Comm_rank").values[Factor::kSerialization]);
  const PhaseFactors unknown = measure("Ineighbor_alltoall");
  EXPECT_FALSE(unknown.values[Factor::kSerialization]);
  EXPECT_EQ(unknown.diagnostics.count(anomaly::kWaitsUnknown), 2u);
  EXPECT_THAT(unknown.diagnostics.findings().back().example, testing::HasSubstr("rank 0 in MPI_Wait at 5.00 s"));
}

// Those of Paraver traces have a record of their begin alone.
TEST(UnknownPhaseWaits, CollectivesWhoseEndIsUnknownMayCompleteInWaits) {
  const auto measure = [](const char* wait) {
    return MeasureWaits(
        test::ParseTrace(fmt::format("r0: Iallreduce@2 0-0 | comp 0-5 | {0} 5-10 | comp 10-14 | Barrier@1 14-15\n"
                                     "r1: Iallreduce@2 0-0 | comp 0-9 | {0} 9-10 | comp 10-14 | Barrier@1 14-15",
                                     wait)));
  };
  EXPECT_TRUE(measure("Wait~2").values[Factor::kSerialization]);
  const PhaseFactors unknown = measure("Wait");
  EXPECT_FALSE(unknown.values[Factor::kSerialization]);
  EXPECT_EQ(unknown.diagnostics.count(anomaly::kWaitsUnknown), 2u);
}

// Ranks that were not recorded, one to three of eight, any of them: what the others compute is known, t from 2 to 9 s
// of T = 10, not whom they wait for.
TEST(UnknownPhaseWaits, RanksWithoutEventsAreLeftOut) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    std::vector<int> useful(8);
    for (int& t : useful) t = 2 + static_cast<int>(random() % 8);
    for (std::size_t i = 0; i <= seed % 3; ++i) useful[random() % 8] = 0;
    TraceBuilder builder;
    const auto main = builder.AddRegion("main"), barrier = builder.AddRegion("MPI_Barrier");
    builder.AddWorld(8);
    double sum = 0, ranks = 0, largest = 0;
    for (std::int32_t rank = 0; rank < 8; ++rank) {
      const int t = useful[static_cast<std::size_t>(rank)];
      RankBuilder events(builder.definitions(), rank);
      if (t > 0) {
        events.Enter(0, main);
        events.Enter(t, barrier);
        events.Collective(CollectiveKind::kBarrier, 0, std::nullopt, 0, 0);
        events.Leave(10, barrier);
        events.Leave(10, main);
        sum += t;
        largest = std::max<double>(largest, t);
        ++ranks;
      }
      builder.SetTimeline(events);
    }
    const Trace trace = std::move(builder).Finish();
    const PhaseFactors factors = MeasureWaits(trace);
    EXPECT_DOUBLE_EQ(*factors.values[Factor::kParallelEfficiency], sum / ranks / 10) << seed;
    EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalance], sum / ranks / largest) << seed;
    EXPECT_FALSE(factors.values[Factor::kSerialization]) << seed;
    EXPECT_FALSE(factors.values[Factor::kTransfer]) << seed;
    EXPECT_THAT(factors.unknown_waits.example, testing::HasSubstr("which recorded nothing")) << seed;
  }
}

// MPI calls of other threads, from none to all: from a hundredth on the waits are unknown, the rest is as without them.
TEST(UnknownPhaseWaits, CallsOfOtherThreadsWithholdSerializationAndTransfer) {
  for (const std::uint64_t calls : {0u, 1u, 10u, 11u, 20u, 50u, 100u, 500u, 900u, 1000u}) {
    Trace trace = test::ParseTrace(
        "r0: comp 0-4 | Barrier@1 4-10\n"
        "r1: comp 0-8 | Barrier@1 8-10");
    trace.diagnostics.Add(anomaly::kMpiOnWorkerThread, calls);
    trace.diagnostics.AddPopulation(anomaly::kMpiOnWorkerThread, 1000);
    EXPECT_NO_THROW(trace.diagnostics.FailPastThreshold(""));
    const PhaseFactors factors = MeasureWaits(trace);
    EXPECT_DOUBLE_EQ(*factors.values[Factor::kParallelEfficiency], 6.0 / 10);
    EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalance], 6.0 / 8);
    EXPECT_EQ(factors.values[Factor::kSerialization].has_value(), calls <= 10) << calls;
    EXPECT_EQ(factors.values[Factor::kTransfer].has_value(), calls <= 10) << calls;
    EXPECT_EQ(factors.diagnostics.count(anomaly::kWaitsUnknown), calls <= 10 ? 0u : 2u) << calls;
  }
}

// Each rank receives before it sends, since other threads answer: t = 4 and 8, T = 10. By themselves they wait for
// ever.
TEST(UnknownPhaseWaits, CallsThatOtherThreadsAnswerNeedNotFitTogether) {
  Trace trace = test::ParseTrace(
      "r0: comp 0-4 | Recv<1#a 4-9 | Send>1#b 9-10\n"
      "r1: comp 0-8 | Recv<0#b 8-9 | Send>0#a 9-10");
  EXPECT_THROW(MeasureWaits(trace), Error);
  trace.diagnostics.Add(anomaly::kMpiOnWorkerThread, 4);
  trace.diagnostics.AddPopulation(anomaly::kMpiOnWorkerThread, 8);
  const PhaseFactors factors = MeasureWaits(trace);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kParallelEfficiency], 6.0 / 10);
  EXPECT_FALSE(factors.values[Factor::kSerialization]);
}

// What iterations take on the ideal network is not known either, but how they vary is.
TEST(UnknownPhaseWaits, IterationsWithUnknownWaits) {
  std::string text = "r0: ";
  for (int k = 0; k < 4; ++k) {
    const int at = 10 * k;
    text += fmt::format("step {}-{} | Win_fence {}-{} | ", at, at + 6, at + 6, at + 10);
  }
  text += "step 40-46\n";
  PhaseSpec steps = PhaseSpec::Region("step");
  steps.span = Span::kWhole;
  const PhaseFactors factors = MeasureWaits(test::ParseTrace(text), steps);
  ASSERT_EQ(factors.profiles.size(), 5u);
  EXPECT_EQ(factors.profiles[1].ideal, 0);
  ASSERT_TRUE(factors.samples);
  EXPECT_FALSE(factors.samples->values[0][Factor::kSerialization]);
  EXPECT_TRUE(factors.samples->values[0][Factor::kCommunicationEfficiency]);
}

// A rank that is off alone for so many ticks of about 900,000 lacks calls that others have: from 1 % of the run on
// nobody knows who waits for whom. Useful time is known all the same.
TEST(UnknownPhaseWaits, CallsOfARankThatIsOffAloneAreMissing) {
  for (const Tick length : {0, 1000, 5000, 20000, 50000, 100000, 200000, 300000, 400000, 500000}) {
    TraceBuilder builder;
    const auto barrier = builder.AddRegion("MPI_Barrier");
    const auto world = builder.AddWorld(2);
    const auto call = [&](RankBuilder& events, Tick enter, Tick leave) {
      events.Enter(enter, barrier);
      events.Collective(CollectiveKind::kBarrier, world, std::nullopt, 0, 0);
      events.Leave(leave, barrier);
    };
    RankBuilder first(builder.definitions(), 0), second(builder.definitions(), 1);
    for (RankBuilder* rank : {&first, &second}) call(*rank, 90000, 100000);
    call(first, 100010, 100020);  // while the second is off
    if (length > 0) {
      second.MeasurementOff(100000);
      second.MeasurementOn(100030 + length);
    } else {
      call(second, 100010, 100020);
    }
    for (RankBuilder* rank : {&first, &second}) call(*rank, 980000, 990000);
    builder.SetTimeline(first);
    builder.SetTimeline(second);
    const Trace trace = std::move(builder).Finish();
    const PhaseFactors factors = MeasureWaits(trace, PhaseSpec::WholeRun());
    EXPECT_TRUE(factors.values[Factor::kLoadBalance]) << length;
    EXPECT_EQ(factors.values[Factor::kSerialization].has_value(), length <= 5000) << length;
    EXPECT_EQ(factors.unknown_waits.any(), length > 5000) << length;
  }
}

}  // namespace
}  // namespace farscale
