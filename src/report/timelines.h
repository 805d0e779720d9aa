// Where the runs of a report spend their time, over the run and over the iterations of a phase.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "pages/render.h"
#include "report/figures.h"
#include "results/results.h"

namespace farscale {

// Pictures take at most so many bytes in a report, and there are at most so many of them.
inline constexpr std::size_t kMostTimelineBytes = 900'000;
inline constexpr std::size_t kMostTimelines = 12;

// The pictures of the runs, then those of grown ones: a list of the tags `timelines` in docs/templates.md. `all`: how
// many measured runs could be shown, of which `shown` are: repeats are left out first, then core counts between others.
ReportData Timelines(const Results& results, ReportModel& model, std::size_t& all, std::size_t& shown);

// The iterations of one phase, the tags of `iterations`; nothing unless a run has at least three.
std::optional<ReportData> Iterations(const Results& results, const PhaseId& phase, const PhaseNames& names,
                                     ReportModel& model);

// There is something to draw.
bool HasTimeline(const RunRecord& run);

// The picture in sentences.
std::string DescribeTimeline(const RunRecord& run);

// "#d55e00" and so on, of time in one state alone.
std::string StateColor(RunState state);

// A complete <svg> element; `standalone` as for charts. Cells are joined, down to an eighth of the
// columns, until the element has at most so many bytes. The run must have a timeline.
std::string RenderTimeline(const RunRecord& run, bool standalone, std::size_t most_bytes);

}  // namespace farscale
