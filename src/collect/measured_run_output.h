// A measured run as JSON [docs/schema/measured-run.schema.json] and as the summary on the terminal, and the file of its
// results, where several jobs may put theirs at the same time.
#pragma once

#include <string>

#include "collect/measured_run.h"
#include "collect/trace/trace_definitions.h"

namespace farscale::collect {

std::string ToJsonText(const MeasuredRun& run, const std::string& generator);

// `written` names the file with the results, or says why there is none.
std::string ToSummary(const MeasuredRun& run, const std::string& written);

// What a trace of the run would take, and its regions.
std::string ToSentences(const TraceSize& size, const MeasuredRun& run);

// "0.98 s", "12.3 ms".
std::string FormatSeconds(double seconds);

// Writes `text`, which contains `job`, to `path`, whole or not at all. A file there that another job has written stays:
// then the name gets a number, farscale-2.json. Returns the path taken, or nothing and `why`.
std::string WriteResult(const std::string& path, const std::string& job, const std::string& text, std::string& why);

}  // namespace farscale::collect
