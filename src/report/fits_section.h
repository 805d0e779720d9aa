// The fits of a phase in a report: models, parameters, residuals and figures.
#pragma once

#include <set>
#include <string>

#include "report/report_model.h"

namespace farscale {

// The list `fits` of the tags in docs/templates.md, with figures named after `slug`; adds the factors to `used`.
// Without a projection nothing is drawn, and nothing is listed where nothing was tried (null).
ReportData FitsOfPhase(const PhaseProjection* projection, const std::string& slug, std::set<Factor>& used,
                       ReportModel& model);

// The model that weighs most, and how much; a single model has no need of a weight.
std::string WeighedModel(const FactorProjection& projection);

}  // namespace farscale
