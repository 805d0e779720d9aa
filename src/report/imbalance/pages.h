// Where runs lose time as one page: HTML or Markdown.
#pragma once

#include <string>
#include <vector>

#include "imbalance/loss_record.h"
#include "report/loss_growth.h"
#include "report/report.h"

namespace farscale {

// The tags of templates/imbalance.*.mustache [docs/templates.md], but for `style`. `records`: phase by phase, runs
// rising, at least one; the last of a phase is shown in full. `title`: of the study or its trace. `warnings`: of the
// runs.
ReportModel BuildLossesModel(const std::vector<LossRecord>& records, const std::vector<LossGrowth>& growth,
                             const std::string& title, const Partials& texts, std::size_t top = 10,
                             const std::vector<Finding>& warnings = {});

}  // namespace farscale
