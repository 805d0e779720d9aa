#include "balance/outcome.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

constexpr std::size_t kFewestReplicas = 5;  // that say something of an interval

// Ticks that every processor computes from one iteration on until another.
std::vector<Tick> ProcessorTicks(const TaskLoads& loads, const std::vector<std::uint32_t>& placement,
                                 std::size_t processors, std::size_t first, std::size_t end) {
  std::vector<Tick> ticks(processors, 0);
  for (std::size_t task = 0; task < loads.size(); ++task) {
    for (std::size_t i = first; i < end; ++i) ticks[placement[task]] += loads[task][i];
  }
  return ticks;
}

std::size_t EndOf(const TaskReplayResult& result, std::size_t epoch, std::size_t iterations) {
  return epoch + 1 < result.epochs.size() ? result.epochs[epoch + 1].first_iteration : iterations;
}

double Mean(const std::vector<Tick>& values) {
  return static_cast<double>(std::accumulate(values.begin(), values.end(), Tick{0})) /
         static_cast<double>(values.size());
}

// Sum over iterations of the largest load of a processor above the mean.
double ImbalanceTicks(const TaskProgram& tasks, std::size_t processors, const TaskReplayResult& result) {
  double imbalance = 0;
  for (std::size_t epoch = 0; epoch < result.epochs.size(); ++epoch) {
    const PlacementEpoch& of = result.epochs[epoch];
    for (std::size_t i = of.first_iteration; i < EndOf(result, epoch, tasks.iterations); ++i) {
      const std::vector<Tick> ticks = ProcessorTicks(result.loads, of.placement, processors, i, i + 1);
      imbalance += static_cast<double>(*std::max_element(ticks.begin(), ticks.end())) - Mean(ticks);
    }
  }
  return imbalance;
}

// How much an iteration from `first` on computes, over one of all.
double WorkOfLater(const TaskLoads& loads, std::size_t first) {
  double all = 0, later = 0;
  for (const std::vector<Tick>& task : loads) {
    for (std::size_t i = 0; i < task.size(); ++i) {
      all += static_cast<double>(task[i]);
      if (i >= first) later += static_cast<double>(task[i]);
    }
  }
  const std::size_t iterations = loads.front().size();
  if (!(later > 0)) return 1;
  return later / all * static_cast<double>(iterations) / static_cast<double>(iterations - first);
}

// What an iteration takes from the first balancing point on. What the points themselves cost comes back after every
// interval; migrations do so as far as later points have some.
double LaterTicks(const TaskReplayResult& result, std::size_t iterations) {
  const std::size_t interval = result.epochs[1].first_iteration;
  const auto later = static_cast<double>(iterations - interval), points = static_cast<double>(result.balancing_points);
  const Tick spent = result.barriers + result.strategy + result.migration - result.first_cost;
  const auto moved = static_cast<double>(result.migration - result.first_migration);
  const double every = static_cast<double>(result.barriers + result.strategy) / points +
                       (result.balancing_points > 1 ? moved / (points - 1) : 0);
  return static_cast<double>(result.Makespan() - result.first_resume - spent) / later +
         every / static_cast<double>(interval);
}

Gain GainOf(double reference, const std::vector<double>& of_reference, double value,
            const std::vector<double>& of_value) {
  Gain gain;
  if (reference > 0) gain.value = 1 - value / reference;
  gain.low = gain.high = gain.value;
  const std::size_t replicas = std::min(of_reference.size(), of_value.size());
  if (replicas < kFewestReplicas) return gain;
  std::vector<double> gains;
  for (std::size_t i = 0; i < replicas; ++i) {
    gains.push_back(of_reference[i] > 0 ? 1 - of_value[i] / of_reference[i] : 0);
  }
  gain.low = std::min(gain.value, Quantile(gains, 0.1));
  gain.high = std::max(gain.value, Quantile(gains, 0.9));
  return gain;
}

// Of iterations of long runs.
std::vector<double> LongRunReplicas(const BalanceOutcome& outcome, std::size_t iterations) {
  if (outcome.long_run_iteration) return outcome.long_run_replicas;
  std::vector<double> replicas = outcome.replicas;
  for (double& replica : replicas) replica /= static_cast<double>(iterations);
  return replicas;
}

// Seconds of every processor in every iteration: [processor][iteration].
std::vector<std::vector<double>> ProcessorLoadsOf(const TaskProgram& tasks, std::size_t processors,
                                                  const TaskReplayResult& result) {
  std::vector<std::vector<double>> loads(processors, std::vector<double>(tasks.iterations, 0));
  for (std::size_t epoch = 0; epoch < result.epochs.size(); ++epoch) {
    const PlacementEpoch& of = result.epochs[epoch];
    for (std::size_t task = 0; task < tasks.tasks(); ++task) {
      for (std::size_t i = of.first_iteration; i < EndOf(result, epoch, tasks.iterations); ++i) {
        loads[of.placement[task]][i] += tasks.Seconds(result.loads[task][i]);
      }
    }
  }
  return loads;
}

// Where part `i` of `count` equal parts of `size` begins.
std::size_t PartBegin(std::size_t i, std::size_t count, std::size_t size) { return i * size / count; }

}  // namespace

std::vector<Tick> ComputedTicks(const TaskProgram& tasks, std::size_t processors, const TaskReplayResult& result) {
  std::vector<Tick> totals(processors, 0);
  for (std::size_t epoch = 0; epoch < result.epochs.size(); ++epoch) {
    const PlacementEpoch& of = result.epochs[epoch];
    const std::vector<Tick> ticks = ProcessorTicks(result.loads, of.placement, processors, of.first_iteration,
                                                   EndOf(result, epoch, tasks.iterations));
    for (std::size_t i = 0; i < processors; ++i) totals[i] += ticks[i];
  }
  return totals;
}

BalanceOutcome OutcomeOf(const TaskProgram& tasks, std::size_t processors, const TaskReplayResult& result) {
  BalanceOutcome outcome;
  outcome.makespan = tasks.Seconds(result.Makespan());
  const std::vector<Tick> totals = ComputedTicks(tasks, processors, result);
  MakespanParts& parts = outcome.parts;
  parts.computation = Mean(totals) / tasks.ticks_per_second;
  parts.barriers = tasks.Seconds(result.barriers);
  parts.strategy = tasks.Seconds(result.strategy);
  parts.migration = tasks.Seconds(result.migration);
  const double rest = std::max(0.0, outcome.makespan - parts.Total());  // below 0 by rounding alone
  // Processors need not wait for each other after every iteration.
  parts.imbalance = std::min(rest, ImbalanceTicks(tasks, processors, result) / tasks.ticks_per_second);
  parts.communication = rest - parts.imbalance;
  const double largest = static_cast<double>(*std::max_element(totals.begin(), totals.end()));
  if (largest > 0) outcome.load_balance = Mean(totals) / largest;
  if (outcome.makespan > 0) outcome.parallel_efficiency = parts.computation / outcome.makespan;
  if (result.balancing_points > 0) {
    outcome.later_iteration = LaterTicks(result, tasks.iterations) / tasks.ticks_per_second;
    outcome.long_run_iteration = *outcome.later_iteration / WorkOfLater(result.loads, result.epochs[1].first_iteration);
  }
  outcome.balancing_points = result.balancing_points;
  outcome.migrations = result.migrations;
  outcome.migrated_bytes = result.migrated_bytes;
  outcome.messages_between_processors = result.between_processors;
  return outcome;
}

std::optional<double> LoadChange(const TaskLoads& loads) {
  double change = 0, all = 0;
  for (const std::vector<Tick>& task : loads) {
    for (std::size_t i = 0; i + 1 < task.size(); ++i) {
      change += std::abs(static_cast<double>(task[i + 1] - task[i]));
      all += static_cast<double>(task[i]);
    }
  }
  return all > 0 ? std::optional(change / all) : std::nullopt;
}

double LaterIteration(const TaskLoads& loads, double makespan, std::size_t before) {
  return makespan / static_cast<double>(loads.front().size()) * WorkOfLater(loads, before);
}

double LongRunIteration(const BalanceOutcome& outcome, std::size_t iterations) {
  return outcome.long_run_iteration.value_or(outcome.makespan / static_cast<double>(iterations));
}

LoadHistory HistoryOf(const TaskProgram& tasks, std::size_t processors, const TaskReplayResult& result,
                      std::size_t rows, std::size_t columns) {
  LoadHistory history;
  history.processors = processors;
  history.iterations = tasks.iterations;
  history.rows = std::min(rows, processors);
  history.columns = std::min(columns, tasks.iterations);
  const std::vector<std::vector<double>> loads = ProcessorLoadsOf(tasks, processors, result);
  history.load.assign(history.rows * history.columns, 0);
  double before = 0;
  for (std::size_t column = 0; column < history.columns; ++column) {
    const std::size_t first = PartBegin(column, history.columns, tasks.iterations);
    const std::size_t end = PartBegin(column + 1, history.columns, tasks.iterations);
    for (std::size_t row = 0; row < history.rows; ++row) {
      const std::size_t first_row = PartBegin(row, history.rows, processors);
      const std::size_t end_row = PartBegin(row + 1, history.rows, processors);
      double cell = 0;
      for (std::size_t processor = first_row; processor < end_row; ++processor) {
        for (std::size_t i = first; i < end; ++i) cell += loads[processor][i];
      }
      history.load[row * history.columns + column] = cell / static_cast<double>((end_row - first_row) * (end - first));
    }
    Tick computed = 0;
    for (std::size_t i = first; i < end; ++i) computed += result.computed[i];
    const double time = tasks.Seconds(result.iteration_end[end - 1]);
    const double had = static_cast<double>(processors) * (time - before);
    history.time.push_back(time);
    history.average_load.push_back(had > 0 ? std::min(1.0, tasks.Seconds(computed) / had) : 0);
    before = time;
  }
  return history;
}

Gain GainOver(const BalanceOutcome& reference, const BalanceOutcome& outcome) {
  return GainOf(reference.makespan, reference.replicas, outcome.makespan, outcome.replicas);
}

Gain LongRunGainOver(const BalanceOutcome& reference, std::size_t iterations_of_reference,
                     const BalanceOutcome& outcome, std::size_t iterations) {
  return GainOf(LongRunIteration(reference, iterations_of_reference),
                LongRunReplicas(reference, iterations_of_reference), LongRunIteration(outcome, iterations),
                LongRunReplicas(outcome, iterations));
}

}  // namespace farscale
