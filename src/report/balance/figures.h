// The figures of a what-if of balancing, as [Tesser17] draws them: loads of processors over iterations, average load
// over time, makespan against what can be chosen, and what makespans are made of. Each with the table behind it.
#pragma once

#include <string>

#include "balance/what_if.h"
#include "planning/balance_cases.h"
#include "report/report.h"

namespace farscale {

// One map for each history, in the order of the histories and the colours of one scale: `title`, `caption`, `figure`,
// `table`. Names of figures begin with `slug`.
ReportData LoadMaps(const WhatIf& what_if, const std::string& slug, ReportModel& model);

// Lists of the same, with what there is to draw.
ReportData AverageLoadFigures(const WhatIf& what_if, const std::string& slug, ReportModel& model);
ReportData FiguresOfCase(const WhatIf& what_if, const BalanceCase& one, const std::string& slug, ReportModel& model);

// The range of loads that the colours of all maps share: nearly all of them, so that a few far off do not hide the
// rest. `low`, `high` in seconds.
struct LoadRange {
  double low = 0, high = 0;
  bool is_low_cut = false, is_high_cut = false;  // there are loads outside
};
LoadRange RangeOfLoads(const std::vector<LoadHistory>& histories);

}  // namespace farscale
