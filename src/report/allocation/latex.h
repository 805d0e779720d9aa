// The allocation pack for LaTeX: the table, and the text around it, both for \\input and without any package; and a
// page of both with the figure.
#pragma once

#include <string>

#include "pages/render.h"
#include "planning/allocation.h"
#include "report/allocation/text.h"

namespace farscale {

// Tabulars of the problem, of scaling and of costs, where known, one below the other: each fits into the column of an
// article [templates/allocation.tex.mustache].
std::string WriteAllocationTable(const Results& results, const AllocationPack& pack, const Partials& templates);
// [templates/allocation_text.tex.mustache]
std::string WriteAllocationText(const AllocationText& text, const Partials& templates);
// A document of one page that inputs both [templates/allocation_page.tex.mustache].
std::string WriteAllocationPage(const Results& results, const AllocationPack& pack, const Partials& templates);

}  // namespace farscale
