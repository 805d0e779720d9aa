// Checks that a factor table agrees with itself: tables come from anywhere, and files are damaged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor_table.h"

namespace farscale {

// Checks the rows of one phase, before anything is derived of them: parents are the product of their parts, factors
// what totals, run times and loads give, and counts fit each other, as far as rounding lets them. Throws an input error
// for shares that cannot be.
Diagnostics CheckPhase(const std::vector<FactorRow*>& rows);

// The same of all phases of a table that is complete; replaces what was found of it before.
void CheckTable(FactorTable& table);

// Puts findings in the place of earlier ones of their kind.
void ReplaceFindings(const Diagnostics& diagnostics, std::vector<Finding>& findings);

// Explanation of efficiencies above 1, printed beside the number.

// Chosen: from here on, rounding, noise and a few redundant operations do not explain it.
inline constexpr double kSuperlinear = 1.1;

// One sentence on the runs of a phase that have a factor above kSuperlinear: which factor it comes from, and what that
// means. Empty where none has.
std::string WhySuperlinear(const std::vector<FactorRow>& rows);

// The same for efficiencies of which `largest` is the largest, measured or projected: relative to the run on `baseline`
// cores where that is given, else to the reference. Empty where it is not above kSuperlinear.
std::string WhySuperlinear(const std::vector<FactorRow>& rows, double largest,
                           std::optional<std::int64_t> baseline = std::nullopt);

}  // namespace farscale
