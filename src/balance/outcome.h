// Results of a replay of tasks, in seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "balance/what_if.h"

namespace farscale {

struct TaskProgram;
struct TaskReplayResult;

// Computation of every processor over the whole phase.
std::vector<Tick> ComputedTicks(const TaskProgram& tasks, std::size_t processors, const TaskReplayResult& result);

// Configuration, replicas, gains and later_iteration_without are left empty.
BalanceOutcome OutcomeOf(const TaskProgram& tasks, std::size_t processors, const TaskReplayResult& result);

// Time of an iteration after the first `before` ones without balancing, from their share of the computation: without
// balancing points tasks may be in different iterations.
double LaterIteration(const TaskLoads& loads, double makespan, std::size_t before);

// Time of an iteration in a run so long that the iterations before the first balancing point and the first migrations
// do not count: the time after that point, corrected for how much more those iterations compute than all. Without
// balancing points the mean of all.
double LongRunIteration(const BalanceOutcome& outcome, std::size_t iterations);

// Smaller gains and losses are not worth acting upon. Chosen.
inline constexpr double kHardlyAGain = 0.005;

// Sorts outcomes, the best first, by what times(outcome) gives: an iteration in a long run, and the makespan in the
// trace. All whose long runs are within kHardlyAGain of the best are as good there, and go by the trace.
void SortByLongRun(std::vector<std::size_t>& outcomes,
                   const std::function<std::pair<double, double>(std::size_t)>& times);

// Load of the processors over the iterations, in at most so many rows and columns. The replay must have counted
// computation.
LoadHistory HistoryOf(const TaskProgram& tasks, std::size_t processors, const TaskReplayResult& result,
                      std::size_t rows, std::size_t columns);

// 1 - makespan / reference, 0 for a reference of 0. The interval is from 10 % to 90 % of the pairs of replicas, widened
// to the value; without at least five pairs, both ends are the value.
Gain GainOf(double reference, double makespan, const std::vector<double>& reference_replicas = {},
            const std::vector<double>& replicas = {});
Gain GainOver(const BalanceOutcome& reference, const BalanceOutcome& outcome);
// The same for iterations of long runs; both have so many in the trace.
Gain LongRunGainOver(const BalanceOutcome& reference, std::size_t iterations_of_reference,
                     const BalanceOutcome& outcome, std::size_t iterations);

// Other placements of ranks on nodes.

// One task a processor, replayed on other mappings [Lopez21]: the run as measured first, then in blocks, round robin,
// and with ranks together that send each other most, where these are different ones. No node gets more ranks than the
// fullest has. Empty for a run on one node. `nodes`: of every rank as measured.
std::vector<NodeMapping> TryMappings(const TaskProgram& tasks, const std::vector<std::int32_t>& nodes,
                                     const Network* network);

}  // namespace farscale
