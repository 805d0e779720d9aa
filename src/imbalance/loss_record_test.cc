// What a diagnosis leaves for later, worked out by hand.
#include "imbalance/loss_record.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "factors/phase_factors.h"
#include "imbalance/diagnosis.h"
#include "support/program.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

using testing::ElementsAre;

// T9 of tests/programs/imbalance.txt: a delay of 4 s costs 10 s. Rank 1 waits 4 s for rank 0 and receives until 7; rank
// 0 waits 3 s in the barrier, rank 2 6 s, rank 3 3 s, for rank 1: 3 s of its computation and 3 s of its receive
// directly, 6 s of what rank 0 computed indirectly. Of its wait in the barrier rank 0 owes 1 s to the later end of the
// receive.
TEST(LossRecord, SumsOverPathsAndRanks) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-5 | Send>1#a 5-6 | comp 6-7 | Barrier@1 7-11\n"
      "r1: comp 0-1 | Recv<0#a 1-7 | comp 7-10 | Barrier@1 10-11\n"
      "r2: comp 0-4 | Barrier@1 4-11\n"
      "r3: comp 0-7 | Barrier@1 7-11");
  const LossRecord record =
      RecordOf(Diagnose(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun())), "whole");
  EXPECT_EQ(record.phase, "whole");
  EXPECT_THAT(record.ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(record.run_ranks, 4u);
  EXPECT_NEAR(record.length, 11, 1e-12);
  EXPECT_NEAR(record.allocation, 44, 1e-12);
  EXPECT_NEAR(record.Waiting(), 16, 1e-12);
  EXPECT_NEAR(record.waiting[static_cast<std::size_t>(WaitKind::kLateSender)], 4, 1e-12);
  EXPECT_NEAR(record.waiting[static_cast<std::size_t>(WaitKind::kWaitAtBarrier)], 12, 1e-12);
  EXPECT_NEAR(Sum(record.short_term), 9, 1e-12);
  EXPECT_NEAR(Sum(record.long_term), 6, 1e-12);
  EXPECT_NEAR(record.Costs(), 16, 1e-12);
  EXPECT_NEAR(record.indirect, 6, 1e-12);
  EXPECT_NEAR(record.propagating, 4, 1e-12);
  EXPECT_EQ(record.wrong_order, 0);
  // What causes most comes first: 10 on rank 0 and 2 on rank 1, then 4 in the receive of rank 1.
  EXPECT_EQ(record.paths[0].path, "comp");
  EXPECT_THAT(record.paths[0].costs, ElementsAre(testing::DoubleNear(10, 1e-12), testing::DoubleNear(2, 1e-12), 0, 0));
  EXPECT_THAT(record.paths[0].execution, ElementsAre(6, 4, 4, 7));
  EXPECT_EQ(record.paths[1].path, "MPI_Recv");
  EXPECT_THAT(record.paths[1].costs, ElementsAre(0, testing::DoubleNear(4, 1e-12), 0, 0));
  EXPECT_THAT(record.paths[1].waiting, ElementsAre(0, 4, 0, 0));
  EXPECT_THAT(record.paths[1].execution, ElementsAre(0, 2, 0, 0));
}

// The name of a region may contain what separates regions.
TEST(LossRecord, InnermostRegionsAreNotReadOffTheText) {
  TraceBuilder builder;
  builder.trace().ticks_per_second = 1;
  const std::uint32_t world = builder.AddWorld(2), solve = builder.AddRegion("solve / a / b"),
                      barrier = builder.AddRegion("MPI_Barrier");
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    RankBuilder timeline(builder.definitions(), rank);
    timeline.Enter(0, solve);
    timeline.Enter(rank == 0 ? 4 : 2, barrier);
    timeline.Collective(CollectiveKind::kBarrier, world, std::nullopt, 0, 0);
    timeline.Leave(5, barrier);
    timeline.Leave(6, solve);
    builder.SetTimeline(timeline);
  }
  const Trace trace = std::move(builder).Finish();
  const LossRecord record =
      RecordOf(Diagnose(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun())), "whole");
  std::map<std::string, std::string> innermost;
  for (const PathRecord& path : record.paths) innermost[path.path] = path.innermost;
  EXPECT_EQ(innermost["solve / a / b"], "solve / a / b");
  EXPECT_EQ(innermost["solve / a / b / MPI_Barrier"], "solve / a / b / MPI_Barrier");
}

// Rank 1 waits 3 s for rank 0 in the barrier. If some other wait is unknown, nothing of that is told; the shape is.
TEST(LossRecord, WithoutWaitsOnlyWhatHoldsInAnyCase) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-5 | Barrier@1 5-6\n"
      "r1: comp 0-2 | Barrier@1 2-6");
  const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  LossRecord record = RecordOf(Diagnose(trace, MatchTrace(trace), cut, {{}, {}, 1}), "whole");
  ASSERT_NEAR(record.Waiting(), 3, 1e-12);
  ASSERT_TRUE(record.shape);
  WithholdWaits(record, {2, "rank 0 in MPI_Win_lock at 1 s", 0});
  EXPECT_EQ(record.Waiting(), 0);
  EXPECT_EQ(record.Costs(), 0);
  EXPECT_TRUE(record.paths.empty());
  EXPECT_EQ(record.unknown_waits->calls, 2u);
  EXPECT_NEAR(record.length, 6, 1e-12);
  EXPECT_NEAR(record.shape->imbalance, 0.6, 1e-12);  // (5 - 3.5) / 5, of at most 1 - 1/2
}

// A run has one length in all commands, also where a damaged time stamp makes MPI_Finalize or the time around it as
// long as the run and more, or a rank begin long before the others.
TEST(LossRecord, LengthIsThatOfTraceAndFactors) {
  for (int more = 0; more < 10; ++more) {
    const int end = 10 + (1 << (3 * more)), begin = more % 2 * more;
    const Trace trace =
        test::ParseTrace(fmt::format("r0: comp {1}-5 | Barrier@1 5-6 | comp 6-9 | Finalize 9-{0}\n"
                                     "r1: comp 0-2 | Barrier@1 2-6 | Finalize 6-10{2}",
                                     end, std::min(begin, 4), more % 3 == 0 ? "" : " | comp 10-11"));
    const Matching matching = MatchTrace(trace);
    const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
    const double length = trace.Seconds(trace.end() - trace.begin());
    EXPECT_EQ(length, end);
    EXPECT_EQ(MeasurePhase(trace, matching, cut, FactorOptions{}).totals.elapsed, length) << end;
    EXPECT_EQ(RecordOf(Diagnose(trace, matching, cut), "whole").length, length) << end;
  }
}

// F takes 2 and 3 s with 3 s between: the critical path of 8 s goes through all of it, and no time of what lies between
// counts for the phase.
TEST(LossRecord, WhatLiesBetweenOccurrencesHasEffectsOnly) {
  const Trace trace = test::ParseTrace(
      "r0: F 0-2 | comp 2-5 | F 5-8\n"
      "r1: F 0-2 | comp 2-5 | F 5-8");
  PhaseSpec spec = PhaseSpec::Region("F");
  spec.span = Span::kEach;
  const LossRecord record = RecordOf(Diagnose(trace, MatchTrace(trace), CutPhase(trace, spec)), "F");
  EXPECT_TRUE(record.recurs);
  EXPECT_NEAR(record.length, 5, 1e-12);
  EXPECT_NEAR(record.window, 8, 1e-12);
  double critical = 0, execution = 0;
  for (const PathRecord& path : record.paths) {
    critical += path.total.critical;
    execution += std::accumulate(path.execution.begin(), path.execution.end(), 0.0);
  }
  EXPECT_NEAR(critical, 8, 1e-12);
  EXPECT_NEAR(execution, 10, 1e-12);
}

// T3: rank 0 waits 5 s for a message while another, sent earlier, is received after it.
TEST(LossRecord, MessagesInWrongOrder) {
  const Trace trace = test::ParseTrace(
      "r0: Irecv<1#a 0-1 | Irecv<2#b 1-2 | Waitall~a,b 2-9 | comp 9-10 | Recv<1#c 10-16 | Recv<2#d 16-17\n"
      "r1: comp 0-4 | Send>0#a 4-5 | comp 5-15 | Send>0#c 15-16 | comp 16-17\n"
      "r2: comp 0-7 | Send>0#b 7-8 | comp 8-11 | Send>0#d 11-12 | comp 12-17");
  const LossRecord record =
      RecordOf(Diagnose(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun())), "whole");
  EXPECT_NEAR(record.wrong_order, 5, 1e-12);
  EXPECT_NEAR(record.Waiting(), 10, 1e-12);
}

}  // namespace
}  // namespace farscale
