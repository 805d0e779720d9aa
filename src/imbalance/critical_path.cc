#include "imbalance/critical_path.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "base/search.h"
#include "imbalance/wait_steps.h"

namespace farscale {

PathStep StepBack(const Activities& activities, const WaitStates& states, std::uint32_t rank, Tick end) {
  const RankActivities& own = activities.ranks[rank];
  const std::vector<WaitState>& waits = states.ranks[rank].waits;
  // The last wait that was over by then: what follows on this rank went on without help from others.
  const auto behind = std::partition_point(waits.begin(), waits.end(),
                                           [&](const WaitState& wait) { return own.leave(wait.call) <= end; });
  if (behind == waits.begin()) return {own.begin(), nullptr};
  const WaitState& wait = *std::prev(behind);
  return {own.enter(wait.call) + wait.length, &wait};
}

std::vector<PathSegment> FindCriticalPath(const Activities& activities, const WaitStates& states) {
  std::vector<PathSegment> segments;
  std::uint32_t rank = FindLastRank(activities).rank;
  if (rank == kNoCall) return segments;
  Tick end = activities.end;
  while (true) {
    const PathStep step = StepBack(activities, states, rank, end);
    segments.push_back({rank, step.begin, end});
    if (step.wait == nullptr) break;
    rank = step.wait->delayer;
    end = step.begin;
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

std::vector<RankPathTicks> ProfileOf(const Activities& activities, const std::vector<PathSegment>& segments) {
  std::map<std::pair<std::uint32_t, PathId>, Tick> profile;
  for (const PathSegment& segment : segments) {
    const RankActivities& own = activities.ranks[segment.rank];
    std::size_t a = PartitionIndex(0, own.size() + 1, [&](std::size_t i) { return own.edge(i) <= segment.begin; }) - 1;
    for (; a < own.size() && own.edge(a) < segment.end; ++a) {
      const Tick ticks = std::min(own.edge(a + 1), segment.end) - std::max(own.edge(a), segment.begin);
      if (ticks > 0) profile[{segment.rank, own.path(a)}] += ticks;
    }
  }
  std::vector<RankPathTicks> result;
  for (const auto& [key, ticks] : profile) result.push_back({key.first, key.second, static_cast<double>(ticks)});
  return result;
}

}  // namespace farscale
