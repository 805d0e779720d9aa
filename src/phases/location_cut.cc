#include "phases/location_cut.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/search.h"

namespace farscale {
namespace {

// Edges of thread 0: forks and barriers are calls now, so that places differ, but not times.
class MainEdges {
 public:
  MainEdges(const RankTimeline& rank, const RankTimeline& location) : rank_(rank), location_(location) {}

  Interval operator()(const Interval& interval) const {
    return {Move(interval.begin, true), Move(interval.end, false)};
  }

 private:
  Edge Move(const Edge& edge, bool is_begin) const {
    if (is_begin && edge.call == 0 && edge.event == 0) return edge;
    if (!is_begin && edge.call == rank_.calls() && edge.event == rank_.region_events()) {
      return {edge.tick, static_cast<std::uint32_t>(location_.calls()),
              static_cast<std::uint32_t>(location_.region_events())};
    }
    return EdgeAtTick(location_, edge.tick, is_begin);
  }

  const RankTimeline& rank_;
  const RankTimeline& location_;
};

// Edges of another thread at the times of thread 0.
class WorkerEdges {
 public:
  WorkerEdges(const Trace& locations, const RankTimeline& timeline) : locations_(locations), timeline_(timeline) {}

  Interval operator()(const Interval& interval) const {
    const Edge begin = EdgeAtTick(timeline_, interval.begin.tick, true);
    const Edge end = End(interval.end.tick);
    if (end.tick < begin.tick || end.call < begin.call) return {begin, begin};  // idle all the time
    return {begin, end};
  }

 private:
  Edge End(Tick tick) const {
    if (tick >= timeline_.end()) {
      return {timeline_.end(), static_cast<std::uint32_t>(timeline_.calls()),
              static_cast<std::uint32_t>(timeline_.region_events())};
    }
    const Edge end = EdgeAtTick(timeline_, tick, false);
    const std::uint32_t last = end.call - 1;
    if (end.call == 0 || timeline_.leave(last) <= tick || !IsFork(last)) return end;
    Edge idle = EdgeAtTick(timeline_, timeline_.enter(last), false);
    idle.call = last;
    return idle;
  }

  bool IsFork(std::uint32_t call) const { return locations_.regions[timeline_.region(call)].is_fork; }

  const Trace& locations_;
  const RankTimeline& timeline_;
};

template <typename Edges>
RankCut Moved(const RankCut& cut, const Edges& edges) {
  RankCut moved{cut.present, edges(cut.window), {}};
  for (const Interval& iteration : cut.iterations) moved.iterations.push_back(edges(iteration));
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
    moved.ranks[i] = location.thread == 0 ? Moved(cut.ranks[rank], MainEdges(trace.timelines[rank], timeline))
                                          : Moved(cut.ranks[rank], WorkerEdges(locations, timeline));
  });
  return moved;
}

std::vector<RankGroup> GroupsOfLocations(const std::vector<RankGroup>& groups, const Trace& locations) {
  std::vector<RankGroup> moved = groups;
  for (RankGroup& group : moved) group.ranks = LocationsOf(group.ranks, locations);
  return moved;
}

}  // namespace farscale
