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

  // The network whose times count; nothing when none does.
  const Network* TimedNetwork() const { return network != nullptr && !network->IsIdeal() ? network : nullptr; }
};

}  // namespace farscale
