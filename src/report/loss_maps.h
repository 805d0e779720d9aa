// Heat maps of the call paths that cause most waiting: by rank and iteration, and on the process grid where one is
// known.
#pragma once

#include <cstddef>
#include <string>

#include "imbalance/loss_record.h"
#include "report/report.h"

namespace farscale {

// A map a call path, with captions and the table behind it; of the `most` with the largest costs. `heading`: of the
// phase, for names of figures.
ReportData MapsOfLosses(const LossRecord& losses, std::size_t most, const std::string& heading);

// "most of it on rank 3 (71.0 %)": of the costs of a call path.
std::string WhereMost(const PathRecord& path, const LossRecord& losses);

}  // namespace farscale
