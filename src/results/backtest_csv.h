// A backtest as CSV, one row a hidden value and split [docs/file-formats.md].
#pragma once

#include <string>
#include <vector>

#include "projection/backtest.h"

namespace farscale {

// Columns series,phase,group,factor,train_max,cores,ratio,measured,value,low80,high80,low95,high95,model. Bounds are
// empty where there is no interval; repeats of a core count are rows that follow each other.
std::string WriteBacktestCsv(const std::vector<BacktestRow>& rows);

}  // namespace farscale
