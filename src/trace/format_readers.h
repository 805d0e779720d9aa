// Reads OTF2 archives through the OTF2 C library, locations in parallel.
#pragma once

#include <string>

#include "trace/counters.h"
#include "trace/trace.h"

namespace farscale {

// `anchor` is the anchor file, whatever its name. `keep_threads`: with the threads that form teams, if any do. Throws
// an input error when anything of it cannot be read.
Trace ReadOtf2(const std::string& anchor, const CounterSelection& counters, bool keep_threads = false);

}  // namespace farscale
