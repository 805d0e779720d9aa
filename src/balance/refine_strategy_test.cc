#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "balance/strategy.h"
#include "base/random.h"

namespace farscale {
namespace {

using Tasks = std::vector<std::uint32_t>;

// The rule as it is written down, every task with every processor; nothing when the try fails.
std::optional<Tasks> TryAllPairs(const BalancingProblem& problem, double overload) {
  const double average = AverageLoad(problem), limit = overload * average;
  Tasks placement = problem.placement;
  std::vector<double> loads = ProcessorLoads(problem, placement);
  std::vector<bool> is_light;
  for (const double load : loads) is_light.push_back(load <= limit && load < average);
  while (std::ranges::max(loads) > limit) {
    const auto donor = static_cast<std::uint32_t>(std::ranges::max_element(loads) - loads.begin());
    std::optional<std::uint32_t> best, receiver;
    for (std::uint32_t p = 0; p < problem.processors; ++p) {
      for (std::uint32_t task = 0; is_light[p] && task < problem.tasks(); ++task) {
        const double load = problem.loads[task];
        const bool fits = placement[task] == donor && load + loads[p] < limit;
        if (fits && load > (best ? problem.loads[*best] : 0)) best = task, receiver = p;
      }
    }
    if (!best) return std::nullopt;
    placement[*best] = *receiver;
    loads[donor] -= problem.loads[*best];
    loads[*receiver] += problem.loads[*best];
    if (loads[*receiver] > average) is_light[*receiver] = false;
    is_light[donor] = loads[donor] <= limit && loads[donor] < average;
  }
  return placement;
}

TEST(Refine, MovesTheLargestThatFits) {
  // 6 and 2, average 4, at most 4.2: of 4 and 2 only 2 fits, 2 + 2 < 4.2. Steps: 2 tasks with 1 processor, 1 move.
  const BalancingDecision decision = DecideRefine({2, {0, 0, 1, 1}, {4, 2, 1, 1}, {}});
  EXPECT_EQ(decision.placement, (Tasks{0, 1, 1, 1}));
  EXPECT_EQ(decision.steps, 3);
}

TEST(Refine, EqualOnesByNumber) {
  // 6, 0 and 0, average 2: task 0 goes to 1, which stays among the light ones, as 2 is not above the average, but has
  // no room; task 1 goes to 2. Steps: 3 tasks with 2 processors and 2 with 2, 2 moves.
  const BalancingDecision decision = DecideRefine({3, {0, 0, 0}, {2, 2, 2}, {}});
  EXPECT_EQ(decision.placement, (Tasks{1, 2, 0}));
  EXPECT_EQ(decision.steps, 12);
}

TEST(Refine, HeaviestGivesFirst) {
  // 5, 7 and 0, average 4, at most 4.2. Processor 1 gives 4, and has 3; then 0 gives 1, the only one that fits below
  // 4.2: with 3 of processor 1 that makes 4, with 4 of processor 2 it would be 5.
  EXPECT_EQ(DecideRefine({3, {0, 0, 1, 1}, {4, 1, 4, 3}, {}}).placement, (Tasks{0, 1, 2, 1}));
}

TEST(Refine, ToleranceDecides) {
  // 14 and 6, average 10. Up to 10.5, 4.3 fits and is the largest: 9.7 and 10.3. Up to 10, nothing fits, as 4 + 6 is
  // not below 10; up to 10.1, 4 does: 10 and 10.
  const BalancingProblem problem{2, {0, 0, 0, 1}, {5.7, 4.3, 4, 6}, {}};
  EXPECT_EQ(DecideRefine(problem, 1.05).placement, (Tasks{0, 1, 0, 1}));
  EXPECT_EQ(DecideRefine(problem, 1.00).placement, (Tasks{0, 0, 1, 1}));
  // Nobody has too much.
  EXPECT_EQ(DecideRefine(problem, 1.40).placement, problem.placement);
}

TEST(Refine, ScansUpwardForWhatWorks) {
  // 7 and 3, average 5. At 1.05 nothing fits below 5.25. 3 + 3 fits from 1.21 on; 4 + 3 is as much as now.
  EXPECT_EQ(DecideRefine({2, {0, 0, 1, 1}, {4, 3, 2, 1}, {}}).placement, (Tasks{0, 1, 1, 1}));
}

TEST(Refine, FailedTriesLeaveNothing) {
  // 11 and 1, average 6. At 1.05 the task with 1 goes first, then nothing does. With 10 in one piece, 10 and 2 is
  // what can be had: from 1.67 on, 1 moves and 10 is no longer too much.
  EXPECT_EQ(DecideRefine({2, {0, 0, 1}, {10, 1, 1}, {}}).placement, (Tasks{0, 1, 1}));
  // 10 alone: no try works before the one in which nobody has too much.
  EXPECT_EQ(DecideRefine({2, {0, 1, 1}, {10, 1, 1}, {}}).placement, (Tasks{0, 1, 1}));
}

// Loads are multiples of a quarter, so that many are equal and sums are exact.
TEST(Refine, FindsWhatLookingAtAllPairsFinds) {
  Random random(105);
  std::size_t first_tries = 0, found = 0;
  for (int i = 0; i < 500; ++i) {
    BalancingProblem problem;
    problem.processors = 2 + random.Index(7);
    for (std::size_t task = 0; task < 4 * problem.processors; ++task) {
      problem.loads.push_back(0.25 * static_cast<double>(random.Index(9)));
      problem.placement.push_back(static_cast<std::uint32_t>(random.Index(problem.processors)));
    }
    const Tasks placement = DecideRefine(problem).placement;
    if (const auto expected = TryAllPairs(problem, 1.05)) {
      EXPECT_EQ(placement, *expected) << i;
      ++first_tries;
      continue;
    }
    // Else some step of 0.01 gave it, or none did.
    bool is_found = placement == problem.placement;
    for (int step = 1; step < 800 && !is_found; ++step) {
      is_found = placement == TryAllPairs(problem, 1.05 + 0.01 * step).value_or(Tasks());
    }
    EXPECT_TRUE(is_found) << i;
    ++found;
  }
  EXPECT_GT(first_tries, 50u);
  EXPECT_GT(found, 50u);
}

}  // namespace
}  // namespace farscale
