// What a phase's numbers say, in sentences: for the top of a report and for the terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "pages/render.h"
#include "projection/projection.h"

namespace farscale {

struct LargestLoss {
  Factor factor = Factor::kLoadBalance;
  Factor whole = Factor::kParallelEfficiency;  // of which it is a part: parallel efficiency if it is one of that, too
};

// The smallest of the factors that make up the widest efficiency that is known in parts.
std::optional<LargestLoss> LargestLossOf(const FactorRow& row);

// Efficiency and largest loss of the largest run, predictions and how far they are reliable, which factor dominates,
// and what was fitted, as summary.txt.mustache of `texts` words it. `projection` may be null.
std::vector<std::string> SummarizePhase(const std::vector<FactorRow>& rows, const PhaseProjection* projection,
                                        const Partials& texts);

// How far predictions hold and what limits them: the part of it that a report shows beside its charts.
std::vector<std::string> DescribeCertainty(const PhaseProjection& projection, const Partials& texts);

}  // namespace farscale
