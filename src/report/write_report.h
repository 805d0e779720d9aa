// The files of a report: report.html, report.md with figures/*.svg, results.json, factors.csv and projection.csv, and
// the latter two again for every variant.
#pragma once

#include <filesystem>
#include <set>
#include <vector>

#include "pages/render.h"
#include "results/results.h"

namespace farscale {

// Writes all or nothing of each file; everything is rendered before the first is written. Returns the paths.
std::vector<std::filesystem::path> WriteReport(const Results& results, const ReportTemplates& templates,
                                               const std::filesystem::path& folder,
                                               const std::set<ReportFormat>& formats);

}  // namespace farscale
