// The definitions of a trace: gathered from all ranks, written by rank 0; what is a rank's own beside its events.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collect/communicators.h"

namespace farscale::collect {

// How far this node's clock is from that of rank 0, by messages back and forth; called at the begin and at the end of
// the run. Collective.
void MeasureClockOffset();

// Collective; whether all could be written here.
bool WriteDefinitions(OTF2_Archive* archive, std::uint64_t events, bool has_counters);

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
