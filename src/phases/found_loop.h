// The loop of a run, found in its MPI calls alone, with its iterations on every rank.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "phases/call_pattern.h"
#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

struct FoundLoop {
  std::vector<std::vector<std::uint32_t>>
      borders;            // as CallLoop has them, one entry a rank; equally many on every rank
  double similarity = 0;  // on the rank whose calls show the loop best
  CallCounts calls;       // in a typical iteration there
  double coverage = 0;    // share of the run's time, over all ranks

  std::size_t iterations() const { return borders.front().size() - 1; }
};

// Nothing when the calls show no loop, or not on every rank. `like`: calls of an iteration in another run of the
// program, to find the same loop [phases/call_pattern.h].
std::optional<FoundLoop> FindLoopOfRun(const Trace& trace, const CallCounts* like = nullptr);

// The windows and iterations of the loop. The computation between the last call of an iteration and the first of the
// next ends the one or begins the other, by whether the ranks compute so behind the loop or before it; there, no more
// than usual counts. It is divided where they do both, and both parts are the same on all ranks.
std::vector<RankCut> CutLoop(const Trace& trace, const FoundLoop& loop);

// The same with the computation between two iterations left whole: it begins the later one where there is more of it
// before the loop than behind, else it ends the earlier one.
std::vector<RankCut> CutLoopBetweenBursts(const Trace& trace, const FoundLoop& loop);

}  // namespace farscale
