// What a rank knows that the definitions of a trace need, and the global definitions that rank 0 makes of it all.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <map>
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

// As bytes to send between processes of one machine type.
std::string Pack(const RankDefinitions& definitions);
RankDefinitions Unpack(const std::string& bytes);

// Metric classes: CPU time where it was asked for, instructions and cycles at every edge.
inline constexpr std::uint32_t kCpuTimeClass = 0, kCountersClass = 1;

class GlobalDefinitions {
 public:
  GlobalDefinitions(OTF2_GlobalDefWriter* writer, const std::vector<RankDefinitions>& ranks,
                    const std::vector<std::string>& regions, bool has_counters)
      : writer_(writer), ranks_(ranks), regions_(regions), has_counters_(has_counters) {}

  // Whether all could be written.
  bool Write();

 private:
  void WriteClock();
  void WriteNodesAndRanks();
  void WriteRegions();
  void WriteRegion(std::uint32_t reference, const std::string& name, OTF2_RegionRole role, OTF2_Paradigm paradigm);
  void WriteCommunicators();
  void WriteGroup(OTF2_GroupRef reference, OTF2_GroupType type, const std::vector<std::uint64_t>& members);
  void WriteCommunicator(std::uint32_t reference, const std::string& name, OTF2_GroupType type,
                         const std::vector<std::uint64_t>& members);
  void WriteCommunicator(const CommunicatorDefinition& communicator);
  void WriteWindows();
  void WriteCounters();
  OTF2_StringRef String(const std::string& text);
  void Done(OTF2_ErrorCode code) { good_ = good_ && code == OTF2_SUCCESS; }

  OTF2_GlobalDefWriter* const writer_;
  const std::vector<RankDefinitions>& ranks_;
  const std::vector<std::string>& regions_;
  const bool has_counters_;
  bool good_ = true;
  std::map<std::string, OTF2_StringRef> strings_;
  OTF2_GroupRef groups_ = 0;
};

}  // namespace farscale::collect
