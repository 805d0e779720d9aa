// Projections of which only the values at targets are wanted, as a backtest does.
#pragma once

#include "projection/projection.h"

namespace farscale {

// The same values at the targets as Project gives, with the same errors, in a fraction of its time: without curves
// between the targets, measured points, ranges, key results and suggested runs.
std::vector<PhaseProjection> ProjectTargets(const FactorTable& table, const ModelLibrary& library,
                                            const ProjectionOptions& options);

}  // namespace farscale
