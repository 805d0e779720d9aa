// The global definitions of an OTF2 archive, turned into the definitions of a Trace plus what is needed to translate
// event records: which location is which rank, and the dense numbers of regions, communicators and counters.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <exception>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/device_records.h"
#include "trace/trace.h"
#include "trace/trace_builder.h"
#include "trace/trace_reader.h"

namespace farscale {

// References of definitions as used in event records -> index in the trace. Score-P numbers densely, others need
// not, so small references index a vector and the rest a map.
class ReferenceTable {
 public:
  static constexpr std::uint32_t kUnknown = 0xFFFFFFFF;

  void Set(std::uint32_t reference, std::uint32_t index);
  std::uint32_t operator[](std::uint32_t reference) const {
    if (reference < dense_.size()) return dense_[reference];
    const auto found = sparse_.find(reference);
    return found == sparse_.end() ? kUnknown : found->second;
  }

 private:
  std::vector<std::uint32_t> dense_;
  std::unordered_map<std::uint32_t, std::uint32_t> sparse_;
};

// The relation of a metric's values to an accumulated count [OTF2 3.0, OTF2_MetricMode].
enum class MetricUse : std::uint8_t {
  kTotal,          // the value is the accumulated count (accumulated since start)
  kIncrement,      // the value is the increase since the last sample
  kNextIncrement,  // the value is the increase until the next sample
  kCpuTime,        // the accumulated CPU time, sampled now and then
  kLevel,          // absolute values are not counts
};

struct Otf2Metric {
  std::uint32_t counter = ReferenceTable::kUnknown;  // kUnknown: not kept
  MetricUse use = MetricUse::kLevel;
  OTF2_Type type = OTF2_TYPE_UINT64;
};

inline constexpr std::int32_t kNoDevice = -1;

struct Otf2Location {
  OTF2_LocationRef reference = 0;
  std::int32_t rank = 0;
  bool is_main = false;             // carries the rank's timeline; others are worker threads or streams of devices
  std::int32_t thread = 0;          // 0 for the main one, workers from 1 on in the order of their references
  std::uint64_t events = 0;         // as defined; 0 when the writer did not say
  std::int32_t device = kNoDevice;  // for a stream: index into the names of devices

  bool IsStream() const { return device != kNoDevice; }
};

struct Otf2Definitions {
  std::uint64_t origin = 0;  // time stamp of tick 0
  // Length of the run by the properties of the clock; 0: unknown. Score-P's reach a little beyond the events.
  Tick length = 0;
  ReferenceTable regions;
  ReferenceTable communicators;
  // Windows of one-sided communication, each a communicator of its own with the ranks of the one it was made of.
  ReferenceTable windows;
  std::unordered_map<std::uint32_t, std::vector<std::int32_t>> groups;  // world ranks; of MPI, where there are windows
  std::uint32_t alone = ReferenceTable::kUnknown;                       // a communicator of every rank by itself
  ReferenceTable teams;            // communicators of threads, by the same references
  std::uint32_t unknown_team = 0;  // for those that are not defined
  std::unordered_map<std::uint32_t, std::vector<Otf2Metric>> metrics;  // indexed by class or instance reference
  std::vector<Otf2Location> locations;                                 // CPU threads of ranks, then streams
  std::vector<std::string> devices;                                    // names
  std::unordered_map<OTF2_RegionRef, StreamUse> stream_uses;           // regions that are no kernels
  std::vector<std::string> strings;                                    // indexed by reference; "" where undefined
};

// Reads the definitions through `reader` into `builder`; with streams of devices only where threads are kept. Throws an
// input error when they are damaged or contain no rank.
Otf2Definitions ReadOtf2Definitions(OTF2_Reader* reader, const ReadOptions& options, TraceBuilder& builder);

// The global definitions of an OTF2 archive as they are written there.

// All by reference. Names stay references: a text may be defined after its first use.
struct RawDefinitions {
  struct SystemNode {
    std::uint32_t name = OTF2_UNDEFINED_STRING, class_name = OTF2_UNDEFINED_STRING;
    std::uint32_t parent = OTF2_UNDEFINED_SYSTEM_TREE_NODE;
    bool shares_memory = false;
    bool is_device = false;
    bool is_socket = false;
  };
  struct LocationGroup {
    std::uint32_t name = OTF2_UNDEFINED_STRING;
    OTF2_LocationGroupType type = OTF2_LOCATION_GROUP_TYPE_UNKNOWN;
    std::uint32_t node = OTF2_UNDEFINED_SYSTEM_TREE_NODE;
    std::uint32_t creator = OTF2_UNDEFINED_LOCATION_GROUP;
  };
  struct Location {
    OTF2_LocationType type = OTF2_LOCATION_TYPE_UNKNOWN;
    std::uint64_t events = 0;
    std::uint32_t group = OTF2_UNDEFINED_LOCATION_GROUP;
    std::uint32_t name = OTF2_UNDEFINED_STRING;
  };
  struct Group {
    OTF2_GroupType type = OTF2_GROUP_TYPE_UNKNOWN;
    OTF2_Paradigm paradigm = OTF2_PARADIGM_UNKNOWN;
    OTF2_GroupFlag flags = OTF2_GROUP_FLAG_NONE;
    std::vector<std::uint64_t> members;
  };
  struct Communicator {
    std::uint32_t name = OTF2_UNDEFINED_STRING;
    std::uint32_t group = OTF2_UNDEFINED_GROUP;
    std::uint32_t remote = OTF2_UNDEFINED_GROUP;
  };
  struct Topology {
    std::uint32_t name = OTF2_UNDEFINED_STRING;
    std::uint32_t communicator = OTF2_UNDEFINED_COMM;
    std::vector<std::uint32_t> dimensions;
    std::map<std::uint32_t, std::vector<std::uint32_t>> coordinates;  // indexed by local rank
  };
  struct Region {
    std::uint32_t name = OTF2_UNDEFINED_STRING;
    bool is_mpi = false;
    bool is_artificial = false;
    TeamRole team_role = TeamRole::kNone;
    OTF2_Paradigm paradigm = OTF2_PARADIGM_UNKNOWN;
    bool is_copy = false;
  };
  struct Member {
    std::uint32_t name = OTF2_UNDEFINED_STRING, description = OTF2_UNDEFINED_STRING, unit = OTF2_UNDEFINED_STRING;
    double scale = 1;
    OTF2_MetricMode mode = OTF2_METRIC_ABSOLUTE_POINT;
    OTF2_Type type = OTF2_TYPE_UINT64;
  };

  std::uint64_t ticks_per_second = 0;
  std::uint64_t origin = 0;
  std::uint64_t length = 0;
  std::unordered_map<std::uint32_t, std::string> strings;
  std::map<std::uint32_t, SystemNode> system_nodes;
  std::map<std::uint32_t, LocationGroup> location_groups;
  std::map<std::uint64_t, Location> locations;
  std::map<std::uint32_t, Region> regions;
  std::set<OTF2_Paradigm> device_paradigms;  // that say so themselves
  std::map<std::uint32_t, Group> groups;
  std::map<std::uint32_t, Communicator> communicators;
  std::map<std::uint32_t, std::uint32_t> windows;                    // communicators
  std::map<std::uint32_t, std::pair<std::size_t, bool>> dimensions;  // extents of grids, and whether they are periodic
  std::map<std::uint32_t, Topology> topologies;
  std::map<std::uint32_t, Member> members;
  std::map<std::uint32_t, std::vector<std::uint32_t>> metric_classes;
  std::set<std::uint32_t> sparse_members;  // members of classes that do not promise a sample at every edge
  std::map<std::uint32_t, std::uint32_t> metric_instances;

  std::exception_ptr failure;  // thrown in a callback

  // True for calls of host threads to devices.
  bool IsOfDevices(const Region& region) const;

  std::string Text(std::uint32_t reference) const {
    const auto found = strings.find(reference);
    return found == strings.end() ? std::string() : found->second;
  }
};

// Throws an input error when they are damaged.
RawDefinitions ReadRawDefinitions(OTF2_Reader* reader, const std::string& path);

}  // namespace farscale
