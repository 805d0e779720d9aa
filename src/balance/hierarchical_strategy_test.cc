#include <gtest/gtest.h>

#include <algorithm>

#include "balance/strategy.h"
#include "base/random.h"

namespace farscale {
namespace {

using Tasks = std::vector<std::uint32_t>;

// Tasks anywhere on processors, `per_node` of them on every node.
BalancingProblem RandomNodes(Random& random, std::size_t processors, std::size_t per_node) {
  BalancingProblem problem{.processors = processors};
  for (std::size_t p = 0; p < processors; ++p) problem.nodes.push_back(static_cast<std::int32_t>(p / per_node));
  for (std::size_t task = 0; task < 4 * processors; ++task) {
    problem.loads.push_back(random.Exponential());
    problem.placement.push_back(static_cast<std::uint32_t>(random.Index(processors)));
  }
  return problem;
}

std::size_t MovesBetweenNodes(const BalancingProblem& problem, const Tasks& placement) {
  std::size_t moves = 0;
  for (std::size_t task = 0; task < placement.size(); ++task) {
    moves += problem.nodes[placement[task]] != problem.nodes[problem.placement[task]];
  }
  return moves;
}

// 6, 2 | 2 on node 7, 1, 1 | nothing on node 3: 10 and 2. Up to 1.05 × 6 node 3 takes a task of 2, twice. There the
// first keeps the place that it had on node 7, the first, and so does the second; 1 and 1 have no room on the first
// processor below 1.05 × 3, but one stays where the other went.
TEST(Hierarchical, NodesFirst) {
  const BalancingProblem problem{
      .processors = 4, .placement = {0, 0, 1, 2, 2}, .loads = {6, 2, 2, 1, 1}, .nodes = {7, 7, 3, 3}};
  const BalancingDecision decision = DecideHierarchical(problem);
  EXPECT_EQ(decision.placement, (Tasks{0, 2, 3, 2, 3}));
  EXPECT_EQ(ProcessorLoads(problem, decision.placement), (std::vector<double>{6, 0, 3, 3}));
}

TEST(Hierarchical, IsGreedyRefineOnOneNode) {
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    const BalancingProblem problem = RandomNodes(random, 6, 6);
    EXPECT_EQ(DecideHierarchical(problem).placement, DecideGreedyRefine(problem).placement);
  }
}

TEST(Hierarchical, MovesLessBetweenNodesAndBalances) {
  Random random(2);
  std::size_t moves = 0, moves_of_flat = 0;
  for (int i = 0; i < 100; ++i) {
    const BalancingProblem problem = RandomNodes(random, 16, 4);
    const Tasks placement = DecideHierarchical(problem).placement;
    moves += MovesBetweenNodes(problem, placement);
    moves_of_flat += MovesBetweenNodes(problem, DecideGreedyRefine(problem).placement);
    EXPECT_LT(std::ranges::max(ProcessorLoads(problem, placement)),
              std::ranges::max(ProcessorLoads(problem, problem.placement)));
  }
  EXPECT_LT(moves, moves_of_flat / 2);
}

// A processor of speed 3 takes three of four equal tasks, and a node as much as its processors together.
TEST(Hierarchical, UsesSpeeds) {
  BalancingProblem problem{
      .processors = 2, .placement = {0, 0, 0, 0}, .loads = {3, 3, 3, 3}, .nodes = {0, 1}, .speeds = {1, 3}};
  const Tasks placement = DecideHierarchical(problem).placement;
  EXPECT_EQ(std::ranges::count(placement, 1u), 3);
  EXPECT_EQ(ProcessorLoads(problem, placement), (std::vector<double>{3, 3}));
  problem = {.processors = 4, .placement = Tasks(8, 0), .loads = std::vector<double>(8, 1), .nodes = {0, 0, 1, 1}};
  problem.speeds = {1, 1, 3, 3};
  EXPECT_EQ(ProcessorLoads(problem, DecideHierarchical(problem).placement), (std::vector<double>{1, 1, 1, 1}));
}

}  // namespace
}  // namespace farscale
