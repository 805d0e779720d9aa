// The clock of the processor, from cycles and times of bursts of computation.
//
// Assumption about the data: a process that loses its core stops counting cycles while time goes on, so bursts show at
// most the rate of the clock and often less. Many bursts of a rank run undisturbed, though, and agree. So the clock is
// the highest rate at which bursts gather, not their mean, which interruptions lower, nor their maximum, which the
// resolution of timers raises.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "trace/trace.h"

namespace farscale {

struct CountedBurst {
  Tick ticks = 0;
  double counts = 0;
};

struct ClockRate {
  double counts_per_tick = 0;
  double uncertainty = 0;  // relative; within it two estimates are one
  std::size_t bursts = 0;  // that the estimate rests on
};

// The upper mode of counts / ticks over the long bursts [docs/formulas.md, computation noise removal]; nothing
// when no burst has both. `long_from`: in ticks; bursts of this length and more are long. There are always some, since
// the longest bursts are taken until they hold a tenth of the counts.
std::optional<ClockRate> EstimateClockRate(std::vector<CountedBurst> bursts, Tick long_from);

}  // namespace farscale
