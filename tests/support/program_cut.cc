#include <algorithm>

#include "support/program.h"

namespace farscale::test {

PhaseCut CutOf(const TextProgram& program) {
  PhaseCut cut = CutPhase(program.trace, PhaseSpec::WholeRun());
  for (std::size_t rank = 0; rank < program.cuts.size(); ++rank) {
    const RankTimeline& timeline = program.trace.timelines[rank];
    RankCut& rank_cut = cut.ranks[rank];
    rank_cut.iterations.clear();
    Edge begin = rank_cut.window.begin;
    for (const Tick tick : program.cuts[rank]) {
      Edge end{tick, 0, 0};
      while (end.call < timeline.calls() && timeline.leave(end.call) <= tick) ++end.call;
      while (end.event < timeline.region_events() && timeline.event_tick(end.event) < tick) ++end.event;
      rank_cut.iterations.push_back({begin, end});
      begin = end;
    }
    cut.iterations = std::max(cut.iterations, rank_cut.iterations.size());
  }
  return cut;
}

}  // namespace farscale::test
