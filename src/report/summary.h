// The numbers of a phase in sentences: for the top of a report and for the terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "pages/render.h"
#include "projection/projection.h"
#include "results/results.h"

namespace farscale {

struct LargestLoss {
  Factor factor = Factor::kLoadBalance;
  Factor whole = Factor::kParallelEfficiency;  // that it is a part of: parallel efficiency if it is one of that, too
};

// The smallest of the factors that make up the widest efficiency that is known in parts.
std::optional<LargestLoss> FindLargestLoss(const FactorRow& row);

// Efficiency and largest loss of the largest run, predictions and how far they are reliable, which factor dominates,
// and what was fitted, as summary.txt.mustache of `texts` words it. `projection` may be null.
std::vector<std::string> SummarizePhase(const std::vector<FactorRow>& rows, const PhaseProjection* projection,
                                        const Partials& texts);

// The range of predictions and what limits them: the part of the summary that a report shows beside its charts.
std::vector<std::string> DescribeCertainty(const PhaseProjection& projection, const Partials& texts);

// The most cores that keep an efficiency [docs/formulas.md, verdict]: the global one, or parallel efficiency where
// computation is not compared. What was measured decides between the
// runs, the projection beyond them.
struct KeptEfficiency {
  Factor factor = Factor::kGlobalEfficiency;
  double level = 0;     // that is kept
  CountEstimate count;  // kBelow: the smallest run does not keep it; kMoreThan: all that is known does
  Reliability reliability = Reliability::kReliable;  // reliability of the count
  double smallest = 0, largest = 0;                  // cores of runs
  double at_largest = 0;                             // as measured
};

// The level is the one of the key results nearest to 75 %, which computing centres ask for. `projection`
// may be null. Nothing without an efficiency.
std::optional<KeptEfficiency> FindKeptEfficiency(const std::vector<FactorRow>& rows, const PhaseProjection* projection);

// "<8", "58", "4,096+".
std::string ShortCount(const CountBound& bound);

// "58 (46–66)", the interval alone where it is uncertain; empty where it is unknown.
std::string ShortCount(const KeptEfficiency& kept);

// "41 % of the run time on 2 cores, 47 % on 32; 3 of 20 iterations excluded as disturbed"; empty where no run is known,
// and for runs of several programs.
std::string ShareOfRun(const Results& results, const std::vector<FactorRow>& rows, const PhaseId& phase);

inline constexpr double kMuchOutside = 0.1;  // share of the run time that stands beside the verdict; chosen

// "20.1 % of the run time on 1 core, 50.3 % on 16": in no phase. Empty where that is less than `least` on both.
std::string OutsideOfPhases(const Results& results, double least);

}  // namespace farscale
