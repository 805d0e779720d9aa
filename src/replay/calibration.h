// Latency, bandwidth, overhead and eager limit of a nominal network from a trace taken on the machine itself, for
// users without a data sheet [docs/network-files.md, calibration]. Our own method.
//
// Noise only adds time to a message, so of equally large messages a fast one counts, not the mean; the line through
// sizes is one that a few odd sizes do not move. Clocks that differ make one direction between two ranks too fast and
// the other too slow by the same amount, so directions are compared and the difference is taken out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "replay/matching.h"
#include "replay/network.h"
#include "trace/trace.h"

namespace farscale {

// The messages of one kind of link. Only usable ones count: their receiver already waited for them.
struct LinkCalibration {
  Link link;                   // with bounds of what the messages do not show
  bool has_bandwidth = true;   // false: sizes differ too little; `link` has that of the other link, or none
  std::uint64_t messages = 0;  // usable
  std::uint64_t all = 0;       // matched messages on such links
  std::uint64_t smallest = 0;  // bytes of the usable ones
  std::uint64_t largest = 0;
  double tick = 0;                 // seconds: an overhead of 0 is below
  double spread = 0;               // seconds: median distance of measured from fitted times
  double relative_spread = 0;      // the same as share of the fitted times
  double clock_difference = 0;     // seconds: the largest between two ranks that was taken out
  bool found_eager_limit = false;  // else that of the rules, which nothing contradicts
  std::uint64_t late_posts = 0;    // eager messages that could have been there when their receive was posted
  std::uint64_t late_starts = 0;   // the number of these that took their time only then
};

struct Calibration {
  Network network;  // numbers rounded to four digits in the units of the file; `source` says where they come from
  std::optional<LinkCalibration> local, remote;  // nothing: too few usable messages
  double measured_seconds = 0;                   // the run between MPI_Init and MPI_Finalize
  double replayed_seconds = 0;                   // the same with measured computation on the calibrated network
  std::vector<std::string> notes;                // sentences without a full stop: what was missing or assumed
  Diagnostics diagnostics;                       // in the replay

  // Replayed over measured time, less one.
  double Deviation() const { return measured_seconds > 0 ? replayed_seconds / measured_seconds - 1 : 0; }
};

// The rules say which sends wait in the replay, and the eager limit where the trace shows none. Throws an error of
// kind kNotEnoughData when neither link has enough usable messages, an input error when the trace does not replay.
Calibration Calibrate(const Trace& trace, const Matching& matching, const ReplayRules& rules);

}  // namespace farscale
