#include "trace/retime.h"

#include <algorithm>
#include <limits>

namespace farscale {

// Has to see the columns, which are nobody else's concern.
class TimelineRetimer {
 public:
  static RankTimeline Retime(const RankTimeline& timeline, const NewTimes& times) {
    RankTimeline result = timeline;
    PackedColumnBuilder enter, duration, event_tick;
    Tick begin = std::numeric_limits<Tick>::max(), end = std::numeric_limits<Tick>::min();
    for (std::size_t call = 0; call < times.enter.size(); ++call) {
      enter.Append(times.enter[call]);
      duration.Append(times.leave[call] - times.enter[call]);
      begin = std::min(begin, times.enter[call]);
      end = std::max(end, times.leave[call]);
    }
    for (const Tick tick : times.events) {
      event_tick.Append(tick);
      begin = std::min(begin, tick);
      end = std::max(end, tick);
    }
    result.columns_.enter = enter.Finish();
    result.columns_.duration = duration.Finish();
    result.columns_.event_tick = event_tick.Finish();
    result.interruptions_ = times.interruptions;
    if (!timeline.empty()) {
      result.begin_ = begin;
      result.end_ = end;
    }
    return result;
  }
};

RankTimeline Retime(const RankTimeline& timeline, const NewTimes& times) {
  return TimelineRetimer::Retime(timeline, times);
}

}  // namespace farscale
