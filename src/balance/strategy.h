// Strategies of dynamic load balancing: which processor every task goes to, given what tasks computed and what they
// sent each other. A strategy is a function of a value. A new one is that function, a declaration here, a row in
// Strategies() and a test.
//
// A task is a rank of the program. A processor runs one task at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace farscale {

// Loads of tasks: as they were, as a strategy predicts them, and with the noise of the run in another order.

// Length of the computation of every task in every iteration, in ticks: loads[task][iteration]. What a task computes
// before its first iteration counts to it, and so does to the last what comes after.
using TaskLoads = std::vector<std::vector<Tick>>;

// Factors for lengths of computation: scale[task][iteration]. Lengths are rounded one by one.
using LoadScale = std::vector<std::vector<double>>;

// The first iterations of loads, in seconds. `loads` outlives it.
class TaskHistory {
 public:
  TaskHistory() = default;
  TaskHistory(const TaskLoads& loads, std::size_t iterations, double ticks_per_second)
      : loads_(&loads), iterations_(iterations), ticks_per_second_(ticks_per_second) {}

  std::size_t iterations() const { return iterations_; }
  double Seconds(std::size_t task, std::size_t iteration) const {
    return static_cast<double>((*loads_)[task].at(iteration)) / ticks_per_second_;
  }

 private:
  const TaskLoads* loads_ = nullptr;
  std::size_t iterations_ = 0;
  double ticks_per_second_ = 1e9;
};

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
  TaskHistory history = {};                   // loads in the iterations so far

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

}  // namespace farscale
