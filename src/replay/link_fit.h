// The line through the travelling times of messages: T = L + S / B.
#pragma once

#include <vector>

#include "replay/transfer_times.h"

namespace farscale {

// What the times leave open: the line can be tilted as far as times of equally large messages differ.
struct FitRange {
  double low = 0, high = 0;
};

// Whether the range is narrow enough for a value of it to be one.
bool IsKnownWithin(const FitRange& range);

struct LinkFit {
  double latency = 0;           // ticks, with what the sending call costs; not negative
  double ticks_per_byte = 0;    // 0 without a bandwidth
  FitRange latency_range;       // around it; from 0 on without a bandwidth, as sizes then show nothing
  FitRange byte_range;          // of ticks_per_byte; `high` without a bandwidth, too: all of a message's time
  bool has_bandwidth = false;   // the times say so
  bool shares_links = false;    // too few messages had the links of their nodes to themselves to say more than bounds
  double spread = 0;            // ticks: median distance of the times from the line
  double relative_spread = 0;   // the same as share of the line
  double clock_difference = 0;  // ticks: the largest between two ranks that was taken out
};

// Takes the differences of clocks out of `transfers` and leaves out what still seems to arrive before it was sent, and
// what shared a link with others where enough did not.
// Meaningless for no transfers.
LinkFit FitLink(std::vector<TransferTime>& transfers);

// The latency that goes with a bandwidth known from elsewhere; 0 when that alone is more than the messages took, and
// without any.
double LatencyFor(const std::vector<TransferTime>& transfers, double ticks_per_byte);

}  // namespace farscale
