#include "trace/otf2_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/diagnostics.h"
#include "base/text.h"
#include "trace/otf2_library.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestMetricClass = 255;  // its length is a byte
constexpr OTF2_StringRef kEmptyString = 0;        // written first

// The role Score-P gives to an MPI function; farscale itself goes by the name.
OTF2_RegionRole RoleOf(const Region& region) {
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

// By the beginnings of its functions. Whatever else computes on devices is nearest to CUDA.
OTF2_Paradigm DeviceParadigmOf(std::string_view name) {
  while (name.starts_with('_')) name.remove_prefix(1);
  if (name.starts_with("hip")) return OTF2_PARADIGM_HIP;
  if (name.starts_with("acc")) return OTF2_PARADIGM_OPENACC;
  return name.starts_with("cl") ? OTF2_PARADIGM_OPENCL : OTF2_PARADIGM_CUDA;
}

OTF2_Paradigm ParadigmOf(const Region& region) {
  if (region.is_outside || region.is_pause) return OTF2_PARADIGM_MEASUREMENT_SYSTEM;
  if (region.is_device_runtime) return DeviceParadigmOf(region.name);
  return region.is_mpi ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_USER;
}

class DefinitionWriter {
 public:
  DefinitionWriter(const Trace& trace, const fs::path& anchor, OTF2_GlobalDefWriter* writer)
      : trace_(trace), anchor_(anchor), writer_(writer) {}

  void Write(const Otf2Clock& clock, const Otf2MetricClasses& metrics, const std::vector<std::uint64_t>& events) {
    const auto resolution = static_cast<std::uint64_t>(std::clamp(std::round(trace_.ticks_per_second), 1.0, 1e19));
    Define(OTF2_GlobalDefWriter_WriteClockProperties, resolution, clock.origin, clock.length, OTF2_UNDEFINED_TIMESTAMP);
    WriteString("");
    WriteString(trace_.program);
    Define(OTF2_GlobalDefWriter_WriteParadigm, OTF2_PARADIGM_MPI, String("MPI"), OTF2_PARADIGM_CLASS_PROCESS);
    WriteSystemTree();
    for (std::size_t rank = 0; rank < trace_.size(); ++rank) WriteRank(rank, events[rank]);
    WriteRegions();
    WriteCommunicators();
    WriteTopologies();
    WriteCounters(metrics);
  }

 private:
  OTF2_StringRef WriteString(const std::string& text) {
    const auto reference = strings_written_++;
    Define(OTF2_GlobalDefWriter_WriteString, reference, text.c_str());
    strings_.try_emplace(text, reference);
    return reference;
  }

  // Written at its first use, before the definition that uses it.
  OTF2_StringRef String(const std::string& text) {
    const auto found = strings_.find(text);
    return found != strings_.end() ? found->second : WriteString(text);
  }

  void WriteSystemTree() {
    const OTF2_SystemTreeNodeRef machine = 0;
    const OTF2_StringRef machine_class = String("machine"), node_class = String("node");
    Define(OTF2_GlobalDefWriter_WriteSystemTreeNode, machine, machine_class, machine_class,
           OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i) {
      const OTF2_StringRef name = String(trace_.nodes[i]);
      Define(OTF2_GlobalDefWriter_WriteSystemTreeNode, NodeOf(i), name, node_class, machine);
      Define(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain, NodeOf(i), OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
    }
    for (const Rank& rank : trace_.ranks) WriteSocket(rank);
  }

  void WriteSocket(const Rank& rank) {
    const std::pair place(rank.node, rank.socket);
    const auto reference = static_cast<OTF2_SystemTreeNodeRef>(trace_.nodes.size() + 1 + sockets_.size());
    if (rank.socket < 0 || !sockets_.emplace(place, reference).second) return;
    const OTF2_StringRef name = String(fmt::format("socket {}", rank.socket)), socket_class = String("socket");
    Define(OTF2_GlobalDefWriter_WriteSystemTreeNode, reference, name, socket_class,
           NodeOf(static_cast<std::size_t>(rank.node)));
    Define(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain, reference, OTF2_SYSTEM_TREE_DOMAIN_SOCKET);
  }

  static OTF2_SystemTreeNodeRef NodeOf(std::size_t node) { return static_cast<std::uint32_t>(node) + 1; }

  void WriteRank(std::size_t rank, std::uint64_t events) {
    const Rank& definition = trace_.ranks[rank];
    const auto group = static_cast<OTF2_LocationGroupRef>(rank);
    Define(OTF2_GlobalDefWriter_WriteLocationGroup, group, String(definition.name), OTF2_LOCATION_GROUP_TYPE_PROCESS,
           definition.socket < 0 ? NodeOf(static_cast<std::size_t>(definition.node))
                                 : sockets_.at({definition.node, definition.socket}),
           OTF2_UNDEFINED_LOCATION_GROUP);
    for (int thread = 0; thread < definition.threads; ++thread) {
      const OTF2_StringRef name = String(thread == 0 ? "Master thread" : fmt::format("Worker thread {}", thread));
      Define(OTF2_GlobalDefWriter_WriteLocation, LocationOf(rank, thread), name, OTF2_LOCATION_TYPE_CPU_THREAD,
             thread == 0 ? events : 0, group);
    }
  }

  void WriteRegions() {
    for (std::size_t i = 0; i < trace_.regions.size(); ++i) {
      const Region& region = trace_.regions[i];
      const OTF2_StringRef name = String(region.name);
      Define(OTF2_GlobalDefWriter_WriteRegion, static_cast<std::uint32_t>(i), name, name, kEmptyString, RoleOf(region),
             ParadigmOf(region), OTF2_REGION_FLAG_NONE, kEmptyString, 0, 0);
    }
  }

  // The first group says which location is which rank; every communicator has groups of its own.
  void WriteCommunicators() {
    std::vector<std::uint64_t> locations;
    for (std::size_t rank = 0; rank < trace_.size(); ++rank) locations.push_back(LocationOf(rank, 0));
    WriteGroup(OTF2_GROUP_TYPE_COMM_LOCATIONS, locations);
    for (std::uint32_t i = 0; i < trace_.communicators.size(); ++i) {
      const Communicator& communicator = trace_.communicators[i];
      const OTF2_StringRef name = String(communicator.name);
      const OTF2_GroupRef group =
          WriteGroup(communicator.is_self ? OTF2_GROUP_TYPE_COMM_SELF : OTF2_GROUP_TYPE_COMM_GROUP,
                     {communicator.members.begin(), communicator.members.end()});
      if (communicator.remote.empty()) {
        Define(OTF2_GlobalDefWriter_WriteComm, i, name, group, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
        continue;
      }
      const OTF2_GroupRef remote =
          WriteGroup(OTF2_GROUP_TYPE_COMM_GROUP, {communicator.remote.begin(), communicator.remote.end()});
      Define(OTF2_GlobalDefWriter_WriteInterComm, i, name, group, remote, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    }
  }

  void WriteTopologies() {
    OTF2_CartDimensionRef dimensions = 0;
    for (std::uint32_t i = 0; i < trace_.topologies.size(); ++i) {
      const CartesianTopology& topology = trace_.topologies[i];
      const OTF2_StringRef name = String(topology.name);
      std::vector<OTF2_CartDimensionRef> own;
      for (std::size_t d = 0; d < topology.extents.size(); ++d) {
        own.push_back(dimensions++);
        Define(OTF2_GlobalDefWriter_WriteCartDimension, own.back(), kEmptyString,
               static_cast<std::uint32_t>(topology.extents[d]),
               topology.periodic[d] ? OTF2_CART_PERIODIC_TRUE : OTF2_CART_PERIODIC_FALSE);
      }
      const auto count = static_cast<std::uint8_t>(own.size());
      Define(OTF2_GlobalDefWriter_WriteCartTopology, i, name, topology.communicator, count, own.data());
      for (std::uint32_t rank = 0; rank < topology.places.size(); ++rank) {
        std::vector<std::uint32_t> coordinates(own.size());
        std::size_t place = topology.places[rank];
        for (std::size_t d = own.size(); d-- > 0; place /= topology.extents[d])
          coordinates[d] = static_cast<std::uint32_t>(place % topology.extents[d]);
        Define(OTF2_GlobalDefWriter_WriteCartCoordinate, i, rank, count, coordinates.data());
      }
    }
  }

  OTF2_GroupRef WriteGroup(OTF2_GroupType type, const std::vector<std::uint64_t>& members) {
    Define(OTF2_GlobalDefWriter_WriteGroup, groups_written_, kEmptyString, type, OTF2_PARADIGM_MPI,
           OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(members.size()), members.data());
    return groups_written_++;
  }

  void WriteCounters(const Otf2MetricClasses& metrics) {
    for (std::uint32_t i = 0; i < trace_.counters.size(); ++i) WriteCounter(i, trace_.counters[i]);
    for (std::uint32_t i = 0; i < metrics.counters.size(); ++i) {
      Define(OTF2_GlobalDefWriter_WriteMetricClass, i, static_cast<std::uint8_t>(metrics.counters[i].size()),
             metrics.counters[i].data(), OTF2_METRIC_SYNCHRONOUS_STRICT, OTF2_RECORDER_KIND_CPU);
    }
  }

  void WriteCounter(std::uint32_t reference, const Counter& counter) {
    OTF2_Base base = OTF2_BASE_DECIMAL;
    double exponent = std::round(std::log10(counter.scale));
    if (std::pow(10.0, exponent) != counter.scale) {
      base = OTF2_BASE_BINARY;
      exponent = std::round(std::log2(counter.scale));
      if (std::pow(2.0, exponent) != counter.scale) {
        throw Error(ErrorKind::kOutput, anchor_.string(),
                    fmt::format("counter {} has the scale {}, which OTF2 cannot express", counter.name, counter.scale),
                    "scale it by a power of 10 or 2");
      }
    }
    const OTF2_StringRef name = String(counter.name), description = String(counter.description),
                         unit = String(counter.unit);
    Define(OTF2_GlobalDefWriter_WriteMetricMember, reference, name, description, OTF2_METRIC_TYPE_OTHER,
           counter.accumulates ? OTF2_METRIC_ACCUMULATED_START : OTF2_METRIC_ABSOLUTE_POINT,
           counter.is_double ? OTF2_TYPE_DOUBLE : OTF2_TYPE_INT64, base, static_cast<std::int64_t>(exponent), unit);
  }

  // A definition by the library's function for it.
  template <typename... Values>
  void Define(OTF2_ErrorCode (*write)(OTF2_GlobalDefWriter*, Values...), std::type_identity_t<Values>... values) const {
    CheckOtf2Writing(write(writer_, values...), anchor_, "writing the definitions");
  }

  const Trace& trace_;
  const fs::path& anchor_;
  OTF2_GlobalDefWriter* const writer_;
  std::map<std::string, OTF2_StringRef> strings_;
  std::map<std::pair<std::int32_t, std::int32_t>, OTF2_SystemTreeNodeRef> sockets_;  // by node and number
  OTF2_StringRef strings_written_ = 0;
  OTF2_GroupRef groups_written_ = 0;
};

}  // namespace

Otf2MetricClasses::Otf2MetricClasses(const Trace& trace) : of_rank(trace.size()) {
  std::map<std::vector<std::uint32_t>, std::uint32_t> index;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    std::vector<std::uint32_t> together;
    const auto add = [&] {
      if (together.empty()) return;
      const auto [entry, is_new] = index.try_emplace(together, static_cast<std::uint32_t>(counters.size()));
      if (is_new) counters.push_back(together);
      of_rank[rank].push_back(entry->second);
      together.clear();
    };
    for (const bool reliable : {true, false}) {
      for (std::uint32_t i = 0; i < trace.counters.size(); ++i) {
        if (!timeline.has_counter(i) || timeline.counter_is_reliable(i) != reliable) continue;
        together.push_back(i);
        if (together.size() == kLargestMetricClass) add();
      }
      add();
    }
  }
}

// The library forgets some errors of writing behind its callers' backs, but never without a message.
void CheckOtf2Writing(OTF2_ErrorCode code, const fs::path& anchor, const std::string& doing) {
  std::string message = TakeOtf2Message();
  if (code == OTF2_SUCCESS && message.empty()) return;
  if (message.empty()) message = OTF2_Error_GetDescription(code);
  throw Error(ErrorKind::kOutput, anchor.string(), doing + " failed: " + message, "check that there is enough space");
}

void WriteOtf2Definitions(const Trace& trace, const fs::path& anchor, OTF2_GlobalDefWriter* writer,
                          const Otf2Clock& clock, const Otf2MetricClasses& metrics,
                          const std::vector<std::uint64_t>& events) {
  DefinitionWriter(trace, anchor, writer).Write(clock, metrics, events);
}

}  // namespace farscale
