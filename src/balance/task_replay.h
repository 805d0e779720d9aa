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
#include "balance/what_if.h"
#include "phases/phase_cut.h"
#include "replay/matching.h"
#include "replay/network.h"
#include "replay/program.h"
#include "trace/trace.h"

namespace farscale {

// A phase whose ranks are tasks: the program that the engine of tasks runs, and what its tasks compute and exchange.
struct TaskProgram {
  Program program;
  std::size_t iterations = 1;        // the same number on every task
  std::size_t repeats = 1;           // repetitions of the phase, one after the other
  std::vector<TaskEdge> edges = {};  // bytes of messages over the whole phase
  double ticks_per_second = 1e9;
  const Trace* trace = nullptr;  // communicators, and for messages of errors; outlives this
  const Matching* matching = nullptr;
  const PhaseCut* cut = nullptr;
  ReplayOptions options;  // that it was compiled with; its network outlives this

  std::size_t tasks() const { return program.ranks.size(); }
  double Seconds(Tick ticks) const { return static_cast<double>(ticks) / ticks_per_second; }
};

// `network`: for its rules of large messages; null: the ideal one. All arguments outlive the result. Throws an
// error of kind kNotEnoughData when not every rank is in the phase, or when ranks differ in their number of iterations.
TaskProgram CompileTasks(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayRules& rules,
                         const Network* network);

// The phase so many times, one after the other: iterations depend on those before as within the phase. What a rank
// sends to another across the end of the phase is received at the begin of the next repetition, where as many messages
// come in there. Throws an error of kind kNotEnoughData when that would be too large.
TaskProgram RepeatTasks(const TaskProgram& tasks, std::size_t times);

// Scale of a repeated phase from the loads of one: every task's computation goes on to change as the line through its
// loads does, and never falls below 0.
LoadScale ContinueDrift(const TaskLoads& loads, std::size_t times);

// Lengths as they are, or scaled.
TaskLoads LoadsOf(const TaskProgram& tasks, const LoadScale* scale = nullptr);

inline Tick ScaledLength(Tick length, double scale) {
  return scale == 1 ? length : static_cast<Tick>(static_cast<double>(length) * scale + 0.5);
}

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
