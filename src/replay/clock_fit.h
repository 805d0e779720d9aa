// How far the clocks of nodes or ranks are apart, from the messages and collectives between them: an offset and a drift
// each. Our own method: the largest or smallest differences that messages in both directions allow,
// and that ranks leave a collective together, as least absolute deviations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/clock_order.h"
#include "replay/matching.h"
#include "trace/trace.h"

namespace farscale {

// What to add to the times of one clock, in ticks: `offset` in the middle of its run, and `drift` more a tick.
struct ClockCorrection {
  double offset = 0;
  double drift = 0;
  Tick middle = 0;

  double At(Tick tick) const { return offset + drift * static_cast<double>(tick - middle); }
  Tick Corrected(Tick tick) const;
};

struct ClockFit {
  std::vector<std::uint32_t> clock_of_rank;  // index into corrections
  std::vector<ClockCorrection> corrections;  // relative to the clock of the first rank that recorded anything
  std::vector<std::string> names;            // "node b", "rank 3"
  std::vector<std::uint32_t> unknown;        // clocks that messages do not tie to the first one in both directions
};

struct ClockModel {
  bool by_node = true;     // ranks of a node share a clock
  bool has_drift = false;  // else offsets alone
};

ClockFit FitClocks(const Trace& trace, const Matching& matching, const ClockOrder& order, const ClockModel& model);

}  // namespace farscale
