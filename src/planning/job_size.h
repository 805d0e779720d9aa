// The job size that an allocation pack recommends [docs/formulas.md, allocation].
#pragma once

#include "planning/allocation.h"
#include "planning/allocation_terms.h"

namespace farscale {

// `rows` are those of the pack.
Recommendation RecommendJobSize(const AllocationTerms& terms, const WorkPlan& plan,
                                const std::vector<AllocationRow>& rows);

}  // namespace farscale
