#include "replay/typical_iteration.h"

#include <algorithm>
#include <map>

#include "phases/burst_places.h"
#include "replay/bursts.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// The part of a burst that lies inside an iteration.
Tick LengthInside(const RankTimeline& timeline, const Interval& iteration, std::size_t call) {
  const Tick begin = std::max(BurstBegin(timeline, call), iteration.begin.tick);
  const Tick end = std::min(BurstEnd(timeline, call), iteration.end.tick);
  return std::max<Tick>(0, end - begin);
}

}  // namespace

TypicalIterations ReplaceByMedian(const RankTimeline& timeline, const RankCut& cut) {
  TypicalIterations result{MeasuredLengths(timeline), cut.iterations.size(), 0};
  std::map<CallSequence, std::vector<const Interval*>> groups;
  for (const Interval& iteration : cut.iterations) groups[CallsOf(timeline, iteration)].push_back(&iteration);
  for (const auto& [calls, iterations] : groups) {
    if (iterations.size() < kFewestLikeIterations) {
      result.as_measured += iterations.size();
      continue;
    }
    std::vector<Tick> inside(iterations.size());
    for (std::size_t place = 0; place <= calls.size(); ++place) {
      for (std::size_t i = 0; i < iterations.size(); ++i) {
        inside[i] = LengthInside(timeline, *iterations[i], iterations[i]->begin.call + place);
      }
      std::vector<Tick> sorted = inside;
      const Tick typical = Median(sorted);
      for (std::size_t i = 0; i < iterations.size(); ++i) {
        result.lengths[iterations[i]->begin.call + place] += typical - inside[i];
      }
    }
  }
  return result;
}

}  // namespace farscale
