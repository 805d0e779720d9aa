#include "study/balanced_factors.h"

#include <algorithm>
#include <numeric>

#include "balance/outcome.h"
#include "factors/phase_factors.h"

namespace farscale {
FactorRow BalancedRow(const BalanceRunData& run, const BalanceConfiguration& configuration, const SweepOptions& options,
                      const FactorRow& measured, const ReplayRules& rules) {
  const TaskProgram& tasks = *run.sweep.tasks;
  const TaskReplayResult result = ReplayConfiguration(run.sweep, configuration, options);
  SweepRun ideal = run.sweep;
  ideal.tasks = std::make_shared<TaskProgram>(CompileTasks(run.trace, run.matching, run.cut, rules, nullptr));
  SweepOptions free = options;
  free.network = nullptr;
  free.costs.are_free = true;
  const TaskReplayResult without_network = ReplayConfiguration(ideal, configuration, free);
  std::vector<double> useful;
  for (const Tick ticks : ComputedTicks(tasks, configuration.processors, result))
    useful.push_back(tasks.Seconds(ticks));
  PhaseTotals totals;
  totals.elapsed = tasks.Seconds(result.Makespan());
  totals.ideal_elapsed = std::min(totals.elapsed, tasks.Seconds(without_network.Makespan()));
  totals.total_useful = std::accumulate(useful.begin(), useful.end(), 0.0);
  totals.average_useful = totals.total_useful / static_cast<double>(useful.size());
  totals.largest_useful = totals.largest_computation = *std::max_element(useful.begin(), useful.end());
  totals.largest_node_load = LargestNodeLoad(useful, NodesInBlocks(configuration.processors, run.sweep.per_node));
  totals.total_mpi = totals.elapsed * static_cast<double>(useful.size()) - totals.total_useful;
  if (measured.totals) {
    totals.instructions = measured.totals->instructions;
    totals.cycles = measured.totals->cycles;
  }
  FactorRow row = measured;
  row.cores = row.ranks = static_cast<std::int64_t>(configuration.processors);
  row.threads = 1;
  row.nodes = static_cast<std::int64_t>((configuration.processors + run.sweep.per_node - 1) / run.sweep.per_node);
  row.runtime = totals.elapsed;
  row.runtime_error.reset();
  row.standard_errors = {};
  row.samples.reset();
  row.totals = totals;
  row.values = FactorsOf(totals, rules.set);
  return row;
}

}  // namespace farscale
