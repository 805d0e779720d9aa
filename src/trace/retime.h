// The same events at other times.
#pragma once

#include <vector>

#include "trace/trace.h"

namespace farscale {

// Times of everything a rank did, each as many as the timeline has, in ascending order.
struct NewTimes {
  std::vector<Tick> enter, leave;  // of calls
  std::vector<Tick> events;        // of region events
  std::vector<Interruption> interruptions;
};

// A timeline with the calls, records, regions and counters of another one, at the times given.
RankTimeline Retime(const RankTimeline& timeline, const NewTimes& times);

}  // namespace farscale
