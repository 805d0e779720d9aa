// Writes Paraver traces for tests, as Extrae would have recorded the same run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "replay/matching.h"
#include "trace/trace.h"

namespace farscale::test {

struct ParaverOptions {
  // Behind the duration: "_ns", "_us", "_ms" or nothing. Times are the ticks of the trace, whatever the unit.
  std::string unit = "_ns";
  bool compress = false;          // X.prv.gz
  bool with_names = true;         // X.pcf
  bool with_rows = true;          // X.row
  bool split_counters = false;    // into a record of their own at the same time
  bool crlf = false;              // ends of lines
  std::optional<int> shuffle_by;  // seed: records in any order, but for those of one task at one time
};

// Writes NAME.prv with its companions into the folder and returns its path. Left out is what Paraver cannot tell:
// the communicator of messages, completions of sends and of non-blocking collectives, messages of which one end is
// missing, the communicators of collectives that make or free communicators, and counters that are no integers.
std::string WriteParaver(const Trace& trace, const Matching& matching, const std::filesystem::path& folder,
                         const std::string& name, const ParaverOptions& options = {});

}  // namespace farscale::test
