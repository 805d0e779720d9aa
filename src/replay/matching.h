// Which receive belongs to which send, and which calls of different ranks are one collective operation. A property
// of the trace alone: every replay and every later analysis shares it.
//
// The k-th send of a rank to another, with one communicator and tag, is received by the k-th receive posted there for
// it: MPI guarantees that messages between two ranks with equal tags do not overtake each other. The k-th collective
// a rank posts on a communicator is one operation with the k-th of every other member.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "trace/trace.h"

namespace farscale {

inline constexpr std::uint32_t kNoMessage = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::uint32_t kNoCollective = std::numeric_limits<std::uint32_t>::max();

struct RankMatching {
  std::vector<std::uint32_t> sends;             // message of every send; kNoMessage for cancelled ones
  std::vector<std::uint32_t> receives;          // message of every receive; kNoMessage when never completed
  std::vector<std::uint32_t> collectives;       // operation of every collective; kNoCollective on MPI_COMM_SELF and for
                                                // those that never completed
  std::vector<std::uint32_t> collective_types;  // index into RankTimeline::collective_types() of every collective;
                                                // meaningless for kNoCollective
  std::uint32_t init = kNoCollective;           // operation of MPI_Init and MPI_Finalize, and the calls that are them
  std::uint32_t finalize = kNoCollective;
  std::size_t init_call = 0;
  std::size_t finalize_call = 0;
};

struct CollectiveOperation {
  std::uint32_t communicator = 0;
  std::uint32_t participants = 0;  // ranks that take part anywhere in the trace
  CollectiveKind kind = CollectiveKind::kBarrier;
};

// Why times of different ranks cannot be compared: messages or collectives contradict their clocks, so often.
struct UnknownClocks {
  std::uint64_t contradictions = 0;
  std::string reason;
};

struct Matching {
  std::vector<RankMatching> ranks;
  std::uint32_t messages = 0;
  std::uint32_t matched = 0;  // messages [0, matched) have both a send and a receive, the others one of them
  std::vector<CollectiveOperation> collectives;
  Diagnostics diagnostics;
  std::optional<UnknownClocks> clocks_unknown;  // of a trace that was checked [replay/clock_repair.h]
};

// Of a trace that ends early the ranks end at different times. As halves are matched in order, those that lack another
// half are then the last ones.
bool EndsEarly(const Trace& trace);

// Throws an input error when the trace has more messages than can be numbered (4 thousand million).
Matching MatchTrace(const Trace& trace);

}  // namespace farscale
