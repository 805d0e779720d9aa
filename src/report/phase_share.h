// How much of the run time lies in a phase, and in none.
#pragma once

#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "results/results.h"

namespace farscale {

// "41 % of the run time on 2 cores, 47 % on 32; 3 of 20 iterations excluded as disturbed"; empty where no run is known,
// and for runs of several programs.
std::string ShareOfRun(const Results& results, const std::vector<FactorRow>& rows, const PhaseId& phase);

inline constexpr double kMuchOutside = 0.1;  // of the run time: stands beside the verdict; chosen

// "20.1 % of the run time on 1 core, 50.3 % on 16": in no phase. Empty where that is less than `least` on both.
std::string OutsideOfPhases(const Results& results, double least);

}  // namespace farscale
