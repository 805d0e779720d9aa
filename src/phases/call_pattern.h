// The MPI calls of one rank as a sequence of symbols, and the loop they show: which call comes back once an iteration,
// and where the iterations begin and end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "phases/iteration_shape.h"

namespace farscale {

class RankTimeline;
struct Trace;

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

}  // namespace farscale
