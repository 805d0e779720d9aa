// What a replay of tasks says, in seconds.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "balance/task_replay.h"
#include "balance/what_if.h"

namespace farscale {

// What every processor computes over the whole phase.
std::vector<Tick> ComputedTicks(const TaskProgram& tasks, std::size_t processors, const TaskReplayResult& result);

// Without configuration, replicas, gains and what later iterations take without balancing.
BalanceOutcome OutcomeOf(const TaskProgram& tasks, std::size_t processors, const TaskReplayResult& result);

// By which share of it the computation of a task changes from one iteration to the next: sum over tasks and iterations
// of the change over that of the computation but for the last iteration. Nothing with one iteration or no computation.
std::optional<double> LoadChange(const TaskLoads& loads);

// What an iteration behind the first `before` ones takes without balancing: by their share of the computation, because
// without balancing points tasks may be in different iterations.
double LaterIteration(const TaskLoads& loads, double makespan, std::size_t before);

// What an iteration of a run takes that is so long that what comes before the first balancing point, and the first
// migrations, do not count: what it takes from there on, less the share by which those iterations compute more than
// others. Without balancing points the mean of all.
double LongRunIteration(const BalanceOutcome& outcome, std::size_t iterations);

// How the load of the processors went, in at most so many rows and columns. The replay must have counted computation.
LoadHistory HistoryOf(const TaskProgram& tasks, std::size_t processors, const TaskReplayResult& result,
                      std::size_t rows, std::size_t columns);

// 1 - makespan / reference; the interval from the pairs of replicas, of which both have equally many or one none.
Gain GainOver(const BalanceOutcome& reference, const BalanceOutcome& outcome);
// The same of iterations of long runs; both have so many in the trace.
Gain LongRunGainOver(const BalanceOutcome& reference, std::size_t iterations_of_reference,
                     const BalanceOutcome& outcome, std::size_t iterations);

}  // namespace farscale
