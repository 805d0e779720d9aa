// What an iteration calls, and the bursts of computation between its calls: burst i comes before its call i, the last
// one follows its last call. The first and the last end at the iteration's edges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

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
