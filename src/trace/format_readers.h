// The readers of the formats, which ReadTrace chooses from [trace/trace_reader.h].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/counters.h"
#include "trace/trace.h"

namespace farscale {

// Reads an OTF2 archive through the OTF2 C library, locations in parallel. `anchor` is the anchor file, whatever its
// name. `keep_threads`: with the threads that form teams, if any do. Throws an input error when anything of it cannot
// be read.
Trace ReadOtf2(const std::string& anchor, const CounterSelection& counters, bool keep_threads);

// Reads a Paraver trace: X.prv or X.prv.gz, with names from X.pcf and X.row where they are [docs/traces.md].
// `application`: which one of a trace with several, from 1 on. Throws an input error for anything unreadable, with line
// and field, and when more than a hundredth of the lines is damaged; a usage error when the trace has several
// applications and none is chosen, or not the one asked for.
// `accepted`: anomalies for which it throws otherwise, such as a trace of which more than a hundredth of the run is
// missing at its end. `keep_threads`: with the other threads of the tasks, where they recorded when they run.
Trace ReadParaver(const std::string& path, const CounterSelection& counters, std::optional<int> application,
                  const AcceptedKinds& accepted, bool keep_threads);

// A Paraver trace and what lies beside it.
std::vector<std::string> FilesOfParaver(const std::string& path);

// Indices of sizes, the largest first. In this order of parts no core is left with a large one at the end.
std::vector<std::size_t> LargestFirst(const std::vector<std::uint64_t>& sizes);

}  // namespace farscale
