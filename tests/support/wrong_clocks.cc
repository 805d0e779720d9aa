#include "support/wrong_clocks.h"

#include <random>
#include <utility>

#include "replay/replayed_trace.h"

namespace farscale::test {

Trace ByClocks(const Trace& trace, const std::vector<ClockCorrection>& clocks) {
  Trace wrong = trace;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    if (timeline.empty()) continue;
    NewTimes times;
    for (std::size_t call = 0; call < timeline.calls(); ++call) {
      times.enter.push_back(clocks[rank].Corrected(timeline.enter(call)));
      times.leave.push_back(clocks[rank].Corrected(timeline.leave(call)));
    }
    MoveRank(rank, std::move(times), clocks[rank].Corrected(timeline.begin()), clocks[rank].Corrected(timeline.end()),
             wrong);
  }
  return wrong;
}

std::vector<ClockCorrection> DrawClocks(const Trace& trace, const ClockErrors& errors, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> share(-1, 1);
  std::vector<ClockCorrection> drawn;
  const std::size_t clocks = errors.of_nodes ? trace.nodes.size() : trace.size();
  for (std::size_t i = 0; i < clocks; ++i) {
    const double offset = errors.offset * share(random);
    drawn.push_back({offset * trace.ticks_per_second, errors.drift * share(random), trace.begin()});
  }
  std::vector<ClockCorrection> of_ranks;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    of_ranks.push_back(drawn[errors.of_nodes ? static_cast<std::size_t>(trace.ranks[rank].node) : rank]);
  }
  return of_ranks;
}

}  // namespace farscale::test
