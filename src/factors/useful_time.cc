#include "factors/useful_time.h"

#include <algorithm>
#include <vector>

#include "phases/counter_at.h"

namespace farscale {
namespace {

// Of the pauses that have some time in the interval: calls visit(pause, begin, end) with the part inside.
template <typename Visit>
void ForEachPause(const RankTimeline& timeline, const Interval& interval, Visit visit) {
  const std::vector<Pause>& pauses = timeline.pauses();
  const auto first = std::partition_point(pauses.begin(), pauses.end(), [&](const Pause& pause) {
    return timeline.event_tick(pause.end_event) <= interval.begin.tick;
  });
  for (auto pause = first; pause != pauses.end(); ++pause) {
    const Tick begin = timeline.event_tick(pause->begin_event);
    if (begin >= interval.end.tick) break;
    visit(*pause, std::max(begin, interval.begin.tick),
          std::min(timeline.event_tick(pause->end_event), interval.end.tick));
  }
}

// Of one counter within the pauses of an interval. What lies at a pause cut by the interval's edge is its share by
// time.
double PausedCount(const RankTimeline& timeline, std::size_t counter, const Interval& interval) {
  double count = 0;
  ForEachPause(timeline, interval, [&](const Pause& pause, Tick begin, Tick end) {
    const Tick length = timeline.event_tick(pause.end_event) - timeline.event_tick(pause.begin_event);
    if (length <= 0) return;
    const double whole =
        timeline.counter_at_event(counter, pause.end_event) - timeline.counter_at_event(counter, pause.begin_event);
    count += whole * (static_cast<double>(end - begin) / static_cast<double>(length));
  });
  return count;
}

}  // namespace

Tick PausedTicks(const RankTimeline& timeline, const Interval& interval) {
  Tick paused = 0;
  ForEachPause(timeline, interval, [&](const Pause&, Tick begin, Tick end) { paused += end - begin; });
  const std::vector<Interruption>& interruptions = timeline.interruptions();
  const auto first = std::ranges::partition_point(
      interruptions, [&](const Interruption& one) { return one.end <= interval.begin.tick; });
  for (auto one = first; one != interruptions.end() && one->begin < interval.end.tick; ++one) {
    if (one->is_flush) continue;
    paused += std::min(one->end, interval.end.tick) - std::max(one->begin, interval.begin.tick);
  }
  return paused;
}

Tick UsefulTicks(const RankTimeline& timeline, const Interval& interval) {
  Tick mpi = 0;
  for (std::size_t call = interval.begin.call; call < interval.end.call; ++call) mpi += timeline.duration(call);
  if (interval.begin.call < interval.end.call) {  // calls cut by the window's edges
    mpi -= std::max<Tick>(0, interval.begin.tick - timeline.enter(interval.begin.call));
    mpi -= std::max<Tick>(0, timeline.leave(interval.end.call - 1) - interval.end.tick);
  }
  return interval.length() - mpi - PausedTicks(timeline, interval);
}

double UsefulCount(const RankTimeline& timeline, std::size_t counter, const Interval& interval) {
  std::size_t first = interval.begin.call, end = interval.end.call;
  double at_begin, at_end;
  if (first < end && timeline.enter(first) < interval.begin.tick) {  // the window begins inside a call
    at_begin = timeline.counter_at_leave(counter, first++);
  } else {
    at_begin = CounterAt(timeline, counter, interval.begin);
  }
  if (end > first && timeline.leave(end - 1) > interval.end.tick) {  // or ends inside one
    at_end = timeline.counter_at_enter(counter, --end);
  } else {
    at_end = CounterAt(timeline, counter, interval.end);
  }
  double in_calls = 0;
  for (std::size_t call = first; call < end; ++call) in_calls += timeline.counter_in_call(counter, call);
  return std::max(0.0, at_end - at_begin - in_calls - PausedCount(timeline, counter, interval));
}

Tick EstimateIdealFromIterations(const Trace& trace, const PhaseCut& cut, const ThreadStates* threads) {
  std::vector<Tick> largest(cut.iterations);
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const std::vector<Interval>& iterations = cut.ranks[rank].iterations;
    for (std::size_t k = 0; k < iterations.size(); ++k) {
      const Tick useful =
          threads != nullptr ? threads->In(rank, iterations[k]).OutsideMpi() / static_cast<Tick>(threads->Threads(rank))
                             : UsefulTicks(trace.timelines[rank], iterations[k]);
      largest[k] = std::max(largest[k], useful);
    }
  }
  Tick sum = 0;
  for (const Tick ticks : largest) sum += ticks;
  return sum;
}

}  // namespace farscale
