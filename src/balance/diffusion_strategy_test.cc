#include <gtest/gtest.h>

#include "balance/strategy.h"

namespace farscale {
namespace {

using Tasks = std::vector<std::uint32_t>;

TEST(Diffusion, AlongALine) {
  // 7, 1 and 1 tasks of 1 in a line of processors, average 3. A third of the differences flows in a round. That is
  // 3 (2/3)^k (1, 0, -1) above the average after k rounds: within 0.15 after 8. 3.88 flow from 0 to 1, 1.88 from 1 to
  // 2, and with the 0.15 that makes 4 tasks and 2.
  const BalancingProblem problem{3, {0, 0, 0, 0, 0, 0, 0, 1, 2}, std::vector<double>(9, 1.0), {{0, 7, 8}, {7, 8, 8}}};
  const BalancingDecision decision = DecideDiffusion(problem);
  EXPECT_EQ(ProcessorLoads(problem, decision.placement), (std::vector<double>{3, 3, 3}));
  // The one in the middle has 2 neighbours in 8 rounds, and tasks to look at.
  EXPECT_GT(decision.steps, 16);
  EXPECT_LT(decision.steps, 60);
}

TEST(Diffusion, EqualTasksByBytesToTheReceiver) {
  // 4 and 1, average 2.5: 1.5 flow, which is one task, as a second would be larger than 0.5 and the 0.125 allowed.
  const BalancingProblem problem{2, {0, 0, 0, 0, 1}, {1, 1, 1, 1, 1}, {{0, 4, 5}, {2, 4, 10}}};
  EXPECT_EQ(DecideDiffusion(problem).placement, (Tasks{0, 0, 1, 0, 1}));
}

TEST(Diffusion, LargestThatFitsTheFlow) {
  // 9 and 1, average 5: 4 flow. 5 is too much; 3 goes, then 1.
  const BalancingProblem problem{2, {0, 0, 0, 1}, {5, 3, 1, 1}, {{0, 3, 1}}};
  EXPECT_EQ(DecideDiffusion(problem).placement, (Tasks{0, 1, 1, 1}));
}

TEST(Diffusion, InARingWhereNothingIsExchanged) {
  // 16, 0, 0 and 0: after 4 rounds of thirds 8/81 (1, 0, -1, 0) + 4/81 (1, -1, 1, -1) above the average of 4. 5.93 flow
  // to either side and 1.98 on from there.
  const BalancingProblem problem{4, Tasks(16, 0), std::vector<double>(16, 1.0), {}};
  EXPECT_EQ(ProcessorLoads(problem, DecideDiffusion(problem).placement), (std::vector<double>{4, 4, 4, 4}));
}

TEST(Diffusion, ManySmallFlowsMakeATask) {
  // 6, 1, 1, 1 and 1 that all exchange messages, average 2: after one round of fifths all have 2, by flows of 1 from 0
  // to each. With tasks of 2 none goes along a flow, nor fits what any of them lacks. With two of 1.5 and three of 1
  // each flow takes one of 1, as long as there are any.
  std::vector<TaskEdge> edges;
  for (std::uint32_t a = 0; a < 5; ++a) {
    for (std::uint32_t b = a + 1; b < 5; ++b) edges.push_back({a, b, 1});
  }
  const BalancingProblem large{5, {0, 1, 2, 3, 4, 0, 0}, {2, 1, 1, 1, 1, 2, 2}, edges};
  EXPECT_EQ(DecideDiffusion(large).placement, large.placement);
  const BalancingProblem small{5, {0, 1, 2, 3, 4, 0, 0, 0, 0}, {1.5, 1, 1, 1, 1, 1.5, 1, 1, 1}, edges};
  EXPECT_EQ(DecideDiffusion(small).placement, (Tasks{0, 1, 2, 3, 4, 0, 1, 2, 3}));
  // 7, 7, 1 and 1, average 4: flows of 6/4 are too small for tasks of 3, but what leaves 0 makes one, and so does what
  // leaves 1.
  std::erase_if(edges, [](const TaskEdge& edge) { return edge.second == 4; });
  const BalancingProblem pairs{4, {0, 1, 2, 3, 0, 1}, {4, 4, 1, 1, 3, 3}, edges};
  EXPECT_EQ(DecideDiffusion(pairs).placement, (Tasks{0, 1, 2, 3, 2, 3}));
}

TEST(Diffusion, ReachesProcessorsWithoutTasks) {
  // 0 and 1 exchange messages; 2 has no task, and so the neighbours beside it.
  const BalancingProblem problem{3, {0, 0, 0, 1, 1, 1}, std::vector<double>(6, 1.0), {{0, 3, 1}}};
  EXPECT_EQ(ProcessorLoads(problem, DecideDiffusion(problem).placement), (std::vector<double>{2, 2, 2}));
}

}  // namespace
}  // namespace farscale
