// Which receive belongs to which send, and which calls of different ranks are one collective operation. A property
// of the trace alone: every replay and every later analysis shares it.
//
// The k-th send of a rank to another, with one communicator and tag, is received by the k-th receive posted there for
// it: MPI guarantees that messages between two ranks with equal tags do not overtake each other. The k-th collective
// a rank posts on a communicator is one operation with the k-th of every other member.
#pragma once

#include <cstddef>
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

struct Matching {
  std::vector<RankMatching> ranks;
  std::uint32_t messages = 0;
  std::uint32_t matched = 0;  // messages [0, matched) have both a send and a receive, the others one of them
  std::vector<CollectiveOperation> collectives;
  Diagnostics diagnostics;
  // Why times of different ranks cannot be compared, if the trace was checked [replay/clock_repair.h]: messages or
  // collectives contradict their clocks.
  std::optional<std::string> clocks_unknown;
};

// The ranks of a trace that ends early end at different times. As halves are matched in order, those that lack another
// half are then the last ones.
bool EndsEarly(const Trace& trace);

// Throws an input error when the trace has more messages than can be numbered (4 thousand million).
Matching MatchTrace(const Trace& trace);

// Parts of operations [trace/trace.h] with the messages and collective operations that they belong to.

struct RecordPart : OperationPart {
  std::uint32_t number = kNoMessage;  // the message or collective operation; kNoMessage where there is none

  bool IsMatched() const { return number != kNoMessage; }
};
static_assert(kNoMessage == kNoCollective);

// The part of the next record, which `posts` counts.
inline RecordPart NextPart(const RankTimeline& timeline, const RankMatching& matching, std::size_t record,
                           Posts& posts) {
  RecordPart part{posts.Next(timeline, record)};
  const auto& numbers = part.type == OperationClass::kSend      ? matching.sends
                        : part.type == OperationClass::kReceive ? matching.receives
                                                                : matching.collectives;
  // While messages are compared, collectives have no numbers yet.
  if (part.ordinal < numbers.size()) part.number = numbers[part.ordinal];
  return part;
}

// Calls visit(call, record, part) for the records of calls [first, end).
template <typename Visit>
void ForEachRecord(const RankTimeline& timeline, const RankMatching& matching, std::size_t first, std::size_t end,
                   Visit visit) {
  std::size_t record = timeline.first_record(first);
  Posts posts = PostsBefore(timeline, record);
  for (std::size_t call = first; call < end; ++call) {
    const std::size_t end_record = timeline.first_record(call + 1);
    for (; record < end_record; ++record) visit(call, record, NextPart(timeline, matching, record, posts));
  }
}

}  // namespace farscale
