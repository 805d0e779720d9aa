// The report of a study: what templates can print of its results, and the files.
#pragma once

#include <filesystem>
#include <set>
#include <vector>

#include "pages/render.h"
#include "results/results.h"

namespace farscale {

// Numbers formatted, figures drawn, and sentences as the text templates among `texts` word them.
ReportModel BuildReportModel(const Results& results, const Partials& texts);

// Writes all or nothing of each file; everything is rendered before the first is written. Returns the paths.
std::vector<std::filesystem::path> WriteReport(const Results& results, const ReportTemplates& templates,
                                               const std::filesystem::path& folder,
                                               const std::set<ReportFormat>& formats);

}  // namespace farscale
