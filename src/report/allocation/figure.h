// Speedup against cores, both logarithmic, as applications for computing time show it: the ideal line, the required
// efficiency, what was measured, what is projected with its interval, and where predictions stop being reliable.
#pragma once

#include <string>

#include "planning/allocation.h"
#include "plot/chart.h"

namespace farscale {

Chart SpeedupChart(const AllocationPack& pack);

// A LaTeX document whose only page is the figure; needs TikZ and nothing else.
std::string SpeedupTikz(const AllocationPack& pack);

}  // namespace farscale
