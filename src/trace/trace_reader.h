// The one way to read a trace, whatever its format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace farscale {

struct ReadOptions {
  bool all_counters = true;
  std::vector<std::string> counters;              // those to keep when not all
  std::optional<int> application = std::nullopt;  // of a Paraver trace with several, from 1 on
  AcceptedKinds accepted = {};                    // anomalies that would make the trace useless
  bool keep_threads = false;                      // those that form teams; OTF2 only
};

// Recognises the format from the content of the file. Throws an input error with what to do when the path is
// missing, a folder, of no known format, or anything behind it is damaged.
Trace ReadTrace(const std::string& path, const ReadOptions& options = {});

// The files a trace consists of, sorted; for an OTF2 archive the anchor, the definitions and all event files, for a
// Paraver trace the trace and the files that name what is in it.
std::vector<std::string> FilesOfTrace(const std::string& path);

// How many ranks a trace has, without reading its events; 0 when that cannot be found, which reading the trace reports.
std::size_t RanksOfTrace(const std::string& path);

// Of its files together; 0 when they cannot be found, which reading the trace reports.
std::uint64_t BytesOfTrace(const std::string& path);

// The traces by that, the largest first: it shows most of how a program communicates.
std::vector<std::size_t> LargestFirst(const std::vector<std::string>& paths);

// SHA-256 over the SHA-256 of every file, so that two people can tell whether they have the same trace:
// in the folder of the anchor, `sha256sum FILES... | sha256sum` with the files in sorted order.
std::string FingerprintOfTrace(const std::string& path);

}  // namespace farscale
