// What a replay of tasks says, in seconds.
#pragma once

#include <cstddef>

#include "balance/task_replay.h"
#include "balance/what_if.h"

namespace farscale {

// Without configuration, replicas and gains.
BalanceOutcome OutcomeOf(const TaskProgram& tasks, std::size_t processors, const TaskReplayResult& result);

// How the load of the processors went, in at most so many rows and columns.
LoadHistory HistoryOf(const TaskProgram& tasks, std::size_t processors, const TaskReplayResult& result,
                      std::size_t rows, std::size_t columns);

// 1 - makespan / reference; the interval from the pairs of replicas, of which both have equally many or one none.
Gain GainOver(const BalanceOutcome& reference, const BalanceOutcome& outcome);

}  // namespace farscale
