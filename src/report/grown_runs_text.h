// Grown runs of a phase for a terminal: templates/grown_runs.txt.mustache.
#pragma once

#include <string>

#include "pages/template_text.h"
#include "pages/text_table.h"
#include "results/growth_record.h"

namespace farscale {

// `with_classes`: also the classes of ranks.
std::string FormatGrownRuns(const GrowthRecord& record, const std::string& scenario, bool with_classes,
                            const Partials& texts, std::size_t width = kAnyWidth);

}  // namespace farscale
