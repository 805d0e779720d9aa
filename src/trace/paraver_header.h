// The head of a Paraver trace: what its first lines say before the records begin [docs/traces.md].
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/paraver_text.h"
#include "trace/trace.h"
#include "trace/trace_reader.h"

namespace farscale {

struct ParaverApplication {
  std::vector<std::pair<std::int32_t, std::int32_t>> tasks;  // node by its number in the header, from 0 on, and threads
  std::vector<std::pair<std::uint64_t, Communicator>> communicators;  // with their numbers; members from 0 on
  std::map<std::uint64_t, std::size_t> communicator_index;            // keys: their numbers
  std::size_t intercommunicators = 0;                                 // among these
  std::uint64_t announced_communicators = 0;
};

// A trace whose records are to be read: what its header says, and how it is read.
struct ParaverInput {
  std::string path;
  Tick duration = 0;  // 0: not known
  double ticks_per_second = 1e6;
  std::vector<ParaverApplication> applications;
  std::string tools;                        // that made this trace out of another, as its comments say
  std::vector<std::string> contradictions;  // sentences with file and line

  ReadOptions options;
  std::uint32_t application = 0;  // from 0 on

  // Names from the .pcf file of event types and values, from the .row file of nodes and threads:
  std::map<std::uint32_t, std::string> types;  // labels
  // Labels of values by type, with the first line of the .pcf file that names them.
  std::map<std::uint32_t, std::map<std::uint64_t, std::pair<std::string, std::uint64_t>>> values;
  std::vector<std::string> nodes;         // in their order
  std::vector<std::string> thread_names;  // all tasks of all applications
  std::uint64_t row_threads = 0;          // as many as the .row file names; 0: unknown
  std::uint64_t row_threads_line = 0;     // line of the .row file with this number

  const ParaverApplication& chosen() const { return applications[application]; }
  // Label of a value; nothing when the file does not list it.
  std::optional<std::string> ValueOf(std::uint32_t type, std::uint64_t value) const;
};

// Reads the lines before the first record. Throws an input error with the line when they are not as they must be.
ParaverInput ReadParaverHeader(const std::string& path, ParaverText& text);

// Adds the names from what lies beside the trace. Unknown lines are passed over: these files only name things.
void ReadParaverNames(ParaverInput& input);

// X.pcf and X.row of X.prv or X.prv.gz, whether they exist or not.
std::string ParaverNamesFile(const std::string& trace, const char* extension);

// The MPI function behind a value of the event types 50000001 to 50000005, as Extrae numbers them or else by the names;
// nothing when neither knows it.
std::optional<std::string> ParaverMpiFunction(const ParaverInput& input, std::uint32_t type, std::uint64_t value);

// Name and description of a hardware counter as the names or else PAPI call it; the description may be empty.
Counter ParaverCounter(const ParaverInput& input, std::uint32_t type);

}  // namespace farscale
