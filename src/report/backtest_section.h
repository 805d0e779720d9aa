// What hiding the largest runs of a phase would have predicted.
#pragma once

#include <string>

#include "report/report_model.h"
#include "results/results.h"

namespace farscale {

// For the tags that docs/templates.md lists under backtest; without a backtest the data says so.
ReportData BacktestOfPhase(const Results& results, const std::string& series, const PhaseId& phase);

// How many of the hidden values lie in the intervals, and the median error; empty without a backtest.
std::string SummarizeBacktest(const Results& results, const std::string& series, const PhaseId& phase);

}  // namespace farscale
