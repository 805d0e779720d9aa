#include "trace/otf2_definitions.h"

#include <cmath>
#include <memory>

#include "base/text.h"
#include "trace/otf2_library.h"

namespace farscale {
namespace {

// Only OpenMP forks teams. Inside critical and ordered sections there is a region of its own.
TeamRole Role(OTF2_RegionRole role, OTF2_Paradigm paradigm) {
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

using Raw = RawDefinitions;

using DefinitionCallbacks = OTF2_GlobalDefReaderCallbacks;

// `set` is a function of the library, `Action` a function of the definitions and the values of one of them.
template <typename... Values, typename Action>
void On(DefinitionCallbacks* callbacks,
        OTF2_ErrorCode (*set)(DefinitionCallbacks*, OTF2_CallbackCode (*)(void*, Values...)), Action) {
  set(callbacks, [](void* user, Values... values) {
    return StopOnFailure<Raw>(user, [&](Raw& raw) { Action()(raw, values...); });
  });
}

void OnText(DefinitionCallbacks* callbacks) {
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
       raw.regions[self] = {
           name,     paradigm == OTF2_PARADIGM_MPI,         role == OTF2_REGION_ROLE_ARTIFICIAL, Role(role, paradigm),
           paradigm, role == OTF2_REGION_ROLE_DATA_TRANSFER};
     });
  On(callbacks, OTF2_GlobalDefReaderCallbacks_SetParadigmCallback,
     [](Raw& raw, auto paradigm, auto /*name*/, auto paradigm_class) {
       if (paradigm_class == OTF2_PARADIGM_CLASS_ACCELERATOR) raw.device_paradigms.insert(paradigm);
     });
}

void OnLocations(DefinitionCallbacks* callbacks) {
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

void OnGroups(DefinitionCallbacks* callbacks) {
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
}

void OnTopologies(DefinitionCallbacks* callbacks) {
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

}  // namespace

bool RawDefinitions::IsOfDevices(const Region& region) const {
  switch (region.paradigm) {
    case OTF2_PARADIGM_CUDA:
    case OTF2_PARADIGM_HIP:
    case OTF2_PARADIGM_OPENACC:
    case OTF2_PARADIGM_OPENCL: return true;
    default: return device_paradigms.contains(region.paradigm);  // SYCL and others that came later
  }
}

RawDefinitions ReadRawDefinitions(OTF2_Reader* reader, const std::string& path) {
  OTF2_GlobalDefReader* definitions = OTF2_Reader_GetGlobalDefReader(reader);
  if (definitions == nullptr) CheckOtf2(OTF2_ERROR_FILE_CAN_NOT_OPEN, path, "opening the definitions");
  RawDefinitions raw;
  const std::unique_ptr<DefinitionCallbacks, decltype(&OTF2_GlobalDefReaderCallbacks_Delete)> callbacks(
      OTF2_GlobalDefReaderCallbacks_New(), OTF2_GlobalDefReaderCallbacks_Delete);
  for (const auto add : {OnText, OnLocations, OnGroups, OnTopologies, OnMetrics}) add(callbacks.get());
  OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, callbacks.get(), &raw);
  std::uint64_t count = 0;
  const OTF2_ErrorCode code = OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &count);
  OTF2_Reader_CloseGlobalDefReader(reader, definitions);
  if (raw.failure) std::rethrow_exception(raw.failure);
  CheckOtf2(code, path, "reading the definitions");
  return raw;
}

}  // namespace farscale
