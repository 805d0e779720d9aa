// The allocation pack for LaTeX: the table, and the text around it; both for \\input and without any package.
#pragma once

#include <string>

#include "planning/allocation.h"

namespace farscale {

// Tabulars of the problem, of scaling and of costs, where known, one below the other: each fits into the column of an
// article.
std::string WriteAllocationTable(const Results& results, const AllocationPack& pack);
std::string WriteAllocationText(const Results& results, const AllocationPack& pack);

// Without what would end a comment.
std::string OneLine(std::string text);

}  // namespace farscale
