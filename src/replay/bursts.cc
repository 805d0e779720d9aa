#include "replay/bursts.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/search.h"
#include "phases/heavy_iterations.h"
#include "phases/iteration_bursts.h"
#include "stats/sample_quantiles.h"

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

// The part of a burst that lies inside an iteration.
Tick LengthInside(const RankTimeline& timeline, const Interval& iteration, std::size_t call) {
  const Tick begin = std::max(BurstBegin(timeline, call), iteration.begin.tick);
  const Tick end = std::min(BurstEnd(timeline, call), iteration.end.tick);
  return std::max<Tick>(0, end - begin);
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

std::vector<double> ComputationOfIterations(const RankTimeline& timeline, const RankCut& cut) {
  std::vector<double> sums;
  for (const Interval& iteration : cut.iterations) {
    Tick sum = 0;
    for (std::size_t call = iteration.begin.call; call <= iteration.end.call; ++call)
      sum += LengthInside(timeline, iteration, call);
    sums.push_back(static_cast<double>(sum));
  }
  return sums;
}

TypicalIterations ReplaceByMedian(const RankTimeline& timeline, const RankCut& cut, const HeavyIterations& heavy) {
  TypicalIterations result{MeasuredLengths(timeline), cut.iterations.size(), 0};
  std::map<std::pair<CallSequence, bool>, std::vector<const Interval*>> groups;
  for (std::size_t k = 0; k < cut.iterations.size(); ++k) {
    const Interval& iteration = cut.iterations[k];
    groups[{CallsOf(timeline, iteration), heavy.Has(k)}].push_back(&iteration);
  }
  for (const auto& [kind, iterations] : groups) {
    if (iterations.size() < kFewestLikeIterations) {
      result.as_measured += iterations.size();
      continue;
    }
    std::vector<Tick> inside(iterations.size());
    for (std::size_t index = 0; index <= kind.first.size(); ++index) {
      for (std::size_t i = 0; i < iterations.size(); ++i) {
        inside[i] = LengthInside(timeline, *iterations[i], iterations[i]->begin.call + index);
      }
      std::vector<Tick> sorted = inside;
      const Tick typical = Median(sorted);
      for (std::size_t i = 0; i < iterations.size(); ++i) {
        result.lengths[iterations[i]->begin.call + index] += typical - inside[i];
      }
    }
  }
  return result;
}

}  // namespace farscale
