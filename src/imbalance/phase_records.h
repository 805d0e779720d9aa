// The records of a rank's calls in a phase.
#pragma once

#include <cstddef>
#include <cstdint>

#include "imbalance/activities.h"
#include "replay/matching.h"
#include "replay/posts.h"
#include "trace/trace.h"

namespace farscale {

struct RankRecords {
  const RankTimeline& timeline;
  const RankMatching& matching;
  const RankActivities& activities;
  const std::vector<Region>& regions;
  std::uint32_t rank;
};

inline RankRecords RecordsOf(const Trace& trace, const Matching& matching, const Activities& activities,
                             std::size_t rank) {
  return {trace.timelines[rank], matching.ranks[rank], activities.ranks[rank], trace.regions,
          static_cast<std::uint32_t>(rank)};
}

// Calls sink(call, record, posts before it) for every record of the phase.
template <typename Sink>
void ForEachRecord(const RankRecords& input, Sink sink) {
  Posts posts = PostsBefore(input.timeline, input.timeline.first_record(input.activities.first_call));
  std::size_t record = input.timeline.first_record(input.activities.first_call);
  for (std::uint32_t call = 0; call < input.activities.calls; ++call) {
    const std::size_t end = input.timeline.first_record(input.activities.first_call + call + 1);
    for (; record < end; ++record) {
      sink(call, record, posts);
      posts.Count(input.timeline.record_kind(record));
    }
  }
}

}  // namespace farscale
