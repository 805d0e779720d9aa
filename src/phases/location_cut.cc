#include "phases/phase_cut.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/parallel.h"
#include "phases/rank_groups.h"

namespace farscale {
namespace {

// An edge of thread 0: forks and barriers are calls now, so that positions differ, but not times.
Edge MainEdge(const RankTimeline& rank, const RankTimeline& location, const Edge& edge, bool is_begin) {
  if (is_begin && edge.call == 0 && edge.event == 0) return edge;
  const bool is_end = edge.call == rank.calls() && edge.event == rank.region_events();
  if (is_begin || !is_end) return EdgeAtTick(location, edge.tick, is_begin);
  Edge end = EndOf(location);
  end.tick = edge.tick;
  return end;
}

// The end of another thread's part at a time of thread 0.
Edge WorkerEnd(const Trace& locations, const RankTimeline& timeline, Tick tick) {
  if (tick >= timeline.end()) return EndOf(timeline);
  const Edge end = EdgeAtTick(timeline, tick, false);
  const std::uint32_t last = end.call - 1;
  const bool is_idle = end.call > 0 && timeline.leave(last) > tick && locations.regions[timeline.region(last)].is_fork;
  if (!is_idle) return end;
  Edge idle = EdgeAtTick(timeline, timeline.enter(last), false);
  idle.call = last;
  return idle;
}

template <typename Move>
RankCut Moved(const RankCut& cut, const Move& move) {
  RankCut moved{cut.present, move(cut.window), {}};
  for (const Interval& iteration : cut.iterations) moved.iterations.push_back(move(iteration));
  return moved;
}

std::vector<std::size_t> LocationsOf(const std::vector<std::size_t>& ranks, const Trace& locations) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < locations.size(); ++i) {
    const auto rank = static_cast<std::size_t>(locations.locations[i].rank);
    if (std::binary_search(ranks.begin(), ranks.end(), rank)) all.push_back(i);
  }
  return all;
}

struct CounterSample {
  Tick tick = 0;
  bool is_event = false;
  bool is_leave = false;  // a call's
  std::size_t index = 0;  // index of the event or call
};

// The samples next to an edge, before it and behind; the same one twice when it lies on the edge. Compares in the order
// of the trace, which decides between samples of one tick.
std::pair<std::optional<CounterSample>, std::optional<CounterSample>> SamplesAround(const RankTimeline& timeline,
                                                                                    const Edge& edge) {
  std::optional<CounterSample> before, after;
  const auto compare = [&](const CounterSample& sample) {
    if (sample.tick <= edge.tick && (!before || sample.tick >= before->tick)) before = sample;
    if (sample.tick >= edge.tick && (!after || sample.tick < after->tick)) after = sample;
  };
  const auto event = [&](std::size_t i) { compare({timeline.event_tick(i), true, false, i}); };
  const bool event_follows = edge.event < timeline.region_events();
  if (event_follows && timeline.event_tick(edge.event) == edge.tick) {
    event(edge.event);
    return {before, after};
  }
  const bool has_event = edge.event > 0;
  const bool event_is_last = has_event && timeline.region_event(edge.event - 1).call >= edge.call;
  if (has_event && !event_is_last) event(edge.event - 1);
  if (edge.call > 0) compare({timeline.leave(edge.call - 1), false, true, edge.call - 1});
  if (event_is_last) event(edge.event - 1);
  const bool event_is_first = event_follows && timeline.region_event(edge.event).call <= edge.call;
  if (event_is_first) event(edge.event);
  if (edge.call < timeline.calls()) compare({timeline.enter(edge.call), false, false, edge.call});
  if (event_follows && !event_is_first) event(edge.event);
  return {before, after};
}

// Scaled as a double, or as recorded.
template <typename Value>
Value ValueOf(const RankTimeline& timeline, std::size_t counter, const CounterSample& sample) {
  if constexpr (std::is_same_v<Value, double>) {
    return sample.is_event   ? timeline.counter_at_event(counter, sample.index)
           : sample.is_leave ? timeline.counter_at_leave(counter, sample.index)
                             : timeline.counter_at_enter(counter, sample.index);
  } else {
    return sample.is_event   ? timeline.raw_counter_at_event(counter, sample.index)
           : sample.is_leave ? timeline.raw_counter_at_leave(counter, sample.index)
                             : timeline.raw_counter_at_enter(counter, sample.index);
  }
}

// Calls between(before, growth from one sample to the next, share of the way) for an edge between two samples.
template <typename Value, typename Between>
Value ValueAt(const RankTimeline& timeline, std::size_t counter, const Edge& edge, Between between) {
  const auto [first, second] = SamplesAround(timeline, edge);
  if (!first) return second ? ValueOf<Value>(timeline, counter, *second) : 0;
  const Value before = ValueOf<Value>(timeline, counter, *first);
  if (!second || second->tick == first->tick) return before;
  const double share = static_cast<double>(edge.tick - first->tick) / static_cast<double>(second->tick - first->tick);
  return between(before, ValueOf<Value>(timeline, counter, *second) - before, share);
}

}  // namespace

PhaseCut CutOfLocations(const Trace& trace, const PhaseCut& cut, const Trace& locations) {
  PhaseCut moved = cut;
  moved.ranks.assign(locations.size(), {});
  moved.group = LocationsOf(cut.group, locations);
  ParallelFor(locations.size(), [&](std::size_t i) {
    const Location& location = locations.locations[i];
    const auto rank = static_cast<std::size_t>(location.rank);
    if (!cut.ranks[rank].present) return;
    const RankTimeline& timeline = locations.timelines[i];
    moved.ranks[i] = Moved(cut.ranks[rank], [&](const Interval& interval) -> Interval {
      const RankTimeline& main = trace.timelines[rank];
      if (location.thread == 0) {
        return {MainEdge(main, timeline, interval.begin, true), MainEdge(main, timeline, interval.end, false)};
      }
      const Edge begin = EdgeAtTick(timeline, interval.begin.tick, true);
      const Edge end = WorkerEnd(locations, timeline, interval.end.tick);
      const bool is_idle = end.tick < begin.tick || end.call < begin.call;  // all the time
      return {begin, is_idle ? begin : end};
    });
  });
  return moved;
}

std::vector<RankGroup> GroupsOfLocations(const std::vector<RankGroup>& groups, const Trace& locations) {
  std::vector<RankGroup> moved = groups;
  for (RankGroup& group : moved) group.ranks = LocationsOf(group.ranks, locations);
  return moved;
}

double CounterAt(const RankTimeline& timeline, std::size_t counter, const Edge& edge) {
  return ValueAt<double>(timeline, counter, edge,
                         [](double before, double growth, double share) { return before + share * growth; });
}

std::int64_t RawCounterAt(const RankTimeline& timeline, std::size_t counter, bool is_double, const Edge& edge) {
  return ValueAt<std::int64_t>(timeline, counter, edge, [&](std::int64_t before, std::int64_t growth, double share) {
    if (is_double) return std::bit_cast<std::int64_t>(CounterAt(timeline, counter, edge));
    return before + std::int64_t{std::llround(share * static_cast<double>(growth))};
  });
}

}  // namespace farscale
