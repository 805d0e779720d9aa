// Whether what the results say of a phase can be true together [docs/formulas.md, allocation].
#pragma once

#include <vector>

#include "planning/allocation.h"
#include "planning/allocation_terms.h"

namespace farscale {

// Runs whose efficiency by times is not that by factors, beyond noise, and problem sizes that do not go with the
// scaling. `rows` are those of the pack. Throws a usage error where times and factors agree with the other kind of
// scaling and not with the one stated, and where the runs of the phase exclude it.
Contradictions FindContradictions(const AllocationTerms& terms, const std::vector<AllocationRow>& rows);

}  // namespace farscale
