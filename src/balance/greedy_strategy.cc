#include <cmath>

#include "balance/least_loaded.h"
#include "balance/strategies.h"

namespace farscale {

BalancingDecision DecideGreedy(const BalancingProblem& problem, const StrategyOptions& /*options*/) {
  BalancingDecision decision{.placement = problem.placement};
  if (HasNothingToBalance(problem)) return decision;
  LeastLoaded processors(problem.processors);
  for (const std::uint32_t task : TasksByFallingLoad(problem.loads)) {
    decision.placement[task] = processors.Processor();
    processors.Give(decision.placement[task], problem.loads[task]);
  }
  // Sorting tasks, and a heap of processors.
  const auto tasks = static_cast<double>(problem.tasks());
  decision.steps = tasks * (std::log2(tasks) + std::log2(static_cast<double>(problem.processors)));
  return decision;
}

}  // namespace farscale
