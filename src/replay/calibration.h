// Latency, bandwidth, overhead and eager limit of a nominal network from a trace taken on the machine itself, for
// users without a data sheet [docs/network-files.md, calibration]. Our own method.
//
// Noise only adds time to a message, so of equally large messages a fast one counts, not the mean; the line through
// sizes is one that a few odd sizes do not move. Clocks that differ make one direction between two ranks too fast and
// the other too slow by the same amount, so directions are compared and the difference is taken out.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
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

// Evidence in a trace of the links that its messages took: how long messages travelled whose receiver already waited
// for them, how long calls took that only post, and which senders waited for their receiver.

// With fewer usable messages a link is not calibrated; chosen.
inline constexpr std::uint64_t kFewestMessages = 10;
// Larger messages spend time on their data; chosen.
inline constexpr std::uint64_t kSmallMessage = 4096;

// A message whose receiver was already in a call that waits for it, and for nothing else, when the sender entered the
// sending call: the receiver leaves when the message is there. Eager and rendezvous messages look the same.
struct TransferTime {
  std::int32_t from = 0;  // ranks
  std::int32_t to = 0;
  std::uint64_t bytes = 0;
  // From entering the sending call to leaving the receiving one. Includes what the sending call costs before it posts.
  // Shorter or longer by as much as the clocks of the two ranks differ; may be negative for that.
  Tick ticks = 0;
  std::uint32_t message = 0;  // its number in the matching
  // Bytes of other messages between nodes that may have been on the link of one of the two nodes meanwhile, in the same
  // direction; 0 within a node.
  std::uint64_t competing_bytes = 0;
};

// A message whose receive was posted after it had been sent, and its receiver in a call that waits for it alone.
struct LatePost {
  std::uint64_t bytes = 0;
  Tick late = 0;     // from entering the sending call to entering the one that posted the receive
  Tick entered = 0;  // from there to entering the call that waits
  Tick left = 0;     // from there to leaving it
};

struct LinkObservations {
  std::uint64_t messages = 0;  // matched, between different ranks
  std::vector<TransferTime> transfers;
  std::vector<Tick> posts;  // durations of calls that only post one message: receives of any size, small eager sends
  // Sends whose receive was posted only after the sender had begun to wait for their completion, by bytes: how many
  // were gone before, and how many waited until then.
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> late;
  std::vector<LatePost> late_posts;
};

using Observations = std::array<LinkObservations, 2>;  // within a node, between nodes

// Ranks are observed in parallel; the order of what is found does not depend on that. `rules` say which sends could
// have waited: those that wait under no rule say nothing about the eager limit.
Observations Observe(const Trace& trace, const Matching& matching, const ReplayRules& rules);

// The line through the travelling times of messages: T = L + S / B.

struct TransferLine {
  double latency = 0;         // ticks, with what the sending call costs
  double ticks_per_byte = 0;  // 0 without a bandwidth

  double operator()(double bytes) const { return latency + ticks_per_byte * bytes; }
};

// The range is narrow enough for a value of it to be one.
bool IsKnownWithin(double low, double high);

struct LinkFit {
  TransferLine line;  // its latency is not negative
  // The range of each number that the times leave open: the line can be tilted as far as times of equally large
  // messages differ. Without a bandwidth, latencies from 0 on, as sizes then show nothing, and all of a message's time
  // for its bytes.
  TransferLine low, high;
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
