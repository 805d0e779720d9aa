// The machine that tasks are replayed on, and what it costs there to balance them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "balance/strategy.h"
#include "balance/what_if.h"
#include "replay/network.h"

namespace farscale {

struct Machine {
  std::vector<std::int32_t> nodes;   // of every processor
  const Network* network = nullptr;  // null: the ideal one

  std::size_t processors() const { return nodes.size(); }
  const Network* TimedNetwork() const { return network != nullptr && !network->IsIdeal() ? network : nullptr; }
};

// Nodes of processors, `per_node` neighbours on each.
std::vector<std::int32_t> NodesInBlocks(std::size_t processors, std::size_t per_node);

// Processors of tasks: neighbours together in shares as equal as possible, or dealt out one by one (kRoundRobin).
std::vector<std::uint32_t> PlaceTasks(std::size_t tasks, std::size_t processors,
                                      Placement placement = Placement::kBlock);

// Costs of balancing besides the wait for the last task [docs/formulas.md, balancing points].
struct BalancingCosts {
  std::vector<double> task_bytes = {};  // state of every task; empty: nothing has to be sent
  double step_seconds = 50e-9;          // of one step of a strategy [docs/formulas.md, balancing points]
  double record_bytes = 32;  // sent to the strategy for every task, and back [docs/formulas.md, balancing points]
  // Where a processor takes up another task than the one it ran last; caches and the scheduler are not in traces.
  double switch_seconds = 0;
  // In the first iteration after a move, computation takes longer by this share: its data are elsewhere.
  double cold_share = 0;
  bool are_free = false;  // nothing takes time
};

// A barrier of all processors, in seconds.
double BarrierSeconds(const Machine& machine);

// From the barrier to the decision on every processor. For a central strategy one processor collects a record of every
// task, decides and sends the decision to all; for the others processors exchange records with their neighbours and
// decide by themselves.
double DecisionSeconds(const Machine& machine, const Strategy& strategy, const BalancingDecision& decision,
                       std::size_t tasks, const BalancingCosts& costs);

// Until the state of every task that moves is in its new place. A processor sends one state at a time and receives one
// at a time; nodes limit their transfers as the network says. States set off in the order of their tasks, each as soon
// as both sides are free. Within nodes of unknown bandwidth they take as long as between nodes.
double MigrationSeconds(const Machine& machine, const std::vector<std::uint32_t>& from,
                        const std::vector<std::uint32_t>& to, const std::vector<double>& task_bytes);

}  // namespace farscale
