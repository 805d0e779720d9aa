// Projections as CSV, one row a factor and target [docs/file-formats.md].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "projection/projection.h"

namespace farscale {

// Columns series,phase,group,factor,model,dimension,cores,ratio,value,low80,high80,low95,high95,evidence. Products have
// the model `product` and no dimension; bounds are empty where there is none; evidence is true or false. Behind the
// factors of a phase stand its times in seconds, as `timePerIteration` and `runtime`, where they are known.
std::string WriteProjectionCsv(const std::vector<PhaseProjection>& projections);

// The two fields of an interval, "0.8,0.9"; both empty without one.
std::string BoundsAsCsv(const std::optional<IntervalBounds>& interval);

}  // namespace farscale
