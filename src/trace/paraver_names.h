// The names in a Paraver trace: of event types and values from the .pcf file, of nodes and processes from the .row
// file, and what is known without them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace farscale {

struct ParaverNames {
  struct EventType {
    std::string label;
    std::map<std::uint64_t, std::string> values;
  };
  std::map<std::uint32_t, EventType> types;
  std::vector<std::string> nodes;  // in their order

  // Label of a value; nothing when the file does not list it.
  std::optional<std::string> ValueOf(std::uint32_t type, std::uint64_t value) const;
};

// Reads what lies beside the trace. Unknown lines are passed over: these files only name things.
ParaverNames ReadParaverNames(const std::string& pcf, const std::string& row);

// X.pcf and X.row of X.prv or X.prv.gz, whether they exist or not.
std::string ParaverNamesFile(const std::string& trace, const char* extension);

// The MPI function behind a value of the event types 50000001 to 50000005, by the names or else as Extrae numbers them;
// nothing when neither knows it.
std::optional<std::string> ParaverMpiFunction(const ParaverNames& names, std::uint32_t type, std::uint64_t value);

// A hardware counter as the names or else PAPI call it, with its description, which may be empty.
struct ParaverCounterName {
  std::string name;
  std::string description;
};
ParaverCounterName ParaverCounter(const ParaverNames& names, std::uint32_t type);

}  // namespace farscale
