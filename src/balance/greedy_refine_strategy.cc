#include <algorithm>
#include <cmath>

#include "balance/least_loaded.h"
#include "balance/strategies.h"

namespace farscale {
namespace {

// Sums of the same loads in another order may differ in the last digits.
constexpr double kBoundRounding = 1e-12;

}  // namespace

BalancingDecision DecideGreedyRefine(const BalancingProblem& problem, const StrategyOptions& options) {
  if (HasNothingToBalance(problem)) return {.placement = problem.placement};
  BalancingDecision greedy = DecideGreedy(problem, options);
  const double best = std::ranges::max(ProcessorLoads(problem, greedy.placement));
  const double bound = std::max(best, options.tolerance * AverageLoad(problem)) * (1 + kBoundRounding);

  BalancingDecision decision{.placement = problem.placement};
  LeastLoaded processors(problem.processors);
  std::size_t moved = 0;
  for (const std::uint32_t task : TasksByFallingLoad(problem.loads)) {
    std::uint32_t& processor = decision.placement[task];
    const double load = problem.loads[task];
    if (processors.LoadOf(processor) + load > bound) {
      processor = processors.Processor();
      ++moved;
    }
    processors.Give(processor, load);
  }
  const auto tasks = static_cast<double>(problem.tasks());
  const double steps = greedy.steps + tasks * std::log2(tasks) +
                       static_cast<double>(moved) * std::log2(static_cast<double>(problem.processors));
  // Tasks that stayed may have left too little room for those that come later.
  if (processors.Largest() > bound) decision.placement = std::move(greedy.placement);
  decision.steps = steps;
  return decision;
}

}  // namespace farscale
