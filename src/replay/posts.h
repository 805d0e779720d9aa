// Counting what a rank posts: operations of each class are known by their number.
#pragma once

#include <cstddef>

#include "trace/trace.h"

namespace farscale {

// Numbers of posts before a record.
struct Posts {
  std::size_t sends = 0, receives = 0, collectives = 0;

  void Count(RecordKind kind) {
    sends += kind == RecordKind::kSend || kind == RecordKind::kSendPost;
    receives += kind == RecordKind::kReceive || kind == RecordKind::kReceivePost;
    collectives += kind == RecordKind::kCollective || kind == RecordKind::kCollectivePost;
  }
};

inline Posts PostsBefore(const RankTimeline& timeline, std::size_t record) {
  Posts posts;
  for (std::size_t i = 0; i < record; ++i) posts.Count(timeline.record_kind(i));
  return posts;
}

}  // namespace farscale
