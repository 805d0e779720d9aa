#include "collect/trace/trace_definitions.h"

#include <algorithm>
#include <map>
#include <strings.h>
#include <cctype>
#include <cstdarg>
#include <numeric>
#include <utility>

namespace farscale::collect {
namespace {

// Groups that are written before those of windows: all locations, the world, and MPI_COMM_SELF.
constexpr std::uint32_t kFirstGroups = 3;

void NumberRegions(const std::vector<RankDefinitions>& all, std::uint32_t call_count, RunFacts& names,
                   std::vector<RankNumbers>& of_ranks) {
  std::map<std::uint32_t, std::string> calls;
  for (const RankDefinitions& rank : all) {
    calls.insert(rank.calls.begin(), rank.calls.end());
  }
  std::vector<std::uint32_t> numbers(call_count, OTF2_UNDEFINED_UINT32);
  for (const auto& [id, name] : calls) {
    if (id >= call_count) continue;
    numbers[id] = static_cast<std::uint32_t>(names.calls.size());
    names.calls.push_back(name);
  }
  std::map<std::string, std::uint32_t> index;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::vector<std::uint32_t>& mapped = of_ranks[rank].regions = numbers;
    mapped.push_back(OTF2_UNDEFINED_UINT32);
    for (std::size_t i = 1; i < all[rank].regions.size(); ++i) {
      const std::string& name = all[rank].regions[i];
      const auto number = static_cast<std::uint32_t>(names.calls.size() + index.size());
      const auto [entry, is_new] = index.try_emplace(name, number);
      if (is_new) names.regions.push_back(name);
      mapped.push_back(entry->second);
    }
  }
}

// Whoever is a member may have named it in events.
void NoteFor(const std::vector<std::int32_t>& members, NumberPair pair, std::vector<NumberPair> RankNumbers::*list,
             std::vector<RankNumbers>& of_ranks) {
  for (const std::int32_t member : members) {
    if (member >= 0 && static_cast<std::size_t>(member) < of_ranks.size()) {
      (of_ranks[static_cast<std::size_t>(member)].*list).push_back(pair);
    }
  }
}

// As Score-P has it.
OTF2_RegionRole RoleOf(const std::string& name) {
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto contains = [&](const char* text) { return lower.find(text) != std::string::npos; };
  if (lower == "!$omp parallel") return OTF2_REGION_ROLE_PARALLEL;
  if (lower == "!$omp implicit barrier") return OTF2_REGION_ROLE_IMPLICIT_BARRIER;
  if (lower == "!$omp task") return OTF2_REGION_ROLE_TASK;
  if (lower == "cuda copy" || lower == "hip copy") return OTF2_REGION_ROLE_DATA_TRANSFER;
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

OTF2_Paradigm ParadigmOf(const std::string& name) {
  if (name.starts_with("!")) return OTF2_PARADIGM_OPENMP;
  if (name.starts_with("CUDA ")) return OTF2_PARADIGM_CUDA;
  return name.starts_with("HIP ") ? OTF2_PARADIGM_HIP : OTF2_PARADIGM_MPI;
}

class GlobalDefinitions {
 public:
  GlobalDefinitions(OTF2_GlobalDefWriter* writer, const std::vector<RankDefinitions>& ranks, const RunFacts& facts)
      : writer_(writer), ranks_(ranks), facts_(facts) {}

  // True if all could be written.
  bool Write() {
    WriteClock();
    String("");
    String(facts_.program);
    Define(OTF2_GlobalDefWriter_WriteParadigm, OTF2_PARADIGM_MPI, String("MPI"), OTF2_PARADIGM_CLASS_PROCESS);
    WriteNodesAndRanks();
    WriteRegions();
    WriteCommunicators();
    WriteWindows();
    WriteThreadsAndTeams();
    WriteDevices();
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
    Define(OTF2_GlobalDefWriter_WriteClockProperties, facts_.ticks_a_second, begin, end - begin + 1, facts_.started);
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
      Define(OTF2_GlobalDefWriter_WriteSystemTreeNode, entry->second, String(rank.host), node_class, machine);
      Define(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain, entry->second, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
    }
    std::map<std::pair<std::uint32_t, int>, std::uint32_t> sockets;  // keys: node and number
    for (const RankDefinitions& rank : ranks_) {
      const std::uint32_t node = nodes[rank.host];
      const auto reference = static_cast<std::uint32_t>(nodes.size() + 1 + sockets.size());
      if (rank.socket < 0 || !sockets.emplace(std::pair(node, rank.socket), reference).second) continue;
      const OTF2_StringRef name = String("socket " + std::to_string(rank.socket)), socket_class = String("socket");
      Define(OTF2_GlobalDefWriter_WriteSystemTreeNode, reference, name, socket_class, node);
      Define(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain, reference, OTF2_SYSTEM_TREE_DOMAIN_SOCKET);
    }
    tree_nodes_ = static_cast<std::uint32_t>(1 + nodes.size() + sockets.size());
    node_of_host_ = nodes;
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
      const auto socket = sockets.find({nodes[ranks_[i].host], ranks_[i].socket});
      Define(OTF2_GlobalDefWriter_WriteLocationGroup, i, String("MPI Rank " + std::to_string(i)),
             OTF2_LOCATION_GROUP_TYPE_PROCESS, socket == sockets.end() ? nodes[ranks_[i].host] : socket->second,
             OTF2_UNDEFINED_LOCATION_GROUP);
      Define(OTF2_GlobalDefWriter_WriteLocation, i, thread, OTF2_LOCATION_TYPE_CPU_THREAD, ranks_[i].events, i);
    }
  }

  void WriteRegions() {
    std::uint32_t reference = 0;
    for (const std::string& name : facts_.calls) {
      WriteRegion(reference++, name, RoleOf(name), ParadigmOf(name));
    }
    for (const std::string& name : facts_.regions) {
      // Readers know MPI functions by their names, so a region of the program must not look like one.
      const bool is_like_mpi = strncasecmp(name.c_str(), "mpi_", 4) == 0 || strncasecmp(name.c_str(), "pmpi_", 5) == 0;
      WriteRegion(reference++, is_like_mpi ? "region " + name : name, OTF2_REGION_ROLE_CODE, OTF2_PARADIGM_USER);
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
    for (const bool is_inter : {false, true}) {  // as they are numbered
      for (const RankDefinitions& rank : ranks_) {
        for (const GroupDefinition& communicator : rank.communicators) {
          if (communicator.remote.empty() != is_inter) WriteCommunicator(communicator);
        }
      }
    }
  }

  void WriteGroup(OTF2_GroupRef reference, OTF2_GroupType type, const std::vector<std::uint64_t>& members,
                  OTF2_Paradigm paradigm = OTF2_PARADIGM_MPI) {
    Define(OTF2_GlobalDefWriter_WriteGroup, reference, kEmptyString, type, paradigm, OTF2_GROUP_FLAG_NONE,
           static_cast<std::uint32_t>(members.size()), members.data());
  }

  void WriteCommunicator(std::uint32_t reference, const std::string& name, OTF2_GroupType type,
                         const std::vector<std::uint64_t>& members) {
    const OTF2_StringRef text = String(name);
    WriteGroup(groups_, type, members);
    Define(OTF2_GlobalDefWriter_WriteComm, reference, text, groups_++, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
  }

  void WriteCommunicator(const GroupDefinition& communicator) {
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
        groups_ = group.id + 1;
      }
      for (const auto& [id, communicator] : rank.windows) {
        Define(OTF2_GlobalDefWriter_WriteRmaWin, id, String("window " + std::to_string(id)), communicator,
               OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS);
      }
    }
  }

  // Groups of teams name their members by where these are among all locations of threads in teams.
  void WriteThreadsAndTeams() {
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
      for (const auto& [number, events] : ranks_[i].threads) {
        Define(OTF2_GlobalDefWriter_WriteLocation, LocationOf(i, number),
               String("OpenMP thread " + std::to_string(number)), OTF2_LOCATION_TYPE_CPU_THREAD, events, i);
      }
    }
    std::vector<std::uint64_t> locations;
    std::map<std::uint64_t, std::uint64_t> index;
    const auto add = [&](std::uint64_t location) {
      index[location] = locations.size();
      locations.push_back(location);
    };
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
      if (!ranks_[i].teams.empty()) add(i);
      for (const auto& [number, events] : ranks_[i].threads) add(LocationOf(i, number));
    }
    if (locations.empty()) return;
    const OTF2_StringRef paradigm = String("OpenMP"), name = String("OpenMP team");
    Define(OTF2_GlobalDefWriter_WriteParadigm, OTF2_PARADIGM_OPENMP, paradigm, OTF2_PARADIGM_CLASS_THREAD_FORK_JOIN);
    WriteGroup(groups_++, OTF2_GROUP_TYPE_COMM_LOCATIONS, locations, OTF2_PARADIGM_OPENMP);
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
      for (const GroupDefinition& team : ranks_[i].teams) {
        std::vector<std::uint64_t> members;
        for (const std::int32_t thread : team.members) {
          const auto found = index.find(LocationOf(i, static_cast<std::uint64_t>(thread)));
          if (found != index.end()) members.push_back(found->second);
        }
        WriteGroup(groups_, OTF2_GROUP_TYPE_COMM_GROUP, members, OTF2_PARADIGM_OPENMP);
        Define(OTF2_GlobalDefWriter_WriteComm, team.id, name, groups_++, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
      }
    }
  }

  // A device is a node of the system tree, below that of its ranks; each of these has a context on it.
  void WriteDevices() {
    std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> nodes;
    auto contexts = static_cast<std::uint32_t>(ranks_.size());
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
      for (const auto& [device, streams] : ranks_[i].devices) {
        const OTF2_StringRef name = String(device);
        const std::uint32_t host = node_of_host_[ranks_[i].host];
        const auto [entry, is_new] = nodes.try_emplace({host, device}, tree_nodes_);
        if (is_new) {
          ++tree_nodes_;
          Define(OTF2_GlobalDefWriter_WriteSystemTreeNode, entry->second, name, String("device"), host);
          Define(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain, entry->second,
                 OTF2_SYSTEM_TREE_DOMAIN_ACCELERATOR_DEVICE);
        }
        const std::uint32_t context = contexts++;
        Define(OTF2_GlobalDefWriter_WriteLocationGroup, context, name, OTF2_LOCATION_GROUP_TYPE_ACCELERATOR,
               entry->second, i);
        for (std::size_t stream = 0; stream < streams.size(); ++stream) {
          const auto& [number, events] = streams[stream];
          Define(OTF2_GlobalDefWriter_WriteLocation, LocationOf(i, number),
                 String("stream " + std::to_string(stream + 1)), OTF2_LOCATION_TYPE_ACCELERATOR_STREAM, events,
                 context);
        }
      }
    }
    for (const auto& [prefix, paradigm] : {std::pair("CUDA", OTF2_PARADIGM_CUDA), {"HIP", OTF2_PARADIGM_HIP}}) {
      const auto is_of_it = [wanted = paradigm](const std::string& name) { return ParadigmOf(name) == wanted; };
      if (std::ranges::none_of(facts_.calls, is_of_it)) continue;
      Define(OTF2_GlobalDefWriter_WriteParadigm, paradigm, String(prefix), OTF2_PARADIGM_CLASS_ACCELERATOR);
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
    if (facts_.has_counters) {
      write(1, "instructions", "Instructions in user mode", "#", OTF2_METRIC_TYPE_OTHER);
      write(2, "cycles", "Cycles in user mode", "#", OTF2_METRIC_TYPE_OTHER);
    }
    Define(OTF2_GlobalDefWriter_WriteMetricClass, kCpuTimeClass, 1, members, OTF2_METRIC_SYNCHRONOUS,
           OTF2_RECORDER_KIND_CPU);
    if (facts_.has_counters) {
      Define(OTF2_GlobalDefWriter_WriteMetricClass, kCountersClass, 2, members + 1, OTF2_METRIC_SYNCHRONOUS_STRICT,
             OTF2_RECORDER_KIND_CPU);
    }
  }

  OTF2_StringRef String(const std::string& text) {
    const auto [entry, is_new] = strings_.try_emplace(text, static_cast<OTF2_StringRef>(strings_.size()));
    if (is_new) Define(OTF2_GlobalDefWriter_WriteString, entry->second, text.c_str());
    return entry->second;
  }

  template <typename... Values>
  void Define(OTF2_ErrorCode (*write)(OTF2_GlobalDefWriter*, Values...), std::type_identity_t<Values>... values) {
    good_ = write(writer_, values...) == OTF2_SUCCESS && good_;
  }

  OTF2_GlobalDefWriter* const writer_;
  const std::vector<RankDefinitions>& ranks_;
  const RunFacts& facts_;
  bool good_ = true;
  std::map<std::string, OTF2_StringRef> strings_;
  std::map<std::string, std::uint32_t> node_of_host_;
  std::uint32_t tree_nodes_ = 0;  // that are defined
  OTF2_GroupRef groups_ = 0;
};

}  // namespace

std::vector<RankNumbers> NumberDefinitions(std::vector<RankDefinitions>& all, std::uint32_t call_count,
                                           RunFacts& facts) {
  std::vector<RankNumbers> of_ranks(all.size());
  NumberRegions(all, call_count, facts, of_ranks);
  std::map<std::uint32_t, const GroupDefinition*> by_own;
  std::uint32_t next = kSelfId + 1, next_group = kFirstGroups;
  // Those between two groups come behind the others, as their definitions do, and teams of threads last.
  for (const bool is_inter : {false, true}) {
    for (RankDefinitions& rank : all) {
      for (GroupDefinition& communicator : rank.communicators) {
        if (communicator.remote.empty() == is_inter) continue;
        const NumberPair pair = {communicator.id, next++};
        by_own[communicator.id] = &communicator;
        NoteFor(communicator.members, pair, &RankNumbers::communicators, of_ranks);
        NoteFor(communicator.remote, pair, &RankNumbers::communicators, of_ranks);
        communicator.id = pair.second;
        next_group += is_inter ? 2 : 1;
      }
    }
  }
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (GroupDefinition& team : all[rank].teams) {
      of_ranks[rank].communicators.push_back({team.id, next});
      team.id = next++;
    }
  }
  std::vector<std::int32_t> everybody(all.size());
  std::iota(everybody.begin(), everybody.end(), 0);
  std::uint32_t next_window = 0;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (GroupDefinition& group : all[rank].groups) {
      of_ranks[rank].groups.push_back({group.id, next_group});
      group.id = next_group++;
    }
    for (auto& [id, communicator] : all[rank].windows) {
      const auto found = by_own.find(communicator);
      const NumberPair pair = {id, next_window++};
      NoteFor(found == by_own.end() ? everybody : found->second->members, pair, &RankNumbers::windows, of_ranks);
      id = pair.second;
      if (found != by_own.end()) communicator = found->second->id;
    }
  }
  return of_ranks;
}

double TicksASecond(const Page& page) {
  const auto ticks = static_cast<double>(page.end_tick - page.begin_tick);
  const auto nanoseconds = static_cast<double>(page.end_clock - page.begin_clock);
  const bool is_known = (page.flags & kClockIsTsc) != 0 && ticks > 0 && nanoseconds > 0;
  return is_known ? ticks / nanoseconds * 1e9 : 1e9;
}

RunFacts FactsOfRun(const Page& page, bool has_counters) {
  return {page.program, static_cast<std::uint64_t>(TicksASecond(page)), page.started, has_counters, {}, {}};
}

OTF2_Archive* OpenToWrite(const std::string& folder, const char* generator, const OTF2_FlushCallbacks& flush) {
  const auto ignore = [](void*, const char*, std::uint64_t, const char*, OTF2_ErrorCode code, const char*, va_list) {
    return code;
  };
  OTF2_Error_RegisterCallback(ignore, nullptr);
  OTF2_Archive* archive = OTF2_Archive_Open(folder.c_str(), kArchiveName, OTF2_FILEMODE_WRITE, kEventChunk,
                                            kDefinitionChunk, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  const bool good = archive != nullptr && OTF2_Archive_SetFlushCallbacks(archive, &flush, nullptr) == OTF2_SUCCESS &&
                    OTF2_Archive_SetCreator(archive, generator) == OTF2_SUCCESS;
  if (good) return archive;
  if (archive != nullptr) OTF2_Archive_Close(archive);
  return nullptr;
}

bool WriteGlobalDefinitions(OTF2_GlobalDefWriter* writer, const std::vector<RankDefinitions>& ranks,
                            const RunFacts& facts) {
  return GlobalDefinitions(writer, ranks, facts).Write();
}

bool WriteLocalDefinitions(OTF2_Archive* archive, std::uint64_t location, const std::vector<ClockOffset>& offsets,
                           const RankNumbers& numbers) {
  OTF2_DefWriter* writer = OTF2_Archive_GetDefWriter(archive, location);
  if (writer == nullptr) return false;
  bool good = true;
  for (const auto& [time, offset] : offsets) {
    good = OTF2_DefWriter_WriteClockOffset(writer, time, offset, 0) == OTF2_SUCCESS && good;
  }
  OTF2_IdMap* regions = OTF2_IdMap_CreateFromUint32Array(numbers.regions.size(), numbers.regions.data(), false);
  good = OTF2_DefWriter_WriteMappingTable(writer, OTF2_MAPPING_REGION, regions) == OTF2_SUCCESS && good;
  OTF2_IdMap_Free(regions);
  const auto write = [&](OTF2_MappingType type, const std::vector<NumberPair>& pairs) {
    if (pairs.empty()) return;
    OTF2_IdMap* map = OTF2_IdMap_Create(OTF2_ID_MAP_SPARSE, pairs.size());
    for (const auto& [own, in_archive] : pairs) OTF2_IdMap_AddIdPair(map, own, in_archive);
    good = OTF2_DefWriter_WriteMappingTable(writer, type, map) == OTF2_SUCCESS && good;
    OTF2_IdMap_Free(map);
  };
  write(OTF2_MAPPING_COMM, numbers.communicators);
  write(OTF2_MAPPING_RMA_WIN, numbers.windows);
  write(OTF2_MAPPING_GROUP, numbers.groups);
  return OTF2_Archive_CloseDefWriter(archive, writer) == OTF2_SUCCESS && good;
}

}  // namespace farscale::collect
