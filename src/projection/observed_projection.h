// Projections and backtests that say how far they have got.
#pragma once

#include "base/progress.h"
#include "projection/backtest.h"
#include "projection/projection.h"

namespace farscale {

// As without progress, of which a step is a phase.
std::vector<PhaseProjection> Project(const FactorTable& table, const ModelLibrary& library,
                                     const ProjectionOptions& options, const ProgressSink& progress);

// Here a step is a phase and a number of cores to train up to.
BacktestResult Backtest(const FactorTable& table, const ModelLibrary& library, const BacktestOptions& options,
                        const ProgressSink& progress);
std::vector<BacktestRow> BacktestForReport(const FactorTable& table, const ModelLibrary& library,
                                           const ProjectionOptions& options, const ProgressSink& progress);

}  // namespace farscale
