// Several processes find the wait states that one does, whoever has which ranks.
#include "imbalance/part_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "imbalance/wait_steps.h"
#include "support/program.h"
#include "support/random_program.h"
#include "support/repeats.h"
#include "support/trace_parts.h"

namespace farscale {
namespace {

using test::Sharing;

struct WholeWaits {
  Activities activities;
  WaitStates states;

  WholeWaits(const Trace& trace, const PhaseCut& cut) : activities(CollectActivities(trace, cut)) {
    const Matching matching = MatchTrace(trace);
    states = FindWaitStates(trace, matching, activities, CollectiveWaits(trace, matching, activities));
  }
};

void ExpectSameActivities(const Activities& part, const Activities& whole, std::uint32_t rank) {
  const RankActivities &a = part.ranks[rank], &b = whole.ranks[rank];
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a.path(i), b.path(i));
    ASSERT_EQ(a.edge(i + 1), b.edge(i + 1));
  }
}

void ExpectSameWaits(const WaitStates& part, const WaitStates& whole, std::uint32_t rank) {
  const RankWaits &a = part.ranks[rank], &b = whole.ranks[rank];
  ASSERT_EQ(a.waits, b.waits);
  ASSERT_EQ(part.marks[rank], whole.marks[rank]);
  ASSERT_EQ(a.wrong_order.size(), b.wrong_order.size());
  for (std::size_t i = 0; i < a.wrong_order.size(); ++i) {
    ASSERT_EQ(a.wrong_order[i].wait, b.wrong_order[i].wait);
    ASSERT_EQ(a.wrong_order[i].same_source, b.wrong_order[i].same_source);
  }
  ASSERT_EQ(a.late_completes.size(), b.late_completes.size());
  for (std::size_t i = 0; i < a.late_completes.size(); ++i) {
    ASSERT_EQ(a.late_completes[i].wait, b.late_completes[i].wait);
    ASSERT_EQ(a.late_completes[i].length, b.late_completes[i].length);
  }
}

std::vector<std::string> NamesOf(const CallPaths& paths) {
  std::vector<std::string> names;
  for (PathId path = 0; path < paths.size(); ++path) names.push_back(paths.Name(path));
  return names;
}

void CompareWaits(const Trace& trace, const PhaseCut& cut, std::size_t processes, std::uint64_t seed) {
  const WholeWaits whole(trace, cut);
  for (const Sharing sharing : {Sharing::kInTurn, Sharing::kBlocks, Sharing::kDrawn, Sharing::kOneHasMost}) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", processes " + std::to_string(processes));
    const std::vector<std::uint32_t> members = test::ShareRanks(trace.size(), processes, sharing, seed);
    std::vector<Activities> activities(processes);
    std::vector<WaitStates> states(processes);
    test::InParts(trace, members, processes, [&](const TracePart& part, Exchange& exchange) {
      const PartMatching matching = MatchPart(part, exchange);
      Activities& own = activities[exchange.own()];
      own = CollectActivities(part.trace, CutOfPart(part, exchange, cut), exchange);
      EXPECT_EQ(NamesOf(own.paths), NamesOf(whole.activities.paths));
      const PhasePart phase{part, matching, own, exchange};
      states[exchange.own()] = FindPartWaitStates(phase, FindPartCollectives(phase));
    });
    for (std::uint32_t rank = 0; rank < trace.size(); ++rank) {
      ExpectSameActivities(activities[members[rank]], whole.activities, rank);
      ExpectSameWaits(states[members[rank]], whole.states, rank);
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_EQ(states[0].diagnostics.findings(), whole.states.diagnostics.findings());
  }
}

TEST(PartWaits, AreThoseOfOneProcessOnRandomPrograms) {
  for (std::uint64_t seed = 0; seed < test::Repeats<std::uint64_t>(60); ++seed) {
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    const double length = trace.Seconds(trace.end() - trace.begin());
    for (const std::size_t processes : {1, 2, 3, 7}) {
      CompareWaits(trace, CutPhase(trace, PhaseSpec::WholeRun()), processes, seed);
      CompareWaits(trace, CutPhase(trace, PhaseSpec::TimeWindow(0.3 * length, 0.8 * length)), processes, seed);
      if (HasFatalFailure()) return;
    }
  }
}

// Prefixes, roots that wait for several, and those who wait for a root.
TEST(PartWaits, KnowWhoDecidesInOtherProcesses) {
  const Trace trace = test::ParseTrace(
      "comm c: 2 0 1 3\n"
      "r0: a 0-1 | Scan@1:c 1-7 | Reduce@1/0 7-12 | Bcast@1/1 12-13\n"
      "r1: a 0-5 | Scan@1:c 5-8 | Reduce@1/0 8-9 | b 9-10 | Bcast@1/1 10-11\n"
      "r2: a 0-4 | Scan@1:c 4-6 | b 6-10 | Reduce@1/0 10-11 | Bcast@1/1 11-12\n"
      "r3: a 0-2 | Scan@1:c 2-8 | b 8-11 | Reduce@1/0 11-12 | Bcast@1/1 12-14");
  for (const std::size_t processes : {2, 3, 4}) {
    CompareWaits(trace, CutPhase(trace, PhaseSpec::WholeRun()), processes, processes);
  }
}

}  // namespace
}  // namespace farscale
