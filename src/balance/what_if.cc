#include "balance/what_if.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace farscale {
namespace {

constexpr std::array<const char*, 4> kPlacements = {"measured", "block", "round-robin",
                                                    "by-messages"};  // as in Placement

bool IsOneNode(const Machine& machine) { return std::set(machine.nodes.begin(), machine.nodes.end()).size() <= 1; }

double Collective(const Machine& machine, CollectiveKind kind, double bytes) {
  const Network* network = TimedNetwork(machine.network);
  if (network == nullptr || machine.processors() < 2) return 0;
  const std::size_t ranks = machine.processors();
  return CollectiveSeconds(*network, kind, IsOneNode(machine),
                           {ranks, bytes, bytes, bytes * static_cast<double>(ranks), 2 * bytes});
}

}  // namespace

std::string ToString(Placement placement) { return kPlacements[static_cast<std::size_t>(placement)]; }

std::optional<Placement> ParsePlacement(const std::string& name) {
  const auto found = std::ranges::find(kPlacements, name);
  if (found == kPlacements.end()) return std::nullopt;
  return static_cast<Placement>(found - kPlacements.begin());
}

std::vector<std::int32_t> NodesInBlocks(std::size_t processors, std::size_t per_node) {
  std::vector<std::int32_t> nodes(processors);
  for (std::size_t i = 0; i < processors; ++i) nodes[i] = static_cast<std::int32_t>(i / per_node);
  return nodes;
}

std::vector<std::uint32_t> PlaceTasks(std::size_t tasks, std::size_t processors, Placement placement) {
  std::vector<std::uint32_t> processor_of(tasks);
  for (std::size_t i = 0; i < tasks; ++i) {
    const std::size_t processor = placement == Placement::kRoundRobin ? i % processors : i * processors / tasks;
    processor_of[i] = static_cast<std::uint32_t>(processor);
  }
  return processor_of;
}

double BarrierSeconds(const Machine& machine) { return Collective(machine, CollectiveKind::kBarrier, 0); }

double DecisionSeconds(const Machine& machine, const Strategy& strategy, const BalancingDecision& decision,
                       std::size_t tasks, const BalancingCosts& costs) {
  const double thinking = decision.steps * costs.step_seconds;
  const double share = costs.record_bytes * static_cast<double>(tasks) / static_cast<double>(machine.processors());
  if (strategy.is_central) {
    // Along the tree records add up: the last step brings those of half of the processors.
    return thinking + Collective(machine, CollectiveKind::kGather, share) +
           Collective(machine, CollectiveKind::kBroadcast, costs.record_bytes * static_cast<double>(tasks));
  }
  const Network* network = TimedNetwork(machine.network);
  if (network == nullptr || machine.processors() < 2) return thinking;
  const Link& link = IsOneNode(machine) ? network->local : network->remote;
  return thinking + 2 * (link.latency + link.TransferSeconds(share));
}

double MigrationSeconds(const Machine& machine, const std::vector<std::uint32_t>& from,
                        const std::vector<std::uint32_t>& to, const std::vector<double>& task_bytes) {
  const Network* network = TimedNetwork(machine.network);
  if (network == nullptr || task_bytes.empty()) return 0;
  const std::size_t nodes = static_cast<std::size_t>(std::ranges::max(machine.nodes)) + 1;
  // Transfers that each owner, a processor or a node, can have at once in one direction, by when they end; none: any
  // number at once.
  using Ports = std::vector<double>;
  std::vector<Ports> sender(machine.processors(), Ports(1)), receiver = sender;
  std::vector<Ports> leaving(nodes, Ports(static_cast<std::size_t>(network->sending.value_or(0))));
  std::vector<Ports> arriving(nodes, Ports(static_cast<std::size_t>(network->receiving.value_or(0))));
  const auto next_free = [](const Ports& ports) { return ports.empty() ? 0 : std::ranges::min(ports); };
  const auto take = [](Ports& ports, double until) {
    if (!ports.empty()) *std::ranges::min_element(ports) = until;
  };
  double last = 0;
  for (std::size_t task = 0; task < from.size(); ++task) {
    if (from[task] == to[task]) continue;
    const auto node = static_cast<std::size_t>(machine.nodes[from[task]]);
    const auto other = static_cast<std::size_t>(machine.nodes[to[task]]);
    const bool is_local = node == other;
    const Link& link = is_local ? network->local : network->remote;
    double start = std::max(next_free(sender[from[task]]), next_free(receiver[to[task]]));
    if (!is_local) start = std::max({start, next_free(leaving[node]), next_free(arriving[other])});
    // A node is at least as fast within as to others, where only that is known.
    const bool is_known = std::isfinite(network->local.bandwidth);
    const double until =
        start + (is_local && is_known ? network->local : network->remote).TransferSeconds(task_bytes[task]);
    take(sender[from[task]], until);
    take(receiver[to[task]], until);
    if (!is_local) {
      take(leaving[node], until);
      take(arriving[other], until);
    }
    last = std::max(last, until + link.latency);
  }
  return last;
}

}  // namespace farscale
