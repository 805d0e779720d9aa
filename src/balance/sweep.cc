#include "balance/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "balance/outcome.h"
#include "balance/strategy.h"
#include "base/diagnostics.h"
#include "base/parallel.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

constexpr std::size_t kRows = 64, kColumns = 160;      // per history; chosen: as many as a figure of a report can show
constexpr std::size_t kMostHistories = 4;              // chosen: as many as fit on a page
constexpr double kStateFactors[] = {0, 0.1, 10, 100};  // chosen: estimates of states are off by powers of ten
constexpr double kOverheadFactors[] = {0, 0.1, 10};    // chosen: like estimates of states

// Configurations of one run on one number of processors and with one placement have the same baseline.
auto Group(const BalanceConfiguration& configuration) {
  return std::tuple(configuration.run, configuration.processors, configuration.placement);
}

bool Balances(const BalanceOutcome& outcome) { return outcome.configuration.interval > 0; }

// The facts that outcomes are compared by.
struct Comparison {
  std::vector<TaskLoads> loads = {};  // per run
  // For every outcome: that of the run with as many ranks as processors, if it is another, and the one that ranking
  // divides by. All outcomes whose makespans compare have the same divisor, so that they are ranked by time.
  std::vector<std::optional<std::size_t>> originals = {};
  std::vector<std::size_t> references = {};

  // Ranks of a run have equally many.
  std::size_t Iterations(const BalanceOutcome& outcome) const {
    return loads[outcome.configuration.run].front().size();
  }
};

double Makespan(const SweepRun& run, const BalanceConfiguration& configuration, const SweepOptions& options,
                const LoadScale* scale = nullptr) {
  return run.tasks->Seconds(ReplayConfiguration(run, configuration, options, scale).Makespan());
}

BalanceOutcome Replay(const SweepRun& run, const SweepOptions& options, const BalanceConfiguration& configuration,
                      const LoadScale* scale = nullptr) {
  const TaskReplayResult result = ReplayConfiguration(run, configuration, options, scale);
  BalanceOutcome outcome = OutcomeOf(*run.tasks, configuration.processors, result);
  outcome.configuration = configuration;
  return outcome;
}

template <typename Body>
void ForEachWithProgress(std::size_t count, const SweepProgress& progress, const Body& body) {
  std::mutex mutex;
  std::size_t done = 0;
  ParallelFor(count, [&](std::size_t i) {
    body(i);
    const std::lock_guard lock(mutex);
    if (progress) progress(++done, count);
  });
}

void ReplayAll(const std::vector<SweepRun>& runs, const SweepOptions& options, const SweepProgress& progress,
               WhatIf& what_if) {
  const std::vector<BalanceConfiguration> configurations = ConfigurationsOf(runs, options, what_if.left_out);
  std::vector<std::optional<BalanceOutcome>> outcomes(configurations.size());
  std::vector<std::string> failures(configurations.size());
  ForEachWithProgress(configurations.size(), progress, [&](std::size_t i) {
    try {
      outcomes[i] = Replay(runs[configurations[i].run], options, configurations[i]);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kNotEnoughData) throw;
      failures[i] = error.what();
    }
  });
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    if (outcomes[i]) {
      what_if.outcomes.push_back(*std::move(outcomes[i]));
    } else {
      what_if.left_out.push_back({configurations[i], failures[i]});
    }
  }
  if (what_if.outcomes.empty()) {
    throw Error(ErrorKind::kNotEnoughData, "", "nothing of what was asked for can be simulated",
                what_if.left_out.empty() ? "no run has as many ranks as the processors and levels need"
                                         : what_if.left_out.front().why);
  }
}

// Makespans compare on as many processors: of one run, or of all that solve the same problem.
void FindReferences(Comparison& comparison, WhatIf& what_if) {
  const auto comparable = [&](const BalanceConfiguration& configuration) {
    return std::pair(what_if.same_problem ? 0 : configuration.run, configuration.processors);
  };
  std::map<std::tuple<std::size_t, std::size_t, Placement>, std::size_t> baselines;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> references;
  std::map<std::size_t, std::size_t> originals;  // key: processors
  for (std::size_t i = 0; i < what_if.outcomes.size(); ++i) {
    const BalanceConfiguration& configuration = what_if.outcomes[i].configuration;
    if (configuration.interval > 0) continue;
    baselines.emplace(Group(configuration), i);
    references.emplace(comparable(configuration), i);
    if (what_if.same_problem && configuration.tasks == configuration.processors) {
      originals.emplace(configuration.processors, i);
    }
  }
  for (std::size_t i = 0; i < what_if.outcomes.size(); ++i) {
    BalanceOutcome& outcome = what_if.outcomes[i];
    const BalanceConfiguration& configuration = outcome.configuration;
    const auto original = originals.find(configuration.processors);
    const bool has_original = original != originals.end() && original->second != i;
    comparison.originals.push_back(has_original ? std::optional(original->second) : std::nullopt);
    comparison.references.push_back(has_original ? original->second : references.at(comparable(configuration)));
    outcome.baseline = baselines.at(Group(configuration));
    if (outcome.balancing_points == 0) continue;
    outcome.later_iteration_without = LaterIteration(
        comparison.loads[configuration.run], what_if.outcomes[outcome.baseline].makespan, configuration.interval);
  }
}

void AddGains(const Comparison& comparison, std::vector<BalanceOutcome>& outcomes) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    outcomes[i].gain = GainOver(outcomes[outcomes[i].baseline], outcomes[i]);
    if (comparison.originals[i])
      outcomes[i].gain_over_original = GainOver(outcomes[*comparison.originals[i]], outcomes[i]);
  }
}

void RankOutcomes(const Comparison& comparison, WhatIf& what_if) {
  const std::vector<BalanceOutcome>& outcomes = what_if.outcomes;
  std::vector<std::size_t>&by_time = what_if.by_time, &by_robustness = what_if.by_robustness;
  by_time.clear(), by_robustness.clear();
  const auto sort = [&](std::vector<std::size_t>& some, bool is_by_robustness) {
    SortByLongRun(some, [&](std::size_t i) {
      const BalanceOutcome &outcome = outcomes[i], &of = outcomes[comparison.references[i]];
      const double makespan = outcome.makespan / of.makespan;
      const std::vector<double>& replicas = outcome.long_run_replicas;
      // An iteration of a long run over one of the reference; by robustness the worst tenth of the replicas.
      if (!is_by_robustness || replicas.empty() || of.replicas.empty()) {
        return std::pair(
            LongRunIteration(outcome, comparison.Iterations(outcome)) / LongRunIteration(of, comparison.Iterations(of)),
            makespan);
      }
      std::vector<double> ratios;
      for (std::size_t k = 0; k < replicas.size(); ++k) {
        ratios.push_back(replicas[k] / of.replicas[k] * static_cast<double>(comparison.Iterations(of)));
      }
      return std::pair(Quantile(ratios, 0.9), makespan);
    });
  };
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (Balances(outcomes[i])) by_time.push_back(i);
  }
  sort(by_time, false);
  std::ranges::copy_if(by_time, std::back_inserter(by_robustness),
                       [&](std::size_t i) { return !outcomes[i].replicas.empty(); });
  sort(by_robustness, true);
}

// Replicas for the best outcomes and all that these are compared with.
void AddReplicas(const std::vector<SweepRun>& runs, const SweepOptions& options, const SweepProgress& progress,
                 const Comparison& comparison, WhatIf& what_if) {
  std::set<std::size_t> chosen_set;
  for (std::size_t rank = 0; rank < std::min(options.best, what_if.by_time.size()); ++rank) {
    const std::size_t i = what_if.by_time[rank];
    chosen_set.insert({i, what_if.outcomes[i].baseline, comparison.references[i]});
  }
  const std::vector<std::size_t> chosen(chosen_set.begin(), chosen_set.end());
  if (chosen.empty() || options.replicas == 0) return;
  const auto is_short = [&](std::size_t i) {
    return comparison.Iterations(what_if.outcomes[i]) < kFewestNoisyIterations;
  };
  if (std::ranges::any_of(chosen, is_short)) return;
  for (const std::size_t i : chosen) {
    what_if.outcomes[i].replicas.resize(options.replicas);
    if (Balances(what_if.outcomes[i])) what_if.outcomes[i].long_run_replicas.resize(options.replicas);
  }
  ForEachWithProgress(chosen.size() * options.replicas, progress, [&](std::size_t index) {
    BalanceOutcome& outcome = what_if.outcomes[chosen[index / options.replicas]];
    const std::size_t replica = index % options.replicas;
    const LoadScale scale = *NoiseReplica(comparison.loads[outcome.configuration.run], options.seed + replica);
    const BalanceOutcome of_replica = Replay(runs[outcome.configuration.run], options, outcome.configuration, &scale);
    outcome.replicas[replica] = of_replica.makespan;
    if (Balances(outcome)) outcome.long_run_replicas[replica] = of_replica.long_run_iteration.value();
  });
  what_if.noise_replicas = options.replicas;
}

// Histories of the best, of the best of every other strategy in its group, and of their baseline.
void AddHistories(const std::vector<SweepRun>& runs, const SweepOptions& options, const BalanceOutcome& best,
                  WhatIf& what_if) {
  std::vector<std::size_t> drawn = {best.baseline};
  std::set<std::string> strategies;
  for (const std::size_t i : what_if.by_time) {
    const BalanceConfiguration& configuration = what_if.outcomes[i].configuration;
    if (Group(configuration) != Group(best.configuration)) continue;
    if (drawn.size() < kMostHistories && strategies.insert(configuration.strategy).second) drawn.push_back(i);
  }
  what_if.histories.resize(drawn.size());
  ParallelFor(drawn.size(), [&](std::size_t i) {
    const BalanceConfiguration& configuration = what_if.outcomes[drawn[i]].configuration;
    const SweepRun& run = runs[configuration.run];
    const TaskReplayResult result = ReplayConfiguration(run, configuration, options, nullptr, true);
    what_if.histories[i] = HistoryOf(*run.tasks, configuration.processors, result, kRows, kColumns);
    what_if.histories[i].outcome = drawn[i];
  });
}

// The state of tasks is often only estimated: does the result depend on it?
void AddStateCosts(const std::vector<SweepRun>& runs, const SweepOptions& options, const BalanceOutcome& best,
                   WhatIf& what_if) {
  if (best.parts.migration == 0) return;  // nothing moves, or nobody knows what that costs
  std::vector<StateCost>& costs = what_if.state_costs;
  costs.resize(std::size(kStateFactors));
  ParallelFor(costs.size(), [&](std::size_t i) {
    SweepRun run = runs[best.configuration.run];
    for (double& bytes : run.task_bytes) bytes *= kStateFactors[i];
    const double makespan = Makespan(run, best.configuration, options);
    costs[i] = {kStateFactors[i], makespan, GainOf(what_if.outcomes[best.baseline].makespan, makespan)};
  });
}

// Costs that no trace holds are guesses: does the result depend on them?
void AddOverheadCosts(const SweepRun& run, const SweepOptions& stated, const BalanceOutcome& best,
                      const std::string& overhead, double BalancingCosts::*cost, WhatIf& what_if) {
  if (stated.costs.*cost <= 0) return;
  const BalanceConfiguration& without = what_if.outcomes[best.baseline].configuration;
  std::vector<OverheadCost> costs(std::size(kOverheadFactors));
  ParallelFor(costs.size(), [&](std::size_t i) {
    SweepOptions options = stated;
    options.costs.*cost *= kOverheadFactors[i];
    const double makespan = Makespan(run, best.configuration, options);
    costs[i] = {overhead, kOverheadFactors[i], makespan, GainOf(Makespan(run, without, options), makespan)};
  });
  std::ranges::move(costs, std::back_inserter(what_if.overhead_costs));
}

void AddProductionRun(SweepRun run, const TaskLoads& loads, const SweepOptions& options, const BalanceOutcome& best,
                      WhatIf& what_if) {
  const std::size_t of_one = run.tasks->iterations;
  ProductionRun production{.repeats = (options.iterations + of_one - 1) / of_one, .drifts = options.continues_drift};
  run.tasks = std::make_shared<const TaskProgram>(RepeatTasks(*run.tasks, production.repeats));
  std::optional<LoadScale> scale;
  if (production.drifts) scale = ContinueDrift(loads, production.repeats);
  production.iterations = run.tasks->iterations;
  const BalanceConfiguration& without = what_if.outcomes[best.baseline].configuration;
  ParallelFor(2, [&](std::size_t i) {
    (i == 0 ? production.makespan : production.baseline) =
        Makespan(run, i == 0 ? best.configuration : without, options, scale ? &*scale : nullptr);
  });
  production.gain = GainOf(production.baseline, production.makespan);
  what_if.production = production;
}

std::set<std::size_t> Intervals(const SweepOptions& options, std::size_t iterations) {
  const auto reaching = [&](const std::vector<std::size_t>& intervals) {
    const std::set<std::size_t> all(intervals.begin(), intervals.end());
    return std::set<std::size_t>(all.begin(), all.lower_bound(iterations));
  };
  if (!options.intervals.empty()) return reaching(options.intervals);
  const std::set<std::size_t> usual = reaching({5, 10, 20, 40});
  return usual.size() < 2 ? reaching({1, 2, 5}) : usual;  // short phases get at least two
}

// Numbers of processors that the tasks of a run are placed on.
std::set<std::size_t> ProcessorCounts(const SweepOptions& options, std::size_t tasks) {
  std::set<std::size_t> processors;
  if (options.processors.empty()) {
    const std::vector<std::size_t> levels = options.levels.empty() ? std::vector<std::size_t>{2, 4, 8} : options.levels;
    for (const std::size_t level : levels) {
      const std::size_t count = (tasks + level - 1) / level;
      if (count >= 2) processors.insert(count);
    }
    return processors;
  }
  for (const std::size_t count : options.processors) {
    if (count > tasks) continue;
    const bool fits = std::ranges::any_of(options.levels, [&](std::size_t level) { return count * level == tasks; });
    if (options.levels.empty() || fits) processors.insert(count);
  }
  return processors;
}

void AddConfigurations(std::size_t run, const SweepRun& of, std::size_t processors, const SweepOptions& options,
                       std::vector<BalanceConfiguration>& configurations) {
  for (const Placement placement : options.placements) {
    BalanceConfiguration configuration{.run = run,
                                       .tasks = of.tasks->tasks(),
                                       .processors = processors,
                                       .strategy = Strategies().front().id,
                                       .placement = placement};
    configurations.push_back(configuration);
    for (const Strategy& strategy : Strategies()) {
      const std::vector<std::string>& ids = options.strategies;
      const bool is_chosen = ids.empty() ? strategy.is_default : std::ranges::count(ids, strategy.id) > 0;
      if (!strategy.moves || !is_chosen) continue;
      for (const std::size_t interval : Intervals(options, of.tasks->iterations)) {
        configuration.strategy = strategy.id;
        configuration.interval = interval;
        configurations.push_back(configuration);
      }
    }
  }
}

}  // namespace

TaskReplayResult ReplayConfiguration(const SweepRun& run, const BalanceConfiguration& configuration,
                                     const SweepOptions& options, const LoadScale* scale, bool counts_computation) {
  const Machine machine{NodesInBlocks(configuration.processors, run.per_node), options.network};
  TaskReplayOptions replay = options;
  replay.placement = PlaceTasks(configuration.tasks, configuration.processors, configuration.placement);
  replay.strategy = &StrategyById(configuration.strategy);
  replay.interval = configuration.interval;
  replay.scale = scale;
  replay.counts_computation = counts_computation;
  replay.costs.task_bytes = run.task_bytes;
  return ReplayTasks(*run.tasks, machine, replay);
}

void Sweep(const std::vector<SweepRun>& runs, const SweepOptions& options, const SweepProgress& progress,
           WhatIf& what_if) {
  what_if.same_problem = options.same_problem;
  what_if.shares_time = options.shares_time;
  Comparison comparison;
  for (const SweepRun& run : runs) comparison.loads.push_back(LoadsOf(*run.tasks));
  ReplayAll(runs, options, progress, what_if);
  FindReferences(comparison, what_if);
  AddGains(comparison, what_if.outcomes);
  RankOutcomes(comparison, what_if);
  AddReplicas(runs, options, progress, comparison, what_if);
  AddGains(comparison, what_if.outcomes);
  RankOutcomes(comparison, what_if);
  const BalanceOutcome& best = what_if.outcomes[what_if.by_time.empty() ? 0 : what_if.by_time.front()];
  const std::size_t run = best.configuration.run;
  if (!what_if.by_time.empty()) {
    AddHistories(runs, options, best, what_if);
    AddStateCosts(runs, options, best, what_if);
    AddOverheadCosts(runs[run], options, best, "switching", &BalancingCosts::switch_seconds, what_if);
    AddOverheadCosts(runs[run], options, best, "lostLocality", &BalancingCosts::cold_share, what_if);
  }
  if (options.iterations > 0) AddProductionRun(runs[run], comparison.loads[run], options, best, what_if);
}

std::vector<BalanceConfiguration> ConfigurationsOf(const std::vector<SweepRun>& runs, const SweepOptions& options,
                                                   std::vector<LeftOut>& left_out) {
  // Processors and levels asked for that no run has ranks for.
  for (const std::size_t processors : options.processors) {
    for (const std::size_t level : options.levels) {
      const std::size_t tasks = processors * level;
      if (std::ranges::any_of(runs, [&](const SweepRun& run) { return run.tasks->tasks() == tasks; })) continue;
      left_out.push_back({{.tasks = tasks, .processors = processors}, fmt::format("no run has {} ranks", tasks)});
    }
  }
  // Intervals asked for after which the phase of a run is over.
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const std::size_t iterations = runs[run].tasks->iterations, tasks = runs[run].tasks->tasks();
    for (const std::size_t interval : std::set(options.intervals.begin(), options.intervals.end())) {
      if (interval < iterations) continue;
      left_out.push_back({{.run = run, .tasks = tasks, .interval = interval},
                          fmt::format("the phase has {} iterations on {} ranks, so no balancing point comes after {}",
                                      iterations, tasks, interval)});
    }
  }
  std::vector<std::set<std::size_t>> processors;
  std::set<std::size_t> all;
  for (const SweepRun& run : runs) {
    processors.push_back(ProcessorCounts(options, run.tasks->tasks()));
    all.insert(processors.back().begin(), processors.back().end());
  }
  std::vector<BalanceConfiguration> configurations;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const std::size_t tasks = runs[run].tasks->tasks();
    for (const std::size_t count : processors[run]) {
      if (options.same_problem && count == tasks) continue;  // the original, below
      AddConfigurations(run, runs[run], count, options, configurations);
    }
    const bool is_first = run == 0 || runs[run - 1].tasks->tasks() != tasks;
    if (!options.same_problem || !is_first || all.count(tasks) == 0) continue;
    configurations.push_back({.run = run, .tasks = tasks, .processors = tasks, .strategy = Strategies().front().id});
  }
  return configurations;
}

}  // namespace farscale
