// The global definitions of a trace, which rank 0 makes of what every rank knows.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collect/communicators.h"
#include "collect/windows.h"

namespace farscale::collect {

struct RankDefinitions {
  std::string host;
  std::uint64_t events = 0;
  std::uint64_t begin = 0;  // by the clock of rank 0
  std::uint64_t end = 0;
  std::vector<std::uint32_t> calls;  // that occur, by CallId
  std::vector<std::string> regions;
  std::vector<CommunicatorDefinition> communicators;
  std::vector<WindowDefinition> windows;
  std::vector<GroupDefinition> groups;
};

// References of the first strings: the program's name is needed before the definitions are written.
inline constexpr OTF2_StringRef kEmptyString = 0, kProgramString = 1;

// Metric classes: CPU time where it was asked for, instructions and cycles at every edge.
inline constexpr std::uint32_t kCpuTimeClass = 0, kCountersClass = 1;

// Whether all could be written. `ranks` by rank, `regions` of all of them.
bool WriteGlobalDefinitions(OTF2_GlobalDefWriter* writer, const std::vector<RankDefinitions>& ranks,
                            const std::vector<std::string>& regions, bool has_counters);

}  // namespace farscale::collect
