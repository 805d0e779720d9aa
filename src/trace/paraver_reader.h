// Reads Paraver traces: X.prv or X.prv.gz, with names from X.pcf and X.row where they are [docs/traces.md].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/counters.h"
#include "trace/trace.h"

namespace farscale {

// `application`: which one of a trace with several, from 1 on. Throws an input error for anything unreadable, with line
// and field, and when more than a hundredth of the lines is damaged; a usage error when the trace has several
// applications and none is chosen, or not the one asked for.
Trace ReadParaver(const std::string& path, const CounterSelection& counters, std::optional<int> application);

// The trace and what lies beside it.
std::vector<std::string> FilesOfParaver(const std::string& path);

}  // namespace farscale
