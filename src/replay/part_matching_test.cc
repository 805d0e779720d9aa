// Several processes match what one does, whoever has which ranks.
#include "replay/part_matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/anomalies.h"
#include "replay/operation_runs.h"
#include "support/program.h"
#include "support/random_program.h"
#include "support/repeats.h"
#include "support/trace_parts.h"
#include "trace/anomalies.h"

namespace farscale {
namespace {

using test::Sharing;
using testing::ElementsAre;

std::vector<PartMatching> MatchParts(const Trace& trace, const std::vector<std::uint32_t>& members,
                                     std::size_t processes) {
  std::vector<PartMatching> parts(processes);
  test::InParts(trace, members, processes,
                [&](const TracePart& part, Exchange& exchange) { parts[exchange.own()] = MatchPart(part, exchange); });
  return parts;
}

std::string Difference(const Trace& trace, std::size_t processes, Sharing sharing, std::uint64_t seed = 0) {
  const std::vector<std::uint32_t> members = test::ShareRanks(trace.size(), processes, sharing, seed);
  return test::MatchingDifference(trace, MatchTrace(trace), members, MatchParts(trace, members, processes));
}

TEST(PartMatching, IsThatOfOneProcessOnRandomPrograms) {
  for (std::uint64_t seed = 0; seed < test::Repeats<std::uint64_t>(60); ++seed) {
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    for (const std::size_t processes : {1, 2, 3, 7, 16}) {
      for (const Sharing sharing : {Sharing::kInTurn, Sharing::kBlocks, Sharing::kDrawn, Sharing::kOneHasMost}) {
        ASSERT_EQ(Difference(trace, processes, sharing, seed), "") << "seed " << seed << ", " << processes;
      }
    }
  }
}

// Rank 0 of the first process sends two messages to rank 1 and one to rank 2, which the second process has, in another
// order than they are received in.
TEST(PartMatching, BothSidesNumberInTheSameOrder) {
  const Trace trace = test::ParseTrace(
      "r0: Send>2#b*8 0-1 | Send>1#a*8 1-2 | Send>1#a*8 2-3\n"
      "r1: Recv<0#a*8 0-4 | Recv<0#a*8 4-5\n"
      "r2: Recv<0#b*8 0-4");
  const std::vector<PartMatching> parts = MatchParts(trace, {0, 1, 1}, 2);
  ASSERT_EQ(parts[0].blocks.size(), 1u);
  EXPECT_EQ(parts[0].blocks[0].end_sent - parts[0].blocks[0].first_sent, 3u);
  EXPECT_EQ(parts[0].blocks[0].end_received - parts[0].blocks[0].first_received, 0u);
  ASSERT_EQ(parts[1].blocks.size(), 1u);
  EXPECT_EQ(parts[1].blocks[0].end_received - parts[1].blocks[0].first_received, 3u);
  EXPECT_THAT(parts[0].matching.ranks[0].sends, ElementsAre(2, 0, 1));
  EXPECT_THAT(parts[1].matching.ranks[1].receives, ElementsAre(0, 1));
  EXPECT_THAT(parts[1].matching.ranks[2].receives, ElementsAre(2));
}

// What one process says of damage all say together: halves without another one, sizes and kinds that differ, ranks that
// are missing.
TEST(PartMatching, FindsTheSameDamage) {
  Trace trace = test::ParseTrace(
      "r0: Send>2#a*8 0-1 | Send>2#a*8 1-2 | Send>1#b*9 2-3 | Allreduce@1 3-4 | Barrier@2 4-5\n"
      "r1: Recv<0#b*8 0-3 | Recv<2#c*8 3-4 | Allreduce@1 4-5\n"
      "r2: Recv<0#a*8 0-1 | Bcast@1/0 1-4 | Barrier@2 4-5\n"
      "r3: Recv<1#d*8 0-1 | Bcast@1/0 1-4");
  ASSERT_GE(MatchTrace(trace).diagnostics.findings().size(), 4u);
  for (const std::size_t processes : {2, 3, 4}) {
    EXPECT_EQ(Difference(trace, processes, Sharing::kInTurn), "") << processes;
    EXPECT_EQ(Difference(trace, processes, Sharing::kBlocks), "") << processes;
  }
  trace.diagnostics.Add(anomaly::kTraceEndsEarly, 1, "rank 1 was killed");
  for (const std::size_t processes : {2, 4}) EXPECT_EQ(Difference(trace, processes, Sharing::kInTurn), "");
}

TEST(OperationRuns, MergeWhereTheyOverlap) {
  const auto add = [](int& into, int other) { into += other; };
  OperationRuns<int> runs = {{0, 4, 1}, {6, 8, 2}};
  MergeRuns(runs, {{2, 7, 10}, {9, 10, 5}}, add);
  std::vector<std::tuple<std::uint32_t, std::uint32_t, int>> found;
  for (const auto& run : runs) found.emplace_back(run.first, run.end, run.value);
  using Run = std::tuple<std::uint32_t, std::uint32_t, int>;
  EXPECT_THAT(found,
              ElementsAre(Run(0, 2, 1), Run(2, 4, 11), Run(4, 6, 10), Run(6, 7, 12), Run(7, 8, 2), Run(9, 10, 5)));
  EXPECT_EQ(*FindInRuns(runs, 3), 11);
  EXPECT_EQ(FindInRuns(runs, 8), nullptr);
  EXPECT_EQ(FindInRuns(runs, 10), nullptr);
  OperationRuns<int> none;
  MergeRuns(none, {{0, 1, 3}, {1, 2, 3}}, add);
  ASSERT_EQ(none.size(), 1u);  // neighbours with the same value
  EXPECT_EQ(none[0].end, 2u);
}

}  // namespace
}  // namespace farscale
