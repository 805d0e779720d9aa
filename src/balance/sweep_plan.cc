// Which configurations a sweep simulates.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "balance/sweep.h"

namespace farscale {
namespace {

bool Reaches(std::size_t interval, std::size_t iterations) { return interval < iterations; }

std::set<std::size_t> IntervalsOf(const SweepOptions& options, std::size_t iterations) {
  const auto reaching = [&](const std::vector<std::size_t>& intervals) {
    std::set<std::size_t> reached;
    for (const std::size_t interval : intervals) {
      if (Reaches(interval, iterations)) reached.insert(interval);
    }
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
      LeftOut left;
      left.configuration.run = run;
      left.configuration.tasks = runs[run].tasks->tasks();
      left.configuration.interval = interval;
      left.why = fmt::format("the phase has {} iterations on {} ranks, so no balancing point comes after {}",
                             iterations, runs[run].tasks->tasks(), interval);
      left_out.push_back(left);
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
    const bool fits = std::any_of(options.levels.begin(), options.levels.end(),
                                  [&](std::size_t level) { return count * level == tasks; });
    if (options.levels.empty() || fits) processors.insert(count);
  }
  return processors;
}

// Processors and levels asked for that no run has ranks for.
void AddMissing(const std::vector<SweepRun>& runs, const SweepOptions& options, std::vector<LeftOut>& left_out) {
  for (const std::size_t processors : options.processors) {
    for (const std::size_t level : options.levels) {
      const std::size_t tasks = processors * level;
      const bool is_there =
          std::any_of(runs.begin(), runs.end(), [&](const SweepRun& run) { return run.tasks->tasks() == tasks; });
      if (is_there) continue;
      LeftOut left;
      left.configuration.tasks = tasks;
      left.configuration.processors = processors;
      left.why = fmt::format("no run has {} ranks", tasks);
      left_out.push_back(left);
    }
  }
}

std::vector<const Strategy*> StrategiesOf(const SweepOptions& options) {
  std::vector<const Strategy*> strategies;
  for (const Strategy& strategy : Strategies()) {
    const bool is_asked_for =
        options.strategies.empty() ||
        std::find(options.strategies.begin(), options.strategies.end(), strategy.id) != options.strategies.end();
    if (strategy.moves && is_asked_for) strategies.push_back(&strategy);
  }
  return strategies;
}

void AddConfigurations(std::size_t run, const SweepRun& of, std::size_t processors, const SweepOptions& options,
                       std::vector<BalanceConfiguration>& configurations) {
  for (const Placement placement : options.placements) {
    BalanceConfiguration configuration;
    configuration.run = run;
    configuration.tasks = of.tasks->tasks();
    configuration.processors = processors;
    configuration.strategy = Strategies().front().id;
    configuration.placement = placement;
    configurations.push_back(configuration);
    for (const Strategy* strategy : StrategiesOf(options)) {
      for (const std::size_t interval : IntervalsOf(options, of.tasks->iterations)) {
        configuration.strategy = strategy->id;
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
    BalanceConfiguration original;
    original.run = run;
    original.tasks = original.processors = tasks;
    original.strategy = Strategies().front().id;
    configurations.push_back(original);
  }
  return configurations;
}

}  // namespace farscale
