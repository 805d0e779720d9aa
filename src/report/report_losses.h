// Losses in results and reports: of the largest run of every phase, as much as a report tells.
#pragma once

#include <string>
#include <vector>

#include "imbalance/loss_record.h"
#include "projection/loss_projection.h"
#include "report/losses_section.h"
#include "report/results.h"

namespace farscale {

// Reports of many phases tell less of each.
LossDetail DetailFor(std::size_t phases);

// The losses of the largest run of every phase, in the order of `records`, with the call paths, ranks and rasters that
// a report shows; values to four digits. `records`: phase by phase, runs rising.
std::vector<LossRecord> LossesForReport(const std::vector<LossRecord>& records);

// The same of projections: the call paths that a report shows.
std::vector<LossProjection> LossProjectionsForReport(std::vector<LossProjection> projections);

// `losses` and `hasLosses` of a phase [docs/templates.md].
ReportData LossesInReport(const Results& results, const std::string& series, const PhaseId& phase,
                          const std::string& heading);

}  // namespace farscale
