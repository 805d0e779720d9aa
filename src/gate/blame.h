// The factor that causes most of a loss or of a change.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "gate/quantity.h"
#include "projection/projection.h"

namespace farscale {

struct Blame {
  Factor factor = Factor::kLoadBalance;
  double effect = 0;  // logarithm of what it does to the quantity; below 0
  double share = 1;   // of everything that makes it worse
  // It is what the factor measures the scaling of, useful time, instructions, IPC or frequency, at every core count
  // alike or not: a slower program is not one that scales worse.
  bool is_computation = false;
};

// "Load balance"; of computation "Useful time", "Instructions", "IPC", "Frequency".
std::string NameOf(const Blame& blame);
// "loadBalance"; of computation "usefulTime", "instructions", "ipc", "frequency".
std::string IdOf(const Blame& blame);

// Logarithms of factors, averaged over runs and core counts.
struct FactorLogs {
  std::map<Factor, double> factors;
  // Useful time, instructions, IPC and clock under the factor that measures their scaling. They do not depend on a
  // reference run, so commits can be compared; larger is always better.
  std::map<Factor, double> computation;
};

// Causes from the runs at these core counts; unknown factors are left out.
FactorLogs LogsOf(const std::vector<const FactorTable*>& tables, const PhaseKey& key, const std::vector<double>& cores);
// Causes from the values projected to one core count.
FactorLogs LogsOf(const PhaseProjection& projection, double cores);

// For a value that is too low (a time that is too long): the part with the largest loss.
std::optional<Blame> BlameForLoss(const Quantity& quantity, const FactorLogs& logs);
// For a change for the worse: the part that changed most. A time is computation time over parallel efficiency.
std::optional<Blame> BlameForChange(const Quantity& quantity, const FactorLogs& before, const FactorLogs& after);

}  // namespace farscale
