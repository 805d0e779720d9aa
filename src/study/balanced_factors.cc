#include "study/balanced_factors.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "factors/phase_factors.h"

namespace farscale {
namespace {

// Seconds that every processor computes.
std::vector<double> UsefulOf(const TaskProgram& tasks, std::size_t processors, const TaskReplayResult& result) {
  std::vector<double> useful(processors, 0);
  for (std::size_t epoch = 0; epoch < result.epochs.size(); ++epoch) {
    const PlacementEpoch& of = result.epochs[epoch];
    const std::size_t end =
        epoch + 1 < result.epochs.size() ? result.epochs[epoch + 1].first_iteration : tasks.iterations;
    for (std::size_t task = 0; task < tasks.tasks(); ++task) {
      for (std::size_t i = of.first_iteration; i < end; ++i) {
        useful[of.placement[task]] += tasks.Seconds(result.loads[task][i]);
      }
    }
  }
  return useful;
}

double LargestNodeLoad(const std::vector<double>& useful, std::size_t per_node) {
  double largest = 0;
  for (std::size_t first = 0; first < useful.size(); first += per_node) {
    const std::size_t count = std::min(per_node, useful.size() - first);
    const auto begin = useful.begin() + static_cast<std::ptrdiff_t>(first);
    const double sum = std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(count), 0.0);
    largest = std::max(largest, sum / static_cast<double>(count));
  }
  return largest;
}

}  // namespace

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
  const std::vector<double> useful = UsefulOf(tasks, configuration.processors, result);
  PhaseTotals totals;
  totals.elapsed = tasks.Seconds(result.Makespan());
  totals.ideal_elapsed = std::min(totals.elapsed, tasks.Seconds(without_network.Makespan()));
  totals.total_useful = std::accumulate(useful.begin(), useful.end(), 0.0);
  totals.average_useful = totals.total_useful / static_cast<double>(useful.size());
  totals.largest_useful = totals.largest_computation = *std::max_element(useful.begin(), useful.end());
  totals.largest_node_load = LargestNodeLoad(useful, run.sweep.per_node);
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
