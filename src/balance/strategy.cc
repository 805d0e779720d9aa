#include "balance/strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "balance/what_if.h"
#include "base/error.h"
#include "base/format.h"
#include "base/text.h"

namespace farscale {

const std::vector<Strategy>& Strategies() {
  static const std::vector<Strategy> strategies = {
      {.id = "none",
       .name = "no balancing",
       .description = "Tasks stay where they start.",
       .steps = "none",
       .moves = false},
      {.id = "greedy",
       .name = "GreedyLB",
       .description = "Tasks by falling load, each to the processor with least so far, wherever they are now.",
       .steps = "n log2 n + n log2 P for n tasks on P processors",
       .decide = DecideGreedy},
      {.id = "refine",
       .name = "RefineLB",
       .description = "Takes tasks from processors above the tolerance only, the largest that fits elsewhere.",
       .steps = "tasks of the processor that gives times processors below the average, added up over moves and tries",
       .decide = DecideRefine},
      {.id = "greedy-refine",
       .name = "GreedyRefine",
       .description = "Greedy, but a task stays where that makes the largest load no larger than greedy's, or than the "
                      "tolerance.",
       .steps = "2 n log2 n + n log2 P for greedy, and log2 P for every task that does not stay",
       .decide = DecideGreedyRefine},
      {.id = "bisection",
       .name = "recursive bisection",
       .description = "Halves tasks and processors again and again, with few bytes between the halves.",
       .steps = "tasks and ends of edges looked at, about (n + edges) log2 P",
       .decide = DecideBisection},
      {.id = "diffusion",
       .name = "diffusion",
       .description = "Processors give load to neighbours that have less.",
       .steps = "rounds times neighbours, and tasks looked at to follow the flows, of the processor with most",
       .is_central = false,
       .decide = DecideDiffusion},
      {.id = "hierarchical",
       .name = "hierarchical",
       .description = "Tasks leave nodes above the tolerance, then GreedyRefine balances the processors of each node.",
       .steps = "N + log2 n for every task that changes its node, of N, and the most of greedy-refine on a node",
       .is_default = false,
       .decide = DecideHierarchical},
  };
  return strategies;
}

const Strategy& StrategyById(const std::string& id) {
  std::vector<std::string> ids;
  for (const Strategy& strategy : Strategies()) {
    if (strategy.id == id) return strategy;
    ids.push_back(strategy.id);
  }
  throw Error(ErrorKind::kUsage, "", fmt::format("no strategy '{}' among {}", id, Join(ids, ", ")),
              DidYouMean(id, ids));
}

bool HasNothingToBalance(const BalancingProblem& problem) {
  return problem.processors < 2 || std::ranges::all_of(problem.loads, [](double load) { return load == 0; });
}

double AverageLoad(const BalancingProblem& problem) {
  double speed = 0;
  for (std::size_t p = 0; p < problem.processors; ++p) speed += problem.SpeedOf(p);
  return std::accumulate(problem.loads.begin(), problem.loads.end(), 0.0) / speed;
}

std::vector<double> ProcessorLoads(const BalancingProblem& problem, const std::vector<std::uint32_t>& placement) {
  std::vector<double> loads(problem.processors);
  for (std::size_t task = 0; task < problem.tasks(); ++task) {
    loads[placement[task]] += problem.loads[task] / problem.SpeedOf(placement[task]);
  }
  return loads;
}

std::vector<std::uint32_t> TasksByFallingLoad(const std::vector<double>& loads) {
  std::vector<std::uint32_t> tasks(loads.size());
  std::iota(tasks.begin(), tasks.end(), 0u);
  std::ranges::stable_sort(tasks, std::greater(), [&](std::uint32_t task) { return loads[task]; });
  return tasks;
}

std::string NameOfBalancing(const BalanceConfiguration& configuration) {
  if (configuration.interval == 0) return "no balancing";
  const std::string& name = StrategyById(configuration.strategy).name;
  if (configuration.interval == 1) return name + " after every iteration";
  return fmt::format("{} every {} iterations", name, FormatCount(configuration.interval));
}

}  // namespace farscale
