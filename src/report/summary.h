// What a phase's numbers say, in sentences: for the top of a report and for the terminal.
#pragma once

#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "pages/render.h"
#include "projection/projection.h"

namespace farscale {

// Efficiency and largest loss of the largest run, predictions and how far they are reliable, which factor dominates,
// and what was fitted, as summary.txt.mustache of `texts` words it. `projection` may be null.
std::vector<std::string> SummarizePhase(const std::vector<FactorRow>& rows, const PhaseProjection* projection,
                                        const Partials& texts);

}  // namespace farscale
