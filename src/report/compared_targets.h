// What is projected on both sides of a comparison [docs/formulas.md, comparison].
#pragma once

#include <vector>

#include "report/compared_results.h"
#include "report/compared_sides.h"

namespace farscale {

// At these core counts; empty: at the targets of both. Nothing where a side is not projected.
std::vector<ComparedTarget> CompareTargets(const ComparedSides& sides, const std::vector<double>& targets);

}  // namespace farscale
