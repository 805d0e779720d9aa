#include "collect/measured_devices.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "collect/measured_run.h"
#include "collect/text.h"

namespace farscale::collect {
namespace {

struct DeviceTotals {
  double devices = 0, kernels = 0, most_kernels = 0, most_active = 0;

  explicit DeviceTotals(const std::vector<MeasuredDevice>& all) : devices(static_cast<double>(all.size())) {
    for (const MeasuredDevice& device : all) {
      kernels += device.kernels;
      most_kernels = std::max(most_kernels, device.kernels);
      most_active = std::max(most_active, device.active);
    }
  }
};

// Pages are what anybody may have written there.
std::string NameOf(const DevicesRecord& devices, std::uint32_t index) {
  const char* name = devices.name[index];
  return Printable({name, std::find(name, name + kDeviceNameBytes, '\0')});
}

}  // namespace

bool UsesDevices(const Page& page) { return page.offload != 0 || page.offload_entered != 0 || page.devices.sums != 0; }

bool KnowsDevices(const Page& page) {
  const DevicesRecord& devices = page.devices;
  const bool is_possible = devices.devices <= kMostDevices && devices.sums <= kMostDeviceSums;
  const bool is_complete = devices.is_complete != 0 && devices.has_no_room == 0;
  return is_possible && ((page.flags & kHasDevices) == 0 || is_complete);
}

std::vector<MeasuredDevice> DevicesOf(const std::vector<DeviceUser>& users, double elapsed) {
  std::map<std::pair<int, std::string>, MeasuredDevice> devices;
  for (const DeviceUser& user : users) {
    if (!KnowsDevices(*user.page)) return {};
    const DevicesRecord& record = user.page->devices;
    for (std::uint32_t i = 0; i < record.devices; ++i) {
      const std::string name = NameOf(record, i);
      MeasuredDevice& device = devices[{user.node, name}];
      device.name = name;
      device.node = user.node;
      device.ranks.push_back(user.page->rank);
      for (std::uint32_t sum = 0; sum < record.sums; ++sum) {
        if (record.sum[sum].region != user.region || record.sum[sum].device != i) continue;
        device.kernels += static_cast<double>(record.sum[sum].kernels) * 1e-9;
        device.active += static_cast<double>(record.sum[sum].active) * 1e-9;
      }
    }
  }
  std::vector<MeasuredDevice> all;
  for (auto& [key, device] : devices) {
    // Work of several ranks at the same time counts for each: what overlaps is not known.
    device.kernels = std::min(device.kernels, elapsed);
    device.active = std::min(device.active, elapsed);
    all.push_back(std::move(device));
  }
  return DeviceTotals(all).kernels > 0 ? all : std::vector<MeasuredDevice>();
}

void AddDevicesToJson(const RegionMetrics& region, nlohmann::ordered_json& json) {
  if (region.devices.empty() || !(region.elapsed > 0)) return;
  const DeviceTotals totals(region.devices);
  json["deviceTimes"] = {{"devices", totals.devices},
                         {"kernels", totals.kernels},
                         {"kernelsLargest", totals.most_kernels},
                         {"activeLargest", totals.most_active}};
  json["devices"] = nlohmann::ordered_json::array();
  for (const MeasuredDevice& device : region.devices) {
    json["devices"].push_back({{"name", device.name},
                               {"node", device.node},
                               {"ranks", device.ranks},
                               {"kernels", device.kernels},
                               {"copies", device.active - device.kernels},
                               {"idle", region.elapsed - device.active}});
  }
  if (!region.efficiencies) return;
  json["factors"].update({{"deviceParallelEfficiency", totals.kernels / (totals.devices * region.elapsed)},
                          {"deviceLoadBalance", totals.kernels / (totals.devices * totals.most_kernels)},
                          {"deviceCommunicationEfficiency", totals.most_kernels / totals.most_active},
                          {"deviceOrchestrationEfficiency", totals.most_active / region.elapsed}});
}

std::string TreeOfDevices(const RegionMetrics& whole) {
  if (whole.devices.empty()) return "";
  const DeviceTotals totals(whole.devices);
  std::string text;
  const auto line = [&](const char* name, double share) { text += Format("  %-32s%6.1f %%\n", name, share * 100); };
  line("Device parallel efficiency", totals.kernels / (totals.devices * whole.elapsed));
  line("  Device load balance", totals.kernels / (totals.devices * totals.most_kernels));
  line("  Device communication", totals.most_kernels / totals.most_active);
  line("  Device orchestration", totals.most_active / whole.elapsed);
  return text;
}

}  // namespace farscale::collect
