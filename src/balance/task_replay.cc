#include "balance/task_replay.h"

#include <algorithm>

#include "balance/task_engine.h"

namespace farscale {

Tick TaskReplayResult::Makespan() const { return end.empty() ? 0 : *std::max_element(end.begin(), end.end()); }

TaskReplayResult ReplayTasks(const TaskProgram& tasks, const Machine& machine, const TaskReplayOptions& options) {
  TaskReplayResult result = TaskEngine(tasks, machine, options).Run();
  if (!options.counts_computation) return result;
  // When iterations end is known only now. The second time everything goes as the first.
  return TaskEngine(tasks, machine, options, result.iteration_end).Run();
}

}  // namespace farscale
