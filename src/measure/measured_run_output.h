// A measured run as JSON [docs/schema/measured-run.schema.json] and as the summary on the terminal, and the file of its
// results, where several jobs may put theirs at the same time.
#pragma once

#include <string>

#include "measure/measured_run.h"

namespace farscale {

std::string MeasuredRunJson(const MeasuredRun& run);

// `written` names the file with the results, or says why there is none.
std::string MeasuredRunSummary(const MeasuredRun& run, const std::string& written);

// Sentences on the size that a trace of the run and of its regions would have.
std::string TraceSizeText(const collect::TraceSize& size, const MeasuredRun& run);

// Writes `text`, which contains `job`, to `path`, whole or not at all. A file there that another job has written stays:
// then the name gets a number, farscale-2.json. Returns the path taken, or nothing and `why`.
std::string WriteResult(const std::string& path, const std::string& job, const std::string& text, std::string& why);

}  // namespace farscale
