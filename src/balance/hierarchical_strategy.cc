#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "balance/strategy.h"

namespace farscale {
namespace {

struct BalancedNode {
  std::vector<std::uint32_t> processors;
  double speed = 0;  // of its processors together
  double load = 0;
  std::set<std::pair<double, std::uint32_t>> tasks;  // by load

  double Time() const { return load / speed; }
};

std::vector<BalancedNode> NodesOf(const BalancingProblem& problem) {
  std::vector<BalancedNode> nodes;
  std::map<std::int32_t, std::size_t> numbers;
  std::vector<std::size_t> node_of;  // of every processor
  for (std::uint32_t p = 0; p < problem.processors; ++p) {
    node_of.push_back(numbers.emplace(problem.nodes.empty() ? 0 : problem.nodes[p], nodes.size()).first->second);
    if (node_of.back() == nodes.size()) nodes.emplace_back();
    nodes[node_of.back()].processors.push_back(p);
    nodes[node_of.back()].speed += problem.SpeedOf(p);
  }
  for (std::uint32_t task = 0; task < problem.tasks(); ++task) {
    BalancedNode& node = nodes[node_of[problem.placement[task]]];
    node.load += problem.loads[task];
    node.tasks.insert({problem.loads[task], task});
  }
  return nodes;
}

// The node with most gives the one with least the largest task with which that stays within `limit` seconds, until none
// has more or no task fits. Returns the steps.
double BalanceNodes(std::vector<BalancedNode>& nodes, double limit) {
  double steps = 0;
  while (true) {
    BalancedNode& giver = *std::ranges::max_element(nodes, {}, &BalancedNode::Time);
    BalancedNode& receiver = *std::ranges::min_element(nodes, {}, &BalancedNode::Time);
    steps += static_cast<double>(nodes.size());
    if (giver.Time() <= limit) return steps;
    const auto above = giver.tasks.upper_bound({limit * receiver.speed - receiver.load, ~0u});
    steps += std::log2(static_cast<double>(giver.tasks.size()));
    if (above == giver.tasks.begin() || std::prev(above)->first <= 0) return steps;
    const double load = std::prev(above)->first;
    receiver.tasks.insert(giver.tasks.extract(giver.tasks.lower_bound({load, 0})));
    giver.load -= load;
    receiver.load += load;
  }
}

}  // namespace

BalancingDecision DecideHierarchical(const BalancingProblem& problem, const StrategyOptions& options) {
  BalancingDecision decision{.placement = problem.placement};
  if (HasNothingToBalance(problem)) return decision;
  std::vector<BalancedNode> nodes = NodesOf(problem);
  std::vector<std::size_t> place(problem.processors);  // of every processor on its node
  for (const BalancedNode& node : nodes) {
    for (std::size_t i = 0; i < node.processors.size(); ++i) place[node.processors[i]] = i;
  }
  decision.steps = BalanceNodes(nodes, options.tolerance * AverageLoad(problem));
  double most_steps = 0;
  for (const BalancedNode& node : nodes) {
    BalancingProblem within{.processors = node.processors.size()};
    for (const std::uint32_t p : node.processors) within.speeds.push_back(problem.SpeedOf(p));
    for (const auto& [load, task] : node.tasks) {
      // A task from another node may keep the place that it had there.
      const std::size_t processor = place[problem.placement[task]] % within.processors;
      within.placement.push_back(static_cast<std::uint32_t>(processor));
      within.loads.push_back(load);
    }
    const BalancingDecision chosen = DecideGreedyRefine(within, options);
    most_steps = std::max(most_steps, chosen.steps);
    std::size_t i = 0;
    for (const auto& [load, task] : node.tasks) decision.placement[task] = node.processors[chosen.placement[i++]];
  }
  decision.steps += most_steps;
  return decision;
}

}  // namespace farscale
