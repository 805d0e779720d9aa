// Tasks for tests of balancing and of sweeps over it: traces with what belongs to them.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "balance/task_replay.h"
#include "support/loaded_program.h"
#include "support/program.h"
#include "support/ring_program.h"

namespace farscale::test {

inline constexpr ReplayRules kSweptRules{RuleSet::kBsc, 32768};

struct SweptTasks {
  Trace trace;
  Matching matching;
  PhaseCut cut;

  TaskProgram Compiled(const Network* network = nullptr) const {
    return CompileTasks(trace, matching, cut, kSweptRules, network);
  }
  std::shared_ptr<const TaskProgram> Shared(const Network* network = nullptr) const {
    return std::make_shared<TaskProgram>(Compiled(network));
  }
};

inline std::unique_ptr<SweptTasks> SweptTasksOf(const std::string& text) {
  const TextProgram program = ParseProgram(text);
  auto tasks = std::make_unique<SweptTasks>();
  tasks->trace = program.trace;
  tasks->matching = MatchTrace(tasks->trace);
  tasks->cut = CutOf(program);
  return tasks;
}

// Tasks that only compute, so many seconds in every iteration.
inline std::unique_ptr<SweptTasks> Computing(const std::vector<std::vector<int>>& loads) {
  std::string text, cuts = "cuts:";
  for (std::size_t task = 0; task < loads.size(); ++task) {
    text += fmt::format("r{}: comp 0-{}\n", task, std::accumulate(loads[task].begin(), loads[task].end(), 0));
    cuts += fmt::format("{} r{}", task > 0 ? ";" : "", task);
    int end = 0;
    for (const int load : loads[task]) cuts += fmt::format(" {}", end += load);
  }
  return SweptTasksOf(text + cuts);
}

// Whose iterations are a region.
inline std::unique_ptr<SweptTasks> TasksInSteps(Trace trace) {
  auto tasks = std::make_unique<SweptTasks>();
  tasks->trace = std::move(trace);
  tasks->matching = MatchTrace(tasks->trace);
  tasks->cut = CutPhase(tasks->trace, PhaseSpec::Region("step"));
  return tasks;
}

inline std::unique_ptr<SweptTasks> LoadedTasks(const Loads& loads, Synchronization synchronization) {
  return TasksInSteps(MakeLoaded(loads, synchronization));
}

inline std::unique_ptr<SweptTasks> RingTasks(std::size_t ranks, std::size_t iterations) {
  return TasksInSteps(MakeRing(ranks, iterations, 5));
}

}  // namespace farscale::test
