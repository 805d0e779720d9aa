#include "balance/node_mapping.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "balance/outcome.h"
#include "balance/task_replay.h"
#include "factors/phase_factors.h"

namespace farscale {
namespace {

void AddLoadBalance(const TaskLoads& loads, const std::vector<std::int32_t>& nodes, NodeMapping& mapping) {
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

NodeMapping Try(const TaskProgram& tasks, Placement placement, const std::vector<std::int32_t>& nodes,
                const Network* network) {
  const TaskReplayResult result =
      ReplayTasks(tasks, {nodes, network}, {.placement = PlaceTasks(tasks.tasks(), tasks.tasks())});
  NodeMapping mapping{.placement = placement, .nodes = std::set(nodes.begin(), nodes.end()).size()};
  AddLoadBalance(result.loads, nodes, mapping);
  if (result.messages > 0) {
    mapping.remote_share = static_cast<double>(result.between_nodes) / static_cast<double>(result.messages);
  }
  mapping.makespan = tasks.Seconds(result.Makespan());
  return mapping;
}

// Nodes numbered by the first rank on each, so that equal mappings are equal.
std::vector<std::int32_t> Renumbered(const std::vector<std::int32_t>& nodes) {
  std::map<std::int32_t, std::int32_t> numbers;
  std::vector<std::int32_t> renumbered;
  for (const std::int32_t node : nodes) {
    renumbered.push_back(numbers.emplace(node, static_cast<std::int32_t>(numbers.size())).first->second);
  }
  return renumbered;
}

}  // namespace

std::vector<NodeMapping> TryMappings(const TaskProgram& tasks, const std::vector<std::int32_t>& measured_nodes,
                                     const Network* network) {
  const std::vector<std::int32_t> nodes = Renumbered(measured_nodes);
  const std::size_t count = std::set(nodes.begin(), nodes.end()).size();
  if (count < 2) return {};
  std::vector<NodeMapping> mappings = {Try(tasks, Placement::kAsMeasured, nodes, network)};
  for (const Placement placement : {Placement::kBlock, Placement::kRoundRobin}) {
    const std::vector<std::uint32_t> places = PlaceTasks(nodes.size(), count, placement);
    const std::vector<std::int32_t> other(places.begin(), places.end());
    if (other == nodes) continue;
    mappings.push_back(Try(tasks, placement, other, network));
    mappings.back().gain = GainOf(mappings.front().makespan, mappings.back().makespan);
  }
  return mappings;
}

}  // namespace farscale
