// Gains of dynamic load balancing: results of replays with tasks placed on processors, ready for reports.
// Times are in seconds unless a name says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "balance/strategy.h"
#include "base/diagnostics.h"
#include "replay/network.h"

namespace farscale {

// Placement of tasks on processors at the start, and of ranks on nodes: neighbours together, dealt out one by one, or,
// on nodes, those together that send each other most.
enum class Placement : std::uint8_t { kAsMeasured, kBlock, kRoundRobin, kByMessages };

std::string ToString(Placement placement);  // "measured", "block", "round-robin", "by-messages"
std::optional<Placement> ParsePlacement(const std::string& name);

struct BalanceConfiguration {
  std::size_t run = 0;  // index into WhatIf::runs: whose ranks are the tasks
  std::size_t tasks = 0;
  std::size_t processors = 0;
  std::string strategy = {};  // id
  std::size_t interval = 0;   // iterations between balancing points; 0: there are none
  Placement placement = Placement::kBlock;
  bool is_grown = false;  // nobody has made the run

  double level() const { return static_cast<double>(tasks) / static_cast<double>(processors); }

  friend bool operator==(const BalanceConfiguration&, const BalanceConfiguration&) = default;
};

// "RefineLB every 20 iterations", "RefineLB after every iteration" or "no balancing".
std::string NameOfBalancing(const BalanceConfiguration& configuration);

// Parts that add up to the makespan of a configuration.
struct MakespanParts {
  double computation = 0;  // all tasks, divided by the processors: the time with perfect balance
  // In every iteration, the largest load of a processor above the mean load, added up, as far as processors wait at
  // all: the same with balancing and without.
  double imbalance = 0;
  double barriers = 0;       // at balancing points: the barrier itself, not the wait for the last task
  double strategy = 0;       // deciding, with collecting loads and telling the decision
  double migration = 0;      // from the decision to the last task in its new place
  double communication = 0;  // the rest: messages, and waiting for others within an iteration

  double Total() const { return computation + imbalance + barriers + strategy + migration + communication; }
};

// A share gained or lost, with what noise makes of it.
struct Gain {
  double value = 0;  // 1 - makespan / makespan of what it is compared with
  double low = 0;    // 80 % of the replicas lie between; both equal the value where there are no replicas
  double high = 0;
};

struct BalanceOutcome {
  BalanceConfiguration configuration;
  double makespan = 0;
  MakespanParts parts;
  double load_balance = 1;  // mean over largest load of a processor, over the whole phase
  double parallel_efficiency = 1;
  std::size_t balancing_points = 0;
  std::size_t migrations = 0;
  double migrated_bytes = 0;
  std::size_t messages_between_processors = 0;  // sent by the program, not by migration
  // Time of an iteration from the first balancing point on, with the cost of points after every interval, and of the
  // same iterations without balancing. Nothing without balancing points.
  std::optional<double> later_iteration, later_iteration_without;
  // The first of them as if those iterations computed as much as others do: the iteration of a run of production
  // length.
  std::optional<double> long_run_iteration;
  std::vector<double> replicas;           // makespans with the noise of the run in another order
  std::vector<double> long_run_replicas;  // the same for long_run_iteration
  std::size_t baseline = 0;               // index into WhatIf::outcomes: the same without balancing
  Gain gain;                              // against the baseline, over the iterations of the trace
  // Against the run of the same problem with as many ranks as there are processors here, replayed; nothing where the
  // study has none, or grows the problem with the ranks.
  std::optional<Gain> gain_over_original;
};

// Load of processors over the iterations of a configuration that a report draws. Columns are iterations; where there
// are more rows or columns than the raster may have, neighbours are joined and hold their mean.
struct LoadHistory {
  std::size_t outcome = 0;  // index into WhatIf::outcomes
  std::size_t processors = 0, iterations = 0;
  std::size_t rows = 0, columns = 0;
  std::vector<double> load = {};  // row by row: seconds of computation of a processor in an iteration
  // At the end of every column's last iteration: when the last task finished it, and which share of the time since the
  // column before processors computed, whatever iteration that was of; 0 where no time went by.
  std::vector<double> time = {}, average_load = {};
};

// Ranks placed on nodes in another way, one task a processor [Lopez21].
struct NodeMapping {
  std::size_t run = 0;
  Placement placement = Placement::kAsMeasured;
  std::size_t nodes = 0;
  double load_balance_in = 1, load_balance_out = 1;  // within and between nodes
  double remote_share = 0;                           // share of the messages that leave their node
  double makespan = 0;
  Gain gain = {};                               // against the mapping as measured
  std::vector<std::int32_t> node_of_rank = {};  // numbered by the first rank on each
};

struct BalanceRun {
  std::string path;
  std::size_t ranks = 0, nodes = 0, ranks_per_node = 0;
  std::size_t iterations = 0;
  double measured = 0;      // length of the phase in the trace
  double replayed = 0;      // replayed with one task a processor: what the network model makes of it
  double load_balance = 1;  // as measured
  double task_bytes = 0;    // mean state of a task
  // Share of the computation of all tasks that the one with most has over the phase; 0: unknown. No placement gives the
  // processor of that task less.
  double heaviest_task = 0;
  // From one iteration to the next the computation of a task changes by this share of it, on average over all tasks and
  // iterations: what was measured says so much of what comes. Nothing with one iteration or no computation.
  std::optional<double> load_change;
  // Cores of the largest run that this one is grown from. Nothing: measured.
  std::optional<std::int64_t> grown_from = std::nullopt;
  bool is_unexplained = false;  // replayed as it ran, it takes far more or less time than measured
};

// The best configuration with the states of its tasks so many times as large.
struct StateCost {
  double factor = 1;
  double makespan = 0;
  Gain gain;  // against the same baseline
};

// The best outcome of a case on a named network, where the network of the runs is unknown.
struct NetworkGain {
  std::size_t outcome = 0;  // index into WhatIf::outcomes
  std::string network;      // name
  double iteration = 0;     // in a long run, seconds
  double reference = 0;     // the same of what it is compared with
  Gain gain;                // over the reference, in a long run
};

// Effect of a stated cost on the best configuration and its baseline: without it, and with other amounts.
struct OverheadCost {
  std::string overhead;  // "switching" or "lostLocality"
  double factor = 1;     // times what was stated
  double makespan = 0;
  Gain gain = {};  // against the baseline with the same cost
};

// The best configuration over more iterations than the trace has; where none balances, the first.
struct ProductionRun {
  std::size_t iterations = 0, repeats = 1;  // always whole repetitions of the traced phase
  bool drifts = false;                      // loads go on to change as in the trace; else they repeat
  double makespan = 0;
  double baseline = 0;  // without balancing
  Gain gain = {};
};

// Something simulated did not get through: its iterations depend on later ones of others, or a run lacks what is
// needed.
struct LeftOut {
  BalanceConfiguration configuration;
  std::string why;
};

struct WhatIf {
  std::string title;
  std::string phase;
  bool same_problem = false;      // the runs of the study solve one problem (strong scaling)
  std::string network;            // name
  std::string computation;        // lengths of computation: as measured, or without noise
  std::string task_bytes_source;  // where the state of tasks comes from
  std::string predictor;          // loads that strategies are given
  std::string cost_model;         // costs of barriers, strategies and migrations
  std::size_t noise_replicas = 0;
  std::vector<BalanceRun> runs;              // sorted by ranks
  std::vector<BalanceOutcome> outcomes;      // sorted by run, processors, placement, strategy, interval
  std::vector<std::size_t> by_time;          // outcomes with balancing, by the time of an iteration in a long run
  std::vector<std::size_t> by_robustness;    // those with replicas, by the worst tenth of them
  std::vector<LoadHistory> histories;        // the best, and its baseline
  std::vector<StateCost> state_costs;        // for the best configuration, where tasks have a state and it moves some
  std::vector<NetworkGain> network_gains;    // every case, by gain; empty: the network is known
  std::vector<OverheadCost> overhead_costs;  // for the best configuration, of stated costs
  std::optional<ProductionRun> production;   // when asked for
  bool shares_time = false;                  // processors serve all ready tasks in equal shares
  std::vector<NodeMapping> mappings;
  std::vector<LeftOut> left_out;
  std::vector<Finding> findings;
};

// The machine that tasks are replayed on, and what it costs there to balance them.

struct Machine {
  std::vector<std::int32_t> nodes;   // per processor
  const Network* network = nullptr;  // null: the ideal one

  std::size_t processors() const { return nodes.size(); }
};

// Nodes of processors, `per_node` neighbours on each.
std::vector<std::int32_t> NodesInBlocks(std::size_t processors, std::size_t per_node);

// Processors of tasks: neighbours together in shares as equal as possible, or dealt out one by one (kRoundRobin).
std::vector<std::uint32_t> PlaceTasks(std::size_t tasks, std::size_t processors,
                                      Placement placement = Placement::kBlock);

// Costs of balancing besides the wait for the last task [docs/formulas.md, balancing points].
struct BalancingCosts {
  std::vector<double> task_bytes = {};  // state of every task; empty: nothing has to be sent
  double step_seconds = 50e-9;          // one step of a strategy [docs/formulas.md, balancing points]
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
