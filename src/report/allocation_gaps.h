// What an application for computing time should say and the results do not know.
#pragma once

#include <string>
#include <vector>

#include "report/allocation.h"
#include "report/allocation_terms.h"

namespace farscale {

// In sentences; `pack` is complete but for them.
std::vector<std::string> FindGaps(const AllocationTerms& terms, const AllocationPack& pack);

}  // namespace farscale
