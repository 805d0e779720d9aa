// Records of a rank as parts of its operations: a record posts a send, a receive or a collective, completes one, or
// does both. Operations of each class are known by the number of their post.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "replay/matching.h"
#include "trace/timeline_feed.h"
#include "trace/trace.h"

namespace farscale {

struct RecordPart {
  OperationClass type = OperationClass::kSend;
  bool posts = false, completes = false;  // neither: the operation is cancelled
  std::size_t ordinal = 0;                // of the operation among those of its class
  std::uint32_t number = kNoMessage;      // of the message or collective operation; kNoMessage where there is none

  bool IsCollective() const { return type == OperationClass::kCollective; }
  bool IsMatched() const { return number != kNoMessage; }
};
static_assert(kNoMessage == kNoCollective);

constexpr RecordPart PartOf(RecordKind kind) {
  switch (kind) {
    case RecordKind::kSend: return {OperationClass::kSend, true, true};
    case RecordKind::kSendPost: return {OperationClass::kSend, true, false};
    case RecordKind::kSendComplete: return {OperationClass::kSend, false, true};
    case RecordKind::kSendCancelled: return {OperationClass::kSend, false, false};
    case RecordKind::kReceive: return {OperationClass::kReceive, true, true};
    case RecordKind::kReceivePost: return {OperationClass::kReceive, true, false};
    case RecordKind::kReceiveComplete: return {OperationClass::kReceive, false, true};
    case RecordKind::kCollective: return {OperationClass::kCollective, true, true};
    case RecordKind::kCollectivePost: return {OperationClass::kCollective, true, false};
    case RecordKind::kCollectiveComplete: break;
  }
  return {OperationClass::kCollective, false, true};
}

// How many operations of each class are posted before a record.
struct Posts {
  std::array<std::size_t, 3> count{};

  std::size_t& operator[](OperationClass type) { return count[static_cast<std::size_t>(type)]; }

  // Of the next record, which is counted.
  RecordPart Next(const RankTimeline& timeline, std::size_t record) {
    RecordPart part = PartOf(timeline.record_kind(record));
    (*this)[part.type] += part.posts;
    part.ordinal = (*this)[part.type] - 1 - (part.posts ? 0 : timeline.record_back(record));
    return part;
  }
  RecordPart Next(const RankTimeline& timeline, const RankMatching& matching, std::size_t record) {
    RecordPart part = Next(timeline, record);
    const auto& numbers = part.type == OperationClass::kSend      ? matching.sends
                          : part.type == OperationClass::kReceive ? matching.receives
                                                                  : matching.collectives;
    // While messages are compared, collectives have no numbers yet.
    part.number = part.ordinal < numbers.size() ? numbers[part.ordinal] : kNoMessage;
    return part;
  }
};

inline Posts PostsBefore(const RankTimeline& timeline, std::size_t record) {
  Posts posts;
  for (std::size_t i = 0; i < record; ++i) {
    const RecordPart part = PartOf(timeline.record_kind(i));
    posts[part.type] += part.posts;
  }
  return posts;
}

// Calls visit(call, record, part) for the records of calls [first, end). `posts`: before those.
template <typename Visit>
void ForEachRecord(const RankTimeline& timeline, const RankMatching& matching, std::size_t first, std::size_t end,
                   Posts posts, Visit visit) {
  std::size_t record = timeline.first_record(first);
  for (std::size_t call = first; call < end; ++call) {
    const std::size_t end_record = timeline.first_record(call + 1);
    for (; record < end_record; ++record) visit(call, record, posts.Next(timeline, matching, record));
  }
}
template <typename Visit>
void ForEachRecord(const RankTimeline& timeline, const RankMatching& matching, std::size_t first, std::size_t end,
                   Visit visit) {
  ForEachRecord(timeline, matching, first, end, PostsBefore(timeline, timeline.first_record(first)), visit);
}

}  // namespace farscale
