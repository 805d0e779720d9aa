#include "replay/replayed_trace.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "trace/retime.h"

namespace farscale {
namespace {

// Old times of a rank to new ones: a shift and a stretch for every burst and every call.
class TimeMap {
 public:
  TimeMap(const RankTimeline& timeline, const std::vector<Tick>& enter, const std::vector<Tick>& leave, Tick begin,
          Tick end)
      : timeline_(timeline), enter_(enter), leave_(leave), begin_(begin), end_(end) {}

  // `call`: how many calls were entered before the time.
  Tick At(Tick tick, std::size_t call) const {
    if (call > 0 && tick < timeline_.leave(call - 1)) {  // inside the call
      return Stretch(tick, timeline_.enter(call - 1), timeline_.leave(call - 1), enter_[call - 1], leave_[call - 1]);
    }
    const Tick old_from = call > 0 ? timeline_.leave(call - 1) : timeline_.begin();
    const Tick old_to = call < timeline_.calls() ? timeline_.enter(call) : timeline_.end();
    return Stretch(tick, old_from, old_to, call > 0 ? leave_[call - 1] : begin_,
                   call < timeline_.calls() ? enter_[call] : end_);
  }

  Tick At(Tick tick) const {
    std::size_t low = 0, high = timeline_.calls();  // the first call entered after the time
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (timeline_.enter(middle) <= tick) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return At(tick, low);
  }

 private:
  static Tick Stretch(Tick tick, Tick old_from, Tick old_to, Tick from, Tick to) {
    if (to - from == old_to - old_from || old_to == old_from)
      return from + std::clamp<Tick>(tick - old_from, 0, to - from);
    const double share = static_cast<double>(tick - old_from) / static_cast<double>(old_to - old_from);
    return std::clamp<Tick>(from + std::llround(share * static_cast<double>(to - from)), from, to);
  }

  const RankTimeline& timeline_;
  const std::vector<Tick>& enter_;
  const std::vector<Tick>& leave_;
  Tick begin_, end_;
};

RankTimeline ReplayedTimeline(const RankTimeline& timeline, const std::vector<Tick>& left, Tick origin, Tick begin,
                              Tick end, const std::vector<Tick>* bursts) {
  NewTimes times;
  Tick now = begin, old_now = timeline.begin();
  for (std::size_t call = 0; call < timeline.calls(); ++call) {
    now += bursts != nullptr ? (*bursts)[call] : std::max<Tick>(0, timeline.enter(call) - old_now);
    times.enter.push_back(now);
    now = origin + left[call];
    times.leave.push_back(now);
    old_now = timeline.leave(call);
  }
  const TimeMap map(timeline, times.enter, times.leave, begin, end);
  for (std::size_t event = 0; event < timeline.region_events(); ++event) {
    const RankTimeline::RegionEvent at = timeline.region_event(event);
    times.events.push_back(map.At(at.tick, at.call));
  }
  for (const Interruption& interruption : timeline.interruptions()) {
    times.interruptions.push_back({map.At(interruption.begin), map.At(interruption.end), interruption.is_flush});
  }
  return Retime(timeline, times);
}

}  // namespace

Trace ReplayedTrace(const Trace& trace, const ReplayResult& result, const BurstLengths* bursts) {
  Trace replayed = trace;
  const Tick origin = trace.begin();
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (trace.timelines[rank].empty()) return;
    replayed.timelines[rank] =
        ReplayedTimeline(trace.timelines[rank], result.leave[rank], origin, origin + result.begin[rank],
                         origin + result.end[rank], bursts != nullptr ? &(*bursts)[rank] : nullptr);
  });
  return replayed;
}

}  // namespace farscale
