// The strategies themselves, and what several of them ask of a problem. Strategies() lists them.
//
// All go by numbers where loads are equal: the lower task, the lower processor. When no task has any load, or there is
// one processor, none of them moves anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "balance/strategy.h"

namespace farscale {

// GreedyLB of Charm++ [Zheng05]: tasks by falling load, each to the processor that has least so far, wherever they are
// now. The largest load is at most 4/3 - 1/(3 P) of the smallest possible [Graham69].
BalancingDecision DecideGreedy(const BalancingProblem& problem, const StrategyOptions& options);

// RefineLB of Charm++ [Zheng05]: takes tasks from processors above `tolerance` times the average only.
BalancingDecision DecideRefine(const BalancingProblem& problem, const StrategyOptions& options);

// Tasks by falling load; one stays when its processor stays with it below what greedy achieves, or below `tolerance`
// times the average where that is more.
BalancingDecision DecideGreedyRefine(const BalancingProblem& problem, const StrategyOptions& options);

// Processors and tasks in halves, again and again, with few bytes between the halves [Simon91, Fiduccia82].
BalancingDecision DecideBisection(const BalancingProblem& problem, const StrategyOptions& options);

// Load flows between processors whose tasks exchange messages as heat does [Cybenko89], and tasks with it.
BalancingDecision DecideDiffusion(const BalancingProblem& problem, const StrategyOptions& options);

// Fewer than two processors, or no load at all.
bool HasNothingToBalance(const BalancingProblem& problem);

// Seconds a processor.
double AverageLoad(const BalancingProblem& problem);

std::vector<std::uint32_t> TasksByFallingLoad(const std::vector<double>& loads);

}  // namespace farscale
