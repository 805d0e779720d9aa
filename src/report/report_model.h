// What a report says, as texts ready to print: every number formatted, every sentence written, every figure drawn.
// Templates only arrange it.
#pragma once

#include "pages/render.h"
#include "results/results.h"

namespace farscale {

ReportModel BuildReportModel(const Results& results);

}  // namespace farscale
