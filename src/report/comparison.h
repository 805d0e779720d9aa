// A phase as measured and on other machines, side by side.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pages/render.h"
#include "report/cells.h"
#include "report/figures.h"
#include "report/reliability.h"
#include "results/results.h"

namespace farscale {

struct DescribedText {
  FARSCALE_TEXTS(name, description)
};

struct ComparisonRow {
  std::string name, factor, variant;  // the name in the first row of a factor only
  bool is_first = false;
  std::vector<FactorCell> cells;
  FARSCALE_TAGS(name, factor, variant, is_first, cells)
};

struct ComparisonTarget {
  std::string cores, ratio;
  std::string reliability;  // "uncertain", "unknown" or empty
  std::vector<ProjectedCell> cells;
  FARSCALE_TAGS(cores, ratio, reliability, cells)
};

struct ComparedProjections {
  ReportData figure;  // efficiencies of all variants against cores
  std::vector<DescribedText> names;
  std::vector<ComparisonTarget> targets;
  FARSCALE_TAGS(figure, names, targets)
};

struct ComparisonSection {
  std::string title;
  std::vector<std::string> sentences;
  std::vector<DescribedText> variants;
  std::vector<RunColumn> columns;
  std::vector<ComparisonRow> rows;
  std::optional<ComparedProjections> projected;
  FARSCALE_TAGS(title, sentences, variants, columns, rows, projected)
};

// Nothing without variants.
std::optional<ComparisonSection> ComparePhase(const Results& results, const std::string& series, const PhaseId& phase,
                                              const PhaseNames& names, const Partials& texts, ReportModel& model);

// One sentence a variant, as comparison.txt.mustache of `texts` words it: how much of the loss noise explains, or what
// another machine gains.
std::vector<std::string> SummarizeComparison(const Results& results, const std::string& series, const PhaseId& phase,
                                             const Partials& texts);

}  // namespace farscale
