// Parts of operations [trace/operations.h] with the messages and collective operations that they belong to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "replay/matching.h"
#include "trace/operations.h"
#include "trace/trace.h"

namespace farscale {

struct RecordPart : OperationPart {
  std::uint32_t number = kNoMessage;  // of the message or collective operation; kNoMessage where there is none

  bool IsMatched() const { return number != kNoMessage; }
};
static_assert(kNoMessage == kNoCollective);

// Of the next record, which `posts` counts.
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

// Calls visit(call, record, part) for the records of calls [first, end). `posts`: before those.
template <typename Visit>
void ForEachRecord(const RankTimeline& timeline, const RankMatching& matching, std::size_t first, std::size_t end,
                   Posts posts, Visit visit) {
  std::size_t record = timeline.first_record(first);
  for (std::size_t call = first; call < end; ++call) {
    const std::size_t end_record = timeline.first_record(call + 1);
    for (; record < end_record; ++record) visit(call, record, NextPart(timeline, matching, record, posts));
  }
}
template <typename Visit>
void ForEachRecord(const RankTimeline& timeline, const RankMatching& matching, std::size_t first, std::size_t end,
                   Visit visit) {
  ForEachRecord(timeline, matching, first, end, PostsBefore(timeline, timeline.first_record(first)), visit);
}

}  // namespace farscale
