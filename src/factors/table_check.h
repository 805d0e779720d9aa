// Whether what a factor table says agrees with itself: tables come from anywhere, and files are damaged.
#pragma once

#include <vector>

#include "base/diagnostics.h"
#include "factors/factor_table.h"

namespace farscale {

// Of the rows of one phase, before anything is derived of them: parents are the product of their parts, factors what
// totals, run times and loads give, and counts fit each other, as far as rounding lets them. Throws an input error for
// shares that cannot be.
void CheckPhase(const std::vector<FactorRow*>& rows, Diagnostics& diagnostics);

// The same of all phases of a table that is complete; replaces what was found of it before.
void CheckTable(FactorTable& table);

// Puts findings in the place of earlier ones of their kind.
void ReplaceFindings(const Diagnostics& diagnostics, std::vector<Finding>& findings);

}  // namespace farscale
