// Speedup against cores, both logarithmic, as applications for computing time show it: the ideal line, the required
// efficiency, what was measured, what is projected with its interval, and where predictions stop being reliable. The
// same drawing as SVG and as TikZ.
#pragma once

#include <string>

#include "planning/allocation.h"

namespace farscale {

// A complete <svg> element. `standalone`: with name space and white ground, for a file of its own.
std::string SpeedupSvg(const AllocationPack& pack, bool standalone);

// A LaTeX document whose only page is the figure; needs TikZ and nothing else.
std::string SpeedupTikz(const AllocationPack& pack);

// What is to be seen, in words, for those who cannot see it.
std::string DescribeSpeedup(const AllocationPack& pack);

}  // namespace farscale
