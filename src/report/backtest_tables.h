// Backtests as tables for the terminal.
#pragma once

#include <string>
#include <vector>

#include "projection/backtest_errors.h"

namespace farscale {

// Errors of the predictions and how the intervals held, by factor and ratio.
std::string FormatErrors(const std::vector<ErrorsAtRatio>& errors);

// The same of one factor, one line a series and phase.
std::string FormatErrorsByPhase(const std::vector<BacktestRow>& rows, Factor factor);

// Two ways to predict side by side.
std::string FormatComparison(const BacktestComparison& comparison);

}  // namespace farscale
