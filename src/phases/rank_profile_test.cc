#include "phases/rank_profile.h"

#include <gtest/gtest.h>

#include "support/program.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

// One line a piece of work: name, ticks, recurring, entries, inclusive.
std::string RegionsOf(const RankProfiles& profiles, std::size_t rank) {
  std::string text;
  for (const Work& work : profiles.ranks[rank].regions) {
    const std::string& name = profiles.regions[work.kind];
    text += (name.empty() ? "all" : name) + " " + std::to_string(static_cast<int>(work.amount)) + " " +
            std::to_string(static_cast<int>(work.recurring)) + " " + std::to_string(static_cast<int>(work.entries)) +
            " " + std::to_string(static_cast<int>(work.inclusive)) + "\n";
  }
  return text;
}

std::string BurstsOf(const RankProfiles& profiles, std::size_t rank) {
  std::string text;
  for (const Work& work : profiles.ranks[rank].bursts) {
    const auto [before, behind] = CallKindsOfBurst(work.kind);
    text += NameOfCallKind(before) + " to " + NameOfCallKind(behind) + " " +
            std::to_string(static_cast<int>(work.amount)) + " " + std::to_string(static_cast<int>(work.recurring)) +
            "\n";
  }
  return text;
}

// Rank 0: step 0-100 with kernel 10-30 and 40-60 in it, a barrier at 70-80; then 10 ticks outside any region. Useful:
// step alone 10 + 10 + 10 + 20, kernel 2 * 20, outside 10. Stretches of the step: 10, 10, 10 and 20, of which the one
// longest is taken as 10 (the third of them), so 40 recur; two stretches of the kernel are too few.
Trace MakeNested() {
  TraceBuilder builder;
  const auto step = builder.AddRegion("step"), kernel = builder.AddRegion("kernel");
  const auto barrier = builder.AddRegion("MPI_Barrier"), rank_of = builder.AddRegion("MPI_Comm_rank");
  const auto world = builder.AddWorld(1);
  RankBuilder rank(builder.definitions(), 0);
  rank.Enter(0, step);
  for (const Tick begin : {10, 40}) {
    rank.Enter(begin, kernel);
    rank.Leave(begin + 20, kernel);
  }
  rank.Enter(70, barrier);
  rank.Collective(CollectiveKind::kBarrier, world, {}, 0, 0);
  rank.Leave(80, barrier);
  rank.Leave(100, step);
  rank.Enter(110, rank_of);
  rank.Leave(115, rank_of);
  builder.SetTimeline(rank);
  return std::move(builder).Finish();
}

TEST(RankProfile, InnermostRegions) {
  const Trace trace = MakeNested();
  const RankProfiles profiles = ProfileRanks(trace, CutPhase(trace, PhaseSpec::WholeRun()));
  EXPECT_EQ(RegionsOf(profiles, 0),
            "kernel 40 0 2 40\n"
            "step 50 40 1 90\n"
            "all 10 0 1 100\n");
  EXPECT_EQ(profiles.ranks[0].useful, 100);
}

// MPI_Comm_rank neither communicates nor waits, so that it parts no burst.
TEST(RankProfile, BurstsByTheCallsAround) {
  const Trace trace = MakeNested();
  const RankProfiles profiles = ProfileRanks(trace, CutPhase(trace, PhaseSpec::WholeRun()));
  EXPECT_EQ(BurstsOf(profiles, 0),
            "barrier to end of run 30 0\n"
            "end of run to barrier 70 0\n");
  ASSERT_EQ(profiles.ranks[0].calls.size(), 1u);
  EXPECT_EQ(NameOfCallKind(profiles.ranks[0].calls[0].kind), "barrier");
}

// Only the occurrences count: of the kernel, in which there is nothing but itself. It is within the step all along.
TEST(RankProfile, OfOccurrences) {
  const Trace trace = MakeNested();
  PhaseSpec spec = PhaseSpec::Region("kernel");
  spec.span = Span::kEach;
  const RankProfiles profiles = ProfileRanks(trace, CutPhase(trace, spec));
  EXPECT_EQ(RegionsOf(profiles, 0),
            "kernel 40 0 2 40\n"
            "step 0 0 1 40\n"
            "all 0 0 1 40\n");
  EXPECT_EQ(BurstsOf(profiles, 0), "end of run to barrier 40 0\n");
}

// What one side does with blocking calls and the other without is the same: messages.
TEST(RankProfile, MessagesAreOneKind) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-2 | Send>1#a 2-3 | comp 3-6 | Irecv<1#b 6-7 | comp 7-8 | Wait~b 8-9 | Allreduce@1 9-12\n"
      "r1: comp 0-1 | Recv<0#a 1-4 | comp 4-6 | Send>0#b 6-7 | comp 7-9 | Allreduce@1 9-12");
  const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  const RankProfiles profiles = ProfileRanks(trace, cut);
  EXPECT_EQ(BurstsOf(profiles, 0),
            "messages to messages 4 0\n"
            "end of run to messages 2 0\n");
  EXPECT_EQ(BurstsOf(profiles, 1),
            "messages to messages 2 0\n"
            "messages to allreduce 2 0\n"
            "end of run to messages 1 0\n");
  const MessageCounts counts = CountMessages(trace, cut, 0);
  EXPECT_EQ(counts.sent, 1u);
  EXPECT_EQ(counts.received, 1u);
  ASSERT_EQ(counts.by_peer.size(), 1u);
  EXPECT_EQ(counts.by_peer[0], (std::pair<std::int32_t, std::uint64_t>(1, 2)));
}

// Five bursts of 10, 10, 12, 90 and 10 ticks: the two longest count as the third, so 10 + 10 + 10 + 10 + 10.
TEST(RankProfile, WhatRecurs) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-10 | Barrier@1 10-11 | comp 11-21 | Barrier@2 21-22 | comp 22-34 | Barrier@3 34-35 | comp 35-125 | "
      "Barrier@4 125-126 | comp 126-136 | Barrier@5 136-137");
  const RankProfiles profiles = ProfileRanks(trace, CutPhase(trace, PhaseSpec::WholeRun()));
  EXPECT_EQ(RegionsOf(profiles, 0),
            "comp 132 50 5 132\n"
            "all 0 0 1 132\n");
}

TEST(RankProfile, Mean) {
  const Trace trace = test::ParseTrace(
      "r0: A 0-2 | Barrier@1 2-6\n"
      "r1: A 0-4 | B 4-5 | Barrier@1 5-6");
  const RankProfiles profiles = ProfileRanks(trace, CutPhase(trace, PhaseSpec::WholeRun()));
  const RankProfile mean = MeanProfile(profiles, {0, 1});
  EXPECT_DOUBLE_EQ(mean.useful, 3.5);
  ASSERT_EQ(mean.regions.size(), 3u);
  EXPECT_DOUBLE_EQ(mean.regions[0].amount, 3);
  EXPECT_DOUBLE_EQ(mean.regions[1].amount, 0.5);
  EXPECT_DOUBLE_EQ(mean.regions[1].entries, 0.5);
  EXPECT_DOUBLE_EQ(mean.calls[0].amount, 1);
}

}  // namespace
}  // namespace farscale
