#include "balance/strategies.h"

#include <algorithm>
#include <numeric>

namespace farscale {

bool HasNothingToBalance(const BalancingProblem& problem) {
  return problem.processors < 2 || std::ranges::all_of(problem.loads, [](double load) { return load == 0; });
}

double AverageLoad(const BalancingProblem& problem) {
  return std::accumulate(problem.loads.begin(), problem.loads.end(), 0.0) / static_cast<double>(problem.processors);
}

std::vector<std::uint32_t> TasksByFallingLoad(const std::vector<double>& loads) {
  std::vector<std::uint32_t> tasks(loads.size());
  std::iota(tasks.begin(), tasks.end(), 0u);
  std::ranges::stable_sort(tasks, [&](std::uint32_t a, std::uint32_t b) { return loads[a] > loads[b]; });
  return tasks;
}

}  // namespace farscale
