#include "balance/node_mapping.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "balance/task_replay.h"
#include "factors/phase_factors.h"

namespace farscale {
namespace {

void AddLoadBalance(const TaskLoads& loads, const std::vector<std::int32_t>& nodes, NodeMapping& mapping) {
  std::map<std::int32_t, std::pair<double, double>> of_node;  // sum and ranks
  double sum = 0, largest = 0;
  for (std::size_t task = 0; task < loads.size(); ++task) {
    const auto load = static_cast<double>(std::accumulate(loads[task].begin(), loads[task].end(), Tick{0}));
    sum += load;
    largest = std::max(largest, load);
    of_node[nodes[task]].first += load;
    of_node[nodes[task]].second += 1;
  }
  double largest_node = 0;
  for (const auto& [node, of] : of_node) largest_node = std::max(largest_node, of.first / of.second);
  if (!(largest_node > 0)) return;
  mapping.load_balance_in = LoadBalanceWithinNodes(largest_node, largest);
  mapping.load_balance_out = LoadBalanceBetweenNodes(sum / static_cast<double>(loads.size()), largest_node);
}

NodeMapping Try(const TaskProgram& tasks, Placement placement, const std::vector<std::int32_t>& nodes,
                const Network* network) {
  TaskReplayOptions options;
  options.placement = TasksInBlocks(tasks.tasks(), tasks.tasks());
  const TaskReplayResult result = ReplayTasks(tasks, {nodes, network}, options);
  NodeMapping mapping;
  mapping.placement = placement;
  mapping.nodes = std::set(nodes.begin(), nodes.end()).size();
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
    const std::vector<std::uint32_t> places =
        placement == Placement::kBlock ? TasksInBlocks(nodes.size(), count) : TasksInTurn(nodes.size(), count);
    const std::vector<std::int32_t> other(places.begin(), places.end());
    if (other == nodes) continue;
    mappings.push_back(Try(tasks, placement, other, network));
    const double measured = mappings.front().makespan;
    if (measured > 0) mappings.back().gain.value = 1 - mappings.back().makespan / measured;
    mappings.back().gain.low = mappings.back().gain.high = mappings.back().gain.value;
  }
  return mappings;
}

}  // namespace farscale
