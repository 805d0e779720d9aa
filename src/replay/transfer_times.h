// What a trace shows of the links that its messages took: how long messages travelled whose receiver already waited
// for them, how long calls took that only post, and which senders waited for their receiver. Raw material for
// calibration [replay/calibration.h].
#pragma once

#include <cstdint>
#include <vector>

#include "replay/matching.h"
#include "replay/rules.h"
#include "trace/trace.h"

namespace farscale {

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
  // Of other messages between nodes that may have been on the link of one of the two nodes meanwhile, in the same
  // direction; 0 within a node.
  std::uint64_t competing_bytes = 0;
};

// A send whose receive was posted only after the sender had begun to wait for its completion.
struct LateReceive {
  std::uint64_t bytes = 0;
  bool sender_waited = false;  // until then; else it was gone before
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
  std::vector<LateReceive> late;
  std::vector<LatePost> late_posts;
};

struct Observations {
  LinkObservations local, remote;  // within a node, between nodes
};

// Ranks are observed in parallel; the order of what is found does not depend on that. `rules` say which sends could
// have waited: those that wait under no rule say nothing about the eager limit.
Observations Observe(const Trace& trace, const Matching& matching, const ReplayRules& rules);

}  // namespace farscale
