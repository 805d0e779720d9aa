#include "replay/replayed_trace.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "base/search.h"
#include "replay/bursts.h"
#include "trace/trace_builder.h"

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
    return At(tick, PartitionIndex(0, timeline_.calls(), [&](std::size_t i) { return timeline_.enter(i) <= tick; }));
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

// Time of [begin, end] on one rank that lies within the regions marked.
class RegionClock {
 public:
  RegionClock(const RankTimeline& timeline, const std::vector<bool>& is_marked)
      : timeline_(timeline), is_marked_(is_marked) {}

  // Bursts are asked for in ascending order.
  Tick Inside(Tick begin, Tick end) {
    Tick inside = 0, from = begin;
    while (next_ < timeline_.region_events() && timeline_.event_tick(next_) < end) {
      const RankTimeline::RegionEvent event = timeline_.region_event(next_++);
      const Tick at = std::max(event.tick, from);
      if (depth_ > 0) inside += at - from;
      from = at;
      if (is_marked_[event.region]) depth_ += event.is_leave ? -1 : 1;
    }
    return depth_ > 0 ? inside + (end - from) : inside;
  }

 private:
  const RankTimeline& timeline_;
  const std::vector<bool>& is_marked_;
  std::size_t next_ = 0;
  int depth_ = 0;
};

}  // namespace

PhaseCut MoveCut(const Trace& trace, const Trace& replayed, const PhaseCut& cut) {
  PhaseCut moved = cut;
  ParallelFor(trace.size(), [&](std::size_t rank) {
    RankCut& rank_cut = moved.ranks[rank];
    if (!rank_cut.present) return;
    const RankTimeline& now = replayed.timelines[rank];
    std::vector<Tick> enter(now.calls()), leave(now.calls());
    for (std::size_t call = 0; call < now.calls(); ++call) {
      enter[call] = now.enter(call);
      leave[call] = now.leave(call);
    }
    const TimeMap map(trace.timelines[rank], enter, leave, now.begin(), now.end());
    const RankTimeline& before = trace.timelines[rank];
    const auto move = [&](Edge& edge) {  // a time window may begin inside a call
      const bool inside = edge.call < before.calls() && edge.tick > before.enter(edge.call);
      edge.tick = map.At(edge.tick, edge.call + (inside ? 1 : 0));
    };
    move(rank_cut.window.begin);
    move(rank_cut.window.end);
    for (Interval& iteration : rank_cut.iterations) {
      move(iteration.begin);
      move(iteration.end);
    }
  });
  return moved;
}

BurstLengths SpeedUp(const Trace& trace, const BurstLengths& bursts, double speed, const std::string& region) {
  std::vector<bool> is_marked;
  for (const Region& one : trace.regions) is_marked.push_back(!one.is_mpi && one.name == region);
  BurstLengths faster = bursts;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    RegionClock clock(timeline, is_marked);
    for (std::size_t call = 0; call < faster[rank].size(); ++call) {
      const Tick begin = BurstBegin(timeline, call), end = BurstEnd(timeline, call);
      double share = 1;
      if (!region.empty()) {
        share = end > begin ? static_cast<double>(clock.Inside(begin, end)) / static_cast<double>(end - begin) : 0;
      }
      Tick& length = faster[rank][call];
      length = std::llround(static_cast<double>(length) * (share / speed + (1 - share)));
    }
  }
  return faster;
}

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

Trace ReplayedPart(const Trace& trace, const PhaseCut& cut, const ReplayResult& result) {
  ReplayResult whole;
  whole.begin.resize(trace.size());
  whole.end.resize(trace.size());
  whole.leave.resize(trace.size());
  const Tick origin = trace.begin(), part = cut.begin() - origin;
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    const RankCut& own = cut.ranks[rank];
    std::vector<Tick>& leave = whole.leave[rank];
    for (std::size_t call = 0; call < timeline.calls(); ++call) leave.push_back(timeline.leave(call) - origin);
    whole.begin[rank] = timeline.begin() - origin;
    whole.end[rank] = timeline.end() - origin;
    if (!own.present) return;
    const Tick shift = part + result.end[rank] - (own.window.end.tick - origin);
    const std::vector<Tick>& replayed = result.leave[rank];
    for (std::size_t i = 0; i < replayed.size(); ++i) leave[own.window.begin.call + i] = part + replayed[i];
    for (std::size_t call = own.window.begin.call + replayed.size(); call < leave.size(); ++call) leave[call] += shift;
    whole.end[rank] += shift;
  });
  return ReplayedTrace(trace, whole);
}

}  // namespace farscale
