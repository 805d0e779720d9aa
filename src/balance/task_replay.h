// Replays a phase with its ranks as tasks on processors: a processor runs one task at a time and takes up the next one,
// in the order in which they became ready, when the task waits in MPI [docs/formulas.md, tasks on processors]; or it
// serves all that are ready in equal shares, as an operating system does with processes. With one
// task a processor and no balancing it is exactly the replay of replay/replay.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "balance/strategy.h"
#include "balance/task_program.h"
#include "balance/what_if.h"

namespace farscale {

struct TaskReplayOptions {
  std::vector<std::uint32_t> placement;  // processor of every task at the start
  const Strategy* strategy = nullptr;    // null: none
  double tolerance = kTolerance;
  std::size_t interval = 0;  // iterations between balancing points; 0: there are none
  LoadPredictor predictor = LoadPredictor::kLast;
  // Carry out decisions that do not lower the largest predicted load of a processor, too, as Charm++ does. Else tasks
  // stay where they are.
  bool always_migrates = false;
  BalancingCosts costs = {};
  bool shares_time = false;          // processors serve all ready tasks at once; then switching costs nothing
  const LoadScale* scale = nullptr;  // for computation; null: none
  bool counts_computation = false;   // fills TaskReplayResult::computed, which takes a second run of the engine
};

// Times are ticks since the earliest begin of the phase.
struct TaskReplayResult {
  std::vector<Tick> end;            // per task
  std::vector<Tick> iteration_end;  // when the last task had finished every iteration
  // Computation of all processors from the end of the iteration before until then; empty unless asked for.
  std::vector<Tick> computed;
  // Placements, each from its first iteration on. The second begins at the first balancing point.
  std::vector<std::pair<std::size_t, std::vector<std::uint32_t>>> placements;
  TaskLoads loads;
  Tick first_resume = 0;                           // when tasks went on after the first balancing point; 0 without
  Tick first_cost = 0, first_migration = 0;        // at that point, from when the last task reached it
  Tick barriers = 0, strategy = 0, migration = 0;  // sums over the balancing points
  std::size_t balancing_points = 0;
  std::size_t migrations = 0;
  std::size_t switches = 0;  // times that a processor takes up another task
  double migrated_bytes = 0;
  std::size_t messages = 0, between_processors = 0, between_nodes = 0;
  std::uint64_t released = 0;  // senders that waited for each other

  Tick Makespan() const;
};

// The machine's network must be the one that the tasks were compiled for. Throws an error of kind kNotEnoughData when a
// balancing point is never passed, because a task needs something that another sends only after it; an input error when
// the calls cannot complete in any order.
TaskReplayResult ReplayTasks(const TaskProgram& tasks, const Machine& machine, const TaskReplayOptions& options);

}  // namespace farscale
