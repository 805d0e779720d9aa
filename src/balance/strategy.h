// Strategies of dynamic load balancing: which processor every task goes to, given what the tasks computed and what they
// said to each other. A strategy is a function of a value; adding one is a file and a line in Strategies().
//
// A task is a rank of the program, a processor what runs one task at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace farscale {

// What two tasks send each other, both ways.
struct TaskEdge {
  std::uint32_t first = 0;   // the lower task
  std::uint32_t second = 0;  // the higher one
  double bytes = 0;

  friend bool operator==(const TaskEdge&, const TaskEdge&) = default;
};

struct BalancingProblem {
  std::size_t processors = 0;
  std::vector<std::uint32_t> placement;  // processor of every task, now
  std::vector<double> loads;             // of every task in seconds, not negative: measured or predicted
  std::vector<TaskEdge> edges;           // sorted by tasks, each pair once

  std::size_t tasks() const { return loads.size(); }
};

struct StrategyOptions {
  // How much more than the average a processor may have before RefineLB and others that move little think it has too
  // much [Charm++, RefineLB: 1.05].
  double tolerance = 1.05;
};

struct BalancingDecision {
  std::vector<std::uint32_t> placement;  // processor of every task, from now on
  // What it took to decide: comparisons and moves of tasks, in the order of the strategy's own complexity. The model
  // of a strategy's time multiplies it by the time of a step. Of a strategy that processors work out side by side, the
  // largest number of any processor.
  double steps = 0;
};

struct Strategy {
  std::string id;           // on the command line and in files: "refine"
  std::string name;         // in reports: "RefineLB"
  std::string description;  // a sentence
  std::string steps;        // what its steps are, for the documentation of its time: "n log n for n tasks"
  bool moves = true;        // false: nothing is ever balanced
  bool is_central = true;   // one processor collects all loads, decides and tells all
  BalancingDecision (*decide)(const BalancingProblem&,
                              const StrategyOptions&) = nullptr;  // nothing when it never moves
};

// All strategies, "none" first.
const std::vector<Strategy>& Strategies();

// Throws a usage error that names the strategies there are, and the nearest.
const Strategy& StrategyById(const std::string& id);

// Of a placement: seconds of every processor.
std::vector<double> ProcessorLoads(const BalancingProblem& problem, const std::vector<std::uint32_t>& placement);

}  // namespace farscale
