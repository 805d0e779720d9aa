// The MPI calls of one rank as a sequence of symbols, the loop they show (which call comes back once an iteration, and
// where the iterations begin and end), and the loop of a run with its iterations on every rank.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

// Calls with the same symbol do the same, as far as the rank knows: the same function, for sends and blocking
// receives with the same peer, tag and communicator, for collectives with the same kind, communicator and root.
std::vector<std::uint64_t> CallSymbols(const Trace& trace, std::size_t rank);

// Those of calls [first, end).
CallCounts CountCalls(const Trace& trace, const RankTimeline& timeline, std::uint32_t first, std::uint32_t end);

// Share that two iterations have in common of their calls: 0 to 1.
double Likeness(const CallCounts& a, const CallCounts& b);
// The same of the functions they call, however often.
double FunctionsInCommon(const CallCounts& a, const CallCounts& b);

// Iteration k of a rank is its calls [borders[k], borders[k + 1]).
struct CallLoop {
  std::vector<std::uint32_t> borders;
  bool follows = false;   // iterations have a common core, and some of them nothing else
  bool is_exact = false;  // the calls allow no other borders of as many iterations with a common core
  double similarity = 0;  // between iterations and a typical one, 0 to 1
  double coverage = 0;    // share of the rank's time
  double score = 0;       // ranks the loops of a run
  CallCounts calls;       // in a typical iteration

  std::size_t iterations() const { return borders.empty() ? 0 : borders.size() - 1; }
};

// The outermost loop with at least three iterations that the calls show; nothing when they show none.
//
// Some call, or some long burst of computation, comes back once an iteration. Each that may is tried: what lies between
// its occurrences must be alike, in the pairs of calls that follow each other, and about as long; then the iterations
// begin and end where what is around the first and the last occurrence stops being what is around the others.
//
// `like`: of an iteration of the same program in another run. Then, of all loops that the calls show, it is the one
// whose iterations are most like that.
std::optional<CallLoop> FindLoop(const Trace& trace, std::size_t rank, const std::vector<std::uint64_t>& symbols,
                                 const CallCounts* like = nullptr);

struct FoundLoop {
  std::vector<std::vector<std::uint32_t>>
      borders;            // as CallLoop has them, one entry a rank; equally many on every rank
  double similarity = 0;  // on the rank whose calls show the loop best
  CallCounts calls;       // in a typical iteration there
  double coverage = 0;    // share of the run's time, over all ranks

  std::size_t iterations() const { return borders.front().size() - 1; }
};

// Nothing when the calls show no loop, or not on every rank. `like`: calls of an iteration in another run of the
// program, to find the same loop [FindLoop].
std::optional<FoundLoop> FindLoopOfRun(const Trace& trace, const CallCounts* like = nullptr);

// The windows and iterations of the loop. The computation between the last call of an iteration and the first of the
// next ends the one or begins the other, by whether the ranks compute so behind the loop or before it; there, no more
// than usual counts. It is divided where they do both, and both parts are the same on all ranks.
std::vector<RankCut> CutLoop(const Trace& trace, const FoundLoop& loop);

// The same with the computation between two iterations left whole: it begins the later one where there is more of it
// before the loop than behind, else it ends the earlier one.
std::vector<RankCut> CutLoopBetweenBursts(const Trace& trace, const FoundLoop& loop);

}  // namespace farscale
