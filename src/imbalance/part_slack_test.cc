// Several processes find the slack that one does, whoever has which ranks.
#include "imbalance/part_slack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/program.h"
#include "support/random_program.h"
#include "support/repeats.h"
#include "support/trace_parts.h"

namespace farscale {
namespace {

using test::Sharing;

Slack SlackOfWhole(const Trace& trace, const PhaseCut& cut) {
  const Matching matching = MatchTrace(trace);
  const Activities activities = CollectActivities(trace, cut);
  const CollectiveWaits collectives(trace, matching, activities);
  const WaitStates states = FindWaitStates(trace, matching, activities, collectives);
  return FindSlack(trace, matching, activities, states, collectives);
}

Slack SlackInParts(const Trace& trace, const PhaseCut& cut, const std::vector<std::uint32_t>& members,
                   std::size_t processes) {
  std::vector<PartSlack> parts(processes);
  test::InParts(trace, members, processes, [&](const TracePart& part, Exchange& exchange) {
    const PartMatching matching = MatchPart(part, exchange);
    const Activities activities = CollectActivities(part.trace, CutOfPart(part, exchange, cut), exchange);
    const PhasePart phase{part, matching, activities, exchange};
    const CollectiveWaits collectives = FindPartCollectives(phase);
    const WaitStates states = FindPartWaitStates(phase, collectives);
    parts[exchange.own()] = FindPartSlack(phase, states, collectives);
  });
  Slack all = parts[0].slack;
  for (std::size_t i = 1; i < processes; ++i) MergeSlack(all, parts[i].slack);
  return all;
}

void CompareSlack(const Trace& trace, const PhaseCut& cut, std::size_t processes, std::uint64_t seed) {
  const Slack whole = SlackOfWhole(trace, cut);
  for (const Sharing sharing : {Sharing::kInTurn, Sharing::kBlocks, Sharing::kDrawn, Sharing::kOneHasMost}) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", processes " + std::to_string(processes));
    const std::vector<std::uint32_t> members = test::ShareRanks(trace.size(), processes, sharing, seed);
    const Slack parts = SlackInParts(trace, cut, members, processes);
    ASSERT_EQ(parts.of_rank, whole.of_rank);
    ASSERT_EQ(parts.of_path, whole.of_path);
    ASSERT_EQ(parts.nearly_critical, whole.nearly_critical);
  }
}

TEST(PartSlack, IsThatOfOneProcessOnRandomPrograms) {
  for (std::uint64_t seed = 0; seed < test::Repeats<std::uint64_t>(60); ++seed) {
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    const double length = trace.Seconds(trace.end() - trace.begin());
    for (const std::size_t processes : {1, 2, 3, 7}) {
      CompareSlack(trace, CutPhase(trace, PhaseSpec::WholeRun()), processes, seed);
      CompareSlack(trace, CutPhase(trace, PhaseSpec::TimeWindow(0.3 * length, 0.8 * length)), processes, seed);
      if (HasFatalFailure()) return;
    }
  }
}

// Clocks that differ: a message is received before it is sent, and ranks leave a barrier before others enter it, or at
// the same time, so that what one process has come to depends on the order of ranks.
TEST(PartSlack, KeepsTheOrderOfOneProcess) {
  const Trace trace = test::ParseTrace(
      "r0: a 0-3 | Barrier@1 3-4 | b 4-6 | Send>1#m*8 6-7 | Barrier@1 7-8 | c 8-9\n"
      "r1: a 0-2 | Barrier@1 2-6 | Recv<0#m*8 6-6 | b 6-7 | Barrier@1 7-9 | c 9-12\n"
      "r2: a 0-4 | Barrier@1 4-5 | b 5-8 | Barrier@1 8-10 | Recv<3#n*8 10-11\n"
      "r3: a 0-6 | Barrier@1 6-7 | b 7-8 | Barrier@1 8-8 | Send>2#n*8 11-12\n");
  for (const std::size_t processes : {1, 2, 3, 4}) {
    CompareSlack(trace, CutPhase(trace, PhaseSpec::WholeRun()), processes, processes);
  }
}

}  // namespace
}  // namespace farscale
