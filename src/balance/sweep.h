// Many configurations of dynamic load balancing side by side: how finely decomposed, on how many processors, with which
// strategy, how often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "balance/task_replay.h"
#include "balance/what_if.h"

namespace farscale {

// A run whose ranks are the tasks.
struct SweepRun {
  std::shared_ptr<const TaskProgram> tasks;
  std::size_t per_node = 1;        // processors of a node
  std::vector<double> task_bytes;  // state of every task; empty: not counted
};

// Options of a sweep, and those of its replays: placement, strategy, interval, scale, whether computation counts and
// the state of tasks follow from each configuration and its run [ReplayConfiguration].
struct SweepOptions : TaskReplayOptions {
  std::vector<std::size_t> processors = {};  // empty: as the levels say
  std::vector<std::size_t> levels = {};      // tasks a processor; empty: all that the processors leave, else 2, 4 and 8
  std::vector<std::size_t> intervals = {};   // empty: 5, 10, 20 and 40, as far as the iterations reach
  std::vector<std::string> strategies = {};  // ids; empty: those that are default
  std::vector<Placement> placements = {Placement::kBlock};
  const Network* network = nullptr;
  // The runs solve one problem, so that the run with as many ranks as processors is the original.
  bool same_problem = false;
  std::size_t iterations = 0;    // in a run of production length; 0: none is replayed
  bool continues_drift = false;  // in it [ContinueDrift]; else loads repeat
  std::size_t replicas = 20;     // with noise in another order, of the best and of what they are compared with
  std::size_t best = 10;         // outcomes that get replicas; chosen: as many as reports show
  std::uint64_t seed = 1;
};

// Called from any thread, but never twice at once.
using SweepProgress = std::function<void(std::size_t done, std::size_t total)>;

// Configurations to simulate, in the order of WhatIf::outcomes; for every run and number of processors the one without
// balancing comes first. Those that cannot be simulated go to `left_out`.
std::vector<BalanceConfiguration> ConfigurationsOf(const std::vector<SweepRun>& runs, const SweepOptions& options,
                                                   std::vector<LeftOut>& left_out);

// Fills outcomes, rankings, histories, the number of replicas and what was left out. Configurations are replayed in
// parallel; the result does not depend on the number of threads. Throws an error of kind kNotEnoughData when nothing
// can be simulated.
void Sweep(const std::vector<SweepRun>& runs, const SweepOptions& options, const SweepProgress& progress,
           WhatIf& what_if);

// Replays one configuration.
TaskReplayResult ReplayConfiguration(const SweepRun& run, const BalanceConfiguration& configuration,
                                     const SweepOptions& options, const LoadScale* scale = nullptr,
                                     bool counts_computation = false);

}  // namespace farscale
