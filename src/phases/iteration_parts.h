// The parts of an iteration on every rank: where the long computations are that its shape says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "phases/iteration_shape.h"
#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

struct IterationParts {
  // By part of the shape and rank: its occurrences, one an iteration. Parts tile the loop; a part that begins in one
  // iteration may end in the next, then it has no last occurrence, and what lies before the first part of all belongs
  // to none. Empty: this run does not have the part, or it cannot be distinguished from another one here.
  std::vector<std::vector<RankCut>> ranks;

  bool Has(std::size_t part) const { return !ranks[part].empty(); }
};

// Nothing when the shape has no parts.
std::optional<IterationParts> CutParts(const Trace& trace, const std::vector<RankCut>& loop,
                                       const IterationShape& shape);

}  // namespace farscale
