// Records of a rank as parts of its operations: a record posts a send, a receive or a collective, completes one, or
// does both. Operations of each class are known by the number of their post.
#pragma once

#include <array>
#include <cstddef>

#include "trace/trace.h"

namespace farscale {

struct OperationPart {
  OperationClass type = OperationClass::kSend;
  bool posts = false, completes = false;  // neither: the operation is cancelled
  std::size_t ordinal = 0;                // number of the operation within its class

  bool IsCollective() const { return type == OperationClass::kCollective; }
};

constexpr OperationPart PartOf(RecordKind kind) {
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

// The number of operations of each class posted before a record.
struct Posts {
  std::array<std::size_t, 3> count{};

  std::size_t& operator[](OperationClass type) { return count[static_cast<std::size_t>(type)]; }

  // The part that the next record is; counts it.
  OperationPart Next(const RankTimeline& timeline, std::size_t record) {
    OperationPart part = PartOf(timeline.record_kind(record));
    (*this)[part.type] += part.posts;
    part.ordinal = (*this)[part.type] - 1 - (part.posts ? 0 : timeline.record_back(record));
    return part;
  }
};

inline Posts PostsBefore(const RankTimeline& timeline, std::size_t record) {
  Posts posts;
  for (std::size_t i = 0; i < record; ++i) {
    const OperationPart part = PartOf(timeline.record_kind(i));
    posts[part.type] += part.posts;
  }
  return posts;
}

}  // namespace farscale
