// The report of a study: what templates can print of its results, and the files; and the pages of measured jobs.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "pages/render.h"
#include "results/collected_jobs.h"
#include "results/results.h"

namespace farscale {

// Numbers formatted, figures drawn, and sentences as the text templates among `texts` word them.
ReportModel BuildReportModel(const Results& results, const Partials& texts);

// Writes all or nothing of each file; everything is rendered before the first is written. Returns the paths.
std::vector<std::filesystem::path> WriteReport(const Results& results, const ReportTemplates& templates,
                                               const std::filesystem::path& folder,
                                               const std::set<ReportFormat>& formats);

// Measured jobs for the terminal and as a page [docs/templates.md, jobs].

// The first `top` jobs; all with 0.
std::string WriteJobsTable(const CollectedJobs& jobs, std::size_t top, std::size_t width);

// The tags of templates/jobs.*.mustache, but for `style`.
ReportModel BuildJobsModel(const CollectedJobs& jobs);

}  // namespace farscale
