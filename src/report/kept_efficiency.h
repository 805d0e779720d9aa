// Up to how many cores a phase keeps an efficiency: the first thing that outputs say of it [docs/formulas.md, verdict].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "projection/projection.h"

namespace farscale {

// Global efficiency, or parallel efficiency where computation is not compared. What was measured decides between the
// runs, the projection beyond them.
struct KeptEfficiency {
  Factor factor = Factor::kGlobalEfficiency;
  double level = 0;     // that is kept
  CountEstimate count;  // kBelow: the smallest run does not keep it; kMoreThan: all that is known does
  Reliability reliability = Reliability::kReliable;  // of the count
  double smallest = 0, largest = 0;                  // cores of runs
  double at_largest = 0;                             // as measured
};

// Of the levels that key results are made for the one nearest to 75 %, which computing centres ask for. `projection`
// may be null. Nothing without an efficiency.
std::optional<KeptEfficiency> KeptEfficiencyOf(const std::vector<FactorRow>& rows, const PhaseProjection* projection);

// "<8", "58", "4,096+".
std::string ShortCount(const CountBound& bound);

// "58 (46–66)", the interval alone where it is uncertain; empty where it is unknown.
std::string ShortCount(const KeptEfficiency& kept);

}  // namespace farscale
