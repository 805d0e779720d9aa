// Which call paths take away how much of load balance and of serialization [docs/formulas.md, losses by factor].
//
// On the ideal network nothing is left but computation and waiting for others, so all waiting there, charged to what
// causes it, is what both factors lose together. What of it is load balance's is known exactly: the call paths in which
// the rank that computes most exceeds the average. The rest is serialization's.
#pragma once

#include <string>
#include <vector>

#include "phases/phase_cut.h"
#include "replay/matching.h"
#include "replay/network.h"
#include "replay/rules.h"
#include "trace/trace.h"

namespace farscale {

// Stands for that ranks spend less in the occurrences of a phase that recurs than the longest one does.
inline constexpr const char* kUnequalOccurrences = "(occurrences of unequal length)";

// Seconds of the run that a call path costs; may be negative, where others make up for it.
struct PathFactorLoss {
  std::string path;
  double load_balance = 0;
  double serialization = 0;
};

struct FactorLosses {
  std::vector<PathFactorLoss> paths;  // by name; those that cost anything
  double average_useful = 0;          // seconds
  double load_balance = 0;            // sum over paths: largest minus average useful time
  double serialization = 0;           // the same: ideal minus largest useful time

  const PathFactorLoss* Find(const std::string& path) const;  // nullptr: it costs nothing
};

// The ideal network, but that every message takes one tick of the trace's clock: so who waits for whom stays visible.
Network OneTickNetwork(const Trace& trace);

// Replays the phase on a network whose messages take one tick, so that who waits for whom stays visible. Throws an
// input error as Replay does.
FactorLosses SplitByFactor(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                           const ReplayRules& rules = {});

}  // namespace farscale
