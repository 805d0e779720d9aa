#include "support/otf2_archive.h"

#include <algorithm>
#include <stdexcept>

#include "trace/trace.h"

namespace farscale::test {
namespace {

constexpr std::uint32_t kEmpty = 0;  // the string ""

void Check(OTF2_ErrorCode code) {
  if (code != OTF2_SUCCESS) throw std::runtime_error(std::string("OTF2: ") + OTF2_Error_GetDescription(code));
}

constexpr std::uint32_t kThreadsGroup = 1 << 20;  // of all locations of OpenMP
constexpr std::uint32_t kRankGroups = 1 << 21;    // the first of those that are of no communicator

constexpr OTF2_Paradigm kLaterParadigm = 200;  // that this version of OTF2 does not know

OTF2_RegionRole RoleOf(const std::string& region) {
  const auto begins = [&](const char* text) { return region.rfind(text, 0) == 0; };
  if (region == kOutsideRegion || begins("cuda idle")) return OTF2_REGION_ROLE_ARTIFICIAL;
  if (begins("cuda copy")) return OTF2_REGION_ROLE_DATA_TRANSFER;
  if (begins("!$omp parallel")) return OTF2_REGION_ROLE_PARALLEL;
  if (begins("!$omp barrier")) return OTF2_REGION_ROLE_BARRIER;
  if (begins("!$omp implicit barrier")) return OTF2_REGION_ROLE_IMPLICIT_BARRIER;
  if (begins("!$omp critical sblock")) return OTF2_REGION_ROLE_CRITICAL_SBLOCK;
  if (begins("!$omp critical")) return OTF2_REGION_ROLE_CRITICAL;
  if (begins("!$omp taskwait")) return OTF2_REGION_ROLE_TASK_WAIT;
  if (begins("!$omp create task")) return OTF2_REGION_ROLE_TASK_CREATE;
  if (begins("!$omp task")) return OTF2_REGION_ROLE_TASK;
  return begins("!$omp") ? OTF2_REGION_ROLE_LOOP : OTF2_REGION_ROLE_FUNCTION;
}

OTF2_Paradigm ParadigmOf(const std::string& region) {
  if (region.rfind("MPI_", 0) == 0) return OTF2_PARADIGM_MPI;
  if (region.rfind("cuda", 0) == 0) return OTF2_PARADIGM_CUDA;
  if (region.rfind("hip", 0) == 0) return OTF2_PARADIGM_HIP;
  if (region.rfind("acc", 0) == 0) return OTF2_PARADIGM_OPENACC;
  if (region.rfind("sycl", 0) == 0) return kLaterParadigm;
  return region.rfind("!$omp", 0) == 0 ? OTF2_PARADIGM_OPENMP : OTF2_PARADIGM_USER;
}

OTF2_FlushType BeforeFlush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }
OTF2_FlushCallbacks flush_callbacks = {BeforeFlush, nullptr};

}  // namespace

Otf2Archive::Otf2Archive(const std::filesystem::path& folder, const std::string& name) : folder_(folder), name_(name) {
  // The smallest chunks there may be: whoever reads an archive makes the library clear one for every file.
  archive_ = OTF2_Archive_Open(folder.c_str(), name.c_str(), OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_MIN,
                               OTF2_CHUNK_SIZE_MIN, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  if (archive_ == nullptr) throw std::runtime_error("OTF2: cannot open " + folder.string());
  Check(OTF2_Archive_SetFlushCallbacks(archive_, &flush_callbacks, nullptr));
  Check(OTF2_Archive_SetSerialCollectiveCallbacks(archive_));
  Check(OTF2_Archive_OpenEvtFiles(archive_));
  String("");
}

Otf2Archive::~Otf2Archive() {
  if (archive_ != nullptr) OTF2_Archive_Close(archive_);
}

std::uint32_t Otf2Archive::String(const std::string& text) {
  const auto [entry, is_new] = string_index_.try_emplace(text, static_cast<std::uint32_t>(strings_.size()));
  if (is_new) strings_.push_back(text);
  return entry->second;
}

std::uint32_t Otf2Archive::Region(const std::string& name) {
  const auto [entry, is_new] = region_index_.try_emplace(name, static_cast<std::uint32_t>(regions_.size()));
  if (is_new) regions_.push_back(name);
  return entry->second;
}

std::uint32_t Otf2Archive::Node(const std::string& name) {
  nodes_.push_back(name);
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

void Otf2Archive::AddProcess(std::uint32_t node, int threads) { processes_.push_back({node, threads}); }

std::uint32_t Otf2Archive::AddDevice(std::uint32_t node) {
  devices_.push_back(node);
  return static_cast<std::uint32_t>(devices_.size() - 1);
}

void Otf2Archive::AddStream(std::uint64_t location, std::uint32_t process, std::uint32_t device) {
  streams_.push_back({location, process, device, "stream"});
}

void Otf2Archive::AddStream(std::uint64_t location, std::uint32_t process, const std::string& name) {
  streams_.push_back({location, process, OTF2_UNDEFINED_SYSTEM_TREE_NODE, name});
}

void Otf2Archive::SetClockOffset(std::uint64_t location, std::uint64_t time, std::int64_t offset) {
  clock_offsets_[location].emplace_back(time, offset);
}

void Otf2Archive::AddWorld(int ranks) {
  const std::uint32_t node = Node("node0");
  for (int rank = 0; rank < ranks; ++rank) AddProcess(node);
  AddMpi();
}

void Otf2Archive::AddMpi() {
  std::vector<std::uint64_t> members(processes_.size());
  for (std::size_t i = 0; i < members.size(); ++i) members[i] = i;
  communicators_.push_back({"MPI_COMM_WORLD", members, false});
  communicators_.push_back({"MPI_COMM_SELF", {}, true});
}

std::uint32_t Otf2Archive::AddCommunicator(const std::string& name, const std::vector<std::uint64_t>& world_ranks) {
  communicators_.push_back({name, world_ranks, false});
  return static_cast<std::uint32_t>(communicators_.size() - 1);
}

std::uint32_t Otf2Archive::AddWindow(std::uint32_t communicator) {
  windows_.push_back(communicator);
  return static_cast<std::uint32_t>(windows_.size() - 1);
}

std::uint32_t Otf2Archive::AddGroup(const std::vector<std::uint64_t>& world_ranks) {
  rank_groups_.push_back(world_ranks);
  return kRankGroups + static_cast<std::uint32_t>(rank_groups_.size() - 1);
}

std::uint32_t Otf2Archive::AddTeam(const std::vector<std::uint64_t>& locations) {
  communicators_.push_back({"OpenMP team", locations, false, true});
  return static_cast<std::uint32_t>(communicators_.size() - 1);
}

void Otf2Archive::AddTopology(std::uint32_t communicator, const std::vector<std::uint32_t>& extents, bool is_periodic,
                              const std::vector<std::vector<std::uint32_t>>& coordinates) {
  topologies_.push_back({communicator, extents, is_periodic, coordinates});
}

std::uint32_t Otf2Archive::AddMetricClass(const std::vector<std::string>& names, OTF2_MetricMode mode, OTF2_Type type,
                                          OTF2_MetricOccurrence occurrence) {
  metrics_.push_back({names, mode, occurrence, type});
  return static_cast<std::uint32_t>(metrics_.size() - 1);
}

void Otf2Archive::Property(const std::string& name, const std::string& value) {
  Check(OTF2_Archive_SetProperty(archive_, name.c_str(), value.c_str(), true));
}

void Otf2Archive::SetClock(std::uint64_t ticks_per_second, std::uint64_t offset, std::uint64_t length) {
  ticks_per_second_ = ticks_per_second;
  offset_ = offset;
  length_ = length;
}

void Otf2Archive::MapRegions(std::uint64_t location, const std::vector<std::uint64_t>& global_of_local) {
  region_maps_[location] = global_of_local;
}

Otf2Writer Otf2Archive::Location(std::uint64_t location) {
  OTF2_EvtWriter*& writer = writers_[location];
  if (writer == nullptr) writer = OTF2_Archive_GetEvtWriter(archive_, location);
  return Otf2Writer(this, writer);
}

void Otf2Archive::WriteDefinitions() {
  OTF2_GlobalDefWriter* w = OTF2_Archive_GetGlobalDefWriter(archive_);
  Check(OTF2_GlobalDefWriter_WriteClockProperties(w, ticks_per_second_, offset_, length_, OTF2_UNDEFINED_TIMESTAMP));
  const std::uint32_t node_class = String("node"), master = String("Master thread"), process = String("MPI Rank");
  for (const std::string& name : nodes_) String(name);
  for (const std::string& name : regions_) String(name);
  for (const Communicator& c : communicators_) String(c.name);
  for (const Stream& s : streams_) String(s.name);
  for (const MetricClass& m : metrics_) {
    for (const std::string& name : m.names) String(name);
  }
  for (std::size_t i = 0; i < strings_.size(); ++i) {
    Check(OTF2_GlobalDefWriter_WriteString(w, static_cast<std::uint32_t>(i), strings_[i].c_str()));
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Check(OTF2_GlobalDefWriter_WriteSystemTreeNode(w, static_cast<std::uint32_t>(i), String(nodes_[i]), node_class,
                                                   OTF2_UNDEFINED_SYSTEM_TREE_NODE));
  }
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const std::size_t rank = last_first_ ? processes_.size() - 1 - i : i;
    Check(OTF2_GlobalDefWriter_WriteLocationGroup(w, static_cast<std::uint32_t>(rank), process,
                                                  OTF2_LOCATION_GROUP_TYPE_PROCESS, processes_[rank].node,
                                                  OTF2_UNDEFINED_LOCATION_GROUP));
    for (int thread = 0; thread < processes_[rank].threads; ++thread) {
      const std::uint64_t location = thread == 0 ? rank : 1000 + 100 * rank + static_cast<std::uint64_t>(thread);
      Check(OTF2_GlobalDefWriter_WriteLocation(w, location, master, OTF2_LOCATION_TYPE_CPU_THREAD, events_[location],
                                               static_cast<std::uint32_t>(rank)));
    }
  }
  Check(OTF2_GlobalDefWriter_WriteParadigm(w, kLaterParadigm, kEmpty, OTF2_PARADIGM_CLASS_ACCELERATOR));
  WriteStreams();
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    const std::uint32_t name = String(regions_[i]);
    Check(OTF2_GlobalDefWriter_WriteRegion(w, static_cast<std::uint32_t>(i), name, name, kEmpty, RoleOf(regions_[i]),
                                           ParadigmOf(regions_[i]), OTF2_REGION_FLAG_NONE, kEmpty, 0, 0));
  }
  if (!communicators_.empty()) {
    std::vector<std::uint64_t> locations(processes_.size());
    for (std::size_t i = 0; i < locations.size(); ++i) locations[i] = i;
    Check(OTF2_GlobalDefWriter_WriteGroup(w, 0, kEmpty, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                          OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(locations.size()),
                                          locations.data()));
  }
  std::vector<std::uint64_t> threads;
  for (const Communicator& c : communicators_) {
    if (c.is_team) threads.insert(threads.end(), c.members.begin(), c.members.end());
  }
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  if (!threads.empty()) {
    Check(OTF2_GlobalDefWriter_WriteGroup(w, kThreadsGroup, kEmpty, OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                          OTF2_PARADIGM_OPENMP, OTF2_GROUP_FLAG_NONE,
                                          static_cast<std::uint32_t>(threads.size()), threads.data()));
  }
  for (std::size_t i = 0; i < communicators_.size(); ++i) {
    Communicator c = communicators_[i];
    for (std::uint64_t& member : c.members) {  // by their places among all
      if (!c.is_team) break;
      member = static_cast<std::uint64_t>(std::lower_bound(threads.begin(), threads.end(), member) - threads.begin());
    }
    const auto group = static_cast<std::uint32_t>(i + 1);
    Check(OTF2_GlobalDefWriter_WriteGroup(w, group, kEmpty,
                                          c.is_self ? OTF2_GROUP_TYPE_COMM_SELF : OTF2_GROUP_TYPE_COMM_GROUP,
                                          c.is_team ? OTF2_PARADIGM_OPENMP : OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                          static_cast<std::uint32_t>(c.members.size()), c.members.data()));
    Check(OTF2_GlobalDefWriter_WriteComm(w, static_cast<std::uint32_t>(i), String(c.name), group, OTF2_UNDEFINED_COMM,
                                         OTF2_COMM_FLAG_NONE));
  }
  for (std::uint32_t i = 0; i < rank_groups_.size(); ++i) {
    const std::vector<std::uint64_t>& group = rank_groups_[i];
    Check(OTF2_GlobalDefWriter_WriteGroup(w, kRankGroups + i, kEmpty, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                          OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(group.size()),
                                          group.data()));
  }
  for (std::uint32_t i = 0; i < windows_.size(); ++i) {
    Check(OTF2_GlobalDefWriter_WriteRmaWin(w, i, kEmpty, windows_[i], OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS));
  }
  WriteTopologies();
  std::uint32_t member = 0;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    std::vector<OTF2_MetricMemberRef> members;
    for (const std::string& name : metrics_[i].names) {
      Check(OTF2_GlobalDefWriter_WriteMetricMember(w, member, String(name), kEmpty, OTF2_METRIC_TYPE_OTHER,
                                                   metrics_[i].mode, metrics_[i].type, OTF2_BASE_DECIMAL, 0, kEmpty));
      members.push_back(member++);
    }
    Check(OTF2_GlobalDefWriter_WriteMetricClass(w, static_cast<std::uint32_t>(i),
                                                static_cast<std::uint8_t>(members.size()), members.data(),
                                                metrics_[i].occurrence, OTF2_RECORDER_KIND_CPU));
  }
}

void Otf2Archive::WriteStreams() {
  OTF2_GlobalDefWriter* w = OTF2_Archive_GetGlobalDefWriter(archive_);
  const auto first_device = static_cast<std::uint32_t>(nodes_.size());
  for (std::uint32_t i = 0; i < devices_.size(); ++i) {
    Check(OTF2_GlobalDefWriter_WriteSystemTreeNode(w, first_device + i, kEmpty, kEmpty, devices_[i]));
    Check(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(w, first_device + i,
                                                         OTF2_SYSTEM_TREE_DOMAIN_ACCELERATOR_DEVICE));
  }
  auto context = static_cast<std::uint32_t>(processes_.size());
  for (const Stream& stream : streams_) {
    std::uint32_t group = stream.process;
    if (stream.device != OTF2_UNDEFINED_SYSTEM_TREE_NODE) {
      group = context++;
      Check(OTF2_GlobalDefWriter_WriteLocationGroup(w, group, kEmpty, OTF2_LOCATION_GROUP_TYPE_ACCELERATOR,
                                                    first_device + stream.device, stream.process));
    }
    Check(OTF2_GlobalDefWriter_WriteLocation(w, stream.location, String(stream.name),
                                             OTF2_LOCATION_TYPE_ACCELERATOR_STREAM, events_[stream.location], group));
  }
}

void Otf2Archive::WriteTopologies() {
  OTF2_GlobalDefWriter* w = OTF2_Archive_GetGlobalDefWriter(archive_);
  std::uint32_t dimension = 0;
  for (std::uint32_t i = 0; i < topologies_.size(); ++i) {
    const Topology& topology = topologies_[i];
    std::vector<OTF2_CartDimensionRef> dimensions;
    for (const std::uint32_t extent : topology.extents) {
      Check(OTF2_GlobalDefWriter_WriteCartDimension(
          w, dimension, kEmpty, extent, topology.is_periodic ? OTF2_CART_PERIODIC_TRUE : OTF2_CART_PERIODIC_FALSE));
      dimensions.push_back(dimension++);
    }
    Check(OTF2_GlobalDefWriter_WriteCartTopology(w, i, kEmpty, topology.communicator,
                                                 static_cast<std::uint8_t>(dimensions.size()), dimensions.data()));
    for (std::uint32_t rank = 0; rank < topology.coordinates.size(); ++rank) {
      const std::vector<std::uint32_t>& at = topology.coordinates[rank];
      Check(OTF2_GlobalDefWriter_WriteCartCoordinate(w, i, rank, static_cast<std::uint8_t>(at.size()), at.data()));
    }
  }
}

std::string Otf2Archive::Close() {
  for (auto& [location, writer] : writers_) {
    Check(OTF2_EvtWriter_GetNumberOfEvents(writer, &events_[location]));
    if (announced_.contains(location)) events_[location] = announced_[location];
    Check(OTF2_Archive_CloseEvtWriter(archive_, writer));
  }
  Check(OTF2_Archive_CloseEvtFiles(archive_));
  Check(OTF2_Archive_OpenDefFiles(archive_));
  for (const auto& [location, writer] : writers_) {
    OTF2_DefWriter* definitions = OTF2_Archive_GetDefWriter(archive_, location);
    const auto mapping = region_maps_.find(location);
    if (mapping != region_maps_.end()) {
      OTF2_IdMap* map = OTF2_IdMap_CreateFromUint64Array(mapping->second.size(), mapping->second.data(), false);
      Check(OTF2_DefWriter_WriteMappingTable(definitions, OTF2_MAPPING_REGION, map));
      OTF2_IdMap_Free(map);
    }
    for (const auto& [time, offset] : clock_offsets_[location]) {
      Check(OTF2_DefWriter_WriteClockOffset(definitions, time, offset, 0));
    }
    Check(OTF2_Archive_CloseDefWriter(archive_, definitions));
  }
  Check(OTF2_Archive_CloseDefFiles(archive_));
  WriteDefinitions();
  Check(OTF2_Archive_Close(archive_));
  archive_ = nullptr;
  return (folder_ / (name_ + ".otf2")).string();
}

Otf2Writer& Otf2Writer::Enter(std::uint64_t time, std::uint32_t region) {
  Check(OTF2_EvtWriter_Enter(writer_, nullptr, time, region));
  return *this;
}
Otf2Writer& Otf2Writer::Leave(std::uint64_t time, std::uint32_t region) {
  Check(OTF2_EvtWriter_Leave(writer_, nullptr, time, region));
  return *this;
}
Otf2Writer& Otf2Writer::Enter(std::uint64_t time, const std::string& region) {
  return Enter(time, archive_->Region(region));
}
Otf2Writer& Otf2Writer::Leave(std::uint64_t time, const std::string& region) {
  return Leave(time, archive_->Region(region));
}
Otf2Writer& Otf2Writer::Send(std::uint64_t time, std::uint32_t peer, std::uint32_t comm, std::uint32_t tag,
                             std::uint64_t bytes) {
  Check(OTF2_EvtWriter_MpiSend(writer_, nullptr, time, peer, comm, tag, bytes));
  return *this;
}
Otf2Writer& Otf2Writer::Receive(std::uint64_t time, std::uint32_t peer, std::uint32_t comm, std::uint32_t tag,
                                std::uint64_t bytes) {
  Check(OTF2_EvtWriter_MpiRecv(writer_, nullptr, time, peer, comm, tag, bytes));
  return *this;
}
Otf2Writer& Otf2Writer::Isend(std::uint64_t time, std::uint32_t peer, std::uint32_t comm, std::uint32_t tag,
                              std::uint64_t bytes, std::uint64_t request) {
  Check(OTF2_EvtWriter_MpiIsend(writer_, nullptr, time, peer, comm, tag, bytes, request));
  return *this;
}
Otf2Writer& Otf2Writer::IsendComplete(std::uint64_t time, std::uint64_t request) {
  Check(OTF2_EvtWriter_MpiIsendComplete(writer_, nullptr, time, request));
  return *this;
}
Otf2Writer& Otf2Writer::IrecvRequest(std::uint64_t time, std::uint64_t request) {
  Check(OTF2_EvtWriter_MpiIrecvRequest(writer_, nullptr, time, request));
  return *this;
}
Otf2Writer& Otf2Writer::Irecv(std::uint64_t time, std::uint32_t peer, std::uint32_t comm, std::uint32_t tag,
                              std::uint64_t bytes, std::uint64_t request) {
  Check(OTF2_EvtWriter_MpiIrecv(writer_, nullptr, time, peer, comm, tag, bytes, request));
  return *this;
}
Otf2Writer& Otf2Writer::RequestTest(std::uint64_t time, std::uint64_t request) {
  Check(OTF2_EvtWriter_MpiRequestTest(writer_, nullptr, time, request));
  return *this;
}
Otf2Writer& Otf2Writer::RequestCancelled(std::uint64_t time, std::uint64_t request) {
  Check(OTF2_EvtWriter_MpiRequestCancelled(writer_, nullptr, time, request));
  return *this;
}
Otf2Writer& Otf2Writer::Collective(std::uint64_t time, OTF2_CollectiveOp operation, std::uint32_t comm,
                                   std::uint32_t root, std::uint64_t sent, std::uint64_t received) {
  Check(OTF2_EvtWriter_MpiCollectiveBegin(writer_, nullptr, time));
  Check(OTF2_EvtWriter_MpiCollectiveEnd(writer_, nullptr, time, operation, comm, root, sent, received));
  return *this;
}
Otf2Writer& Otf2Writer::CollectiveRequest(std::uint64_t time, std::uint64_t request) {
  Check(OTF2_EvtWriter_NonBlockingCollectiveRequest(writer_, nullptr, time, request));
  return *this;
}
Otf2Writer& Otf2Writer::CollectiveComplete(std::uint64_t time, OTF2_CollectiveOp operation, std::uint32_t comm,
                                           std::uint32_t root, std::uint64_t request) {
  Check(OTF2_EvtWriter_NonBlockingCollectiveComplete(writer_, nullptr, time, operation, comm, root, 8, 8, request));
  return *this;
}
Otf2Writer& Otf2Writer::WindowCollective(std::uint64_t time, OTF2_CollectiveOp operation, std::uint32_t window) {
  Check(OTF2_EvtWriter_RmaCollectiveBegin(writer_, nullptr, time));
  Check(OTF2_EvtWriter_RmaCollectiveEnd(writer_, nullptr, time, operation, OTF2_RMA_SYNC_LEVEL_PROCESS, window,
                                        OTF2_COLLECTIVE_ROOT_NONE, 0, 0));
  return *this;
}
Otf2Writer& Otf2Writer::WindowLock(std::uint64_t time, std::uint32_t window, std::uint32_t target, OTF2_LockType type) {
  Check(OTF2_EvtWriter_RmaRequestLock(writer_, nullptr, time, window, target, 0, type));
  return *this;
}
Otf2Writer& Otf2Writer::Atomic(std::uint64_t time, std::uint32_t window, std::uint64_t bytes) {
  Check(
      OTF2_EvtWriter_RmaAtomic(writer_, nullptr, time, window, 0, OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ADD, bytes, bytes, 0));
  return *this;
}
Otf2Writer& Otf2Writer::FileOperation(std::uint64_t time, std::uint64_t bytes) {
  Check(OTF2_EvtWriter_IoOperationComplete(writer_, nullptr, time, 0, bytes, 0));
  return *this;
}
Otf2Writer& Otf2Writer::WindowUnlock(std::uint64_t time, std::uint32_t window, std::uint32_t target) {
  Check(OTF2_EvtWriter_RmaReleaseLock(writer_, nullptr, time, window, target, 0));
  return *this;
}
Otf2Writer& Otf2Writer::WindowGroup(std::uint64_t time, std::uint32_t window, std::uint32_t group) {
  Check(OTF2_EvtWriter_RmaGroupSync(writer_, nullptr, time, OTF2_RMA_SYNC_LEVEL_PROCESS, window, group));
  return *this;
}
Otf2Writer& Otf2Writer::BeginCopy(std::uint64_t time, std::uint32_t window, std::uint64_t id) {
  Check(OTF2_EvtWriter_RmaPut(writer_, nullptr, time, window, 0, 1024, id));
  return *this;
}
Otf2Writer& Otf2Writer::EndCopy(std::uint64_t time, std::uint32_t window, std::uint64_t id) {
  Check(OTF2_EvtWriter_RmaOpCompleteBlocking(writer_, nullptr, time, window, id));
  return *this;
}

namespace {

template <typename Value, typename Set>
void WriteMetric(OTF2_EvtWriter* writer, std::uint64_t time, std::uint32_t metric, const std::vector<Value>& values,
                 OTF2_Type type, Set set) {
  std::vector<OTF2_Type> types(values.size(), type);
  std::vector<OTF2_MetricValue> metric_values(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) set(metric_values[i], values[i]);
  Check(OTF2_EvtWriter_Metric(writer, nullptr, time, metric, static_cast<std::uint8_t>(values.size()), types.data(),
                              metric_values.data()));
}

}  // namespace

Otf2Writer& Otf2Writer::MetricUnsigned(std::uint64_t time, std::uint32_t metric,
                                       const std::vector<std::uint64_t>& values) {
  WriteMetric(writer_, time, metric, values, OTF2_TYPE_UINT64, [](auto& v, auto x) { v.unsigned_int = x; });
  return *this;
}
Otf2Writer& Otf2Writer::MetricSigned(std::uint64_t time, std::uint32_t metric,
                                     const std::vector<std::int64_t>& values) {
  WriteMetric(writer_, time, metric, values, OTF2_TYPE_INT64, [](auto& v, auto x) { v.signed_int = x; });
  return *this;
}
Otf2Writer& Otf2Writer::MetricDouble(std::uint64_t time, std::uint32_t metric, const std::vector<double>& values) {
  WriteMetric(writer_, time, metric, values, OTF2_TYPE_DOUBLE, [](auto& v, auto x) { v.floating_point = x; });
  return *this;
}
Otf2Writer& Otf2Writer::ThreadFork(std::uint64_t time, std::uint32_t threads) {
  Check(OTF2_EvtWriter_ThreadFork(writer_, nullptr, time, OTF2_PARADIGM_OPENMP, threads));
  return *this;
}
Otf2Writer& Otf2Writer::ThreadJoin(std::uint64_t time) {
  Check(OTF2_EvtWriter_ThreadJoin(writer_, nullptr, time, OTF2_PARADIGM_OPENMP));
  return *this;
}
Otf2Writer& Otf2Writer::TeamBegin(std::uint64_t time, std::uint32_t team) {
  Check(OTF2_EvtWriter_ThreadTeamBegin(writer_, nullptr, time, team));
  return *this;
}
Otf2Writer& Otf2Writer::TeamEnd(std::uint64_t time, std::uint32_t team) {
  Check(OTF2_EvtWriter_ThreadTeamEnd(writer_, nullptr, time, team));
  return *this;
}
Otf2Writer& Otf2Writer::Measurement(std::uint64_t time, bool on) {
  Check(OTF2_EvtWriter_MeasurementOnOff(writer_, nullptr, time, on ? OTF2_MEASUREMENT_ON : OTF2_MEASUREMENT_OFF));
  return *this;
}
Otf2Writer& Otf2Writer::Flush(std::uint64_t begin, std::uint64_t end) {
  Check(OTF2_EvtWriter_BufferFlush(writer_, nullptr, begin, end));
  return *this;
}
Otf2Writer& Otf2Writer::ProgramBegin(std::uint64_t time, const std::string& name) {
  Check(OTF2_EvtWriter_ProgramBegin(writer_, nullptr, time, archive_->String(name), 0, nullptr));
  return *this;
}

}  // namespace farscale::test
