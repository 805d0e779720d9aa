// Measured jobs for the terminal and as a page [docs/templates.md, jobs].
#pragma once

#include <string>

#include "pages/render.h"
#include "results/collected_jobs.h"

namespace farscale {

// The first `top` jobs; all with 0.
std::string WriteJobsTable(const CollectedJobs& jobs, std::size_t top, std::size_t width);

// The tags of templates/jobs.*.mustache, but for `style`.
ReportModel BuildJobsModel(const CollectedJobs& jobs);

}  // namespace farscale
