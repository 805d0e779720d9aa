// The global definitions of an OTF2 archive as they are written there.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <exception>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/trace.h"

namespace farscale {

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
  struct Window {
    std::uint32_t name = OTF2_UNDEFINED_STRING;
    std::uint32_t communicator = OTF2_UNDEFINED_COMM;
  };
  struct Dimension {
    std::size_t extent = 0;
    bool is_periodic = false;
  };
  struct Topology {
    std::uint32_t name = OTF2_UNDEFINED_STRING;
    std::uint32_t communicator = OTF2_UNDEFINED_COMM;
    std::vector<std::uint32_t> dimensions;
    std::map<std::uint32_t, std::vector<std::uint32_t>> coordinates;  // by local rank
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
  std::map<std::uint32_t, Window> windows;
  std::map<std::uint32_t, Dimension> dimensions;
  std::map<std::uint32_t, Topology> topologies;
  std::map<std::uint32_t, Member> members;
  std::map<std::uint32_t, std::vector<std::uint32_t>> metric_classes;
  std::set<std::uint32_t> sparse_members;  // of classes that do not promise a sample at every edge
  std::map<std::uint32_t, std::uint32_t> metric_instances;

  std::exception_ptr failure;  // of a callback

  // Of calls on host threads.
  bool IsOfDevices(const Region& region) const;

  std::string Text(std::uint32_t reference) const {
    const auto found = strings.find(reference);
    return found == strings.end() ? std::string() : found->second;
  }
};

// Throws an input error when they are damaged.
RawDefinitions ReadRawDefinitions(OTF2_Reader* reader, const std::string& path);

}  // namespace farscale
