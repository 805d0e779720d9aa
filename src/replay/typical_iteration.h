// Iterations of a phase compared with each other: computation at the same place of iterations with the same calls
// differs by noise alone, if the iterations do the same work.
#pragma once

#include <cstdint>
#include <vector>

#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

// A median of fewer says nothing against one disturbed iteration.
inline constexpr std::size_t kFewestLikeIterations = 3;

struct TypicalIterations {
  std::vector<Tick> lengths;      // of every burst of the rank, as Computation::lengths
  std::uint64_t iterations = 0;   // of the cut on this rank
  std::uint64_t as_measured = 0;  // of them, for want of others with the same calls
};

// Replaces the computation at every place of an iteration by its median over all iterations of the rank that make the
// same calls in the same order. Iterations without two others like them stay as measured, and so does what lies outside
// the iterations; a burst across an iteration's edge is replaced inside and kept outside.
TypicalIterations ReplaceByMedian(const RankTimeline& timeline, const RankCut& cut);

}  // namespace farscale
