#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "balance/strategy.h"
#include "base/random.h"

namespace farscale {
namespace {

using Tasks = std::vector<std::uint32_t>;

// Tasks of load 1 that send their neighbours in a grid 1 byte.
BalancingProblem Grid(std::uint32_t rows, std::uint32_t columns, std::size_t processors) {
  BalancingProblem problem;
  problem.processors = processors;
  problem.loads.assign(std::size_t{rows} * columns, 1);
  for (std::uint32_t task = 0; task < rows * columns; ++task) {
    problem.placement.push_back(task % static_cast<std::uint32_t>(processors));
    if (task % columns + 1 < columns) problem.edges.push_back({task, task + 1, 1});
    if (task + columns < rows * columns) problem.edges.push_back({task, task + columns, 1});
  }
  return problem;
}

double BytesBetween(const BalancingProblem& problem, const Tasks& placement) {
  double sum = 0;
  for (const TaskEdge& edge : problem.edges) sum += placement[edge.first] == placement[edge.second] ? 0 : edge.bytes;
  return sum;
}

TEST(TaskGraph, RowsOfEdges) {
  const TaskGraph graph(4, {{0, 2, 5}, {1, 1, 3}, {2, 3, 0}, {2, 3, 2}});
  using Row = std::vector<TaskGraph::Neighbour>;
  const auto row = [](const TaskGraph& g, std::uint32_t node) { return Row(g.Of(node).begin(), g.Of(node).end()); };
  EXPECT_EQ(row(graph, 0), (Row{{2, 5}}));
  EXPECT_EQ(row(graph, 1), Row());
  EXPECT_EQ(row(graph, 2), (Row{{0, 5}, {3, 2}}));
  EXPECT_EQ(row(graph.Among({2, 3}), 0), (Row{{1, 2}}));
}

TEST(TwoParts, CutsWhereLeastIsExchanged) {
  // Two cliques of four, 0 2 4 6 and 1 3 5 7, with one edge between 0 and 1.
  std::vector<TaskEdge> edges = {{0, 1, 1}};
  for (std::uint32_t a = 0; a < 8; ++a) {
    for (std::uint32_t b = a + 2; b < 8; b += 2) edges.push_back({a, b, 1});
  }
  const TwoParts parts = DivideInTwo(TaskGraph(8, edges), std::vector<double>(8, 1.0), std::vector<bool>(8));
  EXPECT_EQ(parts.bytes, 1);
  EXPECT_EQ(parts.overload, 1);
  for (std::uint32_t node = 2; node < 8; ++node) EXPECT_EQ(parts.is_second[node], parts.is_second[node % 2]) << node;
}

// The smallest cut of ten equal nodes in halves, of all there are.
double SmallestCut(const std::vector<TaskEdge>& edges) {
  double smallest = std::numeric_limits<double>::infinity();
  for (std::uint32_t half = 0; half < 1024; ++half) {
    if (std::popcount(half) != 5) continue;
    double cut = 0;
    for (const TaskEdge& edge : edges) cut += (half >> edge.first & 1) != (half >> edge.second & 1) ? edge.bytes : 0;
    smallest = std::min(smallest, cut);
  }
  return smallest;
}

TEST(TwoParts, NearTheSmallestCut) {
  Random random(5);
  double sum = 0, smallest = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<TaskEdge> edges;
    for (std::uint32_t a = 0; a < 10; ++a) {
      for (std::uint32_t b = a + 1; b < 10; ++b) {
        if (random.Uniform() < 0.3) edges.push_back({a, b, 1 + static_cast<double>(random.Index(9))});
      }
    }
    const TwoParts parts = DivideInTwo(TaskGraph(10, edges), std::vector<double>(10, 1.0), std::vector<bool>(10));
    EXPECT_EQ(parts.overload, 1);
    double cut = 0;
    for (const TaskEdge& edge : edges) {
      cut += parts.is_second[edge.first] != parts.is_second[edge.second] ? edge.bytes : 0;
    }
    EXPECT_NEAR(parts.bytes, cut, 1e-9);
    const double best = SmallestCut(edges);
    EXPECT_GE(cut, best - 1e-9);
    sum += cut, smallest += best;
  }
  EXPECT_LT(sum, 1.1 * smallest);
}

// A ring of 4,000 nodes in halves can be cut no better. To look at a node counts 3 steps, itself and two neighbours.
// Halves given: 1.5 a node of the ring to set up and 3 for the gains of a pass. Halves grown: 6 for two searches for
// the rim, 3 to grow one half, 3 for the gains of a pass: 16.5 in all. Each of the two passes tries 50 + 4,000 / 20
// nodes, 4 steps each, which is 0.5 a node of the ring; if they tried all nodes, it would be 8.
TEST(TwoParts, APassThatBringsNothingEndsSoon) {
  constexpr std::uint32_t kNodes = 4000;
  std::vector<TaskEdge> edges;
  std::vector<bool> halves(kNodes);
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    edges.push_back({node, (node + 1) % kNodes, 1});
    halves[node] = node >= kNodes / 2;
  }
  const TwoParts parts = DivideInTwo(TaskGraph(kNodes, edges), std::vector<double>(kNodes, 1.0), halves);
  EXPECT_EQ(parts.bytes, 2);
  EXPECT_EQ(parts.is_second, halves);
  EXPECT_LT(parts.steps, 20 * kNodes);
}

TEST(Bisection, GridInQuadrants) {
  const BalancingProblem problem = Grid(4, 4, 4);
  const Tasks placement = DecideBisection(problem).placement;
  // A border of 4 between the halves, and of 2 in each.
  EXPECT_EQ(BytesBetween(problem, placement), 8);
  EXPECT_EQ(ProcessorLoads(problem, placement), (std::vector<double>{4, 4, 4, 4}));
  for (std::uint32_t task = 0; task < 16; ++task) {
    const std::uint32_t corner = task / 8 * 8 + task % 4 / 2 * 2;
    EXPECT_EQ(placement[task], placement[corner]) << task;
  }
}

// The same when loads do not add up exactly and nothing is tolerated: from quadrants that are mixed up along the
// border.
TEST(Bisection, GridOfLoadsThatAreRounded) {
  BalancingProblem problem = Grid(4, 4, 4);
  problem.loads.assign(16, 0.1);
  problem.placement = {0, 0, 1, 1, 0, 2, 3, 1, 2, 0, 1, 3, 2, 2, 3, 3};
  EXPECT_EQ(BytesBetween(problem, DecideBisection(problem, 1).placement), 8);
}

TEST(Bisection, StaysWhereTheLoadIs) {
  BalancingProblem problem = Grid(4, 4, 4);
  problem.placement = {3, 3, 2, 2, 3, 3, 2, 2, 1, 1, 0, 0, 1, 1, 0, 0};
  EXPECT_EQ(DecideBisection(problem).placement, problem.placement);
}

TEST(Bisection, ProcessorsThatAreNoPowerOfTwo) {
  const BalancingProblem problem = Grid(1, 6, 3);
  const Tasks placement = DecideBisection(problem).placement;
  EXPECT_EQ(ProcessorLoads(problem, placement), (std::vector<double>{2, 2, 2}));
  EXPECT_EQ(BytesBetween(problem, placement), 2);
}

TEST(Bisection, WithoutEdges) {
  const BalancingProblem problem{2, {0, 0, 0, 0}, {4, 3, 2, 1}, {}};
  EXPECT_EQ(ProcessorLoads(problem, DecideBisection(problem).placement), (std::vector<double>{5, 5}));
}

TEST(Bisection, OfSeparateGraphs) {
  // Two lines of three, mixed.
  const BalancingProblem problem{
      2, {0, 0, 0, 1, 1, 1}, std::vector<double>(6, 1.0), {{0, 2, 1}, {1, 3, 1}, {2, 4, 1}, {3, 5, 1}}};
  const Tasks placement = DecideBisection(problem).placement;
  EXPECT_EQ(BytesBetween(problem, placement), 0);
  EXPECT_EQ(ProcessorLoads(problem, placement), (std::vector<double>{3, 3}));
}

TEST(Bisection, MoreProcessorsThanTasks) {
  const Tasks placement = DecideBisection({5, {2, 2}, {1, 1}, {{0, 1, 9}}}).placement;
  EXPECT_NE(placement[0], placement[1]);
}

}  // namespace
}  // namespace farscale
