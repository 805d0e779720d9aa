// What targets that read traces do with those that can be read.
#pragma once

#include <string>

#include "trace/trace_reader.h"

namespace farscale::fuzz {

// Reads a trace and does with it what the program does: factors, cuts, replays, calibration. Cuts are written and read
// again only when `writes`, as that takes most of the time.
void AnalyseTrace(const std::string& path, const ReadOptions& reading, bool writes);

}  // namespace farscale::fuzz
