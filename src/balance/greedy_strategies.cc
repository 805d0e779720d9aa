#include <algorithm>
#include <cmath>
#include <set>

#include "balance/strategy.h"

namespace farscale {
namespace {

// Sums of the same loads in another order differ in the last digits. Chosen: well above the rounding of sums of a
// million loads, well below any difference that matters.
constexpr double kBoundRounding = 1e-12;

// Processors by the time that they compute so far, least first.
class LeastLoaded {
 public:
  explicit LeastLoaded(const BalancingProblem& problem) : problem_(problem), loads_(problem.processors) {
    for (std::uint32_t p = 0; p < problem.processors; ++p) order_.emplace(0.0, p);
  }

  // The lowest of those with least.
  std::uint32_t First() const { return order_.begin()->second; }
  double Largest() const { return order_.rbegin()->first; }
  double LoadWith(std::uint32_t processor, double load) const {
    return loads_[processor] + load / problem_.SpeedOf(processor);
  }
  void Add(std::uint32_t processor, double load) {
    order_.erase({loads_[processor], processor});
    loads_[processor] = LoadWith(processor, load);
    order_.emplace(loads_[processor], processor);
  }

 private:
  const BalancingProblem& problem_;
  std::vector<double> loads_;
  std::set<std::pair<double, std::uint32_t>> order_;
};

}  // namespace

BalancingDecision DecideGreedy(const BalancingProblem& problem, const StrategyOptions& /*options*/) {
  BalancingDecision decision{.placement = problem.placement};
  if (HasNothingToBalance(problem)) return decision;
  LeastLoaded processors(problem);
  for (const std::uint32_t task : TasksByFallingLoad(problem.loads)) {
    decision.placement[task] = processors.First();
    processors.Add(decision.placement[task], problem.loads[task]);
  }
  // Sorting tasks, and a heap of processors.
  const auto tasks = static_cast<double>(problem.tasks());
  decision.steps = tasks * (std::log2(tasks) + std::log2(static_cast<double>(problem.processors)));
  return decision;
}

BalancingDecision DecideGreedyRefine(const BalancingProblem& problem, const StrategyOptions& options) {
  if (HasNothingToBalance(problem)) return {.placement = problem.placement};
  const BalancingDecision greedy = DecideGreedy(problem, options);
  const double best = std::ranges::max(ProcessorLoads(problem, greedy.placement));
  const double bound = std::max(best, options.tolerance * AverageLoad(problem)) * (1 + kBoundRounding);

  BalancingDecision decision{.placement = problem.placement};
  LeastLoaded processors(problem);
  std::size_t moved = 0;
  for (const std::uint32_t task : TasksByFallingLoad(problem.loads)) {
    std::uint32_t& processor = decision.placement[task];
    if (processors.LoadWith(processor, problem.loads[task]) > bound) {
      processor = processors.First();
      ++moved;
    }
    processors.Add(processor, problem.loads[task]);
  }
  const auto tasks = static_cast<double>(problem.tasks());
  decision.steps = greedy.steps + tasks * std::log2(tasks) +
                   static_cast<double>(moved) * std::log2(static_cast<double>(problem.processors));
  // Tasks that stayed may have left too little room for those that come later.
  if (processors.Largest() > bound) decision.placement = greedy.placement;
  return decision;
}

}  // namespace farscale
