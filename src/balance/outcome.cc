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

// Sum over the intervals between balancing points of the largest load of a processor above the mean.
double ImbalanceTicks(const TaskProgram& tasks, std::size_t processors, const TaskReplayResult& result) {
  double imbalance = 0;
  for (std::size_t epoch = 0; epoch < result.epochs.size(); ++epoch) {
    const std::vector<Tick> ticks =
        ProcessorTicks(result.loads, result.epochs[epoch].placement, processors, result.epochs[epoch].first_iteration,
                       EndOf(result, epoch, tasks.iterations));
    imbalance += static_cast<double>(*std::max_element(ticks.begin(), ticks.end())) - Mean(ticks);
  }
  return imbalance;
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
  parts.imbalance = ImbalanceTicks(tasks, processors, result) / tasks.ticks_per_second;
  parts.computation = Mean(totals) / tasks.ticks_per_second;
  parts.barriers = tasks.Seconds(result.barriers);
  parts.strategy = tasks.Seconds(result.strategy);
  parts.migration = tasks.Seconds(result.migration);
  parts.communication = std::max(0.0, outcome.makespan - parts.Total());  // below 0 by rounding alone
  const double largest = static_cast<double>(*std::max_element(totals.begin(), totals.end()));
  if (largest > 0) outcome.load_balance = Mean(totals) / largest;
  if (outcome.makespan > 0) outcome.parallel_efficiency = parts.computation / outcome.makespan;
  if (result.balancing_points > 0) {
    const std::size_t later = tasks.iterations - result.epochs[1].first_iteration;
    outcome.later_iteration = tasks.Seconds(result.Makespan() - result.first_resume) / static_cast<double>(later);
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
  double all = 0, later = 0;
  for (const std::vector<Tick>& task : loads) {
    for (std::size_t i = 0; i < task.size(); ++i) {
      all += static_cast<double>(task[i]);
      if (i >= before) later += static_cast<double>(task[i]);
    }
  }
  const auto iterations = static_cast<double>(loads.front().size() - before);
  return all > 0 ? makespan * later / all / iterations : 0;
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
    double sum = 0;
    for (std::size_t row = 0; row < history.rows; ++row) {
      const std::size_t first_row = PartBegin(row, history.rows, processors);
      const std::size_t end_row = PartBegin(row + 1, history.rows, processors);
      double cell = 0;
      for (std::size_t processor = first_row; processor < end_row; ++processor) {
        for (std::size_t i = first; i < end; ++i) cell += loads[processor][i];
      }
      sum += cell;
      history.load[row * history.columns + column] = cell / static_cast<double>((end_row - first_row) * (end - first));
    }
    const double time = tasks.Seconds(result.iteration_end[end - 1]);
    history.time.push_back(time);
    history.average_load.push_back(time > before ? sum / static_cast<double>(processors) / (time - before) : 0);
    before = time;
  }
  return history;
}

Gain GainOver(const BalanceOutcome& reference, const BalanceOutcome& outcome) {
  Gain gain;
  if (reference.makespan > 0) gain.value = 1 - outcome.makespan / reference.makespan;
  gain.low = gain.high = gain.value;
  const std::size_t replicas = std::min(reference.replicas.size(), outcome.replicas.size());
  if (replicas < kFewestReplicas) return gain;
  std::vector<double> gains;
  for (std::size_t i = 0; i < replicas; ++i) {
    gains.push_back(reference.replicas[i] > 0 ? 1 - outcome.replicas[i] / reference.replicas[i] : 0);
  }
  gain.low = std::min(gain.value, Quantile(gains, 0.1));
  gain.high = std::max(gain.value, Quantile(gains, 0.9));
  return gain;
}

}  // namespace farscale
