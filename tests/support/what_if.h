// A what-if of balancing in round numbers: 16 tasks, and 64 of the same problem, on 16 processors, two strategies at
// two intervals.
#pragma once

#include <string>

#include "balance/what_if.h"

namespace farscale::test {

inline BalanceOutcome MakeOutcome(std::size_t tasks, const std::string& strategy, std::size_t interval, double makespan,
                                  const MakespanParts& parts) {
  BalanceOutcome outcome;
  outcome.configuration = {tasks == 16 ? 0u : 1u, tasks, 16, strategy, interval, Placement::kBlock};
  outcome.makespan = makespan;
  outcome.parts = parts;
  outcome.parallel_efficiency = parts.computation / makespan;
  outcome.load_balance = 0.75;
  outcome.replicas = {makespan - 0.1, makespan + 0.1};
  outcome.messages_between_processors = 1000 * tasks;
  if (interval == 0) return outcome;
  outcome.load_balance = 0.96;
  outcome.balancing_points = 40 / interval;
  outcome.migrations = 10 * outcome.balancing_points;
  outcome.migrated_bytes = 1048576.0 * static_cast<double>(outcome.migrations);
  return outcome;
}

// Two rows of processors, four iterations.
inline LoadHistory MakeHistory(std::size_t outcome, double makespan) {
  LoadHistory history;
  history.outcome = outcome;
  history.processors = 16;
  history.iterations = 40;
  history.rows = 2;
  history.columns = 4;
  history.load = {0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.15, 0.15};
  history.time = {makespan / 4, makespan / 2, 3 * makespan / 4, makespan};
  history.average_load = {0.7, 0.72, 0.8, 0.9};
  return history;
}

inline WhatIf MakeWhatIf() {
  WhatIf what_if;
  what_if.title = "a <b> c";
  what_if.phase = "step";
  what_if.same_problem = true;
  what_if.network = "fast";
  what_if.computation = "as measured";
  what_if.task_bytes_source = "given";
  what_if.predictor = "the last interval";
  what_if.cost_model = "barriers of log2 P messages";
  what_if.noise_replicas = 2;
  what_if.runs = {{"16/traces.otf2", 16, 4, 4, 40, 10.2, 10, 0.75, 4194304, 0.08, {}},
                  {"64/traces.otf2", 64, 16, 4, 40, 2.9, 2.6, 0.7, 1048576, 0.03, {}}};
  what_if.outcomes = {MakeOutcome(16, "none", 0, 10, {7.5, 2, 0, 0, 0, 0.5}),
                      MakeOutcome(64, "none", 0, 10.4, {7.5, 2.2, 0, 0, 0, 0.7}),
                      MakeOutcome(64, "greedy", 10, 8.8, {7.5, 0.2, 0.02, 0.03, 0.25, 0.8}),
                      MakeOutcome(64, "greedy", 20, 8.6, {7.5, 0.25, 0.01, 0.015, 0.125, 0.7}),
                      MakeOutcome(64, "refine", 10, 8.4, {7.5, 0.1, 0.02, 0.02, 0.06, 0.7}),
                      MakeOutcome(64, "refine", 20, 8.2, {7.5, 0.2, 0.01, 0.01, 0.03, 0.45})};
  for (std::size_t i = 0; i < what_if.outcomes.size(); ++i) {
    BalanceOutcome& outcome = what_if.outcomes[i];
    outcome.baseline = i == 0 ? 0 : 1;
    const double gain = 1 - outcome.makespan / what_if.outcomes[outcome.baseline].makespan;
    const double original = 1 - outcome.makespan / 10;
    outcome.gain = {gain, gain - 0.02, gain + 0.02};
    if (i > 0) outcome.gain_over_original = Gain{original, original - 0.02, original + 0.02};
  }
  what_if.by_time = {5, 4, 3, 2};
  what_if.by_robustness = {4, 5, 3, 2};
  what_if.histories = {MakeHistory(5, 8.2), MakeHistory(0, 10)};
  what_if.state_costs = {{0, 8.17, {0.214, 0.214, 0.214}}, {10, 8.47, {0.186, 0.186, 0.186}}};
  what_if.mappings = {{0, Placement::kAsMeasured, 4, 0.9, 0.83, 0.25, 10, {0, 0, 0}},
                      {0, Placement::kRoundRobin, 4, 0.77, 0.97, 0.9, 10.3, {-0.03, -0.04, -0.02}}};
  what_if.left_out = {{{1, 64, 8, "refine", 20, Placement::kBlock}, "tasks wait for each other in a circle"}};
  what_if.findings = {{"unmatchedSend", Severity::kWarning, "messages were lost", 3, 100, "on rank 0"}};
  return what_if;
}

}  // namespace farscale::test
