#include "replay/bursts.h"

#include <algorithm>
#include <cmath>

#include "base/search.h"

namespace farscale {
namespace {

// Which bursts an interruption of the recording touches.
std::vector<bool> Interrupted(const RankTimeline& timeline) {
  std::vector<bool> interrupted(timeline.calls() + 1);
  for (const Interruption& interruption : timeline.interruptions()) {
    const std::size_t first = PartitionIndex(
        0, timeline.calls(), [&](std::size_t call) { return BurstEnd(timeline, call) <= interruption.begin; });
    for (std::size_t call = first; call <= timeline.calls() && BurstBegin(timeline, call) < interruption.end; ++call) {
      if (BurstEnd(timeline, call) > interruption.begin) interrupted[call] = true;
    }
  }
  return interrupted;
}

}  // namespace

std::vector<Tick> MeasuredLengths(const RankTimeline& timeline) {
  std::vector<Tick> lengths(timeline.calls() + 1);
  for (std::size_t call = 0; call < lengths.size(); ++call) {
    lengths[call] = std::max<Tick>(0, BurstEnd(timeline, call) - BurstBegin(timeline, call));
  }
  return lengths;
}

CountedRank CountBursts(const RankTimeline& timeline, std::size_t counter) {
  CountedRank rank{MeasuredLengths(timeline), {}, Interrupted(timeline)};
  rank.counts.resize(rank.measured.size());
  if (timeline.empty()) return rank;
  for (std::size_t call = 0; call < rank.counts.size(); ++call) {
    if (rank.interrupted[call]) continue;
    const double counts = timeline.counter_before_call(counter, call);
    if (counts > 0 && std::isfinite(counts)) rank.counts[call] = counts;
  }
  return rank;
}

}  // namespace farscale
