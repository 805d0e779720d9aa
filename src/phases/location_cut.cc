#include "phases/location_cut.h"

#include <algorithm>

#include "base/parallel.h"

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

}  // namespace farscale
