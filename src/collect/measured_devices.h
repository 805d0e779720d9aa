// What the devices of a measured run did in a region, and the factors that follow. Definitions are those of the trace
// path [docs/formulas.md, threads and devices].
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "collect/page.h"

namespace farscale::collect {

struct RegionMetrics;

// Of one device, for all ranks that use it; seconds.
struct MeasuredDevice {
  std::string name;
  int node = 0;
  std::vector<int> ranks;
  double kernels = 0;
  double active = 0;  // in kernels or copies
};

// A process that takes part in a region, which its page has at this index.
struct DeviceUser {
  const Page* page = nullptr;
  int node = 0;
  std::uint32_t region = 0;
};

// Whether the process used devices, by calls or by their work.
bool UsesDevices(const Page& page);
// Whether what they did is known: the run ended, and there was room for all of it.
bool KnowsDevices(const Page& page);

// Nothing where some device is not known. Devices that any of the processes used in its run count, also where they do
// nothing in the region.
std::vector<MeasuredDevice> DevicesOf(const std::vector<DeviceUser>& users, double elapsed);

// Of a region; nothing without devices that computed.
void AddDevicesToJson(const RegionMetrics& region, nlohmann::ordered_json& json);
std::string TreeOfDevices(const RegionMetrics& whole);

}  // namespace farscale::collect
