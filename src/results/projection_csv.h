// Projections and backtests as CSV [docs/file-formats.md].
#pragma once

#include <string>
#include <vector>

#include "projection/backtest.h"
#include "projection/projection.h"

namespace farscale {

// One row a factor and target:
// series,phase,group,factor,model,dimension,cores,ratio,value,low80,high80,low95,high95,evidence. Products have the
// model `product` and no dimension; bounds are empty where there is none; evidence is true or false. Behind the factors
// of a phase stand its times in seconds, as `timePerIteration` and `runtime`, where they are known.
std::string WriteProjectionCsv(const std::vector<PhaseProjection>& projections);

// One row a hidden value and split: series,phase,group,factor,train_max,cores,ratio,measured,value,low80,high80,low95,
// high95,model. Bounds are empty where there is no interval; repeats of a core count are rows that follow each other.
std::string WriteBacktestCsv(const std::vector<BacktestRow>& rows);

}  // namespace farscale
