// The global definitions of an OTF2 archive: as they are written there, then as those of a trace.
#include "trace/otf2_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "base/diagnostics.h"
#include "base/text.h"
#include "trace/anomalies.h"
#include "trace/names.h"
#include "trace/otf2_library.h"

namespace farscale {
namespace {

constexpr int kDeepest = 64;                         // chosen: levels of a system tree; a damaged one may be a circle
constexpr std::uint32_t kDenseReferences = 1 << 16;  // chosen: a table of 256 kB at most

// Definitions as they are written, by reference. Names stay references: a text may be defined after its first use.
struct Raw {
  struct SystemNode {
    std::uint32_t name = OTF2_UNDEFINED_STRING, class_name = OTF2_UNDEFINED_STRING;
    std::uint32_t parent = OTF2_UNDEFINED_SYSTEM_TREE_NODE;
    bool shares_memory = false, is_device = false, is_socket = false;
  };
  struct LocationGroup {
    std::uint32_t name = OTF2_UNDEFINED_STRING;
    OTF2_LocationGroupType type = OTF2_LOCATION_GROUP_TYPE_UNKNOWN;
    std::uint32_t node = OTF2_UNDEFINED_SYSTEM_TREE_NODE, creator = OTF2_UNDEFINED_LOCATION_GROUP;

    bool IsProcess() const { return type == OTF2_LOCATION_GROUP_TYPE_PROCESS; }
  };
  struct Location {
    OTF2_LocationType type = OTF2_LOCATION_TYPE_UNKNOWN;
    std::uint64_t events = 0;
    std::uint32_t group = OTF2_UNDEFINED_LOCATION_GROUP, name = OTF2_UNDEFINED_STRING;
  };
  struct Group {
    OTF2_GroupType type = OTF2_GROUP_TYPE_UNKNOWN;
    OTF2_Paradigm paradigm = OTF2_PARADIGM_UNKNOWN;
    OTF2_GroupFlag flags = OTF2_GROUP_FLAG_NONE;
    std::vector<std::uint64_t> members;

    bool HasLocations() const { return type == OTF2_GROUP_TYPE_COMM_LOCATIONS; }
    bool HasReferences() const { return (flags & OTF2_GROUP_FLAG_GLOBAL_MEMBERS) != 0; }
  };
  struct Communicator {
    std::uint32_t name = OTF2_UNDEFINED_STRING, group = OTF2_UNDEFINED_GROUP, remote = OTF2_UNDEFINED_GROUP;
  };
  struct Topology {
    std::uint32_t name = OTF2_UNDEFINED_STRING, communicator = OTF2_UNDEFINED_COMM;
    std::vector<std::uint32_t> dimensions;
    std::map<std::uint32_t, std::vector<std::uint32_t>> coordinates;  // indexed by local rank
  };
  struct Region {
    std::uint32_t name = OTF2_UNDEFINED_STRING;
    OTF2_RegionRole role = OTF2_REGION_ROLE_UNKNOWN;
    OTF2_Paradigm paradigm = OTF2_PARADIGM_UNKNOWN;
  };
  struct Member {
    std::uint32_t name = OTF2_UNDEFINED_STRING, description = OTF2_UNDEFINED_STRING, unit = OTF2_UNDEFINED_STRING;
    double scale = 1;
    OTF2_MetricMode mode = OTF2_METRIC_ABSOLUTE_POINT;
    OTF2_Type type = OTF2_TYPE_UINT64;
  };

  std::uint64_t ticks_per_second = 0, origin = 0, length = 0;
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
  bool IsOfDevices(const Region& region) const {
    switch (region.paradigm) {
      case OTF2_PARADIGM_CUDA:
      case OTF2_PARADIGM_HIP:
      case OTF2_PARADIGM_OPENACC:
      case OTF2_PARADIGM_OPENCL: return true;
      default: return device_paradigms.contains(region.paradigm);  // SYCL and others that came later
    }
  }

  std::string Text(std::uint32_t reference) const {
    const auto found = strings.find(reference);
    return found == strings.end() ? std::string() : found->second;
  }
};

using DefinitionCallbacks = OTF2_GlobalDefReaderCallbacks;

// `set` is a function of the library, `Action` a function of the definitions and the values of one of them.
template <typename... Values, typename Action>
void On(DefinitionCallbacks* callbacks,
        OTF2_ErrorCode (*set)(DefinitionCallbacks*, OTF2_CallbackCode (*)(void*, Values...)), Action) {
  set(callbacks, [](void* user, Values... values) {
    return StopOnFailure<Raw>(user, [&](Raw& raw) { Action()(raw, values...); });
  });
}

void OnRegionsAndLocations(DefinitionCallbacks* callbacks) {
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetStringCallback,
     [](Raw& raw, auto self, const char* text) { raw.strings[self] = ToUtf8(text != nullptr ? text : ""); });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback,
     [](Raw& raw, auto resolution, auto offset, auto length, auto /*realtime*/) {
       raw.ticks_per_second = resolution;
       raw.origin = offset;
       raw.length = length;
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetRegionCallback,
     [](Raw& raw, auto self, auto name, auto /*canonical*/, auto /*description*/, auto role, auto paradigm, auto...) {
       raw.regions[self] = {name, role, paradigm};
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetParadigmCallback,
     [](Raw& raw, auto paradigm, auto /*name*/, auto paradigm_class) {
       if (paradigm_class == OTF2_PARADIGM_CLASS_ACCELERATOR) raw.device_paradigms.insert(paradigm);
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback,
     [](Raw& raw, auto self, auto name, auto type, auto parent) {
       Raw::SystemNode& node = raw.system_nodes[self];
       node = {name, type, parent, node.shares_memory, node.is_device, node.is_socket};
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeDomainCallback, [](Raw& raw, auto node, auto domain) {
    if (domain == OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY) raw.system_nodes[node].shares_memory = true;
    if (domain == OTF2_SYSTEM_TREE_DOMAIN_ACCELERATOR_DEVICE) raw.system_nodes[node].is_device = true;
    if (domain == OTF2_SYSTEM_TREE_DOMAIN_SOCKET) raw.system_nodes[node].is_socket = true;
  });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback,
     [](Raw& raw, auto self, auto name, auto type, auto node, auto creator) {
       raw.location_groups[self] = {name, type, node, creator};
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetLocationCallback,
     [](Raw& raw, auto self, auto name, auto type, auto events, auto group) {
       raw.locations[self] = {type, events, group, name};
     });
}

void OnGroupsAndTopologies(DefinitionCallbacks* callbacks) {
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetGroupCallback,
     [](Raw& raw, auto self, auto /*name*/, auto type, auto paradigm, auto flags, auto count, auto* members) {
       Raw::Group& group = raw.groups[self] = {type, paradigm, flags, {}};
       if (members != nullptr) group.members.assign(members, members + count);
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetCommCallback, [](Raw& raw, auto self, auto name, auto group, auto...) {
    raw.communicators[self] = {name, group, OTF2_UNDEFINED_GROUP};
  });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetInterCommCallback,
     [](Raw& raw, auto self, auto name, auto group, auto remote, auto...) {
       raw.communicators[self] = {name, group, remote};
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetRmaWinCallback,
     [](Raw& raw, auto self, auto /*name*/, auto communicator, auto /*flags*/) { raw.windows[self] = communicator; });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetCartDimensionCallback,
     [](Raw& raw, auto self, auto /*name*/, auto size, auto periodicity) {
       raw.dimensions[self] = {size, periodicity == OTF2_CART_PERIODIC_TRUE};
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetCartTopologyCallback,
     [](Raw& raw, auto self, auto name, auto communicator, auto count, auto* dimensions) {
       Raw::Topology& topology = raw.topologies[self];
       topology.name = name;
       topology.communicator = communicator;
       if (dimensions != nullptr) topology.dimensions.assign(dimensions, dimensions + count);
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetCartCoordinateCallback,
     [](Raw& raw, auto topology, auto rank, auto count, auto* coordinates) {
       if (coordinates == nullptr) return;
       raw.topologies[topology].coordinates[rank].assign(coordinates, coordinates + count);
     });
}

void OnMetrics(DefinitionCallbacks* callbacks) {
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetMetricMemberCallback,
     [](Raw& raw, auto self, auto name, auto description, auto /*source*/, auto mode, auto type, auto base,
        auto exponent, auto unit) {
       const double scale = std::pow(base == OTF2_BASE_BINARY ? 2.0 : 10.0, static_cast<double>(exponent));
       raw.members[self] = {name, description, unit, scale, mode, type};
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetMetricClassCallback,
     [](Raw& raw, auto self, auto count, auto* members, auto occurrence, auto /*recorder*/) {
       if (members == nullptr) return;
       raw.metric_classes[self].assign(members, members + count);
       if (occurrence == OTF2_METRIC_SYNCHRONOUS) raw.sparse_members.insert(members, members + count);
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetMetricInstanceCallback,
     [](Raw& raw, auto self, auto metric_class, auto...) { raw.metric_instances[self] = metric_class; });
}

// Only OpenMP forks teams. Inside critical and ordered sections there is a region of its own.
TeamRole RoleInTeam(OTF2_RegionRole role, OTF2_Paradigm paradigm) {
  if (paradigm != OTF2_PARADIGM_OPENMP) return TeamRole::kNone;
  switch (role) {
    case OTF2_REGION_ROLE_PARALLEL: return TeamRole::kParallel;
    case OTF2_REGION_ROLE_BARRIER: return TeamRole::kBarrier;
    case OTF2_REGION_ROLE_IMPLICIT_BARRIER: return TeamRole::kImplicitBarrier;
    case OTF2_REGION_ROLE_TASK_WAIT: return TeamRole::kTaskWait;
    case OTF2_REGION_ROLE_CRITICAL:
    case OTF2_REGION_ROLE_ORDERED:
    case OTF2_REGION_ROLE_FLUSH:
    case OTF2_REGION_ROLE_TASK_CREATE: return TeamRole::kScheduling;
    default: return TeamRole::kNone;
  }
}

// Null where there is no such definition.
template <typename Key, typename Definition>
const Definition* Find(const std::map<Key, Definition>& definitions, std::type_identity_t<Key> reference) {
  const auto found = definitions.find(reference);
  return found == definitions.end() ? nullptr : &found->second;
}

[[noreturn]] void Damaged(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kInput, path, what, "the archive is damaged");
}

// Main location of every rank. MPI traces list them; without MPI every process is a rank of its own.
std::vector<std::uint64_t> MainLocations(const Raw& raw, const std::string& path) {
  for (const auto& [reference, group] : raw.groups) {
    if (!group.HasLocations() || group.paradigm != OTF2_PARADIGM_MPI) continue;
    for (const std::uint64_t location : group.members) {
      if (!raw.locations.contains(location)) {
        Damaged(path, fmt::format("MPI rank at location {} is not defined", location));
      }
    }
    const std::set<std::uint64_t> different(group.members.begin(), group.members.end());
    if (different.size() != group.members.size()) Damaged(path, "two MPI ranks share one location");
    return group.members;
  }
  std::vector<std::uint64_t> mains;
  std::set<std::uint32_t> seen;
  for (const auto& [reference, location] : raw.locations) {
    const Raw::LocationGroup* group = Find(raw.location_groups, location.group);
    const bool is_of_process = group != nullptr && group->IsProcess();
    if (location.type == OTF2_LOCATION_TYPE_CPU_THREAD && is_of_process && seen.insert(location.group).second) {
      mains.push_back(reference);
    }
  }
  return mains;
}

// The first system tree node from `start` towards the root that is `wanted`; nothing when there is none.
template <typename Wanted>
std::optional<std::uint32_t> FindNode(const Raw& raw, std::uint32_t start, Wanted wanted) {
  for (int depth = 0; depth < kDeepest; ++depth) {
    const Raw::SystemNode* node = Find(raw.system_nodes, start);
    if (node == nullptr) break;
    if (wanted(*node)) return start;
    start = node->parent;
  }
  return std::nullopt;
}

// Adds a location that is a stream of a device, belongs to a rank and records anything; others may have no files.
// Returns false for all other locations.
bool AddStream(const Raw& raw, std::uint64_t reference, const Raw::Location& location,
               const std::map<std::uint32_t, std::int32_t>& rank_of_group, Otf2Definitions& result) {
  if (location.type != OTF2_LOCATION_TYPE_ACCELERATOR_STREAM || location.events == 0) return false;
  const Raw::LocationGroup* group = Find(raw.location_groups, location.group);
  if (group == nullptr) return false;
  // Before OTF2 3.0 streams belong to the process itself.
  const auto rank = rank_of_group.find(group->IsProcess() ? location.group : group->creator);
  if (rank == rank_of_group.end()) return false;
  // Processes may share a device. Where only names of streams distinguish devices, as "CUDA[1:7]", the first number is
  // the device's among those of the process.
  const std::string stream = raw.Text(location.name);
  const std::string own = group->IsProcess() ? stream.substr(0, stream.find(':')) : raw.Text(group->name);
  const auto node = FindNode(raw, group->node, [](const Raw::SystemNode& n) { return n.is_device; });
  const std::string name = node ? fmt::format("{} (node {})", raw.Text(raw.system_nodes.at(*node).name), *node)
                                : fmt::format("{} {}", location.group, own);
  const auto known = std::ranges::find(result.devices, name);
  const auto device = static_cast<std::int32_t>(known - result.devices.begin());
  if (known == result.devices.end()) result.devices.push_back(name);
  result.locations.push_back({reference, rank->second, false, 0, location.events, device});
  return true;
}

// The socket of its node that a process is on; nothing where the trace does not say.
std::optional<std::uint32_t> SocketOfProcess(const Raw& raw, std::uint32_t start) {
  const auto ends = [](const Raw::SystemNode& node) { return node.shares_memory || node.is_socket; };
  const auto found = FindNode(raw, start, ends);
  return found && !raw.system_nodes.at(*found).shares_memory ? found : std::nullopt;
}

// Processes on nodes of different kinds leave it open which of them share one.
void CompareNodes(const Raw& raw, const std::map<std::uint32_t, std::int32_t>& nodes, Diagnostics& diagnostics) {
  std::map<std::string, std::string> names;  // kinds of nodes, with a node of each
  for (const auto& [reference, index] : nodes) {
    const Raw::SystemNode* node = Find(raw.system_nodes, reference);
    names[node != nullptr ? raw.Text(node->class_name) : ""] = node != nullptr ? raw.Text(node->name) : "nowhere";
  }
  if (names.size() < 2) return;
  const auto& [first, second] = std::pair(*names.begin(), *std::next(names.begin()));
  diagnostics.Add(anomaly::kNodesUnclear, 1,
                  fmt::format("{} '{}', {} '{}'", first.first, first.second, second.first, second.second));
}

void AddRanks(const Raw& raw, const std::string& path, bool keep_streams, TraceBuilder& builder,
              Otf2Definitions& result) {
  const std::vector<std::uint64_t> mains = MainLocations(raw, path);
  if (mains.empty()) {
    throw Error(ErrorKind::kInput, path, "the trace has no ranks",
                "it must contain at least one process with a CPU thread");
  }
  std::map<std::uint32_t, std::int32_t> rank_of_group;
  std::map<std::uint32_t, std::int32_t> node_index;
  std::map<std::uint32_t, std::map<std::uint32_t, std::int32_t>> socket_index;  // one map a node
  for (std::size_t rank = 0; rank < mains.size(); ++rank) {
    const Raw::Location& location = raw.locations.at(mains[rank]);
    const Raw::LocationGroup* group = Find(raw.location_groups, location.group);
    // The nearest of class "node" or that shares memory, else the nearest.
    const auto is_node = [&](const Raw::SystemNode& one) {
      return one.shares_memory || ToLower(raw.Text(one.class_name)) == "node";
    };
    const std::uint32_t node =
        group == nullptr ? OTF2_UNDEFINED_SYSTEM_TREE_NODE : FindNode(raw, group->node, is_node).value_or(group->node);
    const auto [entry, is_new] = node_index.try_emplace(node, static_cast<std::int32_t>(node_index.size()));
    const Raw::SystemNode* named = Find(raw.system_nodes, node);
    if (is_new) builder.AddNode(named == nullptr ? "unknown node" : raw.Text(named->name));
    rank_of_group.try_emplace(location.group, static_cast<std::int32_t>(rank));
    builder.AddRank({entry->second, 0, group != nullptr ? raw.Text(group->name) : fmt::format("rank {}", rank)});
    if (const auto socket = group != nullptr ? SocketOfProcess(raw, group->node) : std::nullopt) {
      std::map<std::uint32_t, std::int32_t>& of_node = socket_index[node];
      builder.trace().ranks.back().socket =
          of_node.try_emplace(*socket, static_cast<std::int32_t>(of_node.size())).first->second;
    }
    result.locations.push_back({mains[rank], static_cast<std::int32_t>(rank), true, 0, location.events});
  }
  CompareNodes(raw, node_index, builder.trace().diagnostics);
  const std::set<std::uint64_t> main_set(mains.begin(), mains.end());
  std::vector<std::int32_t> workers(mains.size());
  for (const auto& [reference, location] : raw.locations) {
    const auto rank = rank_of_group.find(location.group);
    if (location.type != OTF2_LOCATION_TYPE_CPU_THREAD || rank == rank_of_group.end()) {
      if (keep_streams && AddStream(raw, reference, location, rank_of_group, result)) continue;
      if (!main_set.contains(reference) && location.events > 0) {
        builder.trace().diagnostics.Add(anomaly::kOtherLocationsIgnored);
      }
      continue;
    }
    ++builder.trace().ranks[static_cast<std::size_t>(rank->second)].threads;
    if (!main_set.contains(reference)) {
      const std::int32_t thread = ++workers[static_cast<std::size_t>(rank->second)];
      result.locations.push_back({reference, rank->second, false, thread, location.events});
    }
  }
  for (Rank& rank : builder.trace().ranks) rank.threads = std::max(rank.threads, 1);
}

void AddRegions(const Raw& raw, TraceBuilder& builder, Otf2Definitions& result) {
  std::set<std::string> mpi_functions;
  for (const auto& [reference, region] : raw.regions) {
    if (region.paradigm == OTF2_PARADIGM_MPI) mpi_functions.insert(raw.Text(region.name));
  }
  for (const auto& [reference, region] : raw.regions) {
    const std::string name = raw.Text(region.name);
    const bool is_recorded = region.paradigm == OTF2_PARADIGM_MPI,
               is_artificial = region.role == OTF2_REGION_ROLE_ARTIFICIAL;
    MpiCall call = ClassifyMpiCall(name);
    if (!is_recorded && call != MpiCall::kNone && mpi_functions.contains(name)) {
      builder.trace().diagnostics.Add(anomaly::kMpiNameTwice, 1, name);
      call = MpiCall::kNone;
    }
    Region added{.name = name, .is_mpi = is_recorded || call != MpiCall::kNone, .call = call};
    if (added.is_mpi && call == MpiCall::kNone) added.call = MpiCall::kOther;
    added.is_outside = !added.is_mpi && is_artificial && name == kOutsideRegion;
    added.is_pause = !added.is_mpi && is_artificial && name.starts_with(kPauseRegion);
    added.is_device_runtime = !added.is_mpi && raw.IsOfDevices(region);
    added.team_role = RoleInTeam(region.role, region.paradigm);
    // Locks are functions of the OpenMP interface; others of them take no time.
    const bool is_lock = name.starts_with("omp_set_lock") || name.starts_with("omp_set_nest_lock");
    if (is_lock && added.team_role == TeamRole::kNone) added.team_role = TeamRole::kScheduling;
    result.regions.Set(reference, builder.AddRegion(std::move(added)));
    if (region.role == OTF2_REGION_ROLE_DATA_TRANSFER) result.stream_uses[reference] = StreamUse::kCopy;
    if (is_artificial) result.stream_uses[reference] = StreamUse::kIdle;  // the tool's mark of idle streams
  }
}

// World ranks of a group. Groups of MPI communicators hold ranks of the world, or locations when flagged so.
std::vector<std::int32_t> MembersOf(const Raw::Group& group, const Otf2Definitions& result, std::size_t ranks,
                                    const std::string& path) {
  std::vector<std::int32_t> members;
  for (const std::uint64_t member : group.members) {
    std::uint64_t rank = member;
    if (group.HasReferences()) {
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

void AddCommunicators(const Raw& raw, const std::string& path, TraceBuilder& builder, Otf2Definitions& result) {
  const std::size_t ranks = builder.definitions().ranks.size();
  for (const auto& [reference, definition] : raw.communicators) {
    const Raw::Group* group = Find(raw.groups, definition.group);
    if (group == nullptr || group->paradigm != OTF2_PARADIGM_MPI) continue;
    Communicator communicator{.name = raw.Text(definition.name), .members = {}, .remote = {}};
    communicator.is_self = group->type == OTF2_GROUP_TYPE_COMM_SELF;
    if (!communicator.is_self) communicator.members = MembersOf(*group, result, ranks, path);
    const Raw::Group* remote = Find(raw.groups, definition.remote);
    if (remote != nullptr) communicator.remote = MembersOf(*remote, result, ranks, path);
    result.communicators.Set(reference, builder.AddCommunicator(std::move(communicator)));
  }
  // Windows of MPI, and what their synchronisation needs. Fences of one window are in order among each other, not among
  // the collectives of the communicator, so a window is one of its own.
  bool has_windows = false;
  for (const auto& [reference, communicator] : raw.windows) {
    const std::uint32_t index = result.communicators[communicator];
    if (index == ReferenceTable::kUnknown) continue;
    Communicator window = builder.definitions().communicators[index];
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
    if (has_ranks) result.groups[reference] = MembersOf(group, result, ranks, path);
  }
}

// References of the locations that a group names by their index in the list of its paradigm, or directly. Nothing when
// it names one that is not there.
std::vector<std::uint64_t> LocationsOfGroup(const Raw& raw, const Raw::Group& group) {
  if (group.HasLocations() || group.HasReferences()) return group.members;
  const auto all = std::ranges::find_if(raw.groups, [&](const auto& entry) {
    return entry.second.HasLocations() && entry.second.paradigm == group.paradigm;
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
void AddTeams(const Raw& raw, TraceBuilder& builder, Otf2Definitions& result) {
  std::unordered_map<std::uint64_t, Location> threads;
  for (const Otf2Location& location : result.locations) {
    if (!location.IsStream()) threads[location.reference] = {location.rank, location.thread};
  }
  std::vector<std::vector<Location>>& teams = builder.trace().team_threads.teams;
  for (const auto& [reference, definition] : raw.communicators) {
    const Raw::Group* group = Find(raw.groups, definition.group);
    if (group == nullptr || group->paradigm == OTF2_PARADIGM_MPI) continue;
    result.teams.Set(reference, static_cast<std::uint32_t>(teams.size()));
    std::vector<Location>& team = teams.emplace_back();
    for (const std::uint64_t location : LocationsOfGroup(raw, *group)) {
      const auto thread = threads.find(location);
      // A member of no rank stands for one that never takes part.
      team.push_back(thread == threads.end() ? Location{-1, 0} : thread->second);
    }
    std::ranges::sort(team);
  }
  result.unknown_team = static_cast<std::uint32_t>(teams.size());
  teams.emplace_back();
}

// Index of every local rank in the grid; empty unless all of them have a cell of their own.
std::vector<std::size_t> PlacesOf(const Raw::Topology& topology, const std::vector<std::size_t>& extents,
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
void AddTopologies(const Raw& raw, const Otf2Definitions& result, TraceBuilder& builder) {
  for (const auto& [reference, definition] : raw.topologies) {
    CartesianTopology topology{raw.Text(definition.name), result.communicators[definition.communicator], {}, {}, {}};
    if (topology.communicator == ReferenceTable::kUnknown || definition.dimensions.empty()) continue;
    const Communicator& communicator = builder.definitions().communicators[topology.communicator];
    std::size_t size = 1;
    for (const std::uint32_t dimension : definition.dimensions) {
      const auto found = raw.dimensions.find(dimension);
      const auto [extent, is_periodic] =
          found == raw.dimensions.end() ? std::pair(std::size_t{0}, false) : found->second;
      topology.extents.push_back(extent);
      topology.periodic.push_back(extent > 0 && is_periodic);
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

void AddMetrics(const Raw& raw, const ReadOptions& options, TraceBuilder& builder, Otf2Definitions& result) {
  std::map<std::uint32_t, Otf2Metric> metric_of_member;
  for (const auto& [reference, member] : raw.members) {
    Otf2Metric& metric = metric_of_member[reference];
    metric.use = UseOf(member.mode);
    metric.type = member.type;
    const bool is_sparse = raw.sparse_members.contains(reference) && member.type != OTF2_TYPE_DOUBLE;
    if (metric.use == MetricUse::kTotal && is_sparse &&
        UsualMeaning(raw.Text(member.name)) == CounterMeaning::kCpuTime) {
      metric.use = MetricUse::kCpuTime;
    }
    Counter counter{raw.Text(member.name), raw.Text(member.description),    raw.Text(member.unit),
                    member.scale,          member.type == OTF2_TYPE_DOUBLE, metric.use != MetricUse::kLevel};
    CheckCounterName(counter, builder.trace().diagnostics);
    if (!options.Keeps(counter.name)) continue;
    const std::uint32_t index = builder.AddCounter(std::move(counter));
    if (metric.use != MetricUse::kLevel) metric.counter = index;
  }
  for (const auto& [string, text] : raw.strings) {
    const auto is_named = [number = string](const auto& entry) { return entry.second.name == number; };
    if (!UsualMeaning(text) || std::ranges::any_of(raw.members, is_named)) continue;
    if (std::ranges::any_of(raw.regions, is_named)) continue;
    builder.trace().diagnostics.Add(anomaly::kCounterUnclear, 1, fmt::format("'{}' is the name of none", text));
  }
  const auto metrics_of = [&](std::uint32_t metric_class) {
    std::vector<Otf2Metric> metrics;
    const std::vector<std::uint32_t>* members = Find(raw.metric_classes, metric_class);
    if (members == nullptr) return metrics;
    for (const std::uint32_t member : *members) {
      if (!metric_of_member.contains(member)) {
        builder.trace().diagnostics.Add(anomaly::kCounterUnclear, 1, fmt::format("counter {} is not defined", member));
      }
      metrics.push_back(metric_of_member[member]);
    }
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

Otf2Definitions ReadOtf2Definitions(OTF2_Reader* reader, const ReadOptions& options, TraceBuilder& builder) {
  const std::string path = builder.definitions().path;
  OTF2_GlobalDefReader* definitions = OTF2_Reader_GetGlobalDefReader(reader);
  if (definitions == nullptr) CheckOtf2(OTF2_ERROR_FILE_CAN_NOT_OPEN, path, "opening the definitions");
  Raw raw;
  const std::unique_ptr<DefinitionCallbacks, decltype(&OTF2_GlobalDefReaderCallbacks_Delete)> callbacks(
      OTF2_GlobalDefReaderCallbacks_New(), OTF2_GlobalDefReaderCallbacks_Delete);
  for (const auto add : {OnRegionsAndLocations, OnGroupsAndTopologies, OnMetrics}) add(callbacks.get());
  OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, callbacks.get(), &raw);
  std::uint64_t count = 0;
  const OTF2_ErrorCode code = OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &count);
  OTF2_Reader_CloseGlobalDefReader(reader, definitions);
  if (raw.failure) std::rethrow_exception(raw.failure);
  CheckOtf2(code, path, "reading the definitions");
  if (raw.ticks_per_second == 0) Damaged(path, "the clock of the trace is not defined");
  Otf2Definitions result;
  result.origin = raw.origin;
  // Some writers put 0 or 1 for a length that they do not know; OTF2 itself has a largest number for that.
  constexpr std::uint64_t kLongest = std::uint64_t{1} << 62;
  if (raw.length > 1 && raw.length < kLongest) result.length = static_cast<Tick>(raw.length);
  builder.trace().ticks_per_second = static_cast<double>(raw.ticks_per_second);
  AddRanks(raw, path, options.keep_threads, builder, result);
  AddRegions(raw, builder, result);
  AddCommunicators(raw, path, builder, result);
  AddTeams(raw, builder, result);
  AddTopologies(raw, result, builder);
  AddMetrics(raw, options, builder, result);
  for (const auto& [reference, text] : raw.strings) {
    if (reference >= kDenseReferences) continue;
    if (reference >= result.strings.size()) result.strings.resize(reference + 1);
    result.strings[reference] = text;
  }
  return result;
}

}  // namespace farscale
