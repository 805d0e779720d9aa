// Traces by clocks that differ: what clock repair is judged by, since the true times are known.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/clock_repair.h"
#include "trace/trace.h"

namespace farscale::test {

// The trace as it would have been recorded by these clocks, one a rank.
Trace ByClocks(const Trace& trace, const std::vector<ClockCorrection>& clocks);

struct ClockErrors {
  double offset = 1;     // seconds at most, either way
  double drift = 50e-6;  // at most, either way
  bool of_nodes = true;  // else every rank has a clock of its own
};

// Drawn for every node or rank; those of the first one, too.
std::vector<ClockCorrection> DrawClocks(const Trace& trace, const ClockErrors& errors, std::uint32_t seed);

}  // namespace farscale::test
