#include <gtest/gtest.h>

#include "balance/strategy.h"

namespace farscale {
namespace {

using Tasks = std::vector<std::uint32_t>;

TEST(Greedy, LargestToLeastLoaded) {
  // 4 to 0, 3 to 1, 2 to 1 (3 < 4), 1 to 0 (4 < 5): 5 and 5. 4 log2 4 + 4 log2 2 = 12 steps.
  const BalancingDecision decision = DecideGreedy({2, {0, 0, 1, 1}, {4, 3, 2, 1}, {}});
  EXPECT_EQ(decision.placement, (Tasks{0, 1, 1, 0}));
  EXPECT_EQ(decision.steps, 12);
}

TEST(Greedy, EqualOnesByNumber) {
  EXPECT_EQ(DecideGreedy({2, {1, 1, 0, 0}, {1, 1, 1, 1}, {}}).placement, (Tasks{0, 1, 0, 1}));
}

TEST(Greedy, MayMissTheOptimum) {
  // 3 and 3 apart, 2 and 2 to each, the last 2 on top: 7, where 3 + 3 and 2 + 2 + 2 are 6. 7 / 6 = 4/3 - 1/6.
  EXPECT_EQ(DecideGreedy({2, {0, 0, 0, 0, 0}, {3, 3, 2, 2, 2}, {}}).placement, (Tasks{0, 1, 0, 1, 0}));
}

TEST(GreedyRefine, StaysWhereItIsNoWorse) {
  // Greedy gets 5, so that 5.25 is allowed, 1.05 times the average. 4 stays on 1, 3 would make it 7 and goes to 0,
  // 2 stays there, 1 stays on 1. Greedy moves all but the task with 3. Its 12 steps, 4 log2 4 to sort, log2 2 to move
  // one.
  const BalancingProblem problem{2, {1, 1, 0, 1}, {4, 3, 2, 1}, {}};
  EXPECT_EQ(DecideGreedyRefine(problem).placement, (Tasks{1, 0, 0, 1}));
  EXPECT_EQ(DecideGreedyRefine(problem).steps, 12 + 8 + 1);
  EXPECT_EQ(DecideGreedy(problem).placement, (Tasks{0, 1, 1, 0}));
}

TEST(GreedyRefine, MovesNothingOnceBalanced) {
  const BalancingProblem problem{2, {1, 0, 0, 1}, {4, 3, 2, 1}, {}};
  EXPECT_EQ(DecideGreedyRefine(problem).placement, problem.placement);
  EXPECT_EQ(DecideGreedyRefine(problem).steps, 12 + 8);
}

TEST(GreedyRefine, TakesGreedysWhereStayingLeavesNoRoom) {
  // Greedy gets 17 and 17, so that 17.85 is allowed. 9 and 6 stay on 1, 7, 5 and 4 on 0: 16 and 15, neither of which
  // has room for 3.
  const BalancingProblem problem{2, {1, 0, 1, 0, 0, 1}, {9, 7, 6, 5, 4, 3}, {}};
  const Tasks greedy = {0, 1, 1, 0, 1, 0};
  EXPECT_EQ(DecideGreedy(problem).placement, greedy);
  EXPECT_EQ(DecideGreedyRefine(problem).placement, greedy);
}

}  // namespace
}  // namespace farscale
