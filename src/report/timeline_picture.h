// The picture of a run as SVG: ranks down, time across, phases with their iterations above.
#pragma once

#include <cstddef>
#include <string>

#include "results/results.h"

namespace farscale {

// Whether there is anything to draw.
bool HasTimeline(const RunRecord& run);

// What is to be seen, in sentences.
std::string DescribeTimeline(const RunRecord& run);

// "#d55e00" and so on, of time in one state alone.
std::string StateColor(RunState state);

// A complete <svg> element; `standalone` as for charts [plot/svg.h]. Cells are joined, down to an eighth of the
// columns, until the element has at most so many bytes. The run must have a timeline.
std::string RenderTimeline(const RunRecord& run, bool standalone, std::size_t most_bytes);

}  // namespace farscale
