#include "trace/otf2_definitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "trace/anomalies.h"
#include "trace/counters.h"
#include "trace/otf2_library.h"

namespace farscale {
namespace {

constexpr std::uint32_t kDenseReferences = 1 << 16;  // chosen: a table of 256 kB at most

// Definitions as the archive has them, by reference. Names stay references: a text may be defined after its first
// use.
struct RawDefinitions {
  struct SystemNode {
    std::uint32_t name = OTF2_UNDEFINED_STRING, class_name = OTF2_UNDEFINED_STRING;
    std::uint32_t parent = OTF2_UNDEFINED_SYSTEM_TREE_NODE;
    bool shares_memory = false;
  };
  struct LocationGroup {
    std::uint32_t name = OTF2_UNDEFINED_STRING;
    OTF2_LocationGroupType type = OTF2_LOCATION_GROUP_TYPE_UNKNOWN;
    std::uint32_t node = OTF2_UNDEFINED_SYSTEM_TREE_NODE;
  };
  struct Location {
    OTF2_LocationType type = OTF2_LOCATION_TYPE_UNKNOWN;
    std::uint64_t events = 0;
    std::uint32_t group = OTF2_UNDEFINED_LOCATION_GROUP;
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
  };
  struct Member {
    std::uint32_t name = OTF2_UNDEFINED_STRING, description = OTF2_UNDEFINED_STRING, unit = OTF2_UNDEFINED_STRING;
    double scale = 1;
    OTF2_MetricMode mode = OTF2_METRIC_ABSOLUTE_POINT;
    OTF2_Type type = OTF2_TYPE_UINT64;
  };

  std::uint64_t ticks_per_second = 0;
  std::uint64_t origin = 0;
  std::unordered_map<std::uint32_t, std::string> strings;
  std::map<std::uint32_t, SystemNode> system_nodes;
  std::map<std::uint32_t, LocationGroup> location_groups;
  std::map<std::uint64_t, Location> locations;
  std::map<std::uint32_t, Region> regions;
  std::map<std::uint32_t, Group> groups;
  std::map<std::uint32_t, Communicator> communicators;
  std::map<std::uint32_t, Window> windows;
  std::map<std::uint32_t, Dimension> dimensions;
  std::map<std::uint32_t, Topology> topologies;
  std::map<std::uint32_t, Member> members;
  std::map<std::uint32_t, std::vector<std::uint32_t>> metric_classes;
  std::set<std::uint32_t> sparse_members;  // of classes that do not promise a sample at every edge
  std::map<std::uint32_t, std::uint32_t> metric_instances;

  std::exception_ptr failure;

  std::string Text(std::uint32_t reference) const {
    const auto found = strings.find(reference);
    return found == strings.end() ? std::string() : found->second;
  }
};

// Of OpenMP; other paradigms fork no teams.
TeamRole TeamRoleOf(OTF2_RegionRole role, OTF2_Paradigm paradigm) {
  if (paradigm != OTF2_PARADIGM_OPENMP) return TeamRole::kNone;
  switch (role) {
    case OTF2_REGION_ROLE_PARALLEL: return TeamRole::kParallel;
    case OTF2_REGION_ROLE_BARRIER: return TeamRole::kBarrier;
    case OTF2_REGION_ROLE_IMPLICIT_BARRIER: return TeamRole::kImplicitBarrier;
    default: return TeamRole::kNone;
  }
}

using Callbacks = std::unique_ptr<OTF2_GlobalDefReaderCallbacks, decltype(&OTF2_GlobalDefReaderCallbacks_Delete)>;

// `set` is a function of the library, `Action` a function of the definitions and what one of them says.
template <typename... Values, typename Action>
void On(const Callbacks& callbacks,
        OTF2_ErrorCode (*set)(OTF2_GlobalDefReaderCallbacks*, OTF2_CallbackCode (*)(void*, Values...)), Action) {
  set(callbacks.get(), [](void* user, Values... values) {
    return StopOnFailure<RawDefinitions>(user, [&](RawDefinitions& raw) { Action()(raw, values...); });
  });
}

void AddLocationCallbacks(const Callbacks& callbacks) {
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback,
     [](RawDefinitions& raw, OTF2_SystemTreeNodeRef self, OTF2_StringRef name, OTF2_StringRef type,
        OTF2_SystemTreeNodeRef parent) {
       RawDefinitions::SystemNode& node = raw.system_nodes[self];
       node = {name, type, parent, node.shares_memory};
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeDomainCallback,
     [](RawDefinitions& raw, OTF2_SystemTreeNodeRef node, OTF2_SystemTreeDomain domain) {
       if (domain == OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY) raw.system_nodes[node].shares_memory = true;
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback,
     [](RawDefinitions& raw, OTF2_LocationGroupRef self, OTF2_StringRef name, OTF2_LocationGroupType type,
        OTF2_SystemTreeNodeRef node, OTF2_LocationGroupRef) {
       raw.location_groups[self] = {name, type, node};
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetLocationCallback,
     [](RawDefinitions& raw, OTF2_LocationRef self, OTF2_StringRef, OTF2_LocationType type, std::uint64_t events,
        OTF2_LocationGroupRef group) {
       raw.locations[self] = {type, events, group};
     });
}

void AddCommunicatorCallbacks(const Callbacks& callbacks) {
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetGroupCallback,
     [](RawDefinitions& raw, OTF2_GroupRef self, OTF2_StringRef, OTF2_GroupType type, OTF2_Paradigm paradigm,
        OTF2_GroupFlag flags, std::uint32_t count, const std::uint64_t* members) {
       RawDefinitions::Group& group = raw.groups[self];
       group = {type, paradigm, flags, {}};
       if (members != nullptr) group.members.assign(members, members + count);
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetCommCallback,
     [](RawDefinitions& raw, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef group, OTF2_CommRef, OTF2_CommFlag) {
       raw.communicators[self] = {name, group, OTF2_UNDEFINED_GROUP};
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetInterCommCallback,
     [](RawDefinitions& raw, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef group, OTF2_GroupRef remote,
        OTF2_CommRef, OTF2_CommFlag) {
       raw.communicators[self] = {name, group, remote};
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetRmaWinCallback,
     [](RawDefinitions& raw, OTF2_RmaWinRef self, OTF2_StringRef name, OTF2_CommRef communicator, OTF2_RmaWinFlag) {
       raw.windows[self] = {name, communicator};
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetCartDimensionCallback,
     [](RawDefinitions& raw, OTF2_CartDimensionRef self, OTF2_StringRef, std::uint32_t size,
        OTF2_CartPeriodicity periodicity) {
       raw.dimensions[self] = {size, periodicity == OTF2_CART_PERIODIC_TRUE};
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetCartTopologyCallback,
     [](RawDefinitions& raw, OTF2_CartTopologyRef self, OTF2_StringRef name, OTF2_CommRef communicator,
        std::uint8_t count, const OTF2_CartDimensionRef* dimensions) {
       RawDefinitions::Topology& topology = raw.topologies[self];
       topology.name = name;
       topology.communicator = communicator;
       if (dimensions != nullptr) topology.dimensions.assign(dimensions, dimensions + count);
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetCartCoordinateCallback,
     [](RawDefinitions& raw, OTF2_CartTopologyRef topology, std::uint32_t rank, std::uint8_t count,
        const std::uint32_t* coordinates) {
       if (coordinates != nullptr) raw.topologies[topology].coordinates[rank].assign(coordinates, coordinates + count);
     });
}

void AddMetricCallbacks(const Callbacks& callbacks) {
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetMetricMemberCallback,
     [](RawDefinitions& raw, OTF2_MetricMemberRef self, OTF2_StringRef name, OTF2_StringRef description,
        OTF2_MetricType, OTF2_MetricMode mode, OTF2_Type type, OTF2_Base base, std::int64_t exponent,
        OTF2_StringRef unit) {
       const double scale = std::pow(base == OTF2_BASE_BINARY ? 2.0 : 10.0, static_cast<double>(exponent));
       raw.members[self] = {name, description, unit, scale, mode, type};
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetMetricClassCallback,
     [](RawDefinitions& raw, OTF2_MetricRef self, std::uint8_t count, const OTF2_MetricMemberRef* members,
        OTF2_MetricOccurrence occurrence, OTF2_RecorderKind) {
       if (members == nullptr) return;
       raw.metric_classes[self].assign(members, members + count);
       if (occurrence == OTF2_METRIC_SYNCHRONOUS) raw.sparse_members.insert(members, members + count);
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetMetricInstanceCallback,
     [](RawDefinitions& raw, OTF2_MetricRef self, OTF2_MetricRef metric_class, OTF2_LocationRef, OTF2_MetricScope,
        std::uint64_t) { raw.metric_instances[self] = metric_class; });
}

void ReadRaw(OTF2_Reader* reader, const std::string& path, RawDefinitions& raw) {
  OTF2_GlobalDefReader* definitions = OTF2_Reader_GetGlobalDefReader(reader);
  if (definitions == nullptr) CheckOtf2(OTF2_ERROR_FILE_CAN_NOT_OPEN, path, "opening the definitions");
  const Callbacks callbacks(OTF2_GlobalDefReaderCallbacks_New(), OTF2_GlobalDefReaderCallbacks_Delete);
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetStringCallback,
     [](RawDefinitions& all, OTF2_StringRef self, const char* text) {
       all.strings[self] = ToUtf8(text != nullptr ? text : "");
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback,
     [](RawDefinitions& all, std::uint64_t resolution, std::uint64_t offset, std::uint64_t, std::uint64_t) {
       all.ticks_per_second = resolution;
       all.origin = offset;
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetRegionCallback,
     [](RawDefinitions& all, OTF2_RegionRef self, OTF2_StringRef name, OTF2_StringRef, OTF2_StringRef,
        OTF2_RegionRole role, OTF2_Paradigm paradigm, OTF2_RegionFlag, OTF2_StringRef, std::uint32_t, std::uint32_t) {
       all.regions[self] = {name, paradigm == OTF2_PARADIGM_MPI, role == OTF2_REGION_ROLE_ARTIFICIAL,
                            TeamRoleOf(role, paradigm)};
     });
  AddLocationCallbacks(callbacks);
  AddCommunicatorCallbacks(callbacks);
  AddMetricCallbacks(callbacks);
  OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, callbacks.get(), &raw);
  std::uint64_t count = 0;
  const OTF2_ErrorCode code = OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &count);
  OTF2_Reader_CloseGlobalDefReader(reader, definitions);
  if (raw.failure) std::rethrow_exception(raw.failure);
  CheckOtf2(code, path, "reading the definitions");
}

[[noreturn]] void Damaged(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kInput, path, what, "the archive is damaged");
}

// The node a process runs on: the nearest system tree node of class "node" or that shares memory, else the nearest.
std::uint32_t NodeOf(const RawDefinitions& raw, std::uint32_t start) {
  std::uint32_t reference = start;
  for (int depth = 0; depth < 64; ++depth) {  // a damaged tree may be a circle
    const auto found = raw.system_nodes.find(reference);
    if (found == raw.system_nodes.end()) return start;
    if (found->second.shares_memory || ToLower(raw.Text(found->second.class_name)) == "node") return reference;
    reference = found->second.parent;
  }
  return start;
}

// Main location of every rank. MPI traces list them; without MPI every process is a rank of its own.
std::vector<std::uint64_t> MainLocations(const RawDefinitions& raw, const std::string& path) {
  for (const auto& [reference, group] : raw.groups) {
    if (group.type == OTF2_GROUP_TYPE_COMM_LOCATIONS && group.paradigm == OTF2_PARADIGM_MPI) {
      for (const std::uint64_t location : group.members) {
        if (raw.locations.count(location) == 0)
          Damaged(path, fmt::format("MPI rank at location {} is not defined", location));
      }
      if (std::set<std::uint64_t>(group.members.begin(), group.members.end()).size() != group.members.size())
        Damaged(path, "two MPI ranks share one location");
      return group.members;
    }
  }
  std::vector<std::uint64_t> mains;
  std::set<std::uint32_t> seen;
  for (const auto& [reference, location] : raw.locations) {
    const auto group = raw.location_groups.find(location.group);
    const bool is_process =
        group != raw.location_groups.end() && group->second.type == OTF2_LOCATION_GROUP_TYPE_PROCESS;
    if (location.type == OTF2_LOCATION_TYPE_CPU_THREAD && is_process && seen.insert(location.group).second) {
      mains.push_back(reference);
    }
  }
  return mains;
}

void AddRanks(const RawDefinitions& raw, const std::string& path, TraceBuilder& builder, Otf2Definitions& result) {
  const std::vector<std::uint64_t> mains = MainLocations(raw, path);
  if (mains.empty()) {
    throw Error(ErrorKind::kInput, path, "the trace has no ranks",
                "it must contain at least one process with a CPU thread");
  }
  std::map<std::uint32_t, std::int32_t> rank_of_group;
  std::map<std::uint32_t, std::int32_t> node_index;
  for (std::size_t rank = 0; rank < mains.size(); ++rank) {
    const RawDefinitions::Location& location = raw.locations.at(mains[rank]);
    const auto group = raw.location_groups.find(location.group);
    const bool has_group = group != raw.location_groups.end();
    const std::uint32_t node = has_group ? NodeOf(raw, group->second.node) : OTF2_UNDEFINED_SYSTEM_TREE_NODE;
    const auto [entry, is_new] = node_index.try_emplace(node, static_cast<std::int32_t>(node_index.size()));
    if (is_new) {
      const auto found = raw.system_nodes.find(node);
      builder.AddNode(found == raw.system_nodes.end() ? "unknown node" : raw.Text(found->second.name));
    }
    rank_of_group.try_emplace(location.group, static_cast<std::int32_t>(rank));
    builder.AddRank({entry->second, 0, has_group ? raw.Text(group->second.name) : fmt::format("rank {}", rank)});
    result.locations.push_back({mains[rank], static_cast<std::int32_t>(rank), true, 0, location.events});
  }
  const std::set<std::uint64_t> main_set(mains.begin(), mains.end());
  std::vector<std::int32_t> workers(mains.size());
  for (const auto& [reference, location] : raw.locations) {
    const auto rank = rank_of_group.find(location.group);
    if (location.type != OTF2_LOCATION_TYPE_CPU_THREAD || rank == rank_of_group.end()) {
      if (main_set.count(reference) == 0 && location.events > 0) {
        builder.trace().diagnostics.Add(anomaly::kOtherLocationsIgnored);
      }
      continue;
    }
    ++builder.trace().ranks[static_cast<std::size_t>(rank->second)].threads;
    if (main_set.count(reference) == 0) {
      const std::int32_t thread = ++workers[static_cast<std::size_t>(rank->second)];
      result.locations.push_back({reference, rank->second, false, thread, location.events});
    }
  }
  for (Rank& rank : builder.trace().ranks) rank.threads = std::max(rank.threads, 1);
}

void AddRegions(const RawDefinitions& raw, TraceBuilder& builder, Otf2Definitions& result) {
  for (const auto& [reference, region] : raw.regions) {
    const std::string name = raw.Text(region.name);
    MpiCall call = ClassifyMpiCall(name);
    const bool is_mpi = region.is_mpi || call != MpiCall::kNone;
    if (is_mpi && call == MpiCall::kNone) call = MpiCall::kOther;
    const bool is_outside = !is_mpi && region.is_artificial && name == kOutsideRegion;
    const bool is_pause = !is_mpi && region.is_artificial && name.starts_with(kPauseRegion);
    result.regions.Set(reference, builder.AddRegion({name, is_mpi, call, is_outside, is_pause, region.team_role}));
  }
}

// World ranks of a group. Groups of MPI communicators hold ranks of the world, or locations when flagged so.
std::vector<std::int32_t> MembersOf(const RawDefinitions::Group& group, const Otf2Definitions& result,
                                    std::size_t ranks, const std::string& path) {
  std::vector<std::int32_t> members;
  for (const std::uint64_t member : group.members) {
    std::uint64_t rank = member;
    if ((group.flags & OTF2_GROUP_FLAG_GLOBAL_MEMBERS) != 0) {
      const auto found = std::ranges::find_if(
          result.locations, [&](const Otf2Location& l) { return l.is_main && l.reference == member; });
      rank = found == result.locations.end() ? ranks : static_cast<std::uint64_t>(found->rank);
    }
    if (rank >= ranks)
      Damaged(path, fmt::format("a communicator contains rank {}, but there are {} ranks", rank, ranks));
    members.push_back(static_cast<std::int32_t>(rank));
  }
  return members;
}

void AddCommunicators(const RawDefinitions& raw, const std::string& path, TraceBuilder& builder,
                      Otf2Definitions& result) {
  const std::size_t ranks = builder.definitions().ranks.size();
  for (const auto& [reference, definition] : raw.communicators) {
    const auto group = raw.groups.find(definition.group);
    if (group == raw.groups.end() || group->second.paradigm != OTF2_PARADIGM_MPI) continue;
    Communicator communicator;
    communicator.name = raw.Text(definition.name);
    communicator.is_self = group->second.type == OTF2_GROUP_TYPE_COMM_SELF;
    if (!communicator.is_self) communicator.members = MembersOf(group->second, result, ranks, path);
    const auto remote = raw.groups.find(definition.remote);
    if (remote != raw.groups.end()) communicator.remote = MembersOf(remote->second, result, ranks, path);
    result.communicators.Set(reference, builder.AddCommunicator(std::move(communicator)));
  }
}

// Windows of MPI, and what their synchronisation needs. Fences of one window are in order among each other, not among
// the collectives of the communicator, so a window is one of its own.
void AddWindows(const RawDefinitions& raw, const std::string& path, TraceBuilder& builder, Otf2Definitions& result) {
  bool has_windows = false;
  for (const auto& [reference, definition] : raw.windows) {
    const std::uint32_t of = result.communicators[definition.communicator];
    if (of == ReferenceTable::kUnknown) continue;
    Communicator window = builder.definitions().communicators[of];
    window.name = fmt::format("window {} on {}", reference, window.name);
    result.windows.Set(reference, builder.AddCommunicator(std::move(window)));
    has_windows = true;
  }
  if (!has_windows) return;
  const std::vector<Communicator>& communicators = builder.definitions().communicators;
  const auto self = std::ranges::find_if(communicators, &Communicator::is_self);
  result.alone = self != communicators.end() ? static_cast<std::uint32_t>(self - communicators.begin())
                                             : builder.AddCommunicator({"MPI_COMM_SELF", {}, {}, true});
  for (const auto& [reference, group] : raw.groups) {
    const bool has_ranks = group.type == OTF2_GROUP_TYPE_COMM_GROUP && group.paradigm == OTF2_PARADIGM_MPI;
    if (has_ranks) result.groups[reference] = MembersOf(group, result, builder.definitions().ranks.size(), path);
  }
}

// References of the locations that a group names by their place in the list of its paradigm, or directly. Nothing when
// it names one that is not there.
std::vector<std::uint64_t> LocationsOfGroup(const RawDefinitions& raw, const RawDefinitions::Group& group) {
  const bool is_direct =
      group.type == OTF2_GROUP_TYPE_COMM_LOCATIONS || (group.flags & OTF2_GROUP_FLAG_GLOBAL_MEMBERS) != 0;
  if (is_direct) return group.members;
  const auto all = std::find_if(raw.groups.begin(), raw.groups.end(), [&](const auto& entry) {
    return entry.second.type == OTF2_GROUP_TYPE_COMM_LOCATIONS && entry.second.paradigm == group.paradigm;
  });
  if (all == raw.groups.end()) return {};
  std::vector<std::uint64_t> locations;
  for (const std::uint64_t member : group.members) {
    if (member >= all->second.members.size()) return {};
    locations.push_back(all->second.members[member]);
  }
  return locations;
}

// Communicators that are not of MPI: teams of threads.
void AddTeams(const RawDefinitions& raw, TraceBuilder& builder, Otf2Definitions& result) {
  std::unordered_map<std::uint64_t, Location> threads;
  for (const Otf2Location& location : result.locations) {
    threads[location.reference] = {location.rank, location.thread};
  }
  std::vector<ThreadTeam>& teams = builder.trace().team_threads.teams;
  for (const auto& [reference, definition] : raw.communicators) {
    const auto group = raw.groups.find(definition.group);
    if (group == raw.groups.end() || group->second.paradigm == OTF2_PARADIGM_MPI) continue;
    result.teams.Set(reference, static_cast<std::uint32_t>(teams.size()));
    ThreadTeam& team = teams.emplace_back();
    for (const std::uint64_t location : LocationsOfGroup(raw, group->second)) {
      const auto thread = threads.find(location);
      // A member of no rank stands for one that never takes part.
      team.members.push_back(thread == threads.end() ? Location{-1, 0} : thread->second);
    }
    std::ranges::sort(team.members);
  }
  result.unknown_team = static_cast<std::uint32_t>(teams.size());
  teams.emplace_back();
}

// Index of every local rank in the grid; empty unless all of them have a place of their own.
std::vector<std::size_t> PlacesOf(const RawDefinitions::Topology& topology, const std::vector<std::size_t>& extents,
                                  std::size_t ranks) {
  std::vector<std::size_t> places;
  std::set<std::size_t> taken;
  for (const auto& [rank, coordinates] : topology.coordinates) {
    if (rank != places.size() || coordinates.size() != extents.size()) return {};
    std::size_t place = 0;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      if (coordinates[d] >= extents[d]) return {};
      place = place * extents[d] + coordinates[d];
    }
    if (!taken.insert(place).second) return {};
    places.push_back(place);
  }
  if (places.size() != ranks) places.clear();
  return places;
}

// Those that say of every rank of a communicator where it is.
void AddTopologies(const RawDefinitions& raw, const Otf2Definitions& result, TraceBuilder& builder) {
  for (const auto& [reference, definition] : raw.topologies) {
    CartesianTopology topology{raw.Text(definition.name), result.communicators[definition.communicator], {}, {}, {}};
    if (topology.communicator == ReferenceTable::kUnknown || definition.dimensions.empty()) continue;
    const Communicator& communicator = builder.definitions().communicators[topology.communicator];
    std::size_t size = 1;
    for (const std::uint32_t dimension : definition.dimensions) {
      const auto found = raw.dimensions.find(dimension);
      const std::size_t extent = found == raw.dimensions.end() ? 0 : found->second.extent;
      topology.extents.push_back(extent);
      topology.periodic.push_back(extent > 0 && found->second.is_periodic);
      size = size * extent > communicator.members.size() ? 0 : size * extent;
    }
    if (size == 0 || size != communicator.members.size() || !communicator.remote.empty()) continue;
    topology.places = PlacesOf(definition, topology.extents, size);
    if (!topology.places.empty()) builder.AddTopology(std::move(topology));
  }
}

MetricUse UseOf(OTF2_MetricMode mode) {
  const int property = mode & OTF2_METRIC_VALUE_MASK;
  const int timing = mode & OTF2_METRIC_TIMING_MASK;
  if (property == OTF2_METRIC_VALUE_ABSOLUTE) return MetricUse::kLevel;
  if (timing == OTF2_METRIC_TIMING_NEXT) return MetricUse::kNextIncrement;
  if (timing == OTF2_METRIC_TIMING_LAST || property == OTF2_METRIC_VALUE_RELATIVE) return MetricUse::kIncrement;
  return MetricUse::kTotal;
}

void AddMetrics(const RawDefinitions& raw, const CounterSelection& selection, TraceBuilder& builder,
                Otf2Definitions& result) {
  std::map<std::uint32_t, Otf2Metric> metric_of_member;
  for (const auto& [reference, member] : raw.members) {
    Otf2Metric& metric = metric_of_member[reference];
    metric.use = UseOf(member.mode);
    metric.type = member.type;
    const bool is_sparse = raw.sparse_members.contains(reference) && member.type != OTF2_TYPE_DOUBLE;
    if (metric.use == MetricUse::kTotal && is_sparse && IsNameOfCpuTime(raw.Text(member.name))) {
      metric.use = MetricUse::kCpuTime;
    }
    Counter counter{raw.Text(member.name), raw.Text(member.description),    raw.Text(member.unit),
                    member.scale,          member.type == OTF2_TYPE_DOUBLE, metric.use != MetricUse::kLevel};
    if (!selection.Keeps(counter.name)) continue;
    const std::uint32_t index = builder.AddCounter(std::move(counter));
    if (metric.use != MetricUse::kLevel) metric.counter = index;
  }
  const auto metrics_of = [&](std::uint32_t metric_class) {
    std::vector<Otf2Metric> metrics;
    const auto found = raw.metric_classes.find(metric_class);
    if (found == raw.metric_classes.end()) return metrics;
    for (const std::uint32_t member : found->second) metrics.push_back(metric_of_member[member]);
    return metrics;
  };
  for (const auto& [reference, members] : raw.metric_classes) result.metrics[reference] = metrics_of(reference);
  for (const auto& [reference, metric_class] : raw.metric_instances) {
    result.metrics[reference] = metrics_of(metric_class);
  }
}

}  // namespace

void ReferenceTable::Set(std::uint32_t reference, std::uint32_t index) {
  if (reference >= kDenseReferences) {
    sparse_[reference] = index;
    return;
  }
  if (reference >= dense_.size()) dense_.resize(reference + 1, kUnknown);
  dense_[reference] = index;
}

Otf2Definitions ReadOtf2Definitions(OTF2_Reader* reader, const CounterSelection& counters, TraceBuilder& builder) {
  const std::string path = builder.definitions().path;
  RawDefinitions raw;
  ReadRaw(reader, path, raw);
  if (raw.ticks_per_second == 0) Damaged(path, "the clock of the trace is not defined");
  Otf2Definitions result;
  result.origin = raw.origin;
  builder.trace().ticks_per_second = static_cast<double>(raw.ticks_per_second);
  AddRanks(raw, path, builder, result);
  AddRegions(raw, builder, result);
  AddCommunicators(raw, path, builder, result);
  AddWindows(raw, path, builder, result);
  AddTeams(raw, builder, result);
  AddTopologies(raw, result, builder);
  AddMetrics(raw, counters, builder, result);
  for (const auto& [reference, text] : raw.strings) {
    if (reference >= kDenseReferences) continue;
    if (reference >= result.strings.size()) result.strings.resize(reference + 1);
    result.strings[reference] = text;
  }
  return result;
}

}  // namespace farscale
