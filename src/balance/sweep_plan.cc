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
