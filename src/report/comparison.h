// A phase as measured and on other machines, side by side.
#pragma once

#include <optional>
#include <string>

#include "plot/chart.h"
#include "report/report_model.h"
#include "results/results.h"

namespace farscale {

struct PhaseComparison {
  ReportData data;              // for the tags that docs/templates.md lists under comparison
  std::optional<Chart> figure;  // efficiencies of all variants against cores
};

// Without variants the data says that there is no comparison.
PhaseComparison ComparePhase(const Results& results, const std::string& series, const PhaseId& phase,
                             const std::string& heading);

// What the variants say, in sentences: which loss the noise explains, or what another machine would bring.
std::vector<std::string> SummarizeComparison(const Results& results, const std::string& series, const PhaseId& phase);

}  // namespace farscale
