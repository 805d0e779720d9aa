// A measured run as JSON [docs/schema/measured-run.schema.json] and as the summary on the terminal.
#pragma once

#include <string>

#include "collect/measured_run.h"

namespace farscale::collect {

std::string ToJsonText(const MeasuredRun& run, const std::string& generator);

// `written` names the file with the results, or says why there is none.
std::string ToSummary(const MeasuredRun& run, const std::string& written);

// "0.98 s", "12.3 ms".
std::string FormatSeconds(double seconds);

}  // namespace farscale::collect
