// Strategies of dynamic load balancing: which processor every task goes to, given what tasks computed and what they
// sent each other. A strategy is a function of a value. A new one is that function, a declaration here, a row in
// Strategies() and a test.
//
// A task is a rank of the program. A processor runs one task at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/trace.h"

namespace farscale {

// Loads of tasks: as they were, as a strategy predicts them, and with the noise of the run in another order.

// Length of the computation of every task in every iteration, in ticks: loads[task][iteration]. What a task computes
// before its first iteration counts to it, and so does to the last what comes after.
using TaskLoads = std::vector<std::vector<Tick>>;

// Factors for lengths of computation: scale[task][iteration]. Lengths are rounded one by one.
using LoadScale = std::vector<std::vector<double>>;

// The loads that a strategy uses for the next interval.
enum class LoadPredictor : std::uint8_t {
  kLast,   // those of the interval before, as Charm++ does
  kMean,   // the mean of all iterations so far
  kTrend,  // the line through the last two intervals
  kExact,  // those that will come: no run knows them, but nothing can be better
};

std::string ToString(LoadPredictor predictor);  // "last", "mean", "trend", "exact"
std::string Describe(LoadPredictor predictor);  // "the mean of all iterations so far"
std::optional<LoadPredictor> ParseLoadPredictor(const std::string& name);

// Ticks of every task over the `length` iterations from `next` on, as predicted at that time; not negative. `next` is
// at least 1.
std::vector<double> PredictLoads(const TaskLoads& loads, std::size_t next, std::size_t length, LoadPredictor predictor);

// Relative change of a task's computation from one iteration to the next: changes summed over tasks and iterations,
// divided by the computation without the last iteration. Nothing with one iteration or no computation.
std::optional<double> LoadChange(const TaskLoads& loads);

// Chosen: with fewer iterations a running median over five does not separate noise from how the load develops.
inline constexpr std::size_t kFewestNoisyIterations = 8;

// The computation of a task in an iteration is its running median over five iterations, times a factor common to all
// tasks in that iteration (the median over tasks), times a rest of its own: the noise. A replica puts the rests of
// every task into another order and keeps everything else. Nothing with fewer than kFewestNoisyIterations iterations.
std::optional<LoadScale> NoiseReplica(const TaskLoads& loads, std::uint64_t seed);

// Bytes that two tasks send each other, in both directions together.
struct TaskEdge {
  std::uint32_t first = 0;   // the lower task
  std::uint32_t second = 0;  // the higher one
  double bytes = 0;

  friend bool operator==(const TaskEdge&, const TaskEdge&) = default;
};

// The input of a strategy, like the database of Charm++ (BaseLB::LDStats): objects with their loads, their
// communication, and processors with their speeds and nodes. There is no load besides tasks.
struct BalancingProblem {
  std::size_t processors = 0;
  std::vector<std::uint32_t> placement = {};  // current processor of every task
  std::vector<double> loads = {};             // per task, measured or predicted: seconds on a processor of speed 1
  std::vector<TaskEdge> edges = {};           // sorted by tasks, each pair once
  std::vector<std::int32_t> nodes = {};       // per processor; empty: all on one node
  std::vector<double> speeds = {};            // per processor, above 0; empty: all 1

  std::size_t tasks() const { return loads.size(); }
  double SpeedOf(std::size_t processor) const { return speeds.empty() ? 1 : speeds[processor]; }
  double SecondsOn(std::size_t processor, std::size_t task) const { return loads[task] / SpeedOf(processor); }
};

// Strategies that move few tasks accept loads up to this multiple of the average [Charm++, RefineLB].
inline constexpr double kTolerance = 1.05;

struct BalancingDecision {
  std::vector<std::uint32_t> placement;  // new processor of every task
  // Comparisons and moves of tasks, in the order of the strategy's complexity. The time of the strategy is this times
  // the time of a step. For a strategy that runs in parallel, the largest number of any processor.
  double steps = 0;
};

struct Strategy {
  std::string id;           // on the command line and in files: "refine"
  std::string name;         // in reports: "RefineLB"
  std::string description;  // a sentence
  std::string steps;        // complexity, for the documentation: "n log n for n tasks"
  bool moves = true;        // false: tasks are never moved
  bool is_central = true;   // one processor collects all loads, decides and sends the decision to all
  bool is_default = true;   // in sweeps that name no strategies
  BalancingDecision (*decide)(const BalancingProblem&, double tolerance) = nullptr;  // null when it never moves
};

// All strategies, "none" first.
const std::vector<Strategy>& Strategies();

// Throws a usage error that lists the strategies and suggests the nearest.
const Strategy& StrategyById(const std::string& id);

// All strategies break ties by number: the lower task, the lower processor. None moves anything when no task has any
// load, or when there is one processor. Greedy, GreedyRefine and the hierarchical one use speeds; the others take all
// processors for equal.

// GreedyLB of Charm++ [Zheng05]: tasks by falling load, each to the processor that has least so far, wherever they are
// now. The largest load is at most 4/3 - 1/(3 P) of the smallest possible on P processors of equal speed [Graham69].
BalancingDecision DecideGreedy(const BalancingProblem& problem, double tolerance = kTolerance);

// Tasks by falling load; one stays when its processor stays with it below what greedy achieves, or below `tolerance`
// times the average where that is more.
BalancingDecision DecideGreedyRefine(const BalancingProblem& problem, double tolerance = kTolerance);

// RefineLB of Charm++ [Zheng05]: takes tasks from processors above `tolerance` times the average only.
BalancingDecision DecideRefine(const BalancingProblem& problem, double tolerance = kTolerance);

// Processors and tasks in halves, again and again, with few bytes between the halves [Simon91, Fiduccia82].
BalancingDecision DecideBisection(const BalancingProblem& problem, double tolerance = kTolerance);

// Load flows between processors whose tasks exchange messages as heat does [Cybenko89], and tasks with it.
BalancingDecision DecideDiffusion(const BalancingProblem& problem, double tolerance = kTolerance);

// Two levels, as HybridLB of Charm++ [Zheng11]: nodes above `tolerance` times the average give tasks to nodes with
// less, then GreedyRefine balances the processors of each node.
BalancingDecision DecideHierarchical(const BalancingProblem& problem, double tolerance = kTolerance);

// Shared by the strategies.

// Fewer than two processors, or no load at all.
bool HasNothingToBalance(const BalancingProblem& problem);

// Seconds that every processor would compute with the load spread evenly.
double AverageLoad(const BalancingProblem& problem);

// Seconds that every processor computes with a placement.
std::vector<double> ProcessorLoads(const BalancingProblem& problem, const std::vector<std::uint32_t>& placement);

std::vector<std::uint32_t> TasksByFallingLoad(const std::vector<double>& loads);

// Bytes that tasks exchange: neighbours of every node, in compressed rows.
class TaskGraph {
 public:
  using Neighbour = std::pair<std::uint32_t, double>;  // node and bytes

  // Edges from a node to itself and those without bytes are left out; several between the same two are added up.
  TaskGraph(std::size_t nodes, const std::vector<TaskEdge>& edges);

  // These nodes, by their places in the list, and the edges between them.
  TaskGraph Among(const std::vector<std::uint32_t>& nodes) const;

  std::size_t nodes() const { return rows_.size() - 1; }
  // Sorted by node.
  std::span<const Neighbour> Of(std::uint32_t node) const {
    return std::span(neighbours_).subspan(rows_[node], rows_[node + 1] - rows_[node]);
  }

 private:
  explicit TaskGraph(std::size_t nodes) : rows_(nodes + 1) {}

  std::vector<std::size_t> rows_;
  std::vector<Neighbour> neighbours_;
};

// A graph of processors with the bytes that their tasks exchange.
TaskGraph ProcessorGraph(const BalancingProblem& problem);

// Nodes of a graph in two parts, with loads in proportion and few bytes between them.
struct TwoParts {
  std::vector<bool> is_second;  // per node
  double bytes = 0;             // between the parts
  double overload = 1;          // the larger of what the parts have over what they are to have
  double steps = 0;             // nodes and ends of edges visited
};

// The first part grows from a node at the rim, found by searches in breadth [Gibbs76], by the node that takes most
// bytes off the border [Karypis98]; then nodes change sides as they do in [Fiduccia82]. The same is done from `sides`,
// which say of every node whether it is in the second part now, and, when both end above what is allowed, from nodes
// dealt out by falling load. The best counts: balance where it is not good enough, then bytes; of equal ones that from
// `sides`. There must be some load. `first_share`: of the load, for the first part; in (0, 1). `allowed`: load of a
// part over what it is to have that is good enough, 1 or more.
TwoParts DivideInTwo(const TaskGraph& graph, const std::vector<double>& loads, const std::vector<bool>& sides,
                     double first_share = 0.5, double allowed = 1);

}  // namespace farscale
