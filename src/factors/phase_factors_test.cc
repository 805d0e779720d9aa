// Factors worked out on paper; one tick is a second in programs written as text.
#include "factors/anomalies.h"
#include "factors/phase_factors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnostics.h"
#include "base/files.h"
#include "factors/useful_time.h"
#include "phases/rank_groups.h"
#include "replay/anomalies.h"
#include "replay/replayed_trace.h"
#include "support/program.h"
#include "support/traces.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

using testing::HasSubstr;

PhaseFactors Measure(const Trace& trace, const PhaseSpec& spec = PhaseSpec::WholeRun(),
                     const FactorOptions& options = {}) {
  return MeasurePhase(trace, MatchTrace(trace), CutPhase(trace, spec), options);
}

// t = 4 and 8, T = 10, avg t = 6. Without waiting for the network the barrier ends at 8.
TEST(PhaseFactors, TwoRanksAndABarrier) {
  const PhaseFactors factors =
      Measure(test::ParseTrace("r0: comp 0-4 | Barrier@1 4-10\n"
                               "r1: comp 0-8 | Barrier@1 8-10"));
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kParallelEfficiency], 6.0 / 10);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalance], 6.0 / 8);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kCommunicationEfficiency], 8.0 / 10);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kSerialization], 1);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kTransfer], 8.0 / 10);
  EXPECT_DOUBLE_EQ(factors.totals.elapsed, 10);
  EXPECT_DOUBLE_EQ(factors.totals.ideal_elapsed, 8);
  EXPECT_DOUBLE_EQ(factors.totals.total_useful, 12);
  EXPECT_DOUBLE_EQ(factors.totals.total_mpi, 8);
}

// Rank 1 starts 3 s later: t = 4 and 6, T = 10, and the replay ends at 9. The BSC tools count time outside MPI from the
// begin of the run: 4 and 3 + 6 = 9, so serialization is 9/9 and transfer what communication efficiency 6/10 leaves.
TEST(PhaseFactors, RanksThatStartLaterComputeBefore) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-4 | Barrier@1 4-10\n"
      "r1: comp 3-9 | Barrier@1 9-10");
  const PhaseFactors bsc = Measure(trace);
  EXPECT_DOUBLE_EQ(bsc.totals.elapsed, 10);
  EXPECT_DOUBLE_EQ(bsc.totals.ideal_elapsed, 9);
  EXPECT_DOUBLE_EQ(bsc.totals.largest_useful, 6);
  EXPECT_DOUBLE_EQ(bsc.totals.largest_computation, 9);
  EXPECT_DOUBLE_EQ(*bsc.values[Factor::kCommunicationEfficiency], 6.0 / 10);
  EXPECT_DOUBLE_EQ(*bsc.values[Factor::kSerialization], 1);
  EXPECT_DOUBLE_EQ(*bsc.values[Factor::kTransfer], 6.0 / 10);
  const PhaseFactors causal = Measure(trace, PhaseSpec::WholeRun(), {{RuleSet::kCausal, 32768}, {}});
  EXPECT_DOUBLE_EQ(*causal.values[Factor::kSerialization], 6.0 / 9);
  EXPECT_DOUBLE_EQ(*causal.values[Factor::kTransfer], 9.0 / 10);
}

// In a loop that rank 1 reaches 3 s later it did something else before: t = 4 and 6 within windows from 2 and 5 on,
// T = 12 - 2, and the replay ends 9 s after the first begin. The loop cut out as a trace of its own has the same
// factors, and so has the whole run once it is copied.
TEST(PhaseFactors, OtherPhasesCountFromTheBeginOfTheRank) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-2 | loop 2-6 | Barrier@1 6-12 | loop 12-12\n"
      "r1: comp 1-5 | loop 5-11 | Barrier@1 11-12 | loop 12-12");
  PhaseSpec loop = PhaseSpec::Region("loop");
  loop.span = Span::kWhole;
  const PhaseFactors factors = Measure(trace, loop);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kSerialization], 6.0 / 9);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kTransfer], 9.0 / 10);
  const Matching matching = MatchTrace(trace);
  const PhaseFactors cut = Measure(CutTrace(trace, matching, CutPhase(trace, loop)));
  EXPECT_DOUBLE_EQ(*cut.values[Factor::kSerialization], 6.0 / 9);
  EXPECT_DOUBLE_EQ(*cut.values[Factor::kTransfer], 9.0 / 10);
  // Of the whole run max t is 4 + 6 on rank 1, which starts at 1 and ends the replay at 11; T = 12.
  const PhaseFactors whole = Measure(trace);
  EXPECT_DOUBLE_EQ(*whole.values[Factor::kSerialization], 1);
  EXPECT_DOUBLE_EQ(*whole.values[Factor::kTransfer], 10.0 / 12);
  EXPECT_EQ(Measure(CutTrace(trace, matching, CutPhase(trace, PhaseSpec::WholeRun()))).values, whole.values);
}

// A chain: each rank works 2 s after the one before. avg t = max t = 2, T = 12, T_ideal = 6.
TEST(PhaseFactors, SerializationOfAChain) {
  const PhaseFactors factors =
      Measure(test::ParseTrace("r0: comp 0-2 | Send>1#a 2-3 | Barrier@1 3-12\n"
                               "r1: Recv<0#a 0-5 | comp 5-7 | Send>2#b 7-8 | Barrier@1 8-12\n"
                               "r2: Recv<1#b 0-9 | comp 9-11 | Barrier@1 11-12"));
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalance], 1);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kSerialization], 2.0 / 6);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kTransfer], 6.0 / 12);
}

// Useful times 2 and 4 on node a, 6 and 8 on node b: loads 3 and 7, avg 5, max 8.
TEST(PhaseFactors, LoadBalanceWithinAndBetweenNodes) {
  Trace trace = test::ParseTrace(
      "r0: comp 0-2 | Barrier@1 2-10\n"
      "r1: comp 0-4 | Barrier@1 4-10\n"
      "r2: comp 0-6 | Barrier@1 6-10\n"
      "r3: comp 0-8 | Barrier@1 8-10");
  trace.nodes = {"a", "b"};
  trace.ranks[2].node = trace.ranks[3].node = 1;
  const PhaseFactors factors = Measure(trace);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalanceIn], 7.0 / 8);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalanceOut], 5.0 / 7);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalance], 5.0 / 8);
}

// Lopez21, eq. 6 and 7 divide sums per node by the number of its ranks; with equal ranks a node that is the same.
TEST(PhaseFactors, NodesOfDifferentSizeStillMultiply) {
  Trace trace = test::ParseTrace(
      "r0: comp 0-2 | Barrier@1 2-10\n"
      "r1: comp 0-4 | Barrier@1 4-10\n"
      "r2: comp 0-9 | Barrier@1 9-10");
  trace.nodes = {"a", "b"};
  trace.ranks[2].node = 1;
  const PhaseFactors factors = Measure(trace);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalanceIn] * *factors.values[Factor::kLoadBalanceOut],
                   *factors.values[Factor::kLoadBalance]);
}

// Region F twice on two ranks, with other work between; the comments give measured and ideal times.
Trace MakeTwoOccurrences() {
  TraceBuilder builder;
  const auto f = builder.AddRegion("F"), send = builder.AddRegion("MPI_Send"), recv = builder.AddRegion("MPI_Recv");
  const auto world = builder.AddWorld(2);
  builder.trace().ticks_per_second = 1;
  RankBuilder r0(builder.definitions(), 0), r1(builder.definitions(), 1);
  // Rank 0: F 0-5 with a send 3-4, work 5-10, F 10-14 with a send 12-13. Ideal: F 0-4, F 9-12.
  r0.Enter(0, f);
  r0.Enter(3, send);
  r0.Send(1, world, 0, 8);
  r0.Leave(4, send);
  r0.Leave(5, f);
  r0.Enter(10, f);
  r0.Enter(12, send);
  r0.Send(1, world, 0, 8);
  r0.Leave(13, send);
  r0.Leave(14, f);
  // Rank 1: F 0-6 with a receive 1-5, work 6-10, F 10-15 with a receive 11-14. Ideal: the receives end when the
  // sends happen, at 3 and 11, so F 0-4 and F 8-12.
  r1.Enter(0, f);
  r1.Enter(1, recv);
  r1.Receive(0, world, 0, 8);
  r1.Leave(5, recv);
  r1.Leave(6, f);
  r1.Enter(10, f);
  r1.Enter(11, recv);
  r1.Receive(0, world, 0, 8);
  r1.Leave(14, recv);
  r1.Leave(15, f);
  builder.SetTimeline(r0);
  builder.SetTimeline(r1);
  return std::move(builder).Finish();
}

// t = (5-1)+(4-1) = 7 and (6-4)+(5-3) = 4; T = max(5+4, 6+5) = 11; T_ideal = max(4+3, 4+4) = 8.
TEST(PhaseFactors, SpanEach) {
  const PhaseFactors factors = Measure(MakeTwoOccurrences(), PhaseSpec::Region("F"));
  EXPECT_EQ(factors.span, Span::kEach);
  EXPECT_EQ(factors.iterations, 2u);
  EXPECT_DOUBLE_EQ(factors.totals.elapsed, 11);
  EXPECT_DOUBLE_EQ(factors.totals.ideal_elapsed, 8);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalance], 5.5 / 7);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kSerialization], 7.0 / 8);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kTransfer], 8.0 / 11);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kParallelEfficiency], 0.5);
}

// The same as one window from 0 to 15: t = 12 and 8, T = 15, and the replay ends at 12 on both ranks.
TEST(PhaseFactors, SpanWhole) {
  PhaseSpec spec = PhaseSpec::Region("F");
  spec.span = Span::kWhole;
  const PhaseFactors factors = Measure(MakeTwoOccurrences(), spec);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalance], 10.0 / 12);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kSerialization], 1);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kTransfer], 12.0 / 15);
}

std::string WhyIdealIsAbove(const PhaseFactors& factors) {
  for (const Finding& finding : factors.diagnostics.findings()) {
    if (finding.id == "idealAboveMeasured") return finding.example;
  }
  return "";
}

// Rank 0 waits 5 s for a message between two occurrences of F, which rank 1 sent when it began to wait; then both are
// in F from 6 on. On the ideal network rank 0 is there at 1 and waits for the next message until rank 1 has worked, to
// 6: 1 + 6 s in F instead of 1 + 3. From begin to end that is 7 s instead of 9, so no clock is wrong.
TEST(PhaseFactors, WaitsThatMoveIntoOccurrencesAreNoClockError) {
  TraceBuilder builder;
  builder.trace().ticks_per_second = 1;
  const auto f = builder.AddRegion("F"), send = builder.AddRegion("MPI_Send"), recv = builder.AddRegion("MPI_Recv");
  const auto world = builder.AddWorld(2);
  RankBuilder r0(builder.definitions(), 0), r1(builder.definitions(), 1);
  const auto receive = [&](Tick from, Tick to) {
    r0.Enter(from, recv);
    r0.Receive(1, world, 0, 8);
    r0.Leave(to, recv);
  };
  r0.Enter(0, f);
  r0.Leave(1, f);
  receive(1, 6);
  r0.Enter(6, f);
  receive(7, 8);
  r0.Leave(9, f);
  r1.Enter(0, f);
  r1.Leave(1, f);
  for (const Tick at : {1, 7}) {
    if (at == 7) r1.Enter(6, f);
    r1.Enter(at, send);
    r1.Send(0, world, 0, 8);
    r1.Leave(at + 1, send);
  }
  r1.Leave(8, f);
  builder.SetTimeline(r0);
  builder.SetTimeline(r1);
  const Trace trace = std::move(builder).Finish();
  const PhaseFactors factors = Measure(trace, PhaseSpec::Region("F"));
  EXPECT_EQ(factors.span, Span::kEach);
  EXPECT_DOUBLE_EQ(factors.totals.elapsed, 4);
  EXPECT_DOUBLE_EQ(factors.totals.ideal_elapsed, 7);
  EXPECT_THAT(WhyIdealIsAbove(factors), testing::HasSubstr("waits from between its occurrences move into them"));
}

// A receive ends at 2, three seconds before its message is sent: 5 + 2 s on the ideal network instead of 6.
TEST(PhaseFactors, AMessageReceivedBeforeItIsSentIsAClockError) {
  const PhaseFactors factors =
      Measure(test::ParseTrace("r0: comp 0-5 | Send>1#a 5-6\n"
                               "r1: Recv<0#a 0-2 | comp 2-4"));
  EXPECT_DOUBLE_EQ(factors.totals.ideal_elapsed, 7);
  EXPECT_THAT(WhyIdealIsAbove(factors), testing::HasSubstr("clocks of ranks differ"));
}

RankGroup Ranks(const std::string& name, const std::vector<std::size_t>& ranks) {
  RankGroup group;
  group.name = name;
  group.ranks = ranks;
  return group;
}

GroupedFactors MeasureGroups(const Trace& trace, const std::vector<RankGroup>& groups,
                             const PhaseSpec& spec = PhaseSpec::WholeRun()) {
  return MeasurePhase(trace, MatchTrace(trace), CutPhase(trace, spec), groups, {});
}

// T7 of tests/programs/imbalance.txt: t = 2, 2, 5, 3, T = 6, and the barrier ends at 5 without waiting for the network.
TEST(PhaseFactors, GroupsOfRanks) {
  const Trace trace = test::ParseTrace(
      "r0: A 0-2 | Barrier@1 2-6\n"
      "r1: A 0-2 | Barrier@1 2-6\n"
      "r2: B 0-5 | Barrier@1 5-6\n"
      "r3: B 0-3 | Barrier@1 3-6");
  Diagnostics found;
  const std::vector<RankGroup> groups = FindGroups(trace, CutPhase(trace, PhaseSpec::WholeRun()), found);
  const GroupedFactors factors = MeasureGroups(trace, groups);
  ASSERT_EQ(factors.groups.size(), 2u);
  struct Expected {
    const PhaseFactors& factors;
    double load_balance, serialization, parallel_efficiency, useful;
    PhaseId phase;
  };
  for (const Expected& e : {Expected{factors.whole, 3.0 / 5, 1, 3.0 / 6, 12, "whole"},
                            Expected{*factors.groups[0], 1, 2.0 / 5, 2.0 / 6, 4, {"whole", "A"}},
                            Expected{*factors.groups[1], 4.0 / 5, 1, 4.0 / 6, 8, {"whole", "B"}}}) {
    EXPECT_EQ(e.factors.phase, e.phase);
    EXPECT_DOUBLE_EQ(*e.factors.values[Factor::kLoadBalance], e.load_balance) << e.phase.Text();
    EXPECT_DOUBLE_EQ(*e.factors.values[Factor::kSerialization], e.serialization) << e.phase.Text();
    EXPECT_DOUBLE_EQ(*e.factors.values[Factor::kTransfer], 5.0 / 6) << e.phase.Text();
    EXPECT_DOUBLE_EQ(*e.factors.values[Factor::kParallelEfficiency], e.parallel_efficiency) << e.phase.Text();
    EXPECT_DOUBLE_EQ(e.factors.totals.total_useful, e.useful) << e.phase.Text();
    EXPECT_DOUBLE_EQ(e.factors.totals.elapsed, 6) << e.phase.Text();
  }
}

// Rank 1 begins 2 s after rank 0: by itself T = 10 - 2 and T_ideal = 5 - 2.
TEST(PhaseFactors, GroupsHaveTheirOwnBeginAndEnd) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-4 | Barrier@1 4-9\n"
      "r1: comp 2-5 | Barrier@1 5-10");
  const GroupedFactors factors = MeasureGroups(trace, {Ranks("a", {0}), Ranks("b", {1})});
  EXPECT_DOUBLE_EQ(factors.whole.totals.elapsed, 10);
  EXPECT_DOUBLE_EQ(factors.whole.totals.ideal_elapsed, 5);
  EXPECT_DOUBLE_EQ(factors.groups[0]->totals.elapsed, 9);
  EXPECT_DOUBLE_EQ(factors.groups[0]->totals.ideal_elapsed, 5);
  EXPECT_DOUBLE_EQ(factors.groups[1]->totals.elapsed, 8);
  EXPECT_DOUBLE_EQ(factors.groups[1]->totals.ideal_elapsed, 3);
}

// The same with two iterations: of rank 1 alone they take 4 and 6 s. In the replay the barriers end at 5 and 9, which
// makes 5 - 2 and 4 s.
TEST(PhaseFactors, IterationsOfAGroup) {
  const test::TextProgram program = test::ParseProgram(
      "T\n"
      "r0: comp 0-4 | Barrier@1 4-6 | comp 6-10 | Barrier@2 10-12\n"
      "r1: comp 2-5 | Barrier@1 5-6 | comp 6-9 | Barrier@2 9-12\n"
      "cuts: all 6 12");
  const Trace& trace = program.trace;
  const PhaseFactors factors =
      *MeasurePhase(trace, MatchTrace(trace), test::CutOf(program), {Ranks("a", {0}), Ranks("b", {1})}, {}).groups[1];
  ASSERT_EQ(factors.profiles.size(), 2u);
  EXPECT_DOUBLE_EQ(factors.profiles[0].begin, 2);
  EXPECT_DOUBLE_EQ(factors.profiles[0].elapsed, 4);
  EXPECT_DOUBLE_EQ(factors.profiles[1].elapsed, 6);
  EXPECT_DOUBLE_EQ(factors.profiles[0].ideal, 3);
  EXPECT_DOUBLE_EQ(factors.profiles[1].ideal, 4);
  EXPECT_DOUBLE_EQ(factors.profiles[0].average_useful, 3);
  EXPECT_DOUBLE_EQ(factors.totals.elapsed, 10);
  EXPECT_DOUBLE_EQ(factors.totals.ideal_elapsed, 7);
}

// Ranks 0 and 1 of the region F above, each by itself: t = 7 and 4, T = 9 and 11, T_ideal = 4+3 and 4+4.
TEST(PhaseFactors, GroupsOfOccurrences) {
  const GroupedFactors factors =
      MeasureGroups(MakeTwoOccurrences(), {Ranks("a", {0}), Ranks("b", {1})}, PhaseSpec::Region("F"));
  EXPECT_DOUBLE_EQ(factors.groups[0]->totals.elapsed, 9);
  EXPECT_DOUBLE_EQ(factors.groups[0]->totals.ideal_elapsed, 7);
  EXPECT_DOUBLE_EQ(factors.groups[0]->totals.largest_useful, 7);
  EXPECT_DOUBLE_EQ(factors.groups[1]->totals.elapsed, 11);
  EXPECT_DOUBLE_EQ(factors.groups[1]->totals.ideal_elapsed, 8);
  EXPECT_DOUBLE_EQ(factors.groups[1]->totals.largest_useful, 4);
  EXPECT_DOUBLE_EQ(*factors.groups[1]->totals.estimated_ideal, 4);  // 2 + 2: only its own iterations
}

// Loads of the nodes are those of the group: ranks 1 and 2, with 4 on node a and 6 on node b.
TEST(PhaseFactors, NodesOfAGroup) {
  Trace trace = test::ParseTrace(
      "r0: comp 0-2 | Barrier@1 2-10\n"
      "r1: comp 0-4 | Barrier@1 4-10\n"
      "r2: comp 0-6 | Barrier@1 6-10\n"
      "r3: comp 0-8 | Barrier@1 8-10");
  trace.nodes = {"a", "b"};
  trace.ranks[2].node = trace.ranks[3].node = 1;
  const PhaseFactors factors = *MeasureGroups(trace, {Ranks("a", {1, 2}), Ranks("b", {0, 3})}).groups[0];
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalanceIn], 1);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalanceOut], 5.0 / 6);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalance], 5.0 / 6);
}

// A group that computes nothing, or is not in the phase, has no factors; the others do.
TEST(PhaseFactors, GroupsWithoutComputation) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-2 | Barrier@1 2-6\n"
      "r1: comp 0-3 | Barrier@1 3-6\n"
      "r2: Barrier@1 0-6");
  const GroupedFactors factors = MeasureGroups(trace, {Ranks("a", {0, 1}), Ranks("b", {2})});
  ASSERT_TRUE(factors.groups[0]);
  EXPECT_FALSE(factors.groups[1]);
  ASSERT_EQ(factors.whole.diagnostics.count(anomaly::kGroupWithoutFactors), 1u);
  EXPECT_FALSE(MeasureGroups(trace, {Ranks("b", {2})}, PhaseSpec::Region("comp")).groups[0]);
}

TEST(PhaseFactors, CausalRulesChangeSerialization) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-4 | Bcast@1/1 4-9 | comp 9-13\n"
      "r1: comp 0-1 | Bcast@1/1 1-9 | comp 9-13");
  FactorOptions causal;
  causal.rules.set = RuleSet::kCausal;
  EXPECT_DOUBLE_EQ(*Measure(trace).values[Factor::kSerialization], 8.0 / 8);  // both leave at 4
  EXPECT_DOUBLE_EQ(Measure(trace).totals.ideal_elapsed, 8);
  EXPECT_DOUBLE_EQ(Measure(trace, PhaseSpec::WholeRun(), causal).totals.ideal_elapsed, 8);  // rank 0 at max(4, 1)
}

// Instructions outside MPI: 100 - 10 = 90 and 60; cycles 45 and 40 likewise.
TEST(PhaseFactors, CountersOutsideMpi) {
  TraceBuilder builder;
  const auto main = builder.AddRegion("main"), barrier = builder.AddRegion("MPI_Barrier");
  const auto world = builder.AddWorld(2);
  const auto ins = builder.AddCounter({"PAPI_TOT_INS", "", "#"}), cyc = builder.AddCounter({"PAPI_TOT_CYC", "", "#"});
  for (const std::int32_t r : {0, 1}) {
    RankBuilder rank(builder.definitions(), r);
    const auto sample = [&](Tick t, std::int64_t i, std::int64_t c) {
      rank.SetCounter(t, ins, i);
      rank.SetCounter(t, cyc, c);
    };
    sample(0, 1000, 500);
    rank.Enter(0, main);
    sample(5, r == 0 ? 1070 : 1040, r == 0 ? 535 : 530);
    rank.Enter(5, barrier);
    rank.Collective(CollectiveKind::kBarrier, world, {}, 0, 0);
    sample(8, r == 0 ? 1080 : 1045, r == 0 ? 540 : 535);
    rank.Leave(8, barrier);
    sample(10, r == 0 ? 1100 : 1065, r == 0 ? 550 : 545);
    rank.Leave(10, main);
    builder.SetTimeline(rank);
  }
  const Trace trace = std::move(builder).Finish();
  const PhaseFactors factors = Measure(trace);
  EXPECT_DOUBLE_EQ(*factors.totals.instructions, 90 + 60);
  EXPECT_DOUBLE_EQ(*factors.totals.cycles, 45 + 40);
  FactorOptions wrong;
  wrong.counters.instructions = "PAPI_TOT_INZ";
  EXPECT_THROW(Measure(trace, PhaseSpec::WholeRun(), wrong), Error);

  // A window from 2 to 6: half-way into the barrier. Between samples counts grow with time: at 2 rank 0 has 1028.
  PhaseSpec window;
  window.name = "w";
  window.kind = PhaseSpec::Kind::kTimeWindow;
  window.window_begin = 2e-9;
  window.window_end = 6e-9;
  const PhaseCut cut = CutPhase(trace, window);
  EXPECT_DOUBLE_EQ(UsefulCount(trace.timelines[0], ins, cut.ranks[0].window), 1070 - 1028);
  EXPECT_EQ(UsefulTicks(trace.timelines[0], cut.ranks[0].window), 3);
}

TEST(PhaseFactors, CalibratedByTheDesignsOwnPrograms) {
  const std::string text = ReadFile(test::SourceFolder() + "/tests/programs/imbalance.txt");
  int checked = 0;
  for (const test::TextProgram& program : test::ParsePrograms(text)) {
    if (program.expect.count("tideal") == 0) continue;
    const PhaseCut cut = test::CutOf(program);
    const PhaseFactors factors = MeasurePhase(program.trace, MatchTrace(program.trace), cut, {});
    const auto expected = [&](const char* key) { return std::stod(program.expect.at(key)); };
    EXPECT_DOUBLE_EQ(factors.totals.ideal_elapsed, expected("tideal")) << program.name;
    EXPECT_DOUBLE_EQ(factors.totals.elapsed, expected("T")) << program.name;
    EXPECT_DOUBLE_EQ(factors.totals.largest_useful, expected("maxcomp")) << program.name;
    if (program.expect.count("avgcomp") > 0) {
      EXPECT_DOUBLE_EQ(factors.totals.average_useful, expected("avgcomp")) << program.name;
    }
    EXPECT_EQ(EstimateIdealFromIterations(program.trace, cut), static_cast<Tick>(expected("est"))) << program.name;
    ++checked;
  }
  EXPECT_EQ(checked, 3);  // T6, T10a, T10b
}

// T6 of [Boehme13] with the metrics of [Huck10]: LB 1, commEff 0.5, μLB 0.6, Transfer 5/6, η 0.5.
TEST(PhaseFactors, RotatingImbalance) {
  const std::string text = ReadFile(test::SourceFolder() + "/tests/programs/imbalance.txt");
  for (const test::TextProgram& program : test::ParsePrograms(text)) {
    if (program.name.compare(0, 3, "T6 ") != 0) continue;
    const PhaseFactors factors = MeasurePhase(program.trace, MatchTrace(program.trace), test::CutOf(program), {});
    EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalance], 1);
    EXPECT_DOUBLE_EQ(*factors.values[Factor::kCommunicationEfficiency], 0.5);
    EXPECT_DOUBLE_EQ(*factors.values[Factor::kSerialization], 0.6);
    EXPECT_DOUBLE_EQ(*factors.values[Factor::kTransfer], 5.0 / 6);
    EXPECT_DOUBLE_EQ(*factors.values[Factor::kParallelEfficiency], 0.5);
    EXPECT_DOUBLE_EQ(*factors.values[Factor::kSerializationPhaseEstimate], 9.0 / 15);
  }
}

// T10a: rank 1 computes only after rank 0 has sent, 3 + 3 s on the ideal network. Profiles see 4 s at most on one rank
// and take that for the whole: serialization 4/6 is hidden, and the published bound of the error, 1 s, is not safe.
TEST(PhaseFactors, EstimateSeesNoDependencies) {
  const std::string text = ReadFile(test::SourceFolder() + "/tests/programs/imbalance.txt");
  for (const test::TextProgram& program : test::ParsePrograms(text)) {
    if (program.name.compare(0, 5, "T10a ") != 0) continue;
    const PhaseFactors factors = MeasurePhase(program.trace, MatchTrace(program.trace), test::CutOf(program), {});
    EXPECT_DOUBLE_EQ(*factors.values[Factor::kSerialization], 4.0 / 6);
    EXPECT_DOUBLE_EQ(*factors.values[Factor::kTransfer], 6.0 / 8);
    EXPECT_DOUBLE_EQ(ClampEstimate(4, factors.totals), 4);
    EXPECT_FALSE(factors.totals.estimated_ideal);  // of one iteration it would be max t
  }
}

// T10b: the estimate of 8 exceeds T = 6, so it is clamped to 6 and flagged.
TEST(PhaseFactors, EstimateIsClampedAndFlagged) {
  const std::string text = ReadFile(test::SourceFolder() + "/tests/programs/imbalance.txt");
  for (const test::TextProgram& program : test::ParsePrograms(text)) {
    if (program.name.compare(0, 5, "T10b ") != 0) continue;
    PhaseCut cut = test::CutOf(program);
    const PhaseFactors factors = MeasurePhase(program.trace, MatchTrace(program.trace), cut, {});
    EXPECT_DOUBLE_EQ(*factors.totals.estimated_ideal, 6);
    EXPECT_DOUBLE_EQ(*factors.values[Factor::kSerialization], 1);
    EXPECT_DOUBLE_EQ(*factors.values[Factor::kTransfer], 5.0 / 6);
    EXPECT_DOUBLE_EQ(*factors.values[Factor::kSerializationPhaseEstimate], 5.0 / 6);
    EXPECT_EQ(factors.diagnostics.count(anomaly::kPhaseEstimateClamped), 1u);
  }
}

TEST(PhaseFactors, PhaseWithoutComputationHasNoFactors) {
  try {
    Measure(test::ParseTrace("r0: Barrier@1 0-5\nr1: Barrier@1 0-5"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNotEnoughData);
    EXPECT_THAT(error.what(), HasSubstr("contains no computation"));
  }
}

TEST(PhaseFactors, InterruptionsAreReported) {
  TraceBuilder builder;
  const auto main = builder.AddRegion("main");
  builder.AddWorld(1);
  RankBuilder rank(builder.definitions(), 0);  // ticks are nanoseconds
  rank.Enter(0, main);
  rank.MeasurementOff(1000000);
  rank.MeasurementOn(3000000);
  rank.Leave(10000000, main);
  builder.SetTimeline(rank);
  const PhaseFactors factors = Measure(std::move(builder).Finish());
  EXPECT_EQ(factors.diagnostics.count(anomaly::kMeasurementOff), 2000u);  // microseconds
}

// Rank 0 does not run from 2 to 5: t = 5 and 8 of T = 8, with 3 s of nothing. From 4 on t is 3 and 4, and 1 s is
// paused.
TEST(PhaseFactors, PausesAreNeitherUsefulNorMpi) {
  TraceBuilder builder;
  const auto work = builder.AddRegion("work");
  Region region;
  region.name = std::string(kPauseRegion);
  region.is_pause = true;
  const auto pause = builder.AddRegion(region);
  builder.AddWorld(2);
  builder.trace().ticks_per_second = 1;
  for (const std::int32_t number : {0, 1}) {
    RankBuilder rank(builder.definitions(), number);
    rank.Enter(0, work);
    if (number == 0) {
      rank.Enter(2, pause);
      rank.Leave(5, pause);
    }
    rank.Leave(8, work);
    builder.SetTimeline(rank);
  }
  const Trace trace = std::move(builder).Finish();
  const PhaseTotals whole = Measure(trace).totals;
  EXPECT_DOUBLE_EQ(whole.total_useful, 13);
  EXPECT_DOUBLE_EQ(whole.largest_useful, 8);
  EXPECT_DOUBLE_EQ(whole.total_paused, 3);
  EXPECT_DOUBLE_EQ(whole.total_mpi, 0);
  PhaseSpec later;
  later.name = "later";
  later.kind = PhaseSpec::Kind::kTimeWindow;
  later.window_begin = 4;
  later.window_end = 8;
  const PhaseTotals end = Measure(trace, later).totals;
  EXPECT_DOUBLE_EQ(end.total_useful, 7);
  EXPECT_DOUBLE_EQ(end.total_paused, 1);
  EXPECT_DOUBLE_EQ(end.total_mpi, 0);
}

// What was odd in finding the phase is odd in its factors.
TEST(PhaseFactors, WhatTheCutFoundIsKept) {
  const Trace trace = test::ParseTrace("r0: comp 0-4 | Barrier@1 4-10\nr1: comp 0-8 | Barrier@1 8-10");
  PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  cut.diagnostics.Add(anomaly::kIterationWithoutLike, 3, "example");
  const PhaseFactors factors = MeasurePhase(trace, MatchTrace(trace), cut, {});
  EXPECT_EQ(factors.diagnostics.count(anomaly::kIterationWithoutLike), 3u);
}

// Off from 1 to 3 and from 6 to 9 ms, a flush from 4 to 5: only what lies within a phase counts for it. Occurrences of
// F from 0 to 2 and from 7 to 8 hold 1 and 1 ms of being off, and none of the flush.
TEST(PhaseFactors, InterruptionsAreThoseWithinThePhase) {
  constexpr Tick kMillisecond = 1000000;  // ticks are nanoseconds
  TraceBuilder builder;
  const auto main = builder.AddRegion("main"), f = builder.AddRegion("F");
  builder.AddWorld(1);
  RankBuilder rank(builder.definitions(), 0);
  rank.Enter(0, main);
  rank.Enter(0, f);
  rank.MeasurementOff(1 * kMillisecond);
  rank.Leave(2 * kMillisecond, f);
  rank.MeasurementOn(3 * kMillisecond);
  rank.BufferFlush(4 * kMillisecond, 5 * kMillisecond);
  rank.MeasurementOff(6 * kMillisecond);
  rank.Enter(7 * kMillisecond, f);
  rank.Leave(8 * kMillisecond, f);
  rank.MeasurementOn(9 * kMillisecond);
  rank.Leave(10 * kMillisecond, main);
  builder.SetTimeline(rank);
  const Trace trace = std::move(builder).Finish();
  const auto expect = [&](const PhaseSpec& spec, std::uint64_t off, std::uint64_t flush) {
    const PhaseFactors factors = Measure(trace, spec);
    EXPECT_EQ(factors.diagnostics.count(anomaly::kMeasurementOff), off) << spec.name;
    EXPECT_EQ(factors.diagnostics.count(anomaly::kBufferFlush), flush) << spec.name;
  };
  const auto window = [](double begin, double end) {
    PhaseSpec spec;
    spec.name = "from " + std::to_string(begin);
    spec.kind = PhaseSpec::Kind::kTimeWindow;
    spec.window_begin = begin;
    spec.window_end = end;
    return spec;
  };
  expect(PhaseSpec::WholeRun(), 5000, 1000);
  expect(PhaseSpec::Region("F"), 2000, 0);
  expect(window(0.002, 0.008), 3000, 1000);  // 2 to 3 and 6 to 8
  expect(window(0.0045, 0.0055), 0, 500);    // half of the flush
  expect(window(0.003, 0.004), 0, 0);        // between them
}

}  // namespace
}  // namespace farscale
