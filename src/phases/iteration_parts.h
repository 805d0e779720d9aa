// The parts of an iteration on every rank: where the long computations are that its shape says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "phases/iteration_shape.h"
#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

// Occurrences of every part of the shape, one an iteration, by rank. Parts tile the loop; a part that begins in one
// iteration may end in the next, then it has no last occurrence, and what lies before the first part of all belongs to
// none. No ranks: this run does not have the part, or it cannot be distinguished from another one here.
std::vector<std::vector<RankCut>> CutParts(const Trace& trace, const std::vector<RankCut>& loop,
                                           const IterationShape& shape);

// Calls of an iteration, and the bursts of computation between them: burst i comes before its call i, the last
// one follows its last call. The first and the last end at the iteration's edges.

inline std::size_t CountBursts(const Interval& iteration) { return iteration.end.call - iteration.begin.call + 1; }

// The functions that a rank calls in an iteration, as regions of the trace; and the same with calls of one function in
// a row counted once, since a neighbour more or less makes no difference to that.
using CallSequence = std::vector<std::uint32_t>;
CallSequence CallsOf(const RankTimeline& timeline, const Interval& iteration);
CallSequence TurnsOf(const RankTimeline& timeline, const Interval& iteration);

Interval BurstAt(const RankTimeline& timeline, const Interval& iteration, std::size_t index);

inline constexpr std::uint32_t kNoRegion = ~std::uint32_t{0};

// The innermost user region that at least half of each burst lies in, by its index; kNoRegion outside all. One entry a
// burst for every iteration of the rank; these are in the order of time.
std::vector<std::vector<std::uint32_t>> RegionsOfBursts(const Trace& trace, std::size_t rank,
                                                        const std::vector<Interval>& iterations);

}  // namespace farscale
