#include "balance/task_replay.h"

#include <algorithm>

#include "balance/task_engine.h"

namespace farscale {

Tick TaskReplayResult::Makespan() const { return end.empty() ? 0 : *std::max_element(end.begin(), end.end()); }

TaskReplayResult ReplayTasks(const TaskProgram& tasks, const Machine& machine, const TaskReplayOptions& options) {
  return TaskEngine(tasks, machine, options).Run();
}

}  // namespace farscale
