// The key results of a projection, as sentences and small tables, for reports and the terminal
// [projection/key_results.h].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pages/render.h"
#include "projection/projection.h"

namespace farscale {

// The core counts that keep an efficiency, where speedup peaks, what an iteration takes and costs, the largest
// potential gain and the suggested next run, as key_results.txt.mustache of `texts` words them. Empty without results.
std::vector<std::string> SummarizeKeyResults(const PhaseProjection& projection, const Partials& texts);

// The target that sentences speak of: of those that are reliable for a factor and beyond the runs, the one nearest to
// eight times the largest run. The projection has key results.
std::optional<double> MainTarget(const PhaseProjection& projection, Factor factor);

// The run that narrows the predictions most; null where none is worth it.
const RunChoice* SuggestedRun(const PhaseProjection& projection);

// Where speedup peaks, and the suggested next run, in a sentence each; empty where that is not known.
std::string DescribePeak(const PhaseProjection& projection, const Partials& texts);
std::string SuggestNextRun(const PhaseProjection& projection, const Partials& texts);

// Core counts by level of efficiency, and times and costs by target: lists of the tags `tables` in docs/templates.md,
// without empty ones. Where a cell is uncertain its text is the interval, where it is unknown a dash or "unknown".
ReportData TabulateOutlook(const PhaseProjection& projection);
// Potential gains by target.
ReportData TabulateGains(const PhaseProjection& projection);
// Suggested next runs.
ReportData TabulateNextRuns(const PhaseProjection& projection);
// All of them.
ReportData TabulateKeyResults(const PhaseProjection& projection);

// "below 8", "58", "more than 4,096", and both bounds of an interval: "46–66"; "unknown" without any.
std::string FormatBound(const CountBound& bound);
std::string FormatCountBounds(const CountEstimate& answer, const char* between);

// Digits that tell core hours apart from the smallest to the largest.
std::string FormatCoreHours(double hours);

}  // namespace farscale
