#include "balance/strategy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/diagnostics.h"
#include "base/random.h"

namespace farscale {
namespace {

using Placed = std::vector<std::uint32_t>;

double LargestLoad(const BalancingProblem& problem, const Placed& placement) {
  return std::ranges::max(ProcessorLoads(problem, placement));
}

std::size_t Moved(const BalancingProblem& problem, const Placed& placement) {
  std::size_t moved = 0;
  for (std::size_t task = 0; task < placement.size(); ++task) moved += placement[task] != problem.placement[task];
  return moved;
}

// Loads of many shapes, some of them 0 or equal, tasks in blocks or anywhere, some edges.
BalancingProblem RandomProblem(Random& random, std::size_t tasks, std::size_t processors) {
  BalancingProblem problem;
  problem.processors = processors;
  const std::size_t shape = random.Index(4), chance = random.Index(4);
  const bool is_in_blocks = random.Uniform() < 0.5;
  for (std::size_t task = 0; task < tasks; ++task) {
    const double loads[] = {random.Uniform(), random.Exponential(), static_cast<double>(random.Index(5)),
                            random.Uniform() < 0.1 ? 10 : 1.0};
    problem.loads.push_back(loads[shape]);
    const std::size_t processor = is_in_blocks ? task * processors / tasks : random.Index(processors);
    problem.placement.push_back(static_cast<std::uint32_t>(processor));
  }
  for (std::uint32_t a = 0; a < tasks; ++a) {
    for (std::uint32_t b = a + 1; b < tasks; ++b) {
      if (random.Uniform() < 0.1 * static_cast<double>(chance)) problem.edges.push_back({a, b, 1 + random.Uniform()});
    }
  }
  return problem;
}

// Of all placements the one with the smallest largest load.
double SmallestLargestLoad(BalancingProblem problem) {
  double smallest = LargestLoad(problem, problem.placement);
  Placed placement(problem.tasks());
  while (true) {
    std::size_t digit = 0;
    while (digit < placement.size() && ++placement[digit] == problem.processors) placement[digit++] = 0;
    if (digit == placement.size()) return smallest;
    smallest = std::min(smallest, LargestLoad(problem, placement));
  }
}

template <typename Check>
void ForRandomProblems(int count, std::size_t most_tasks, std::size_t most_processors, Check check) {
  Random random(10);
  for (int i = 0; i < count; ++i) {
    const std::size_t tasks = 1 + random.Index(most_tasks), processors = 1 + random.Index(most_processors);
    SCOPED_TRACE(i);
    check(RandomProblem(random, tasks, processors));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Strategies, ByName) {
  EXPECT_EQ(Strategies().front().id, "none");
  for (const Strategy& strategy : Strategies()) {
    EXPECT_EQ(&StrategyById(strategy.id), &strategy);
    EXPECT_EQ(strategy.moves, strategy.decide != nullptr) << strategy.id;
    EXPECT_FALSE(strategy.steps.empty()) << strategy.id;
  }
  EXPECT_FALSE(StrategyById("diffusion").is_central);
  try {
    StrategyById("gredy");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_STREQ(error.what(),
                 "no strategy 'gredy' among none, greedy, refine, greedy-refine, bisection, diffusion, hierarchical; "
                 "did you mean 'greedy'?");
  }
}

// Every task goes to a processor that is there, so that the work is the same, and the same problem has the same answer.
TEST(Strategies, KeepAllTasks) {
  ForRandomProblems(500, 40, 12, [](const BalancingProblem& problem) {
    const double total = std::accumulate(problem.loads.begin(), problem.loads.end(), 0.0);
    for (const Strategy& strategy : Strategies()) {
      if (!strategy.moves) continue;
      const BalancingDecision decision = strategy.decide(problem, kTolerance);
      ASSERT_EQ(decision.placement.size(), problem.tasks()) << strategy.id;
      for (const std::uint32_t processor : decision.placement) ASSERT_LT(processor, problem.processors) << strategy.id;
      const std::vector<double> loads = ProcessorLoads(problem, decision.placement);
      EXPECT_NEAR(std::accumulate(loads.begin(), loads.end(), 0.0), total, 1e-9 * total) << strategy.id;
      EXPECT_TRUE(std::isfinite(decision.steps) && decision.steps >= 0) << strategy.id;
      EXPECT_EQ(strategy.decide(problem, kTolerance).placement, decision.placement) << strategy.id;
    }
  });
}

TEST(Strategies, DoNotDependOnTheOrderOfEdges) {
  Random random(3);
  ForRandomProblems(200, 40, 12, [&](const BalancingProblem& problem) {
    BalancingProblem shuffled = problem;
    random.Shuffle(shuffled.edges);
    for (const Strategy& strategy : Strategies()) {
      if (!strategy.moves) continue;
      const BalancingDecision decision = strategy.decide(problem, kTolerance),
                              again = strategy.decide(shuffled, kTolerance);
      EXPECT_EQ(decision.placement, again.placement) << strategy.id;
      EXPECT_EQ(decision.steps, again.steps) << strategy.id;
    }
  });
}

TEST(Strategies, GreedyIsWithinGrahamsBound) {
  Random random(1969);
  for (int i = 0; i < 300; ++i) {
    const std::size_t processors = 2 + random.Index(3);
    const BalancingProblem problem = RandomProblem(random, 1 + random.Index(processors == 4 ? 7 : 8), processors);
    const double bound = 4.0 / 3 - 1 / (3 * static_cast<double>(processors));
    EXPECT_LE(LargestLoad(problem, DecideGreedy(problem).placement),
              bound * SmallestLargestLoad(problem) * (1 + 1e-12));
  }
}

TEST(Strategies, RefineIsWithinItsToleranceOrNoWorse) {
  std::size_t within = 0;
  ForRandomProblems(1000, 60, 10, [&](const BalancingProblem& problem) {
    for (const double tolerance : {1.0, 1.05, 1.3}) {
      const double before = LargestLoad(problem, problem.placement);
      const double after = LargestLoad(problem, DecideRefine(problem, tolerance).placement);
      EXPECT_LE(after, before * (1 + 1e-12));
      within += after <= tolerance * AverageLoad(problem) * (1 + 1e-12);
    }
  });
  EXPECT_GT(within, 1000u);
}

// Tasks that are small against the tolerance can always be refined within it.
TEST(Strategies, RefineKeepsItsToleranceWhereTasksAreSmall) {
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    BalancingProblem problem = RandomProblem(random, 400, 1 + random.Index(8));
    for (double& load : problem.loads) load = 0.5 + 0.5 * random.Uniform();
    EXPECT_LE(LargestLoad(problem, DecideRefine(problem).placement), 1.05 * AverageLoad(problem) * (1 + 1e-12));
  }
}

TEST(Strategies, GreedyRefineIsAsGoodAndMovesLess) {
  std::size_t greedy_moved = 0, moved = 0;
  ForRandomProblems(1000, 40, 12, [&](const BalancingProblem& problem) {
    const Placed greedy = DecideGreedy(problem).placement, refined = DecideGreedyRefine(problem).placement;
    EXPECT_LE(LargestLoad(problem, refined),
              std::max(LargestLoad(problem, greedy), 1.05 * AverageLoad(problem)) * (1 + 1e-11));
    greedy_moved += Moved(problem, greedy), moved += Moved(problem, refined);
  });
  EXPECT_LT(moved, greedy_moved / 2);
}

TEST(Strategies, DiffusionNeverRaisesTheLargestLoad) {
  double before = 0, after = 0;
  ForRandomProblems(1000, 60, 10, [&](const BalancingProblem& problem) {
    const double was = LargestLoad(problem, problem.placement) - AverageLoad(problem),
                 is = LargestLoad(problem, DecideDiffusion(problem).placement) - AverageLoad(problem);
    EXPECT_LE(is, was + 1e-9);
    before += was, after += is;
  });
  EXPECT_LT(after, 0.6 * before);
}

TEST(Strategies, LeaveWhatIsBalanced) {
  for (const double load : {1.0, 0.1, 1e-7}) {
    BalancingProblem problem{8, {}, std::vector<double>(32, load), {}};
    for (std::uint32_t task = 0; task < 32; ++task) {
      problem.placement.push_back(task / 4);
      if (task > 0) problem.edges.push_back({task - 1, task, 100});
    }
    for (const double tolerance : {1.0, 1.05}) {
      for (const auto decide : {DecideRefine, DecideGreedyRefine, DecideDiffusion}) {
        EXPECT_EQ(decide(problem, tolerance).placement, problem.placement);
      }
    }
    EXPECT_EQ(DecideBisection(problem).placement, problem.placement);
  }
}

TEST(Strategies, OfNothing) {
  const BalancingProblem no_tasks{4, {}, {}, {}}, no_load{3, {2, 2, 0, 1}, {0, 0, 0, 0}, {{0, 2, 5}}},
      one_processor{1, {0, 0, 0}, {1, 2, 3}, {{0, 1, 5}}};
  for (const Strategy& strategy : Strategies()) {
    if (!strategy.moves) continue;
    for (const BalancingProblem& problem : {no_tasks, no_load, one_processor}) {
      EXPECT_EQ(strategy.decide(problem, kTolerance).placement, problem.placement) << strategy.id;
    }
  }
}

TEST(Strategies, SpreadFewTasks) {
  const BalancingProblem problem{8, {3, 3, 3}, {1, 1, 1}, {{0, 1, 5}, {1, 2, 5}}};
  for (const std::string id : {"greedy", "refine", "greedy-refine", "bisection"}) {
    EXPECT_EQ(LargestLoad(problem, StrategyById(id).decide(problem, kTolerance).placement), 1) << id;
  }
}

}  // namespace
}  // namespace farscale
