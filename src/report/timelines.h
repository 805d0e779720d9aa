// Where the runs of a report spend their time, over the run and over the iterations of a phase.
#pragma once

#include <string>

#include "report/report_model.h"
#include "results/results.h"

namespace farscale {

// Pictures take at most so many bytes in a report, and there are at most so many of them.
inline constexpr std::size_t kMostTimelineBytes = 900'000;
inline constexpr std::size_t kMostTimelines = 12;

// The pictures of the runs, for the tags that docs/templates.md lists under timelines. Of more runs than can be shown,
// repeats are left out first, then core counts between the others.
void AddTimelines(const Results& results, ReportModel& model);

// The iterations of one phase, for the tags listed under iterations; drawn when a run has at least three. `slug`: what
// the name of the figure begins with.
ReportData IterationsOfPhase(const Results& results, const PhaseId& phase, const std::string& heading,
                             const std::string& slug, ReportModel& model);

}  // namespace farscale
