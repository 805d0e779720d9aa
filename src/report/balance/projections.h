// Factors with balancing beside those without, on the processors that were simulated and at targets.
#pragma once

#include <string>
#include <vector>

#include "pages/render.h"
#include "planning/balance_projections.h"

namespace farscale {

// Parallel efficiency and load balance of every phase, a table each: `caption`, `columns`, `rows`. The first of the
// list is what the others stand beside; with one alone there is nothing to compare, and no table.
ReportData TablesOfProjections(const std::vector<BalancedProjection>& list);

// What balancing makes of parallel efficiency on the most processors that were replayed or are evidence, with and
// without it.
std::vector<std::string> SayProjections(const std::vector<BalancedProjection>& list);

// Both for a terminal; empty where there is nothing to compare.
std::string FormatBalancedProjections(const std::vector<BalancedProjection>& list);

}  // namespace farscale
