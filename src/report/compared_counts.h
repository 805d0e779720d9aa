// What was measured on both sides of a comparison, count by count [docs/formulas.md, comparison].
#pragma once

#include <optional>
#include <vector>

#include "factors/change.h"
#include "report/compared_results.h"
#include "report/compared_sides.h"

namespace farscale {

// Every core count that either side was run on.
std::vector<ComparedCount> CompareCounts(const ComparedSides& sides);

// What repeats of either side differ by, pooled; nothing without any repeat.
std::optional<Noise> NoiseBetweenRepeats(const ComparedSides& sides, const RowReading& value);

}  // namespace farscale
