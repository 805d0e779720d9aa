#include "phases/iteration_bursts.h"

#include <algorithm>
#include <unordered_map>

#include "base/search.h"

namespace farscale {

Interval BurstAt(const RankTimeline& timeline, const Interval& iteration, std::size_t index) {
  const std::uint32_t call = iteration.begin.call + static_cast<std::uint32_t>(index);
  // Region events know how many calls were entered before them.
  const auto first_event_behind = [&](std::uint32_t calls) {
    return static_cast<std::uint32_t>(
        PartitionIndex(iteration.begin.event, iteration.end.event,
                       [&](std::size_t event) { return timeline.region_event(event).call < calls; }));
  };
  Interval burst = iteration;
  if (index > 0) burst.begin = {timeline.leave(call - 1), call, first_event_behind(call)};
  if (call < iteration.end.call) burst.end = {timeline.enter(call), call, first_event_behind(call + 1)};
  return burst;
}

CallSequence CallsOf(const RankTimeline& timeline, const Interval& iteration) {
  CallSequence calls;
  for (std::uint32_t call = iteration.begin.call; call < iteration.end.call; ++call) {
    calls.push_back(timeline.region(call));
  }
  return calls;
}

CallSequence TurnsOf(const RankTimeline& timeline, const Interval& iteration) {
  CallSequence turns = CallsOf(timeline, iteration);
  turns.erase(std::unique(turns.begin(), turns.end()), turns.end());
  return turns;
}

namespace {

// The regions a rank is in, and how long it was in them during one burst.
class RegionStack {
 public:
  RegionStack(const Trace& trace, const RankTimeline& timeline) : trace_(trace), timeline_(timeline) {}

  void Apply(std::size_t event) {
    const RankTimeline::RegionEvent e = timeline_.region_event(event);
    if (!trace_.regions[e.region].IsUser()) return;
    if (!e.is_leave) {
      stack_.push_back(e.region);
    } else if (!stack_.empty()) {
      stack_.pop_back();
    }
  }
  // Adds time since the last call of Pass to every region on the stack.
  void Pass(Tick from, Tick to) {
    if (to <= from) return;
    for (std::size_t depth = 0; depth < stack_.size(); ++depth) {
      if (inside_.size() <= depth) inside_.emplace_back();
      inside_[depth][stack_[depth]] += to - from;
    }
  }
  // The deepest region with at least half of `length`; forgets the burst.
  std::uint32_t Take(Tick length) {
    std::uint32_t found = kNoRegion;
    for (auto& depth : inside_) {
      for (const auto& [region, ticks] : depth) {
        if (2 * ticks >= length && ticks > 0) found = region;
      }
      depth.clear();
    }
    return found;
  }

 private:
  const Trace& trace_;
  const RankTimeline& timeline_;
  std::vector<std::uint32_t> stack_;
  std::vector<std::unordered_map<std::uint32_t, Tick>> inside_;  // by depth
};

}  // namespace

std::vector<std::vector<std::uint32_t>> RegionsOfBursts(const Trace& trace, std::size_t rank,
                                                        const std::vector<Interval>& iterations) {
  const RankTimeline& timeline = trace.timelines[rank];
  RegionStack stack(trace, timeline);
  std::vector<std::vector<std::uint32_t>> regions;
  std::size_t event = 0;
  for (const Interval& iteration : iterations) {
    for (; event < iteration.begin.event; ++event) stack.Apply(event);
    regions.emplace_back();
    for (std::size_t index = 0; index < CountBursts(iteration); ++index) {
      const Interval burst = BurstAt(timeline, iteration, index);
      Tick reached = burst.begin.tick;
      for (; event < burst.end.event; ++event) {
        stack.Pass(reached, timeline.event_tick(event));
        reached = std::max(reached, timeline.event_tick(event));
        stack.Apply(event);
      }
      stack.Pass(reached, burst.end.tick);
      regions.back().push_back(stack.Take(burst.length()));
    }
  }
  return regions;
}

}  // namespace farscale
