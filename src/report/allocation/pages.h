// The allocation pack as files: allocation.md with figures/allocation.svg, allocation.html, allocation.csv, and for
// LaTeX allocation.tex (the table), allocation-text.tex (the text around it), allocation-figure.tex and
// allocation-page.tex (all of it).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "planning/allocation.h"
#include "report/allocation/text.h"
#include "report/report.h"

namespace farscale {

// A table of texts. A cell has its 80 % interval beside it; where there is no number, the interval is the text.
struct AllocationCell {
  std::string text;
  std::string interval;  // may be empty
};

struct AllocationLine {
  std::string source;  // "measured", "predicted", "uncertain", "unknown"
  bool is_measured = true;
  Reliability reliability = Reliability::kReliable;
  bool is_baseline = false;
  std::vector<AllocationCell> cells;
};

struct AllocationTable {
  std::vector<std::string> header;  // of the cells
  std::vector<AllocationLine> lines;
};

// All columns, or some for paper: how large the problem is, how it scales, what it takes and costs. Where sizes are not
// known, the nodes are among those of scaling.
enum class AllocationColumns { kAll, kProblem, kScaling, kCosts };
AllocationTable TabulateAllocation(const AllocationPack& pack, const ProblemCase& problem,
                                   AllocationColumns part = AllocationColumns::kAll);

// The tags of templates/allocation.*.mustache [docs/templates.md], but for `style`.
ReportModel BuildAllocationModel(const Results& results, const AllocationPack& pack, const Partials& templates);

// Tabulars of the problem, of scaling and of costs, where known, one below the other: each fits into the column of an
// article [templates/allocation.tex.mustache].
std::string WriteAllocationTable(const Results& results, const AllocationPack& pack, const Partials& templates);
// [templates/allocation_text.tex.mustache]
std::string WriteAllocationText(const AllocationText& text, const Partials& templates);
// A document of one page that inputs both [templates/allocation_page.tex.mustache].
std::string WriteAllocationPage(const Results& results, const AllocationPack& pack, const Partials& templates);

std::string WriteAllocationCsv(const Results& results, const AllocationPack& pack, const AllocationText& text);

// Writes all or nothing of each file; everything is rendered before the first is written. Returns the paths.
std::vector<std::filesystem::path> WriteAllocation(const Results& results, const AllocationPack& pack,
                                                   const ReportTemplates& templates,
                                                   const std::filesystem::path& folder);

}  // namespace farscale
