#include "collect/rank_definitions.h"

#include <strings.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <ctime>
#include <set>

#include "collect/call.h"
#include "collect/trace_definitions.h"

namespace farscale::collect {
namespace {

// Readers know MPI functions by their names, so a region of the program must not look like one.
std::string NameInTrace(const std::string& region) {
  const bool looks_like_mpi =
      strncasecmp(region.c_str(), "mpi_", 4) == 0 || strncasecmp(region.c_str(), "pmpi_", 5) == 0;
  return looks_like_mpi ? "region " + region : region;
}

template <typename Number>
void PackNumber(Number number, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void PackText(const std::string& text, std::string& bytes) {
  PackNumber(static_cast<std::uint64_t>(text.size()), bytes);
  bytes += text;
}

template <typename Number>
void PackNumbers(const std::vector<Number>& numbers, std::string& bytes) {
  PackNumber(static_cast<std::uint64_t>(numbers.size()), bytes);
  bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number));
}

class Unpacker {
 public:
  explicit Unpacker(const std::string& bytes) : bytes_(bytes) {}

  template <typename Number>
  Number Take() {
    Number number{};
    std::memcpy(&number, bytes_.data() + place_, sizeof number);
    place_ += sizeof number;
    return number;
  }
  std::string TakeText() {
    const auto size = Take<std::uint64_t>();
    place_ += size;
    return bytes_.substr(place_ - size, size);
  }
  template <typename Number>
  std::vector<Number> TakeNumbers() {
    std::vector<Number> numbers(Take<std::uint64_t>());
    std::memcpy(numbers.data(), bytes_.data() + place_, numbers.size() * sizeof(Number));
    place_ += numbers.size() * sizeof(Number);
    return numbers;
  }

 private:
  const std::string& bytes_;
  std::size_t place_ = 0;
};

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

}  // namespace

std::string Pack(const RankDefinitions& definitions) {
  std::string bytes;
  PackText(definitions.host, bytes);
  PackNumber(definitions.events, bytes);
  PackNumber(definitions.begin, bytes);
  PackNumber(definitions.end, bytes);
  PackNumbers(definitions.calls, bytes);
  PackNumber(static_cast<std::uint64_t>(definitions.regions.size()), bytes);
  for (const std::string& region : definitions.regions) PackText(region, bytes);
  PackNumber(static_cast<std::uint64_t>(definitions.communicators.size()), bytes);
  for (const CommunicatorDefinition& communicator : definitions.communicators) {
    PackNumber(communicator.id, bytes);
    PackNumbers(communicator.members, bytes);
    PackNumbers(communicator.remote, bytes);
  }
  PackNumber(static_cast<std::uint64_t>(definitions.windows.size()), bytes);
  for (const WindowDefinition& window : definitions.windows) {
    PackNumber(window.id, bytes);
    PackNumber(window.communicator, bytes);
  }
  PackNumber(static_cast<std::uint64_t>(definitions.groups.size()), bytes);
  for (const GroupDefinition& group : definitions.groups) {
    PackNumber(group.id, bytes);
    PackNumbers(group.members, bytes);
  }
  return bytes;
}

RankDefinitions Unpack(const std::string& bytes) {
  Unpacker unpacker(bytes);
  RankDefinitions definitions;
  definitions.host = unpacker.TakeText();
  definitions.events = unpacker.Take<std::uint64_t>();
  definitions.begin = unpacker.Take<std::uint64_t>();
  definitions.end = unpacker.Take<std::uint64_t>();
  definitions.calls = unpacker.TakeNumbers<std::uint32_t>();
  definitions.regions.resize(unpacker.Take<std::uint64_t>());
  for (std::string& region : definitions.regions) region = unpacker.TakeText();
  definitions.communicators.resize(unpacker.Take<std::uint64_t>());
  for (CommunicatorDefinition& communicator : definitions.communicators) {
    communicator.id = unpacker.Take<std::uint32_t>();
    communicator.members = unpacker.TakeNumbers<std::int32_t>();
    communicator.remote = unpacker.TakeNumbers<std::int32_t>();
  }
  definitions.windows.resize(unpacker.Take<std::uint64_t>());
  for (WindowDefinition& window : definitions.windows) {
    window.id = unpacker.Take<std::uint32_t>();
    window.communicator = unpacker.Take<std::uint32_t>();
  }
  definitions.groups.resize(unpacker.Take<std::uint64_t>());
  for (GroupDefinition& group : definitions.groups) {
    group.id = unpacker.Take<std::uint32_t>();
    group.members = unpacker.TakeNumbers<std::int32_t>();
  }
  return definitions;
}

bool GlobalDefinitions::Write() {
  WriteClock();
  String("");
  String(page->program);
  Done(OTF2_GlobalDefWriter_WriteParadigm(writer_, OTF2_PARADIGM_MPI, String("MPI"), OTF2_PARADIGM_CLASS_PROCESS));
  WriteNodesAndRanks();
  WriteRegions();
  WriteCommunicators();
  WriteWindows();
  WriteCounters();
  return good_;
}

void GlobalDefinitions::WriteClock() {
  std::uint64_t begin = ranks_.front().begin, end = ranks_.front().end;
  for (const RankDefinitions& rank : ranks_) {
    begin = std::min(begin, rank.begin);
    end = std::max(end, rank.end);
  }
  const auto ticks = static_cast<double>(page->end_tick - page->begin_tick);
  const auto nanoseconds = static_cast<double>(page->end_clock - page->begin_clock);
  const bool is_known = clock_is_tsc && ticks > 0 && nanoseconds > 0;
  const double ticks_a_second = is_known ? ticks / nanoseconds * 1e9 : 1e9;
  Done(OTF2_GlobalDefWriter_WriteClockProperties(writer_, static_cast<std::uint64_t>(ticks_a_second), begin,
                                                 end - begin + 1, page->started));
}

void GlobalDefinitions::WriteNodesAndRanks() {
  const OTF2_SystemTreeNodeRef machine = 0;
  const OTF2_StringRef machine_class = String("machine"), node_class = String("node"), thread = String("Master thread");
  Done(OTF2_GlobalDefWriter_WriteSystemTreeNode(writer_, machine, machine_class, machine_class,
                                                OTF2_UNDEFINED_SYSTEM_TREE_NODE));
  std::map<std::string, std::uint32_t> nodes;
  for (const RankDefinitions& rank : ranks_) {
    const auto [entry, is_new] = nodes.try_emplace(rank.host, static_cast<std::uint32_t>(nodes.size()) + 1);
    if (!is_new) continue;
    const OTF2_StringRef name = String(rank.host);
    Done(OTF2_GlobalDefWriter_WriteSystemTreeNode(writer_, entry->second, name, node_class, machine));
    Done(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(writer_, entry->second, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
  }
  for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
    const OTF2_StringRef name = String("MPI Rank " + std::to_string(i));
    Done(OTF2_GlobalDefWriter_WriteLocationGroup(writer_, i, name, OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                                 nodes[ranks_[i].host], OTF2_UNDEFINED_LOCATION_GROUP));
    Done(OTF2_GlobalDefWriter_WriteLocation(writer_, i, thread, OTF2_LOCATION_TYPE_CPU_THREAD, ranks_[i].events, i));
  }
}

void GlobalDefinitions::WriteRegions() {
  std::set<std::uint32_t> calls;
  for (const RankDefinitions& rank : ranks_) calls.insert(rank.calls.begin(), rank.calls.end());
  for (const std::uint32_t call : calls) {
    const std::string name = kCallNames[call];
    WriteRegion(call, name, RoleOf(name), OTF2_PARADIGM_MPI);
  }
  auto reference = static_cast<std::uint32_t>(CallId::kCount);
  for (const std::string& name : regions_) {
    WriteRegion(reference++, NameInTrace(name), OTF2_REGION_ROLE_CODE, OTF2_PARADIGM_USER);
  }
}

void GlobalDefinitions::WriteRegion(std::uint32_t reference, const std::string& name, OTF2_RegionRole role,
                                    OTF2_Paradigm paradigm) {
  const OTF2_StringRef text = String(name);
  Done(OTF2_GlobalDefWriter_WriteRegion(writer_, reference, text, text, kEmptyString, role, paradigm,
                                        OTF2_REGION_FLAG_NONE, kEmptyString, 0, 0));
}

void GlobalDefinitions::WriteCommunicators() {
  std::vector<std::uint64_t> all(ranks_.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  WriteGroup(groups_++, OTF2_GROUP_TYPE_COMM_LOCATIONS, all);
  WriteCommunicator(kWorldId, "MPI_COMM_WORLD", OTF2_GROUP_TYPE_COMM_GROUP, all);
  WriteCommunicator(kSelfId, "MPI_COMM_SELF", OTF2_GROUP_TYPE_COMM_SELF, {});
  for (const RankDefinitions& rank : ranks_) {
    for (const CommunicatorDefinition& communicator : rank.communicators) {
      WriteCommunicator(communicator);
    }
  }
}

void GlobalDefinitions::WriteGroup(OTF2_GroupRef reference, OTF2_GroupType type,
                                   const std::vector<std::uint64_t>& members) {
  Done(OTF2_GlobalDefWriter_WriteGroup(writer_, reference, kEmptyString, type, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                       static_cast<std::uint32_t>(members.size()), members.data()));
}

void GlobalDefinitions::WriteCommunicator(std::uint32_t reference, const std::string& name, OTF2_GroupType type,
                                          const std::vector<std::uint64_t>& members) {
  const OTF2_StringRef text = String(name);
  WriteGroup(groups_, type, members);
  Done(OTF2_GlobalDefWriter_WriteComm(writer_, reference, text, groups_++, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
}

void GlobalDefinitions::WriteCommunicator(const CommunicatorDefinition& communicator) {
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
  Done(OTF2_GlobalDefWriter_WriteInterComm(writer_, communicator.id, text, first, first + 1, OTF2_UNDEFINED_COMM,
                                           OTF2_COMM_FLAG_NONE));
}

void GlobalDefinitions::WriteWindows() {
  for (const RankDefinitions& rank : ranks_) {
    for (const GroupDefinition& group : rank.groups) {
      WriteGroup(group.id, OTF2_GROUP_TYPE_COMM_GROUP, {group.members.begin(), group.members.end()});
    }
    for (const WindowDefinition& window : rank.windows) {
      const OTF2_StringRef name = String("window " + std::to_string(window.id));
      Done(OTF2_GlobalDefWriter_WriteRmaWin(writer_, window.id, name, window.communicator,
                                            OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS));
    }
  }
}

void GlobalDefinitions::WriteCounters() {
  const OTF2_MetricMemberRef members[] = {0, 1, 2};
  const auto write = [&](OTF2_MetricMemberRef reference, const char* name, const char* description, const char* unit,
                         OTF2_MetricType type) {
    const OTF2_StringRef name_text = String(name), description_text = String(description), unit_text = String(unit);
    Done(OTF2_GlobalDefWriter_WriteMetricMember(writer_, reference, name_text, description_text, type,
                                                OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_INT64, OTF2_BASE_DECIMAL, 0,
                                                unit_text));
  };
  write(0, "CPU_TIME", "CPU time of the main thread, asked for every 50 us at most", "ns", OTF2_METRIC_TYPE_OTHER);
  if (has_counters_) {
    write(1, "instructions", "Instructions of the main thread in user mode", "#", OTF2_METRIC_TYPE_OTHER);
    write(2, "cycles", "Cycles of the main thread in user mode", "#", OTF2_METRIC_TYPE_OTHER);
  }
  Done(OTF2_GlobalDefWriter_WriteMetricClass(writer_, kCpuTimeClass, 1, members, OTF2_METRIC_SYNCHRONOUS,
                                             OTF2_RECORDER_KIND_CPU));
  if (has_counters_) {
    Done(OTF2_GlobalDefWriter_WriteMetricClass(writer_, kCountersClass, 2, members + 1, OTF2_METRIC_SYNCHRONOUS_STRICT,
                                               OTF2_RECORDER_KIND_CPU));
  }
}

OTF2_StringRef GlobalDefinitions::String(const std::string& text) {
  const auto [entry, is_new] = strings_.try_emplace(text, static_cast<OTF2_StringRef>(strings_.size()));
  if (is_new) Done(OTF2_GlobalDefWriter_WriteString(writer_, entry->second, text.c_str()));
  return entry->second;
}

}  // namespace farscale::collect
