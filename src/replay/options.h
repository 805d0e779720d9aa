// What a replay is asked for.
#pragma once

#include <vector>

#include "replay/network.h"
#include "replay/rules.h"
#include "trace/trace.h"

namespace farscale {

// Lengths of the computation of a whole run: of every rank, what comes before each call (from leaving the one before),
// and what follows the last one.
using BurstLengths = std::vector<std::vector<Tick>>;

struct ReplayOptions {
  ReplayRules rules;
  bool keep_calls = false;               // say when every call was left
  const Network* network = nullptr;      // nothing: the ideal one; else its eager limits hold instead of the rules' own
  const BurstLengths* bursts = nullptr;  // nothing: as measured; for whole runs only
  // Ranks are tasks that may lie on any node, and move: what depends on that is left open in the program, which also
  // says where iterations end. Not for Replay, but for the engine of tasks [balance/task_replay.h].
  bool as_tasks = false;

  // The network whose times count; nothing when none does.
  const Network* TimedNetwork() const { return network != nullptr && !network->IsIdeal() ? network : nullptr; }
};

}  // namespace farscale
