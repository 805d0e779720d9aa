// Several processes find the delay costs and the critical path of one to the last bit, whoever has which ranks.
#include "imbalance/part_delays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/program.h"
#include "support/random_program.h"
#include "support/repeats.h"
#include "support/trace_parts.h"

namespace farscale {
namespace {

using test::Sharing;

struct WholeDelays {
  DelayCosts costs;
  std::vector<PathSegment> critical;

  WholeDelays(const Trace& trace, const PhaseCut& cut, const DelayOptions& options) {
    const Matching matching = MatchTrace(trace);
    const Activities activities = CollectActivities(trace, cut);
    const CollectiveWaits collectives(trace, matching, activities);
    const WaitStates states = FindWaitStates(trace, matching, activities, collectives);
    costs = FindDelayCosts(activities, states, collectives, cut.iterations, options);
    critical = FindCriticalPath(activities, states);
  }
};

void ExpectSame(const RankCosts& part, const RankCosts& whole) {
  ASSERT_EQ(part.paths.size(), whole.paths.size());
  for (std::size_t i = 0; i < part.paths.size(); ++i) {
    const PathCosts &a = part.paths[i], &b = whole.paths[i];
    ASSERT_EQ(a.path, b.path);
    ASSERT_EQ(a.short_term, b.short_term);
    ASSERT_EQ(a.long_term, b.long_term);
    ASSERT_EQ(a.exit_skew, b.exit_skew);
  }
  ASSERT_EQ(part.waits.size(), whole.waits.size());
  for (std::size_t i = 0; i < part.waits.size(); ++i) {
    const WaitParts &a = part.waits[i], &b = whole.waits[i];
    ASSERT_EQ(a.indirect, b.indirect);
    ASSERT_EQ(a.propagating, b.propagating);
    ASSERT_EQ(a.caused, b.caused);
  }
  ASSERT_EQ(part.unattributed, whole.unattributed);
  ASSERT_EQ(part.lost, whole.lost);
  ASSERT_EQ(part.at_end, whole.at_end);
}

std::vector<double> SumOfRasters(const std::vector<PartDelays>& parts, PathId path) {
  std::vector<double> sum;
  for (const PartDelays& part : parts) {
    const std::vector<double>& cells = part.costs.rasters[path].cells;
    sum.resize(std::max(sum.size(), cells.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) sum[i] += cells[i];
  }
  return sum;
}

std::vector<PathSegment> InOrderOfTime(const std::vector<PartDelays>& parts) {
  std::vector<NumberedSegment> all;
  for (const PartDelays& part : parts) all.insert(all.end(), part.critical.begin(), part.critical.end());
  std::ranges::sort(all, std::greater<>(), &NumberedSegment::number);
  std::vector<PathSegment> segments;
  for (const NumberedSegment& one : all) segments.push_back(one.segment);
  return segments;
}

std::vector<PartDelays> DelaysInParts(const Trace& trace, const PhaseCut& cut, const DelayOptions& options,
                                      const std::vector<std::uint32_t>& members, std::size_t processes) {
  std::vector<PartDelays> parts(processes);
  test::InParts(trace, members, processes, [&](const TracePart& part, Exchange& exchange) {
    const PartMatching matching = MatchPart(part, exchange);
    const Activities activities = CollectActivities(part.trace, CutOfPart(part, exchange, cut), exchange);
    const PhasePart phase{part, matching, activities, exchange};
    const CollectiveWaits collectives = FindPartCollectives(phase);
    const WaitStates states = FindPartWaitStates(phase, collectives);
    parts[exchange.own()] = FindPartDelays(phase, states, collectives, cut.iterations, options);
  });
  return parts;
}

void CompareDelays(const Trace& trace, const PhaseCut& cut, const DelayOptions& options, std::size_t processes,
                   std::uint64_t seed) {
  const WholeDelays whole(trace, cut, options);
  for (const Sharing sharing : {Sharing::kInTurn, Sharing::kBlocks, Sharing::kDrawn, Sharing::kOneHasMost}) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", processes " + std::to_string(processes));
    const std::vector<std::uint32_t> members = test::ShareRanks(trace.size(), processes, sharing, seed);
    const std::vector<PartDelays> parts = DelaysInParts(trace, cut, options, members, processes);
    for (std::uint32_t rank = 0; rank < trace.size(); ++rank) {
      ExpectSame(parts[members[rank]].costs.ranks[rank], whole.costs.ranks[rank]);
      if (testing::Test::HasFatalFailure()) return;
    }
    for (PathId path = 0; path < whole.costs.rasters.size(); ++path) {
      ASSERT_EQ(SumOfRasters(parts, path), whole.costs.rasters[path].cells);
    }
    ASSERT_EQ(InOrderOfTime(parts), whole.critical);
  }
}

// Windows that cut through calls, regions that recur, waits at the end that are charged, and all rules.
TEST(PartDelays, AreThoseOfOneProcessOnRandomPrograms) {
  for (std::uint64_t seed = 0; seed < test::Repeats<std::uint64_t>(60); ++seed) {
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    const double length = trace.Seconds(trace.end() - trace.begin());
    const DelayOptions options = {static_cast<DelayRules>(seed % 3), seed % 2 == 0};
    for (const std::size_t processes : {1, 2, 3, 7}) {
      CompareDelays(trace, CutPhase(trace, PhaseSpec::WholeRun()), options, processes, seed);
      CompareDelays(trace, CutPhase(trace, PhaseSpec::TimeWindow(0.3 * length, 0.8 * length)), options, processes,
                    seed);
      // Where the program has it.
      const std::vector<std::string> regions = trace.UserRegionNames();
      if (std::ranges::find(regions, "loop") != regions.end()) {
        CompareDelays(trace, CutPhase(trace, PhaseSpec::Region("loop")), options, processes, seed);
      }
      if (HasFatalFailure()) return;
    }
  }
}

// Rank 3 waits for 2, that one for 1, and that one for 0, all with processes of their own: a round a rank, and one
// more for what is told of the first.
TEST(PartDelays, TakeARoundForEveryHop) {
  const Trace trace = test::ParseTrace(
      "r0: a 0-6 | Send>1#a*8 6-7\n"
      "r1: Recv<0#a*8 0-7 | Send>2#a*8 7-8\n"
      "r2: Recv<1#a*8 0-8 | Send>3#a*8 8-9\n"
      "r3: Recv<2#a*8 0-9 | b 9-12");
  const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  const std::vector<PartDelays> parts = DelaysInParts(trace, cut, {}, {0, 1, 2, 3}, 4);
  for (const PartDelays& part : parts) EXPECT_EQ(part.rounds, 4u);
  const std::vector<PathSegment> critical = InOrderOfTime(parts);
  ASSERT_EQ(critical.size(), 4u);
  EXPECT_EQ(critical.front(), (PathSegment{0, 0, 6}));
}

}  // namespace
}  // namespace farscale
