#include "balance/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

constexpr std::size_t kRows = 64, kColumns = 160;      // of a history; chosen: what a figure of a report can show
constexpr std::size_t kMostHistories = 4;              // chosen: as many as fit on a page
constexpr double kStateFactors[] = {0, 0.1, 10, 100};  // chosen: estimates of states are off by powers of ten
constexpr double kOverheadFactors[] = {0, 0.1, 10};    // chosen: like estimates of states

// Configurations of one run on one number of processors and with one placement share what they are compared with.
using Group = std::tuple<std::size_t, std::size_t, Placement>;
Group GroupOf(const BalanceConfiguration& configuration) {
  return {configuration.run, configuration.processors, configuration.placement};
}

bool Balances(const BalanceOutcome& outcome) { return outcome.configuration.interval > 0; }

class Sweeping {
 public:
  Sweeping(const std::vector<SweepRun>& runs, const SweepOptions& options, const SweepProgress& progress,
           WhatIf& what_if)
      : runs_(runs), options_(options), progress_(progress), what_if_(what_if) {
    for (const SweepRun& run : runs) loads_.push_back(LoadsOf(*run.tasks));
  }

  void Run() {
    ReplayAll(ConfigurationsOf(runs_, options_, what_if_.left_out));
    FindReferences();
    AddGains();
    Rank();
    AddReplicas();
    AddGains();
    Rank();
    AddHistories();
    AddStateCosts();
    if (options_.costs.switch_seconds > 0) AddOverheadCosts("switching", &BalancingCosts::switch_seconds);
    if (options_.costs.cold_share > 0) AddOverheadCosts("lostLocality", &BalancingCosts::cold_share);
    if (options_.iterations > 0) AddProductionRun();
  }

 private:
  BalanceOutcome Replay(const BalanceConfiguration& configuration, const LoadScale* scale = nullptr) const {
    const SweepRun& run = runs_[configuration.run];
    const TaskReplayResult result = ReplayConfiguration(run, configuration, options_, scale);
    BalanceOutcome outcome = OutcomeOf(*run.tasks, configuration.processors, result);
    outcome.configuration = configuration;
    return outcome;
  }

  void ReplayAll(const std::vector<BalanceConfiguration>& configurations) {
    std::vector<std::optional<BalanceOutcome>> outcomes(configurations.size());
    std::vector<std::string> failures(configurations.size());
    std::mutex mutex;
    std::size_t done = 0;
    ParallelFor(configurations.size(), [&](std::size_t i) {
      try {
        outcomes[i] = Replay(configurations[i]);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kNotEnoughData) throw;
        failures[i] = error.what();
      }
      const std::lock_guard lock(mutex);
      if (progress_) progress_(++done, configurations.size());
    });
    for (std::size_t i = 0; i < configurations.size(); ++i) {
      if (outcomes[i]) {
        what_if_.outcomes.push_back(*std::move(outcomes[i]));
      } else {
        what_if_.left_out.push_back({configurations[i], failures[i]});
      }
    }
    if (what_if_.outcomes.empty()) {
      throw Error(ErrorKind::kNotEnoughData, "", "nothing of what was asked for can be simulated",
                  what_if_.left_out.empty() ? "no run has as many ranks as the processors and levels need"
                                            : what_if_.left_out.front().why);
    }
  }

  // What every outcome is compared with: the same without balancing; and the run that has as many ranks as there are
  // processors.
  void FindReferences() {
    std::map<Group, std::size_t> without;
    for (std::size_t i = 0; i < what_if_.outcomes.size(); ++i) {
      const BalanceConfiguration& configuration = what_if_.outcomes[i].configuration;
      if (configuration.interval > 0) continue;
      without.emplace(GroupOf(configuration), i);
      rank_references_.emplace(ComparableWith(configuration), i);
      if (!what_if_.same_problem || configuration.tasks != configuration.processors) continue;
      originals_.emplace(configuration.processors, i);
    }
    for (BalanceOutcome& outcome : what_if_.outcomes) {
      outcome.baseline = without.at(GroupOf(outcome.configuration));
      if (outcome.balancing_points == 0) continue;
      outcome.later_iteration_without =
          LaterIteration(loads_[outcome.configuration.run], what_if_.outcomes[outcome.baseline].makespan,
                         outcome.configuration.interval);
    }
  }

  // Makespans compare on as many processors: of one run, or of all that solve the same problem.
  std::pair<std::size_t, std::size_t> ComparableWith(const BalanceConfiguration& configuration) const {
    return {what_if_.same_problem ? 0 : configuration.run, configuration.processors};
  }

  std::size_t RankReferenceOf(const BalanceOutcome& outcome) const {
    return OriginalOf(outcome).value_or(rank_references_.at(ComparableWith(outcome.configuration)));
  }

  std::optional<std::size_t> OriginalOf(const BalanceOutcome& outcome) const {
    const auto found = originals_.find(outcome.configuration.processors);
    if (found == originals_.end() || &what_if_.outcomes[found->second] == &outcome) return std::nullopt;
    return found->second;
  }

  void AddGains() {
    for (BalanceOutcome& outcome : what_if_.outcomes) {
      outcome.gain = GainOver(what_if_.outcomes[outcome.baseline], outcome);
      if (const auto original = OriginalOf(outcome)) {
        outcome.gain_over_original = GainOver(what_if_.outcomes[*original], outcome);
      }
    }
  }

  std::size_t Iterations(const BalanceOutcome& outcome) const {
    return runs_[outcome.configuration.run].tasks->iterations;
  }

  // By one reference for all whose makespans compare, so that those are ranked by time, and others by what they gain.
  double RankOf(const BalanceOutcome& outcome, bool by_robustness) const {
    const BalanceOutcome& of = what_if_.outcomes[RankReferenceOf(outcome)];
    const std::vector<double>& replicas = outcome.long_run_replicas;
    if (!by_robustness || replicas.empty() || of.replicas.empty()) {
      return LongRunIteration(outcome, Iterations(outcome)) / LongRunIteration(of, Iterations(of));
    }
    std::vector<double> ratios;
    for (std::size_t i = 0; i < replicas.size(); ++i) {
      ratios.push_back(replicas[i] / of.replicas[i] * static_cast<double>(Iterations(of)));
    }
    return Quantile(ratios, 0.9);
  }

  // Long runs that differ by nothing to act upon are equal; of those the shorter over the trace is better.
  void Sort(std::vector<std::size_t>& outcomes, bool by_robustness) const {
    std::vector<LongRunRank> ranks;
    for (const std::size_t i : outcomes) {
      const BalanceOutcome& outcome = what_if_.outcomes[i];
      const double reference = what_if_.outcomes[RankReferenceOf(outcome)].makespan;
      ranks.push_back({i, RankOf(outcome, by_robustness), outcome.makespan / reference});
    }
    SortByLongRun(ranks);
    std::ranges::transform(ranks, outcomes.begin(), &LongRunRank::outcome);
  }

  void Rank() {
    std::vector<std::size_t>&by_time = what_if_.by_time, &by_robustness = what_if_.by_robustness;
    by_time.clear(), by_robustness.clear();
    for (std::size_t i = 0; i < what_if_.outcomes.size(); ++i) {
      if (Balances(what_if_.outcomes[i])) by_time.push_back(i);
    }
    Sort(by_time, false);
    std::ranges::copy_if(by_time, std::back_inserter(by_robustness),
                         [&](std::size_t i) { return !what_if_.outcomes[i].replicas.empty(); });
    Sort(by_robustness, true);
  }

  // Of the best, and of all that these are compared with.
  std::set<std::size_t> WithReplicas() const {
    std::set<std::size_t> chosen;
    for (std::size_t rank = 0; rank < std::min(options_.best, what_if_.by_time.size()); ++rank) {
      const std::size_t i = what_if_.by_time[rank];
      const BalanceOutcome& outcome = what_if_.outcomes[i];
      chosen.insert({i, outcome.baseline, RankReferenceOf(outcome)});
    }
    return chosen;
  }

  void AddReplicas() {
    const std::set<std::size_t> chosen_set = WithReplicas();
    const std::vector<std::size_t> chosen(chosen_set.begin(), chosen_set.end());
    if (chosen.empty() || options_.replicas == 0) return;
    const auto is_short = [&](std::size_t i) { return Iterations(what_if_.outcomes[i]) < kFewestNoisyIterations; };
    if (std::ranges::any_of(chosen, is_short)) return;
    for (const std::size_t i : chosen) {
      what_if_.outcomes[i].replicas.resize(options_.replicas);
      if (Balances(what_if_.outcomes[i])) what_if_.outcomes[i].long_run_replicas.resize(options_.replicas);
    }
    std::mutex mutex;
    std::size_t done = 0;
    const std::size_t total = chosen.size() * options_.replicas;
    ParallelFor(total, [&](std::size_t index) {
      BalanceOutcome& outcome = what_if_.outcomes[chosen[index / options_.replicas]];
      const std::size_t replica = index % options_.replicas;
      const BalanceConfiguration& configuration = outcome.configuration;
      const LoadScale scale = *NoiseReplica(loads_[configuration.run], options_.seed + replica);
      const BalanceOutcome of_replica = Replay(configuration, &scale);
      outcome.replicas[replica] = of_replica.makespan;
      if (Balances(outcome)) outcome.long_run_replicas[replica] = of_replica.long_run_iteration.value();
      const std::lock_guard lock(mutex);
      if (progress_) progress_(++done, total);
    });
    what_if_.noise_replicas = options_.replicas;
  }

  // Of the best, of the best of every other strategy in its group, and of what they are compared with.
  void AddHistories() {
    if (what_if_.by_time.empty()) return;
    const BalanceOutcome& best = what_if_.outcomes[what_if_.by_time.front()];
    std::vector<std::size_t> drawn = {best.baseline};
    std::set<std::string> strategies;
    for (const std::size_t i : what_if_.by_time) {
      const BalanceConfiguration& configuration = what_if_.outcomes[i].configuration;
      if (GroupOf(configuration) != GroupOf(best.configuration)) continue;
      if (drawn.size() < kMostHistories && strategies.insert(configuration.strategy).second) drawn.push_back(i);
    }
    what_if_.histories.resize(drawn.size());
    ParallelFor(drawn.size(), [&](std::size_t i) {
      const BalanceConfiguration& configuration = what_if_.outcomes[drawn[i]].configuration;
      const SweepRun& run = runs_[configuration.run];
      const TaskReplayResult result = ReplayConfiguration(run, configuration, options_, nullptr, true);
      what_if_.histories[i] = HistoryOf(*run.tasks, configuration.processors, result, kRows, kColumns);
      what_if_.histories[i].outcome = drawn[i];
    });
  }

  // The state of tasks is often only estimated: does the result depend on it?
  void AddStateCosts() {
    if (what_if_.by_time.empty()) return;
    const BalanceOutcome& best = what_if_.outcomes[what_if_.by_time.front()];
    if (best.parts.migration == 0) return;  // nothing moves, or nobody knows what that costs
    what_if_.state_costs.resize(std::size(kStateFactors));
    ParallelFor(what_if_.state_costs.size(), [&](std::size_t i) {
      SweepRun run = runs_[best.configuration.run];
      for (double& bytes : run.task_bytes) bytes *= kStateFactors[i];
      StateCost& cost = what_if_.state_costs[i];
      cost.factor = kStateFactors[i];
      cost.makespan = run.tasks->Seconds(ReplayConfiguration(run, best.configuration, options_).Makespan());
      cost.gain = GainOf(what_if_.outcomes[best.baseline].makespan, cost.makespan);
    });
  }

  // Costs that no trace holds are guesses: does the result depend on them?
  void AddOverheadCosts(const std::string& overhead, double BalancingCosts::*cost) {
    if (what_if_.by_time.empty()) return;
    const BalanceOutcome& best = what_if_.outcomes[what_if_.by_time.front()];
    const BalanceConfiguration& without = what_if_.outcomes[best.baseline].configuration;
    const SweepRun& run = runs_[best.configuration.run];
    std::vector<OverheadCost> costs(std::size(kOverheadFactors));
    ParallelFor(costs.size(), [&](std::size_t i) {
      SweepOptions options = options_;
      options.costs.*cost *= kOverheadFactors[i];
      const auto makespan = [&](const BalanceConfiguration& configuration) {
        return run.tasks->Seconds(ReplayConfiguration(run, configuration, options).Makespan());
      };
      costs[i] = {overhead, kOverheadFactors[i], makespan(best.configuration)};
      costs[i].gain = GainOf(makespan(without), costs[i].makespan);
    });
    std::ranges::move(costs, std::back_inserter(what_if_.overhead_costs));
  }

  void AddProductionRun() {
    const BalanceOutcome& best = what_if_.outcomes[what_if_.by_time.empty() ? 0 : what_if_.by_time.front()];
    const std::size_t of_one = Iterations(best);
    ProductionRun production{.repeats = (options_.iterations + of_one - 1) / of_one,
                             .drifts = options_.continues_drift};
    SweepRun run = runs_[best.configuration.run];
    run.tasks = std::make_shared<const TaskProgram>(RepeatTasks(*run.tasks, production.repeats));
    std::optional<LoadScale> scale;
    if (production.drifts) scale = ContinueDrift(loads_[best.configuration.run], production.repeats);
    production.iterations = run.tasks->iterations;
    const BalanceConfiguration* configurations[] = {&best.configuration,
                                                    &what_if_.outcomes[best.baseline].configuration};
    double* makespans[] = {&production.makespan, &production.baseline};
    ParallelFor(2, [&](std::size_t i) {
      const TaskReplayResult result = ReplayConfiguration(run, *configurations[i], options_, scale ? &*scale : nullptr);
      *makespans[i] = run.tasks->Seconds(result.Makespan());
    });
    production.gain = GainOf(production.baseline, production.makespan);
    what_if_.production = production;
  }

  const std::vector<SweepRun>& runs_;
  const SweepOptions& options_;
  const SweepProgress& progress_;
  WhatIf& what_if_;
  std::vector<TaskLoads> loads_;                  // of every run
  std::map<std::size_t, std::size_t> originals_;  // outcomes by processors
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> rank_references_;
};

}  // namespace

TaskReplayResult ReplayConfiguration(const SweepRun& run, const BalanceConfiguration& configuration,
                                     const SweepOptions& options, const LoadScale* scale, bool counts_computation) {
  const Machine machine{NodesInBlocks(configuration.processors, run.per_node), options.network};
  TaskReplayOptions replay{
      .placement = PlaceTasks(configuration.tasks, configuration.processors, configuration.placement),
      .strategy = &StrategyById(configuration.strategy),
      .strategy_options = options.strategy_options,
      .interval = configuration.interval,
      .predictor = options.predictor,
      .always_migrates = options.always_migrates,
      .costs = options.costs,
      .shares_time = options.shares_time,
      .scale = scale,
      .counts_computation = counts_computation};
  replay.costs.task_bytes = run.task_bytes;
  return ReplayTasks(*run.tasks, machine, replay);
}

void Sweep(const std::vector<SweepRun>& runs, const SweepOptions& options, const SweepProgress& progress,
           WhatIf& what_if) {
  what_if.same_problem = options.same_problem;
  what_if.shares_time = options.shares_time;
  Sweeping(runs, options, progress, what_if).Run();
}

// Which configurations a sweep simulates.

namespace {

bool Reaches(std::size_t interval, std::size_t iterations) { return interval < iterations; }

std::set<std::size_t> IntervalsOf(const SweepOptions& options, std::size_t iterations) {
  const auto reaching = [&](const std::vector<std::size_t>& intervals) {
    std::set<std::size_t> reached(intervals.begin(), intervals.end());
    std::erase_if(reached, [&](std::size_t interval) { return !Reaches(interval, iterations); });
    return reached;
  };
  if (!options.intervals.empty()) return reaching(options.intervals);
  const std::set<std::size_t> usual = reaching({5, 10, 20, 40});
  return usual.size() < 2 ? reaching({1, 2, 5}) : usual;  // of short phases at least two
}

// Intervals asked for after which the phase of a run is over.
void AddTooLong(const std::vector<SweepRun>& runs, const SweepOptions& options, std::vector<LeftOut>& left_out) {
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const std::size_t iterations = runs[run].tasks->iterations;
    for (const std::size_t interval : std::set(options.intervals.begin(), options.intervals.end())) {
      if (Reaches(interval, iterations)) continue;
      const std::size_t tasks = runs[run].tasks->tasks();
      left_out.push_back({{.run = run, .tasks = tasks, .interval = interval},
                          fmt::format("the phase has {} iterations on {} ranks, so no balancing point comes after {}",
                                      iterations, tasks, interval)});
    }
  }
}

// On how many processors the tasks of a run are placed.
std::set<std::size_t> ProcessorsOf(const SweepOptions& options, std::size_t tasks) {
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

// Processors and levels asked for that no run has ranks for.
void AddMissing(const std::vector<SweepRun>& runs, const SweepOptions& options, std::vector<LeftOut>& left_out) {
  for (const std::size_t processors : options.processors) {
    for (const std::size_t level : options.levels) {
      const std::size_t tasks = processors * level;
      if (std::ranges::any_of(runs, [&](const SweepRun& run) { return run.tasks->tasks() == tasks; })) continue;
      left_out.push_back({{.tasks = tasks, .processors = processors}, fmt::format("no run has {} ranks", tasks)});
    }
  }
}

bool IsSwept(const Strategy& strategy, const SweepOptions& options) {
  if (!strategy.moves) return false;
  if (options.strategies.empty()) return strategy.is_default;
  return std::ranges::find(options.strategies, strategy.id) != options.strategies.end();
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
      if (!IsSwept(strategy, options)) continue;
      for (const std::size_t interval : IntervalsOf(options, of.tasks->iterations)) {
        configuration.strategy = strategy.id;
        configuration.interval = interval;
        configurations.push_back(configuration);
      }
    }
  }
}

}  // namespace

std::vector<BalanceConfiguration> ConfigurationsOf(const std::vector<SweepRun>& runs, const SweepOptions& options,
                                                   std::vector<LeftOut>& left_out) {
  AddMissing(runs, options, left_out);
  AddTooLong(runs, options, left_out);
  std::vector<std::set<std::size_t>> processors;
  std::set<std::size_t> all;
  for (const SweepRun& run : runs) {
    processors.push_back(ProcessorsOf(options, run.tasks->tasks()));
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
