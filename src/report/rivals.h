// The models that were tried for a factor, with how much each is believed and what it predicts.
#pragma once

#include "projection/projection.h"
#include "report/report_model.h"

namespace farscale {

// `rivalCores` (list of `cores`), `rivals` (list of `model`, `weight` and `values`, each `value`), `otherRivals` (what
// is left out of the list, in words; may be empty), `hasRivals`.
void AddRivals(const FactorProjection& projection, ReportData& data);

}  // namespace farscale
