#include "balance/outcome.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "balance/strategy.h"
#include "balance/task_replay.h"
#include "factors/phase_totals.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Chosen: fewer pairs say nothing of 10 % and 90 % quantiles.
constexpr std::size_t kFewestReplicas = 5;

const std::vector<std::uint32_t>& PlacementAt(const TaskReplayResult& result, std::size_t iteration) {
  const auto first_of = [](const auto& placement) { return placement.first; };
  return std::prev(std::ranges::upper_bound(result.placements, iteration, {}, first_of))->second;
}

std::vector<Tick> ProcessorTicks(const TaskReplayResult& result, std::size_t processors, std::size_t iteration) {
  const std::vector<std::uint32_t>& placement = PlacementAt(result, iteration);
  std::vector<Tick> ticks(processors, 0);
  for (std::size_t task = 0; task < placement.size(); ++task) ticks[placement[task]] += result.loads[task][iteration];
  return ticks;
}

double Mean(const std::vector<Tick>& values) {
  return static_cast<double>(std::accumulate(values.begin(), values.end(), Tick{0})) /
         static_cast<double>(values.size());
}

// Mean computation of an iteration from `first` on, relative to the mean of all.
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

// Replicas of LongRunIteration.
std::vector<double> LongRunReplicas(const BalanceOutcome& outcome, std::size_t iterations) {
  if (outcome.long_run_iteration) return outcome.long_run_replicas;
  std::vector<double> replicas = outcome.replicas;
  for (double& replica : replicas) replica /= static_cast<double>(iterations);
  return replicas;
}

// Where part `i` of `count` equal parts of `size` begins.
std::size_t PartBegin(std::size_t i, std::size_t count, std::size_t size) { return i * size / count; }

using Nodes = std::vector<std::int32_t>;

NodeMapping ReplayMapping(const TaskProgram& tasks, Placement placement, const Nodes& nodes, const Network* network) {
  const TaskReplayResult result =
      ReplayTasks(tasks, {nodes, network}, {.placement = PlaceTasks(tasks.tasks(), tasks.tasks())});
  NodeMapping mapping{.placement = placement, .nodes = std::set(nodes.begin(), nodes.end()).size()};
  mapping.node_of_rank = nodes;
  std::vector<double> loads;
  for (const std::vector<Tick>& task : result.loads) {
    loads.push_back(static_cast<double>(std::accumulate(task.begin(), task.end(), Tick{0})));
  }
  const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
  const double largest_node = LargestNodeLoad(loads, nodes);
  if (largest_node > 0) {
    mapping.load_balance_in = LoadBalanceWithinNodes(largest_node, std::ranges::max(loads));
    mapping.load_balance_out = LoadBalanceBetweenNodes(sum / static_cast<double>(loads.size()), largest_node);
  }
  if (result.messages > 0) {
    mapping.remote_share = static_cast<double>(result.between_nodes) / static_cast<double>(result.messages);
  }
  mapping.makespan = tasks.Seconds(result.Makespan());
  return mapping;
}

// Nodes numbered by the first rank on each, so that equal mappings are equal.
Nodes Renumbered(const Nodes& nodes) {
  std::map<std::int32_t, std::int32_t> numbers;
  Nodes renumbered;
  for (const std::int32_t node : nodes) {
    renumbered.push_back(numbers.emplace(node, static_cast<std::int32_t>(numbers.size())).first->second);
  }
  return renumbered;
}

std::size_t MostOnANode(const Nodes& nodes) {
  std::map<std::int32_t, std::size_t> ranks;
  for (const std::int32_t node : nodes) ++ranks[node];
  using Entry = std::pair<const std::int32_t, std::size_t>;
  return std::ranges::max_element(ranks, {}, &Entry::second)->second;
}

Nodes NodesFor(Placement placement, const TaskProgram& tasks, const Nodes& nodes, std::size_t count) {
  if (placement == Placement::kByMessages) {
    // So that few bytes leave them: as bisection would place tasks that all compute the same.
    const BalancingProblem problem{.processors = count,
                                   .placement = {nodes.begin(), nodes.end()},
                                   .loads = std::vector<double>(nodes.size(), 1),
                                   .edges = tasks.edges};
    const std::vector<std::uint32_t> decided = DecideBisection(problem, 1).placement;
    return Renumbered({decided.begin(), decided.end()});
  }
  const std::vector<std::uint32_t> places = PlaceTasks(nodes.size(), count, placement);
  return {places.begin(), places.end()};
}

}  // namespace

std::vector<Tick> ComputedTicks(const TaskProgram& tasks, std::size_t processors, const TaskReplayResult& result) {
  std::vector<Tick> totals(processors, 0);
  for (std::size_t i = 0; i < tasks.iterations; ++i) {
    std::ranges::transform(totals, ProcessorTicks(result, processors, i), totals.begin(), std::plus());
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
  double imbalance = 0;  // ticks: sum over iterations of the largest load of a processor above the mean
  for (std::size_t i = 0; i < tasks.iterations; ++i) {
    const std::vector<Tick> ticks = ProcessorTicks(result, processors, i);
    imbalance += static_cast<double>(std::ranges::max(ticks)) - Mean(ticks);
  }
  // Processors need not wait for each other after every iteration.
  parts.imbalance = std::min(rest, imbalance / tasks.ticks_per_second);
  parts.communication = rest - parts.imbalance;
  const double largest = static_cast<double>(std::ranges::max(totals));
  if (largest > 0) outcome.load_balance = Mean(totals) / largest;
  if (outcome.makespan > 0) outcome.parallel_efficiency = parts.computation / outcome.makespan;
  if (result.balancing_points > 0) {
    // The points themselves cost the same after every interval; migrations count as far as later points have some.
    const std::size_t interval = result.placements[1].first;
    const auto later = static_cast<double>(tasks.iterations - interval);
    const auto points = static_cast<double>(result.balancing_points);
    const Tick spent = result.barriers + result.strategy + result.migration - result.first_cost;
    const auto moved = static_cast<double>(result.migration - result.first_migration);
    const double every = static_cast<double>(result.barriers + result.strategy) / points +
                         (result.balancing_points > 1 ? moved / (points - 1) : 0);
    const double ticks = static_cast<double>(result.Makespan() - result.first_resume - spent) / later +
                         every / static_cast<double>(interval);
    outcome.later_iteration = ticks / tasks.ticks_per_second;
    outcome.long_run_iteration = *outcome.later_iteration / WorkOfLater(result.loads, interval);
  }
  outcome.balancing_points = result.balancing_points;
  outcome.migrations = result.migrations;
  outcome.migrated_bytes = result.migrated_bytes;
  outcome.messages_between_processors = result.between_processors;
  return outcome;
}

double LaterIteration(const TaskLoads& loads, double makespan, std::size_t before) {
  return makespan / static_cast<double>(loads.front().size()) * WorkOfLater(loads, before);
}

double LongRunIteration(const BalanceOutcome& outcome, std::size_t iterations) {
  return outcome.long_run_iteration.value_or(outcome.makespan / static_cast<double>(iterations));
}

void SortByLongRun(std::vector<std::size_t>& outcomes,
                   const std::function<std::pair<double, double>(std::size_t)>& times) {
  std::vector<std::tuple<double, double, std::size_t>> ranked;
  double best = std::numeric_limits<double>::infinity();
  for (const std::size_t outcome : outcomes) {
    const auto [iteration, makespan] = times(outcome);
    ranked.emplace_back(iteration, makespan, outcome);
    best = std::min(best, iteration * (1 + kHardlyAGain));
  }
  std::ranges::stable_sort(ranked, {}, [best](const auto& one) {
    const auto [iteration, makespan, outcome] = one;
    const bool is_best = iteration <= best;
    return std::tuple(!is_best, is_best ? makespan : iteration, makespan);
  });
  std::ranges::transform(ranked, outcomes.begin(), [](const auto& one) { return std::get<2>(one); });
}

LoadHistory HistoryOf(const TaskProgram& tasks, std::size_t processors, const TaskReplayResult& result,
                      std::size_t rows, std::size_t columns) {
  LoadHistory history{.processors = processors,
                      .iterations = tasks.iterations,
                      .rows = std::min(rows, processors),
                      .columns = std::min(columns, tasks.iterations)};
  std::vector<std::vector<double>> loads(processors, std::vector<double>(tasks.iterations, 0));
  for (std::size_t i = 0; i < tasks.iterations; ++i) {
    const std::vector<std::uint32_t>& placement = PlacementAt(result, i);
    for (std::size_t task = 0; task < tasks.tasks(); ++task) {
      loads[placement[task]][i] += tasks.Seconds(result.loads[task][i]);
    }
  }
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
    const auto* computed = result.computed.data();
    const double busy = tasks.Seconds(std::accumulate(computed + first, computed + end, Tick{0}));
    const double time = tasks.Seconds(result.iteration_end[end - 1]);
    const double available = static_cast<double>(processors) * (time - before);
    history.time.push_back(time);
    history.average_load.push_back(available > 0 ? std::min(1.0, busy / available) : 0);
    before = time;
  }
  return history;
}

Gain GainOf(double reference, double makespan, const std::vector<double>& reference_replicas,
            const std::vector<double>& replicas) {
  const auto gain_over = [](double of_reference, double value) {
    return of_reference > 0 ? 1 - value / of_reference : 0;
  };
  const double value = gain_over(reference, makespan);
  std::vector<double> gains;
  for (std::size_t i = 0; i < std::min(reference_replicas.size(), replicas.size()); ++i) {
    gains.push_back(gain_over(reference_replicas[i], replicas[i]));
  }
  if (gains.size() < kFewestReplicas) return {value, value, value};
  return {value, std::min(value, Quantile(gains, 0.1)), std::max(value, Quantile(gains, 0.9))};
}

Gain GainOver(const BalanceOutcome& reference, const BalanceOutcome& outcome) {
  return GainOf(reference.makespan, outcome.makespan, reference.replicas, outcome.replicas);
}

Gain LongRunGainOver(const BalanceOutcome& reference, std::size_t iterations_of_reference,
                     const BalanceOutcome& outcome, std::size_t iterations) {
  return GainOf(LongRunIteration(reference, iterations_of_reference), LongRunIteration(outcome, iterations),
                LongRunReplicas(reference, iterations_of_reference), LongRunReplicas(outcome, iterations));
}

std::vector<NodeMapping> TryMappings(const TaskProgram& tasks, const Nodes& measured_nodes, const Network* network) {
  const Nodes nodes = Renumbered(measured_nodes);
  const std::size_t count = std::set(nodes.begin(), nodes.end()).size();
  if (count < 2) return {};
  std::vector<NodeMapping> mappings = {ReplayMapping(tasks, Placement::kAsMeasured, nodes, network)};
  std::set<Nodes> tried = {nodes};
  for (const Placement placement : {Placement::kBlock, Placement::kRoundRobin, Placement::kByMessages}) {
    const Nodes other = NodesFor(placement, tasks, nodes, count);
    if (MostOnANode(other) > MostOnANode(nodes) || !tried.insert(other).second) continue;
    mappings.push_back(ReplayMapping(tasks, placement, other, network));
    mappings.back().gain = GainOf(mappings.front().makespan, mappings.back().makespan);
  }
  return mappings;
}

}  // namespace farscale
