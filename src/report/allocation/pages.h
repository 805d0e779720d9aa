// An allocation pack: its sentences, worded by templates/allocation_*.txt.mustache, its chart and its files.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "pages/render.h"
#include "planning/allocation.h"
#include "plot/chart.h"
#include "report/report.h"

namespace farscale {

// Its tags: lists of sentences `recommendation`, `contradictions` and `missing` with `has…` of the last two; `facts`:
// code and case, phase, scaling, baseline, planned work; and paragraphs: `measurement`, `prediction`, and `tableNote`
// on numbers and intervals of the table.
ReportData DescribeAllocation(const Results& results, const AllocationPack& pack, const Partials& templates);

bool Any(const AllocationPack& pack, const std::function<bool(const AllocationRow&)>& has);
bool HasTimes(const AllocationPack& pack);
bool HasSizes(const AllocationPack& pack);

// All digits where it is a whole number.
std::string FormatIdealSpeedup(double ideal);

std::string FormatProblemSize(double size);

// "the group "pp" of ranks in the phase "step"".
std::string PhaseInWords(const PhaseId& phase);

// Without line breaks.
std::string OneLine(std::string text);

// All columns, or some for paper: how large the problem is, how it scales, what it takes and costs. Where sizes are not
// known, the nodes are among those of scaling.
enum class AllocationColumns { kAll, kProblem, kScaling, kCosts };
// The tags `table` of a page. A cell has its 80 % interval beside it; where there is no number, the interval is the
// text.
ReportData TabulateAllocation(const AllocationPack& pack, const ProblemCase& problem,
                              AllocationColumns part = AllocationColumns::kAll);

// The tags of templates/allocation.*.mustache [docs/templates.md], but for `style`.
ReportModel BuildAllocationModel(const Results& results, const AllocationPack& pack, const Partials& templates);

// Tabulars of the problem, of scaling and of costs, where known, one below the other: each fits into the column of an
// article [templates/allocation.tex.mustache].
std::string WriteAllocationTable(const Results& results, const AllocationPack& pack, const Partials& templates);
// [templates/allocation_text.tex.mustache]
std::string WriteAllocationText(const ReportData& text, const Partials& templates);

std::string WriteAllocationCsv(const Results& results, const AllocationPack& pack, const ReportData& text);

// Writes all or nothing of each file; everything is rendered before the first is written. Returns the paths.
std::vector<std::filesystem::path> WriteAllocation(const Results& results, const AllocationPack& pack,
                                                   const ReportTemplates& templates,
                                                   const std::filesystem::path& folder);

Chart SpeedupChart(const AllocationPack& pack);

// A LaTeX document whose only page is the figure; needs TikZ and nothing else.
std::string SpeedupTikz(const AllocationPack& pack);

}  // namespace farscale
