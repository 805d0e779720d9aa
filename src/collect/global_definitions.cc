#include "collect/trace_definitions.h"

#include <strings.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <set>
#include <type_traits>

#include "collect/call.h"

namespace farscale::collect {
namespace {

// Readers know MPI functions by their names, so a region of the program must not look like one.
std::string NameInTrace(const std::string& region) {
  const bool looks_like_mpi =
      strncasecmp(region.c_str(), "mpi_", 4) == 0 || strncasecmp(region.c_str(), "pmpi_", 5) == 0;
  return looks_like_mpi ? "region " + region : region;
}

// As Score-P has it.
OTF2_RegionRole RoleOf(const std::string& name) {
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto contains = [&](const char* text) { return lower.find(text) != std::string::npos; };
  if (contains("file_")) return OTF2_REGION_ROLE_FILE_IO;
  if (contains("win_") || contains("put") || contains("accumulate") || lower.ends_with("_get") ||
      lower.ends_with("rget")) {
    return OTF2_REGION_ROLE_RMA;
  }
  if (contains("barrier")) return OTF2_REGION_ROLE_BARRIER;
  if (contains("allreduce") || contains("allgather") || contains("alltoall") || contains("reduce_scatter")) {
    return OTF2_REGION_ROLE_COLL_ALL2ALL;
  }
  if (contains("bcast") || contains("scatter")) return OTF2_REGION_ROLE_COLL_ONE2ALL;
  if (contains("gather") || contains("reduce")) return OTF2_REGION_ROLE_COLL_ALL2ONE;
  if (contains("scan")) return OTF2_REGION_ROLE_COLL_OTHER;
  if (contains("send") || contains("recv")) return OTF2_REGION_ROLE_POINT2POINT;
  return OTF2_REGION_ROLE_FUNCTION;
}

class GlobalDefinitions {
 public:
  GlobalDefinitions(OTF2_GlobalDefWriter* writer, const std::vector<RankDefinitions>& ranks,
                    const std::vector<std::string>& regions, bool has_counters)
      : writer_(writer), ranks_(ranks), regions_(regions), has_counters_(has_counters) {}

  // Whether all could be written.
  bool Write() {
    WriteClock();
    String("");
    String(page->program);
    Define(OTF2_GlobalDefWriter_WriteParadigm, OTF2_PARADIGM_MPI, String("MPI"), OTF2_PARADIGM_CLASS_PROCESS);
    WriteNodesAndRanks();
    WriteRegions();
    WriteCommunicators();
    WriteWindows();
    WriteCounters();
    return good_;
  }

 private:
  void WriteClock() {
    std::uint64_t begin = ranks_.front().begin, end = ranks_.front().end;
    for (const RankDefinitions& rank : ranks_) {
      begin = std::min(begin, rank.begin);
      end = std::max(end, rank.end);
    }
    const auto ticks = static_cast<double>(page->end_tick - page->begin_tick);
    const auto nanoseconds = static_cast<double>(page->end_clock - page->begin_clock);
    const bool is_known = clock_is_tsc && ticks > 0 && nanoseconds > 0;
    const double ticks_a_second = is_known ? ticks / nanoseconds * 1e9 : 1e9;
    Define(OTF2_GlobalDefWriter_WriteClockProperties, static_cast<std::uint64_t>(ticks_a_second), begin,
           end - begin + 1, page->started);
  }

  void WriteNodesAndRanks() {
    const OTF2_SystemTreeNodeRef machine = 0;
    const OTF2_StringRef machine_class = String("machine"), node_class = String("node"),
                         thread = String("Master thread");
    Define(OTF2_GlobalDefWriter_WriteSystemTreeNode, machine, machine_class, machine_class,
           OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    std::map<std::string, std::uint32_t> nodes;
    for (const RankDefinitions& rank : ranks_) {
      const auto [entry, is_new] = nodes.try_emplace(rank.host, static_cast<std::uint32_t>(nodes.size()) + 1);
      if (!is_new) continue;
      const OTF2_StringRef name = String(rank.host);
      Define(OTF2_GlobalDefWriter_WriteSystemTreeNode, entry->second, name, node_class, machine);
      Define(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain, entry->second, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
    }
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
      const OTF2_StringRef name = String("MPI Rank " + std::to_string(i));
      Define(OTF2_GlobalDefWriter_WriteLocationGroup, i, name, OTF2_LOCATION_GROUP_TYPE_PROCESS, nodes[ranks_[i].host],
             OTF2_UNDEFINED_LOCATION_GROUP);
      Define(OTF2_GlobalDefWriter_WriteLocation, i, thread, OTF2_LOCATION_TYPE_CPU_THREAD, ranks_[i].events, i);
    }
  }

  void WriteRegions() {
    std::set<std::uint32_t> calls;
    for (const RankDefinitions& rank : ranks_) calls.insert(rank.calls.begin(), rank.calls.end());
    std::uint32_t reference = 0;  // as MapRegions counts
    for (const std::uint32_t call : calls) {
      const std::string name = kCallNames[call];
      WriteRegion(reference++, name, RoleOf(name), OTF2_PARADIGM_MPI);
    }
    for (const std::string& name : regions_) {
      WriteRegion(reference++, NameInTrace(name), OTF2_REGION_ROLE_CODE, OTF2_PARADIGM_USER);
    }
  }

  void WriteRegion(std::uint32_t reference, const std::string& name, OTF2_RegionRole role, OTF2_Paradigm paradigm) {
    const OTF2_StringRef text = String(name);
    Define(OTF2_GlobalDefWriter_WriteRegion, reference, text, text, kEmptyString, role, paradigm, OTF2_REGION_FLAG_NONE,
           kEmptyString, 0, 0);
  }

  void WriteCommunicators() {
    std::vector<std::uint64_t> all(ranks_.size());
    std::iota(all.begin(), all.end(), 0);
    WriteGroup(groups_++, OTF2_GROUP_TYPE_COMM_LOCATIONS, all);
    WriteCommunicator(kWorldId, "MPI_COMM_WORLD", OTF2_GROUP_TYPE_COMM_GROUP, all);
    WriteCommunicator(kSelfId, "MPI_COMM_SELF", OTF2_GROUP_TYPE_COMM_SELF, {});
    for (const RankDefinitions& rank : ranks_) {
      for (const CommunicatorDefinition& communicator : rank.communicators) WriteCommunicator(communicator);
    }
  }

  void WriteGroup(OTF2_GroupRef reference, OTF2_GroupType type, const std::vector<std::uint64_t>& members) {
    Define(OTF2_GlobalDefWriter_WriteGroup, reference, kEmptyString, type, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
           static_cast<std::uint32_t>(members.size()), members.data());
  }

  void WriteCommunicator(std::uint32_t reference, const std::string& name, OTF2_GroupType type,
                         const std::vector<std::uint64_t>& members) {
    const OTF2_StringRef text = String(name);
    WriteGroup(groups_, type, members);
    Define(OTF2_GlobalDefWriter_WriteComm, reference, text, groups_++, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
  }

  void WriteCommunicator(const CommunicatorDefinition& communicator) {
    const std::string name = "communicator " + std::to_string(communicator.id);
    const std::vector<std::uint64_t> members(communicator.members.begin(), communicator.members.end());
    if (communicator.remote.empty()) {
      WriteCommunicator(communicator.id, name, OTF2_GROUP_TYPE_COMM_GROUP, members);
      return;
    }
    const OTF2_StringRef text = String(name);
    const OTF2_GroupRef first = groups_;
    const std::vector<std::uint64_t> remote(communicator.remote.begin(), communicator.remote.end());
    for (const std::vector<std::uint64_t>& group : {members, remote}) {
      WriteGroup(groups_++, OTF2_GROUP_TYPE_COMM_GROUP, group);
    }
    Define(OTF2_GlobalDefWriter_WriteInterComm, communicator.id, text, first, first + 1, OTF2_UNDEFINED_COMM,
           OTF2_COMM_FLAG_NONE);
  }

  void WriteWindows() {
    for (const RankDefinitions& rank : ranks_) {
      for (const GroupDefinition& group : rank.groups) {
        WriteGroup(group.id, OTF2_GROUP_TYPE_COMM_GROUP, {group.members.begin(), group.members.end()});
      }
      for (const WindowDefinition& window : rank.windows) {
        const OTF2_StringRef name = String("window " + std::to_string(window.id));
        Define(OTF2_GlobalDefWriter_WriteRmaWin, window.id, name, window.communicator,
               OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS);
      }
    }
  }

  void WriteCounters() {
    const OTF2_MetricMemberRef members[] = {0, 1, 2};
    const auto write = [&](OTF2_MetricMemberRef reference, const char* name, const char* description, const char* unit,
                           OTF2_MetricType type) {
      const OTF2_StringRef name_text = String(name), description_text = String(description), unit_text = String(unit);
      Define(OTF2_GlobalDefWriter_WriteMetricMember, reference, name_text, description_text, type,
             OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_INT64, OTF2_BASE_DECIMAL, 0, unit_text);
    };
    write(0, "CPU_TIME", "CPU time of the main thread, asked for every 50 us at most", "ns", OTF2_METRIC_TYPE_OTHER);
    if (has_counters_) {
      write(1, "instructions", "Instructions of the main thread in user mode", "#", OTF2_METRIC_TYPE_OTHER);
      write(2, "cycles", "Cycles of the main thread in user mode", "#", OTF2_METRIC_TYPE_OTHER);
    }
    Define(OTF2_GlobalDefWriter_WriteMetricClass, kCpuTimeClass, 1, members, OTF2_METRIC_SYNCHRONOUS,
           OTF2_RECORDER_KIND_CPU);
    if (has_counters_) {
      Define(OTF2_GlobalDefWriter_WriteMetricClass, kCountersClass, 2, members + 1, OTF2_METRIC_SYNCHRONOUS_STRICT,
             OTF2_RECORDER_KIND_CPU);
    }
  }

  OTF2_StringRef String(const std::string& text) {
    const auto [entry, is_new] = strings_.try_emplace(text, static_cast<OTF2_StringRef>(strings_.size()));
    if (is_new) Define(OTF2_GlobalDefWriter_WriteString, entry->second, text.c_str());
    return entry->second;
  }

  // A definition by the library's function for it.
  template <typename... Values>
  void Define(OTF2_ErrorCode (*write)(OTF2_GlobalDefWriter*, Values...), std::type_identity_t<Values>... values) {
    good_ = write(writer_, values...) == OTF2_SUCCESS && good_;
  }

  OTF2_GlobalDefWriter* const writer_;
  const std::vector<RankDefinitions>& ranks_;
  const std::vector<std::string>& regions_;
  const bool has_counters_;
  bool good_ = true;
  std::map<std::string, OTF2_StringRef> strings_;
  OTF2_GroupRef groups_ = 0;
};

}  // namespace

bool WriteGlobalDefinitions(OTF2_GlobalDefWriter* writer, const std::vector<RankDefinitions>& ranks,
                            const std::vector<std::string>& regions, bool has_counters) {
  return GlobalDefinitions(writer, ranks, regions, has_counters).Write();
}

}  // namespace farscale::collect
