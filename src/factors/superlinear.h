// Explanation of efficiencies above 1, printed beside the number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "factors/factor_table.h"

namespace farscale {

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
