#include <fmt/format.h>
#include <otf2/otf2.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/files.h"
#include "base/text.h"
#include "trace/anomalies.h"
#include "trace/otf2_library.h"
#include "trace/timeline_feed.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestMetricClass = 255;  // its length is a byte
constexpr OTF2_StringRef kEmptyString = 0;        // written first
constexpr OTF2_StringRef kProgramString = 1;      // events need it before the definitions are written

// Chosen: chunks bound what a record may take, and the largest is the group of MPI_COMM_WORLD, some bytes a rank.
constexpr std::uint64_t kEventChunk = std::uint64_t{1} << 20;
constexpr std::uint64_t kDefinitionChunk = std::uint64_t{1} << 22;

// The library forgets some errors of writing behind its callers' backs, but never without a message.
void Check(OTF2_ErrorCode code, const fs::path& anchor, const std::string& doing) {
  std::string message = TakeOtf2Message();
  if (code == OTF2_SUCCESS && message.empty()) return;
  if (message.empty()) message = OTF2_Error_GetDescription(code);
  throw Error(ErrorKind::kOutput, anchor.string(), doing + " failed: " + message, "check that there is enough space");
}

// Score-P numbers the threads of a rank like this; 0 is the main thread.
OTF2_LocationRef LocationOf(std::size_t rank, int thread) { return static_cast<std::uint64_t>(thread) << 32 | rank; }

// Ticks of calls and regions lie within this, those of interruptions in a damaged trace may not.
Tick Bounded(Tick tick) {
  constexpr Tick kFurthestTick = Tick{1} << 62;
  return std::clamp(tick, -kFurthestTick, kFurthestTick);
}

// Time stamps are not negative, ticks may be: `origin` is the time stamp of tick 0.
std::uint64_t TimeStamp(std::uint64_t origin, Tick tick) { return origin + static_cast<std::uint64_t>(Bounded(tick)); }

// Counters that a rank records together: a sample of all is one record. Unreliable counters begin one edge later than
// the others, so they are kept apart.
using MetricClass = std::vector<std::uint32_t>;

std::vector<MetricClass> MetricClassesOfRank(const Trace& trace, std::size_t rank) {
  std::vector<MetricClass> classes;
  for (const bool reliable : {true, false}) {
    bool is_full = true;
    for (std::uint32_t i = 0; i < trace.counters.size(); ++i) {
      const RankTimeline& timeline = trace.timelines[rank];
      if (!timeline.has_counter(i) || timeline.counter_is_reliable(i) != reliable) continue;
      if (is_full) classes.emplace_back();
      classes.back().push_back(i);
      is_full = classes.back().size() == kLargestMetricClass;
    }
  }
  return classes;
}

// The role that Score-P gives to an MPI function; farscale itself goes by the name.
OTF2_RegionRole Role(const Region& region) {
  if (region.is_outside || region.is_pause) return OTF2_REGION_ROLE_ARTIFICIAL;
  const std::string name = ToLower(region.name);
  const auto contains = [&](const char* text) { return name.find(text) != std::string::npos; };
  switch (region.call) {
    case MpiCall::kCollective:
    case MpiCall::kImmediateCollective:
      if (contains("barrier")) return OTF2_REGION_ROLE_BARRIER;
      if (contains("all") || contains("reduce_scatter")) return OTF2_REGION_ROLE_COLL_ALL2ALL;
      if (contains("bcast") || contains("scatter")) return OTF2_REGION_ROLE_COLL_ONE2ALL;
      if (contains("gather") || contains("reduce")) return OTF2_REGION_ROLE_COLL_ALL2ONE;
      return OTF2_REGION_ROLE_COLL_OTHER;
    case MpiCall::kSend:
    case MpiCall::kBufferedSend:
    case MpiCall::kSynchronousSend:
    case MpiCall::kImmediateSend:
    case MpiCall::kImmediateBufferedSend:
    case MpiCall::kImmediateSynchronousSend:
    case MpiCall::kReceive:
    case MpiCall::kImmediateReceive:
    case MpiCall::kSendReceive: return OTF2_REGION_ROLE_POINT2POINT;
    case MpiCall::kInputOutput:
    case MpiCall::kCollectiveInputOutput: return OTF2_REGION_ROLE_FILE_IO;
    default: return IsOneSided(region.call) ? OTF2_REGION_ROLE_RMA : OTF2_REGION_ROLE_FUNCTION;
  }
}

OTF2_Paradigm Paradigm(const Region& region) {
  if (region.is_outside || region.is_pause) return OTF2_PARADIGM_MEASUREMENT_SYSTEM;
  if (!region.is_device_runtime) return region.is_mpi ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_USER;
  // Names of functions tell the paradigm. Others that compute on devices are nearest to CUDA.
  const std::string_view name =
      std::string_view(region.name).substr(std::min(region.name.find_first_not_of('_'), region.name.size()));
  if (name.starts_with("hip")) return OTF2_PARADIGM_HIP;
  if (name.starts_with("acc")) return OTF2_PARADIGM_OPENACC;
  return name.starts_with("cl") ? OTF2_PARADIGM_OPENCL : OTF2_PARADIGM_CUDA;
}

struct DefinitionWriter {
  fs::path anchor;
  OTF2_GlobalDefWriter* writer = nullptr;
  std::map<std::string, OTF2_StringRef> strings{};
  OTF2_StringRef strings_written = 0;
  OTF2_GroupRef groups_written = 0;

  // A definition by the library's function for it.
  template <typename... Values>
  void Define(OTF2_ErrorCode (*write)(OTF2_GlobalDefWriter*, Values...), std::type_identity_t<Values>... values) const {
    Check(write(writer, values...), anchor, "writing the definitions");
  }

  OTF2_StringRef WriteString(const std::string& text) {
    const auto reference = strings_written++;
    Define(OTF2_GlobalDefWriter_WriteString, reference, text.c_str());
    strings.try_emplace(text, reference);
    return reference;
  }

  // Written at its first use, before the definition that uses it.
  OTF2_StringRef String(const std::string& text) {
    const auto found = strings.find(text);
    return found != strings.end() ? found->second : WriteString(text);
  }

  OTF2_GroupRef WriteGroup(OTF2_GroupType type, const std::vector<std::uint64_t>& members) {
    Define(OTF2_GlobalDefWriter_WriteGroup, groups_written, kEmptyString, type, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
           static_cast<std::uint32_t>(members.size()), members.data());
    return groups_written++;
  }
};

// The machine, its nodes and their sockets, then ranks with their threads; `events`: of every rank.
void WritePlaces(const Trace& trace, const std::vector<std::uint64_t>& events, DefinitionWriter& out) {
  const OTF2_SystemTreeNodeRef machine = 0;
  const auto node_of = [](std::size_t node) { return static_cast<OTF2_SystemTreeNodeRef>(node + 1); };
  const OTF2_StringRef machine_class = out.String("machine"), node_class = out.String("node");
  out.Define(OTF2_GlobalDefWriter_WriteSystemTreeNode, machine, machine_class, machine_class,
             OTF2_UNDEFINED_SYSTEM_TREE_NODE);
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    const OTF2_StringRef name = out.String(trace.nodes[i]);
    out.Define(OTF2_GlobalDefWriter_WriteSystemTreeNode, node_of(i), name, node_class, machine);
    out.Define(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain, node_of(i), OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
  }
  std::map<std::pair<std::int32_t, std::int32_t>, OTF2_SystemTreeNodeRef> sockets;  // keys: node and number
  for (const Rank& rank : trace.ranks) {
    const OTF2_SystemTreeNodeRef reference = node_of(trace.nodes.size() + sockets.size());
    if (rank.socket < 0 || !sockets.try_emplace({rank.node, rank.socket}, reference).second) continue;
    const OTF2_StringRef name = out.String(fmt::format("socket {}", rank.socket)), socket_class = out.String("socket");
    out.Define(OTF2_GlobalDefWriter_WriteSystemTreeNode, reference, name, socket_class,
               node_of(static_cast<std::size_t>(rank.node)));
    out.Define(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain, reference, OTF2_SYSTEM_TREE_DOMAIN_SOCKET);
  }
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Rank& rank = trace.ranks[i];
    const auto group = static_cast<OTF2_LocationGroupRef>(i);
    out.Define(OTF2_GlobalDefWriter_WriteLocationGroup, group, out.String(rank.name), OTF2_LOCATION_GROUP_TYPE_PROCESS,
               rank.socket < 0 ? node_of(static_cast<std::size_t>(rank.node)) : sockets.at({rank.node, rank.socket}),
               OTF2_UNDEFINED_LOCATION_GROUP);
    for (int thread = 0; thread < rank.threads; ++thread) {
      const OTF2_StringRef name = out.String(thread == 0 ? "Master thread" : fmt::format("Worker thread {}", thread));
      out.Define(OTF2_GlobalDefWriter_WriteLocation, LocationOf(i, thread), name, OTF2_LOCATION_TYPE_CPU_THREAD,
                 thread == 0 ? events[i] : 0, group);
    }
  }
}

// The first group says which location is which rank; every communicator has groups of its own.
void WriteCommunicators(const Trace& trace, DefinitionWriter& out) {
  std::vector<std::uint64_t> locations;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) locations.push_back(LocationOf(rank, 0));
  out.WriteGroup(OTF2_GROUP_TYPE_COMM_LOCATIONS, locations);
  for (std::uint32_t i = 0; i < trace.communicators.size(); ++i) {
    const Communicator& communicator = trace.communicators[i];
    const OTF2_StringRef name = out.String(communicator.name);
    const OTF2_GroupRef group =
        out.WriteGroup(communicator.is_self ? OTF2_GROUP_TYPE_COMM_SELF : OTF2_GROUP_TYPE_COMM_GROUP,
                       {communicator.members.begin(), communicator.members.end()});
    if (communicator.remote.empty()) {
      out.Define(OTF2_GlobalDefWriter_WriteComm, i, name, group, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
      continue;
    }
    const OTF2_GroupRef remote =
        out.WriteGroup(OTF2_GROUP_TYPE_COMM_GROUP, {communicator.remote.begin(), communicator.remote.end()});
    out.Define(OTF2_GlobalDefWriter_WriteInterComm, i, name, group, remote, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
  }
}

void WriteTopologies(const Trace& trace, DefinitionWriter& out) {
  OTF2_CartDimensionRef dimensions = 0;
  for (std::uint32_t i = 0; i < trace.topologies.size(); ++i) {
    const CartesianTopology& topology = trace.topologies[i];
    const OTF2_StringRef name = out.String(topology.name);
    std::vector<OTF2_CartDimensionRef> own;
    for (std::size_t d = 0; d < topology.extents.size(); ++d) {
      own.push_back(dimensions++);
      out.Define(OTF2_GlobalDefWriter_WriteCartDimension, own.back(), kEmptyString,
                 static_cast<std::uint32_t>(topology.extents[d]),
                 topology.periodic[d] ? OTF2_CART_PERIODIC_TRUE : OTF2_CART_PERIODIC_FALSE);
    }
    const auto count = static_cast<std::uint8_t>(own.size());
    out.Define(OTF2_GlobalDefWriter_WriteCartTopology, i, name, topology.communicator, count, own.data());
    for (std::uint32_t rank = 0; rank < topology.places.size(); ++rank) {
      std::vector<std::uint32_t> coordinates(own.size());
      std::size_t place = topology.places[rank];
      for (std::size_t d = own.size(); d-- > 0; place /= topology.extents[d])
        coordinates[d] = static_cast<std::uint32_t>(place % topology.extents[d]);
      out.Define(OTF2_GlobalDefWriter_WriteCartCoordinate, i, rank, count, coordinates.data());
    }
  }
}

void WriteDefinitions(const Trace& trace, std::uint64_t origin, const std::vector<MetricClass>& metrics,
                      const std::vector<std::uint64_t>& events, DefinitionWriter out) {
  const std::uint64_t length = TimeStamp(origin, std::max<Tick>(trace.end(), 0)) + 1;
  const auto resolution = static_cast<std::uint64_t>(std::clamp(std::round(trace.ticks_per_second), 1.0, 1e19));
  out.Define(OTF2_GlobalDefWriter_WriteClockProperties, resolution, origin, length, OTF2_UNDEFINED_TIMESTAMP);
  out.WriteString("");
  out.WriteString(trace.program);
  out.Define(OTF2_GlobalDefWriter_WriteParadigm, OTF2_PARADIGM_MPI, out.String("MPI"), OTF2_PARADIGM_CLASS_PROCESS);
  WritePlaces(trace, events, out);
  for (std::uint32_t i = 0; i < trace.regions.size(); ++i) {
    const Region& region = trace.regions[i];
    const OTF2_StringRef name = out.String(region.name);
    out.Define(OTF2_GlobalDefWriter_WriteRegion, i, name, name, kEmptyString, Role(region), Paradigm(region),
               OTF2_REGION_FLAG_NONE, kEmptyString, 0, 0);
  }
  WriteCommunicators(trace, out);
  WriteTopologies(trace, out);
  for (std::uint32_t i = 0; i < trace.counters.size(); ++i) {
    const Counter& counter = trace.counters[i];
    OTF2_Base base = OTF2_BASE_DECIMAL;
    double exponent = std::round(std::log10(counter.scale));
    if (std::pow(10.0, exponent) != counter.scale) {
      base = OTF2_BASE_BINARY;
      exponent = std::round(std::log2(counter.scale));
      if (std::pow(2.0, exponent) != counter.scale) {
        throw Error(ErrorKind::kOutput, out.anchor.string(),
                    fmt::format("counter {} has the scale {}, which OTF2 cannot express", counter.name, counter.scale),
                    "scale it by a power of 10 or 2");
      }
    }
    const OTF2_StringRef name = out.String(counter.name), description = out.String(counter.description),
                         unit = out.String(counter.unit);
    out.Define(OTF2_GlobalDefWriter_WriteMetricMember, i, name, description, OTF2_METRIC_TYPE_OTHER,
               counter.accumulates ? OTF2_METRIC_ACCUMULATED_START : OTF2_METRIC_ABSOLUTE_POINT,
               counter.is_double ? OTF2_TYPE_DOUBLE : OTF2_TYPE_INT64, base, static_cast<std::int64_t>(exponent), unit);
  }
  for (std::uint32_t i = 0; i < metrics.size(); ++i) {
    out.Define(OTF2_GlobalDefWriter_WriteMetricClass, i, static_cast<std::uint8_t>(metrics[i].size()),
               metrics[i].data(), OTF2_METRIC_SYNCHRONOUS_STRICT, OTF2_RECORDER_KIND_CPU);
  }
}

OTF2_FlushType AlwaysFlush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }
const OTF2_FlushCallbacks kFlushCallbacks = {AlwaysFlush, nullptr};

// The folder and files of an archive, the anchor last: until it is there, the rest is no archive.
std::vector<fs::path> FilesOfArchive(const std::string& name) { return {name, name + ".def", name + ".otf2"}; }

// Moves them from the folder in which they were made to their place.
void Publish(const fs::path& folder, const fs::path& place, const std::string& name) {
  std::vector<fs::path> published;
  for (const fs::path& file : FilesOfArchive(name)) {
    std::error_code code;
    fs::rename(folder / file, place / file, code);
    if (!code) {
      published.push_back(place / file);
      continue;
    }
    std::error_code ignored;
    for (const fs::path& path : published) fs::remove_all(path, ignored);
    throw Error(ErrorKind::kOutput, (place / file).string(), "cannot be written: " + code.message());
  }
}

OTF2_CollectiveOp Operation(CollectiveKind kind) {
  const auto found = std::ranges::find(kOtf2Collectives, kind, &Otf2Collective::second);
  return found == std::end(kOtf2Collectives) ? OTF2_CollectiveOp{OTF2_COLLECTIVE_OP_BARRIER} : found->first;
}

Tick Earliest(const RankTimeline& timeline, Tick otherwise) {
  Tick earliest = timeline.empty() ? otherwise : timeline.begin();
  for (const Interruption& interruption : timeline.interruptions()) earliest = std::min(earliest, interruption.begin);
  return Bounded(earliest);
}

// Writes the events of one location.
class LocationWriter : public TimelineSink {
 public:
  LocationWriter(const Trace& trace, const fs::path& anchor, std::uint64_t origin,
                 const std::vector<MetricClass>& metrics, std::size_t rank, OTF2_EvtWriter* writer)
      : counters_(trace.counters),
        anchor_(anchor),
        origin_(origin),
        rank_(rank),
        writer_(writer),
        metrics_(MetricClassesOfRank(trace, rank)),
        values_(trace.counters.size()) {
    for (const MetricClass& metric : metrics_) {
      references_.push_back(static_cast<std::uint32_t>(std::ranges::find(metrics, metric) - metrics.begin()));
    }
  }

  void Enter(Tick tick, std::uint32_t region) override {
    WriteMetrics(tick);
    Write(OTF2_EvtWriter_Enter, tick, region);
  }

  void Leave(Tick tick, std::uint32_t region) override {
    WriteMetrics(tick);
    Write(OTF2_EvtWriter_Leave, tick, region);
  }

  void Record(const FedRecord& r) override {
    const std::uint32_t root = r.root.value_or(OTF2_COLLECTIVE_ROOT_NONE);
    const std::uint64_t request = r.request.value_or(0);
    switch (r.kind) {
      case RecordKind::kSend: return Write(OTF2_EvtWriter_MpiSend, r.tick, r.peer, r.communicator, r.tag, r.bytes);
      case RecordKind::kSendPost:
        return Write(OTF2_EvtWriter_MpiIsend, r.tick, r.peer, r.communicator, r.tag, r.bytes, request);
      case RecordKind::kSendComplete: return Write(OTF2_EvtWriter_MpiIsendComplete, r.tick, request);
      case RecordKind::kSendCancelled: return Write(OTF2_EvtWriter_MpiRequestCancelled, r.tick, request);
      case RecordKind::kReceive: return Write(OTF2_EvtWriter_MpiRecv, r.tick, r.peer, r.communicator, r.tag, r.bytes);
      case RecordKind::kReceivePost: return Write(OTF2_EvtWriter_MpiIrecvRequest, r.tick, request);
      case RecordKind::kReceiveComplete:
        return Write(OTF2_EvtWriter_MpiIrecv, r.tick, r.peer, r.communicator, r.tag, r.bytes, request);
      case RecordKind::kCollective:
        Write(OTF2_EvtWriter_MpiCollectiveBegin, r.tick);
        return Write(OTF2_EvtWriter_MpiCollectiveEnd, r.tick, Operation(r.collective), r.communicator, root, r.bytes,
                     r.received);
      case RecordKind::kCollectivePost: return Write(OTF2_EvtWriter_NonBlockingCollectiveRequest, r.tick, request);
      case RecordKind::kCollectiveComplete:
        return Write(OTF2_EvtWriter_NonBlockingCollectiveComplete, r.tick, Operation(r.collective), r.communicator,
                     root, r.bytes, r.received, request);
    }
  }

  void SetCounter(Tick, std::uint32_t counter, std::int64_t value) override { values_[counter] = value; }

  void MeasurementOff(Tick tick) override { Write(OTF2_EvtWriter_MeasurementOnOff, tick, OTF2_MEASUREMENT_OFF); }
  void MeasurementOn(Tick tick) override { Write(OTF2_EvtWriter_MeasurementOnOff, tick, OTF2_MEASUREMENT_ON); }
  void BufferFlush(Tick begin, Tick end) override { Write(OTF2_EvtWriter_BufferFlush, begin, TimeStamp(origin_, end)); }

  void ProgramBegin(Tick tick) { Write(OTF2_EvtWriter_ProgramBegin, tick, kProgramString, 0, nullptr); }
  void ProgramEnd(Tick tick) { Write(OTF2_EvtWriter_ProgramEnd, tick, OTF2_UNDEFINED_INT64); }

 private:
  // A class is written once all its counters have a value.
  void WriteMetrics(Tick tick) {
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      types_.clear();
      samples_.clear();
      for (const std::uint32_t counter : metrics_[i]) {
        if (!values_[counter]) break;
        types_.push_back(counters_[counter].is_double ? OTF2_TYPE_DOUBLE : OTF2_TYPE_INT64);
        OTF2_MetricValue value;
        value.signed_int = *values_[counter];
        if (types_.back() == OTF2_TYPE_DOUBLE) value.floating_point = std::bit_cast<double>(*values_[counter]);
        samples_.push_back(value);
        values_[counter].reset();
      }
      if (samples_.empty()) continue;
      Write(OTF2_EvtWriter_Metric, tick, references_[i], static_cast<std::uint8_t>(samples_.size()), types_.data(),
            samples_.data());
    }
  }

  // An event by the library's function for it.
  template <typename... Values>
  void Write(OTF2_ErrorCode (*write)(OTF2_EvtWriter*, OTF2_AttributeList*, OTF2_TimeStamp, Values...), Tick tick,
             std::type_identity_t<Values>... values) const {
    const OTF2_ErrorCode code = write(writer_, nullptr, TimeStamp(origin_, tick), values...);
    if (code != OTF2_SUCCESS) Check(code, anchor_, fmt::format("writing the events of rank {}", rank_));
  }

  const std::span<const Counter> counters_;
  const fs::path anchor_;
  const std::uint64_t origin_;
  const std::size_t rank_;
  OTF2_EvtWriter* const writer_;
  const std::vector<MetricClass> metrics_;
  std::vector<std::uint32_t> references_;            // their numbers in the archive
  std::vector<std::optional<std::int64_t>> values_;  // for the next edge
  std::vector<OTF2_Type> types_;
  std::vector<OTF2_MetricValue> samples_;
};

using ArchivePointer = std::unique_ptr<OTF2_Archive, decltype(&OTF2_Archive_Close)>;

ArchivePointer OpenArchive(const Trace& trace, const fs::path& anchor, const fs::path& folder) {
  const auto check = [&](OTF2_ErrorCode code) { Check(code, anchor, "creating the archive"); };
  CaptureOtf2Errors();
  ArchivePointer archive(OTF2_Archive_Open(folder.c_str(), anchor.stem().c_str(), OTF2_FILEMODE_WRITE, kEventChunk,
                                           kDefinitionChunk, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE),
                         OTF2_Archive_Close);
  if (!archive) check(OTF2_ERROR_FILE_CAN_NOT_OPEN);
  check(OTF2_Archive_SetFlushCallbacks(archive.get(), &kFlushCallbacks, nullptr));
  check(OTF2_Archive_SetSerialCollectiveCallbacks(archive.get()));
  // The creator keeps the tool that recorded the run, however often the trace was written since.
  constexpr std::string_view kRecordedBy = ", recorded by ";
  const std::size_t recorded_by = trace.creator.find(kRecordedBy);
  std::string creator = Generator();
  if (recorded_by != std::string::npos) {
    creator += trace.creator.substr(recorded_by);
  } else if (!trace.creator.empty()) {
    creator += std::string(kRecordedBy) + trace.creator;
  }
  check(OTF2_Archive_SetCreator(archive.get(), creator.c_str()));
  // Data that the trace does not hold: threads and their calls, all but some regions.
  const auto set = [&](const char* property, std::uint64_t count) {
    check(OTF2_Archive_SetProperty(archive.get(), property, std::to_string(count).c_str(), true));
  };
  for (const Finding& finding : trace.diagnostics.findings()) {
    if (finding.id == anomaly::kThreadsAtProcessLevel.id) set(kPropertyOfThreadedRanks, finding.count);
    if (finding.id == anomaly::kRegionsAlone.id) set(kPropertyOfRegions, finding.count);
    if (finding.id != anomaly::kMpiOnWorkerThread.id) continue;
    set(kPropertyOfOtherThreads, finding.count);
    set(kPropertyOfAllThreads, finding.population);
  }
  return archive;
}

// Writes the events of all locations, and definitions with nothing in them: references and times are global ones.
// Returns how many events every rank has.
std::vector<std::uint64_t> WriteLocations(const Trace& trace, const fs::path& anchor, std::uint64_t origin,
                                          const std::vector<MetricClass>& metrics, OTF2_Archive* archive) {
  const LocalRanks local_ranks(trace);
  std::vector<std::uint64_t> events(trace.size());
  Check(OTF2_Archive_OpenEvtFiles(archive), anchor, "creating the event files");
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    for (int thread = 0; thread < trace.ranks[rank].threads; ++thread) {
      OTF2_EvtWriter* writer = OTF2_Archive_GetEvtWriter(archive, LocationOf(rank, thread));
      if (writer == nullptr) Check(OTF2_ERROR_FILE_CAN_NOT_OPEN, anchor, "creating an event file");
      if (thread == 0) {
        LocationWriter location_writer(trace, anchor, origin, metrics, rank, writer);
        const bool names_program = rank == 0 && !trace.program.empty();
        const RankTimeline& timeline = trace.timelines[rank];
        if (names_program) location_writer.ProgramBegin(Earliest(timeline, trace.begin()));
        FeedTimeline(trace, local_ranks, rank, location_writer);
        Tick end = timeline.empty() ? trace.begin() : timeline.end();
        for (const Interruption& interruption : timeline.interruptions()) end = std::max(end, interruption.end);
        if (names_program) location_writer.ProgramEnd(end);
        Check(OTF2_EvtWriter_GetNumberOfEvents(writer, &events[rank]), anchor, "counting the events");
      }
      Check(OTF2_Archive_CloseEvtWriter(archive, writer), anchor, fmt::format("writing the events of rank {}", rank));
    }
  }
  Check(OTF2_Archive_CloseEvtFiles(archive), anchor, "writing the event files");
  Check(OTF2_Archive_OpenDefFiles(archive), anchor, "creating the definition files");
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    for (int thread = 0; thread < trace.ranks[rank].threads; ++thread) {
      OTF2_DefWriter* writer = OTF2_Archive_GetDefWriter(archive, LocationOf(rank, thread));
      if (writer == nullptr) Check(OTF2_ERROR_FILE_CAN_NOT_OPEN, anchor, "creating a definition file");
      Check(OTF2_Archive_CloseDefWriter(archive, writer), anchor, "writing a definition file");
    }
  }
  Check(OTF2_Archive_CloseDefFiles(archive), anchor, "writing the definition files");
  return events;
}

}  // namespace

void WriteOtf2(const Trace& trace, const fs::path& anchor) {
  if (anchor.extension() != ".otf2") {
    throw Error(ErrorKind::kOutput, anchor.string(), "the name of an OTF2 archive must end in .otf2");
  }
  const std::string name = anchor.stem().string();
  const fs::path place = anchor.has_parent_path() ? anchor.parent_path() : fs::path(".");
  for (const fs::path& file : FilesOfArchive(name)) {
    std::error_code code;
    if (!fs::exists(fs::symlink_status(place / file, code))) continue;
    throw Error(ErrorKind::kOutput, (place / file).string(), "already exists", "choose another name, or remove it");
  }
  // A hidden folder beside the place, which is removed in any case.
  const fs::path folder = place / fmt::format(".{}.{}.tmp", name, getpid());
  CreateFolder(folder);
  auto remove_folder = [](const fs::path* path) {
    std::error_code code;
    fs::remove_all(*path, code);
  };
  const std::unique_ptr<const fs::path, decltype(remove_folder)> removed_at_end(&folder);
  ArchivePointer archive = OpenArchive(trace, anchor, folder);
  Tick earliest = 0;
  for (const RankTimeline& timeline : trace.timelines) earliest = std::min(earliest, Earliest(timeline, 0));
  const auto origin = static_cast<std::uint64_t>(-earliest);
  std::vector<MetricClass> metrics;  // each once
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    for (MetricClass& metric : MetricClassesOfRank(trace, rank)) {
      if (std::ranges::find(metrics, metric) == metrics.end()) metrics.push_back(std::move(metric));
    }
  }
  const std::vector<std::uint64_t> events = WriteLocations(trace, anchor, origin, metrics, archive.get());
  OTF2_GlobalDefWriter* definitions = OTF2_Archive_GetGlobalDefWriter(archive.get());
  if (definitions == nullptr) Check(OTF2_ERROR_FILE_CAN_NOT_OPEN, anchor, "creating the definitions");
  WriteDefinitions(trace, origin, metrics, events, {anchor, definitions});
  Check(OTF2_Archive_Close(archive.release()), anchor, "writing the anchor file");
  Publish(folder, place, name);
}

}  // namespace farscale
