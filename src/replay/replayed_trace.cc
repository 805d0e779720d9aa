#include "replay/replayed_trace.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "base/search.h"
#include "replay/computation.h"
#include "replay/replay.h"

namespace farscale {
namespace {

// A map of old times of a rank to new ones: a shift and a stretch for every burst and every call. `begin` and `end`: of
// the rank.
auto MapTimes(const RankTimeline& timeline, const NewTimes& times, Tick begin, Tick end) {
  // `call`: how many calls were entered before the time.
  return [&timeline, &enter = times.enter, &leave = times.leave, begin, end](Tick tick, std::size_t call) {
    const auto stretch = [tick](Tick old_from, Tick old_to, Tick from, Tick to) {
      if (to - from == old_to - old_from || old_to == old_from)
        return from + std::clamp<Tick>(tick - old_from, 0, to - from);
      const double share = static_cast<double>(tick - old_from) / static_cast<double>(old_to - old_from);
      return std::clamp<Tick>(from + std::llround(share * static_cast<double>(to - from)), from, to);
    };
    if (call > 0 && tick < timeline.leave(call - 1))  // inside the call
      return stretch(timeline.enter(call - 1), timeline.leave(call - 1), enter[call - 1], leave[call - 1]);
    const bool is_first = call == 0, is_last = call == timeline.calls();
    return stretch(is_first ? timeline.begin() : timeline.leave(call - 1),
                   is_last ? timeline.end() : timeline.enter(call), is_first ? begin : leave[call - 1],
                   is_last ? end : enter[call]);
  };
}

// The times of calls alone.
NewTimes TimesOfCalls(const RankTimeline& timeline) {
  NewTimes times;
  times.enter.reserve(timeline.calls());
  times.leave.reserve(timeline.calls());
  for (std::size_t call = 0; call < timeline.calls(); ++call) {
    times.enter.push_back(timeline.enter(call));
    times.leave.push_back(timeline.leave(call));
  }
  return times;
}

std::size_t CallsEntered(const RankTimeline& timeline, Tick tick) {
  return PartitionIndex(0, timeline.calls(), [&](std::size_t i) { return timeline.enter(i) <= tick; });
}

// Those of regions and interruptions, between calls whose times are there.
void AddOtherTimes(const RankTimeline& timeline, Tick begin, Tick end, NewTimes& times) {
  const auto map = MapTimes(timeline, times, begin, end);
  times.events.reserve(timeline.region_events());
  for (std::size_t event = 0; event < timeline.region_events(); ++event) {
    const RankTimeline::RegionEvent at = timeline.region_event(event);
    times.events.push_back(map(at.tick, at.call));
  }
  const auto moved = [&](Tick tick) { return map(tick, CallsEntered(timeline, tick)); };
  for (const Interruption& interruption : timeline.interruptions()) {
    times.interruptions.push_back({moved(interruption.begin), moved(interruption.end), interruption.is_flush});
  }
}

NewTimes ReplayedTimes(const RankTimeline& timeline, const std::vector<Tick>& left, Tick origin, Tick begin, Tick end,
                       const std::vector<Tick>* bursts) {
  NewTimes times = TimesOfCalls(timeline);
  Tick now = begin, old_now = timeline.begin();
  for (std::size_t call = 0; call < timeline.calls(); ++call) {
    now += bursts != nullptr ? (*bursts)[call] : std::max<Tick>(0, times.enter[call] - old_now);
    times.enter[call] = now;
    now = origin + left[call];
    old_now = std::exchange(times.leave[call], now);
  }
  AddOtherTimes(timeline, begin, end, times);
  return times;
}

// The edge of a time window may lie inside a call.
void MoveEdge(const RankTimeline& before, const auto& map, Edge& edge) {
  const bool inside = edge.call < before.calls() && edge.tick > before.enter(edge.call);
  edge.tick = map(edge.tick, edge.call + (inside ? 1 : 0));
}

void MoveEdges(const RankTimeline& before, const auto& map, RankCut& cut) {
  MoveEdge(before, map, cut.window.begin);
  MoveEdge(before, map, cut.window.end);
  for (Interval& iteration : cut.iterations) {
    MoveEdge(before, map, iteration.begin);
    MoveEdge(before, map, iteration.end);
  }
}

// Activities of threads stay inside of those of their main threads.
void MoveThreads(const auto& moved, std::size_t rank, Trace& replayed) {
  const auto move = [&](std::vector<TeamEvent>& events) {
    for (TeamEvent& event : events) event.tick = moved(event.tick);
  };
  move(replayed.team_threads.of_ranks[rank]);
  for (WorkerThread& worker : replayed.team_threads.workers) {
    if (static_cast<std::size_t>(worker.location.rank) != rank) continue;
    const RankTimeline& old = worker.timeline;
    NewTimes times = TimesOfCalls(old);
    for (std::vector<Tick>* ticks : {&times.enter, &times.leave}) {
      for (Tick& tick : *ticks) tick = moved(tick);
    }
    for (std::size_t event = 0; event < old.region_events(); ++event) {
      times.events.push_back(moved(old.event_tick(event)));
    }
    worker.timeline = Retime(old, times);
    move(worker.team_events);
  }
}

}  // namespace

PhaseCut MoveCut(const Trace& trace, const Trace& replayed, const PhaseCut& cut) {
  PhaseCut moved = cut;
  ParallelFor(trace.size(), [&](std::size_t rank) {
    RankCut& rank_cut = moved.ranks[rank];
    if (!rank_cut.present) return;
    const RankTimeline& now = replayed.timelines[rank];
    const NewTimes times = TimesOfCalls(now);
    MoveEdges(trace.timelines[rank], MapTimes(trace.timelines[rank], times, now.begin(), now.end()), rank_cut);
  });
  return moved;
}

BurstLengths SpeedUp(const Trace& trace, const BurstLengths& bursts, double speed, const std::string& region) {
  std::vector<bool> is_marked;
  for (const Region& one : trace.regions) is_marked.push_back(!one.is_mpi && one.name == region);
  BurstLengths faster = bursts;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    std::size_t next = 0;  // region event
    int depth = 0;         // in the regions marked
    for (std::size_t call = 0; call < faster[rank].size(); ++call) {
      const Tick begin = BurstBegin(timeline, call), end = BurstEnd(timeline, call);
      Tick inside = 0, from = begin;
      for (; !region.empty() && next < timeline.region_events() && timeline.event_tick(next) < end; ++next) {
        const RankTimeline::RegionEvent event = timeline.region_event(next);
        const Tick at = std::max(event.tick, from);
        if (depth > 0) inside += at - from;
        from = at;
        if (is_marked[event.region]) depth += event.is_leave ? -1 : 1;
      }
      if (depth > 0) inside += end - from;
      double share = 1;
      if (!region.empty()) share = end > begin ? static_cast<double>(inside) / static_cast<double>(end - begin) : 0;
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
    const RankTimeline& timeline = trace.timelines[rank];
    replayed.timelines[rank] =
        Retime(timeline, ReplayedTimes(timeline, result.leave[rank], origin, origin + result.begin[rank],
                                       origin + result.end[rank], bursts != nullptr ? &(*bursts)[rank] : nullptr));
    if (trace.team_threads.empty()) return;
    const RankTimeline& now = replayed.timelines[rank];
    const NewTimes times = TimesOfCalls(now);
    const auto map = MapTimes(timeline, times, now.begin(), now.end());
    MoveThreads([&](Tick tick) { return map(tick, CallsEntered(timeline, tick)); }, rank, replayed);
  });
  return replayed;
}

void MoveRank(std::size_t rank, NewTimes times, Tick begin, Tick end, Trace& trace) {
  const RankTimeline before = std::move(trace.timelines[rank]);
  AddOtherTimes(before, begin, end, times);
  trace.timelines[rank] = Retime(before, times);
  const auto map = MapTimes(before, times, begin, end);
  const auto moved = [&](Tick tick) { return map(tick, CallsEntered(before, tick)); };
  if (!trace.team_threads.empty()) MoveThreads(moved, rank, trace);
  for (Device& device : trace.devices) {
    for (DeviceWork& work : device.of_ranks) {
      if (static_cast<std::size_t>(work.rank) != rank) continue;
      for (std::vector<DeviceSpan>* spans : {&work.kernels, &work.active}) {
        for (DeviceSpan& span : *spans) span = {moved(span.begin), moved(span.end)};
      }
    }
  }
}

std::pair<NewTimes, RankCut> ReplayedPart(const Trace& trace, const PhaseCut& cut, Tick origin,
                                          const ReplayResult& result, std::size_t rank) {
  const RankTimeline& timeline = trace.timelines[rank];
  RankCut moved = cut.ranks[rank];
  Interval& window = moved.window;
  const Tick end = origin + result.end[rank], shift = end - window.end.tick;
  std::vector<Tick> leave = TimesOfCalls(timeline).leave;
  const std::vector<Tick>& of_window = result.leave[rank];
  const std::size_t first = window.begin.call, behind = first + of_window.size();
  for (std::size_t i = 0; i < of_window.size(); ++i) leave[first + i] = origin + of_window[i];
  for (std::size_t call = behind; call < leave.size(); ++call) leave[call] += shift;
  NewTimes times = ReplayedTimes(timeline, leave, 0, timeline.begin(), timeline.end() + shift, nullptr);
  if (!moved.iterations.empty()) {
    // The span of calls and region events; 0 where there are none.
    const bool is_empty = times.enter.empty() && times.events.empty();
    Tick begin = is_empty ? 0 : std::numeric_limits<Tick>::max(),
         until = is_empty ? 0 : std::numeric_limits<Tick>::min();
    for (const std::vector<Tick>* ticks : {&times.enter, &times.leave, &times.events}) {
      for (const Tick tick : *ticks) {
        begin = std::min(begin, tick);
        until = std::max(until, tick);
      }
    }
    MoveEdges(timeline, MapTimes(timeline, times, begin, until), moved);
  }
  // A window may begin or end within a call, of which the replay knows how much is in it.
  window.begin.tick = cut.ranks[rank].window.begin.tick;
  window.end.tick = end;
  return {std::move(times), std::move(moved)};
}

}  // namespace farscale
