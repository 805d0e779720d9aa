#include "balance/node_mapping.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "balance/machine.h"
#include "balance/outcome.h"
#include "balance/strategy.h"
#include "balance/task_replay.h"
#include "factors/phase_totals.h"

namespace farscale {
namespace {

using Nodes = std::vector<std::int32_t>;

void AddLoadBalance(const TaskLoads& loads, const Nodes& nodes, NodeMapping& mapping) {
  std::vector<double> of_tasks;
  for (const std::vector<Tick>& task : loads) {
    of_tasks.push_back(static_cast<double>(std::accumulate(task.begin(), task.end(), Tick{0})));
  }
  const double sum = std::accumulate(of_tasks.begin(), of_tasks.end(), 0.0);
  const double largest_node = LargestNodeLoad(of_tasks, nodes);
  if (!(largest_node > 0)) return;
  mapping.load_balance_in = LoadBalanceWithinNodes(largest_node, std::ranges::max(of_tasks));
  mapping.load_balance_out = LoadBalanceBetweenNodes(sum / static_cast<double>(of_tasks.size()), largest_node);
}

NodeMapping ReplayMapping(const TaskProgram& tasks, Placement placement, const Nodes& nodes, const Network* network) {
  const TaskReplayResult result =
      ReplayTasks(tasks, {nodes, network}, {.placement = PlaceTasks(tasks.tasks(), tasks.tasks())});
  NodeMapping mapping{.placement = placement, .nodes = std::set(nodes.begin(), nodes.end()).size()};
  mapping.node_of_rank = nodes;
  AddLoadBalance(result.loads, nodes, mapping);
  if (result.messages > 0) {
    mapping.remote_share = static_cast<double>(result.between_nodes) / static_cast<double>(result.messages);
  }
  mapping.makespan = tasks.Seconds(result.Makespan());
  return mapping;
}

// Nodes numbered by the first rank on each, so that equal mappings are equal.
Nodes Renumbered(const Nodes& nodes) {
  std::map<std::int32_t, std::int32_t> numbers;
  Nodes renumbered;
  for (const std::int32_t node : nodes) {
    renumbered.push_back(numbers.emplace(node, static_cast<std::int32_t>(numbers.size())).first->second);
  }
  return renumbered;
}

std::size_t MostOnANode(const Nodes& nodes) {
  std::map<std::int32_t, std::size_t> ranks;
  for (const std::int32_t node : nodes) ++ranks[node];
  using Entry = std::pair<const std::int32_t, std::size_t>;
  return std::ranges::max_element(ranks, {}, &Entry::second)->second;
}

// Nodes of ranks so that few bytes leave them: as bisection would place tasks that all compute the same.
Nodes ByMessages(const TaskProgram& tasks, const Nodes& nodes, std::size_t count) {
  const BalancingProblem problem{.processors = count,
                                 .placement = {nodes.begin(), nodes.end()},
                                 .loads = std::vector<double>(nodes.size(), 1),
                                 .edges = tasks.edges};
  const std::vector<std::uint32_t> placement = DecideBisection(problem, {.tolerance = 1}).placement;
  return Renumbered({placement.begin(), placement.end()});
}

Nodes NodesFor(Placement placement, const TaskProgram& tasks, const Nodes& nodes, std::size_t count) {
  if (placement == Placement::kByMessages) return ByMessages(tasks, nodes, count);
  const std::vector<std::uint32_t> places = PlaceTasks(nodes.size(), count, placement);
  return {places.begin(), places.end()};
}

}  // namespace

std::vector<NodeMapping> TryMappings(const TaskProgram& tasks, const Nodes& measured_nodes, const Network* network) {
  const Nodes nodes = Renumbered(measured_nodes);
  const std::size_t count = std::set(nodes.begin(), nodes.end()).size();
  if (count < 2) return {};
  std::vector<NodeMapping> mappings = {ReplayMapping(tasks, Placement::kAsMeasured, nodes, network)};
  std::set<Nodes> tried = {nodes};
  for (const Placement placement : {Placement::kBlock, Placement::kRoundRobin, Placement::kByMessages}) {
    const Nodes other = NodesFor(placement, tasks, nodes, count);
    if (MostOnANode(other) > MostOnANode(nodes) || !tried.insert(other).second) continue;
    mappings.push_back(ReplayMapping(tasks, placement, other, network));
    mappings.back().gain = GainOf(mappings.front().makespan, mappings.back().makespan);
  }
  return mappings;
}

}  // namespace farscale
