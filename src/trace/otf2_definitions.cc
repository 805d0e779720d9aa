#include "trace/otf2_definitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/diagnostics.h"
#include "base/text.h"
#include "trace/anomalies.h"
#include "trace/counters.h"

namespace farscale {
namespace {

constexpr int kDeepest = 64;                         // chosen: levels of a system tree; a damaged one may be a circle
constexpr std::uint32_t kDenseReferences = 1 << 16;  // chosen: a table of 256 kB at most

[[noreturn]] void Damaged(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kInput, path, what, "the archive is damaged");
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

// The first system tree node from `start` towards the root that is `wanted`; nothing when there is none.
template <typename Wanted>
std::optional<std::uint32_t> FindNode(const RawDefinitions& raw, std::uint32_t start, Wanted wanted) {
  for (int depth = 0; depth < kDeepest; ++depth) {
    const auto found = raw.system_nodes.find(start);
    if (found == raw.system_nodes.end()) break;
    if (wanted(found->second)) return start;
    start = found->second.parent;
  }
  return std::nullopt;
}

// Processes may share a device. Where only names of streams distinguish devices, as "CUDA[1:7]", the first number is
// the device's among those of the process.
std::string DeviceName(const RawDefinitions& raw, const RawDefinitions::Location& location,
                       const RawDefinitions::LocationGroup& group) {
  const auto node = FindNode(raw, group.node, [](const RawDefinitions::SystemNode& n) { return n.is_device; });
  if (node) return fmt::format("{} (node {})", raw.Text(raw.system_nodes.at(*node).name), *node);
  const std::string name = raw.Text(location.name);
  const bool is_context = group.type != OTF2_LOCATION_GROUP_TYPE_PROCESS;
  return fmt::format("{} {}", location.group, is_context ? raw.Text(group.name) : name.substr(0, name.find(':')));
}

// Adds a location that is a stream of a device, belongs to a rank and records anything; others may have no files.
// Returns false for all other locations.
bool AddStream(const RawDefinitions& raw, std::uint64_t reference, const RawDefinitions::Location& location,
               const std::map<std::uint32_t, std::int32_t>& rank_of_group, Otf2Definitions& result) {
  if (location.type != OTF2_LOCATION_TYPE_ACCELERATOR_STREAM || location.events == 0) return false;
  const auto group = raw.location_groups.find(location.group);
  if (group == raw.location_groups.end()) return false;
  // Before OTF2 3.0 streams belong to the process itself.
  const bool is_context = group->second.type != OTF2_LOCATION_GROUP_TYPE_PROCESS;
  const auto rank = rank_of_group.find(is_context ? group->second.creator : location.group);
  if (rank == rank_of_group.end()) return false;
  const std::string name = DeviceName(raw, location, group->second);
  const auto known = std::ranges::find(result.devices, name);
  const auto device = static_cast<std::int32_t>(known - result.devices.begin());
  if (known == result.devices.end()) result.devices.push_back(name);
  result.locations.push_back({reference, rank->second, false, 0, location.events, device});
  return true;
}

// The node a process runs on: the nearest system tree node of class "node" or that shares memory, else the nearest.
std::uint32_t NodeOfProcess(const RawDefinitions& raw, std::uint32_t start) {
  const auto is_node = [&](const RawDefinitions::SystemNode& node) {
    return node.shares_memory || ToLower(raw.Text(node.class_name)) == "node";
  };
  return FindNode(raw, start, is_node).value_or(start);
}

// The socket of its node that a process is on; nothing where the trace does not say.
std::optional<std::uint32_t> SocketOfProcess(const RawDefinitions& raw, std::uint32_t start) {
  const auto ends = [](const RawDefinitions::SystemNode& node) { return node.shares_memory || node.is_socket; };
  const auto found = FindNode(raw, start, ends);
  return found && !raw.system_nodes.at(*found).shares_memory ? found : std::nullopt;
}

// Processes on nodes of different kinds leave it open which of them share one.
void CompareNodes(const RawDefinitions& raw, const std::map<std::uint32_t, std::int32_t>& nodes,
                  Diagnostics& diagnostics) {
  std::map<std::string, std::string> names;  // kinds of nodes, with a node of each
  for (const auto& [reference, index] : nodes) {
    const auto found = raw.system_nodes.find(reference);
    const bool is_known = found != raw.system_nodes.end();
    names[is_known ? raw.Text(found->second.class_name) : ""] = is_known ? raw.Text(found->second.name) : "nowhere";
  }
  if (names.size() < 2) return;
  const auto& [first, second] = std::pair(*names.begin(), *std::next(names.begin()));
  diagnostics.Add(anomaly::kNodesUnclear, 1,
                  fmt::format("{} '{}', {} '{}'", first.first, first.second, second.first, second.second));
}

void AddRanks(const RawDefinitions& raw, const std::string& path, bool keep_streams, TraceBuilder& builder,
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
    const RawDefinitions::Location& location = raw.locations.at(mains[rank]);
    const auto group = raw.location_groups.find(location.group);
    const bool has_group = group != raw.location_groups.end();
    const std::uint32_t node = has_group ? NodeOfProcess(raw, group->second.node) : OTF2_UNDEFINED_SYSTEM_TREE_NODE;
    const auto [entry, is_new] = node_index.try_emplace(node, static_cast<std::int32_t>(node_index.size()));
    if (is_new) {
      const auto found = raw.system_nodes.find(node);
      builder.AddNode(found == raw.system_nodes.end() ? "unknown node" : raw.Text(found->second.name));
    }
    rank_of_group.try_emplace(location.group, static_cast<std::int32_t>(rank));
    builder.AddRank({entry->second, 0, has_group ? raw.Text(group->second.name) : fmt::format("rank {}", rank)});
    if (const auto socket = has_group ? SocketOfProcess(raw, group->second.node) : std::nullopt) {
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
  std::set<std::string> mpi_functions;
  for (const auto& [reference, region] : raw.regions) {
    if (region.is_mpi) mpi_functions.insert(raw.Text(region.name));
  }
  for (const auto& [reference, region] : raw.regions) {
    const std::string name = raw.Text(region.name);
    MpiCall call = ClassifyMpiCall(name);
    if (!region.is_mpi && call != MpiCall::kNone && mpi_functions.contains(name)) {
      builder.trace().diagnostics.Add(anomaly::kMpiNameTwice, 1, name);
      call = MpiCall::kNone;
    }
    const bool is_mpi = region.is_mpi || call != MpiCall::kNone;
    if (is_mpi && call == MpiCall::kNone) call = MpiCall::kOther;
    const bool is_outside = !is_mpi && region.is_artificial && name == kOutsideRegion;
    const bool is_pause = !is_mpi && region.is_artificial && name.starts_with(kPauseRegion);
    // Locks are functions of the OpenMP interface; others of them take no time.
    const bool is_lock = name.starts_with("omp_set_lock") || name.starts_with("omp_set_nest_lock");
    const TeamRole role = is_lock && region.team_role == TeamRole::kNone ? TeamRole::kScheduling : region.team_role;
    const bool is_device_runtime = !is_mpi && raw.IsOfDevices(region);
    result.regions.Set(reference,
                       builder.AddRegion({name, is_mpi, call, is_outside, is_pause, role, false, is_device_runtime}));
    if (region.is_copy) result.stream_uses[reference] = StreamUse::kCopy;
    if (region.is_artificial) result.stream_uses[reference] = StreamUse::kIdle;  // the tool's mark of idle streams
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
    if (has_ranks) result.groups[reference] = MembersOf(group, result, builder.definitions().ranks.size(), path);
  }
}

// References of the locations that a group names by their index in the list of its paradigm, or directly. Nothing when
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
    if (!location.IsStream()) threads[location.reference] = {location.rank, location.thread};
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

// Index of every local rank in the grid; empty unless all of them have a cell of their own.
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

void AddMetrics(const RawDefinitions& raw, const ReadOptions& options, TraceBuilder& builder, Otf2Definitions& result) {
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
    CheckCounterName(counter, builder.trace().diagnostics);
    if (!options.Keeps(counter.name)) continue;
    const std::uint32_t index = builder.AddCounter(std::move(counter));
    if (metric.use != MetricUse::kLevel) metric.counter = index;
  }
  for (const auto& [string, text] : raw.strings) {
    const auto is_named = [number = string](const auto& entry) { return entry.second.name == number; };
    if (!IsUsualCounterName(text) || std::ranges::any_of(raw.members, is_named)) continue;
    if (std::ranges::any_of(raw.regions, is_named)) continue;
    builder.trace().diagnostics.Add(anomaly::kCounterUnclear, 1, fmt::format("'{}' is the name of none", text));
  }
  const auto metrics_of = [&](std::uint32_t metric_class) {
    std::vector<Otf2Metric> metrics;
    const auto found = raw.metric_classes.find(metric_class);
    if (found == raw.metric_classes.end()) return metrics;
    for (const std::uint32_t member : found->second) {
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
  const RawDefinitions raw = ReadRawDefinitions(reader, path);
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
  AddWindows(raw, path, builder, result);
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
