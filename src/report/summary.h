// What a phase's numbers say, in sentences: for the top of a report and for the terminal.
#pragma once

#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "projection/projection.h"

namespace farscale {

// Efficiency now and what costs most; efficiency ahead with its interval; which factor is to blame from where; what
// the projection rests on and how far it is evidence. `projection` may be null.
std::vector<std::string> SummarizePhase(const std::vector<FactorRow>& rows, const PhaseProjection* projection);

}  // namespace farscale
