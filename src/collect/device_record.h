// What the devices of a process did, in shared memory: part of a page (page.h), whose version covers this layout, too.
// Written when the run ends; until then it is not known.
#pragma once

#include <cstddef>
#include <cstdint>

namespace farscale::collect {

// Parts of the format; chosen: more than the devices of most nodes, and 32 regions of eight devices.
inline constexpr std::size_t kMostDevices = 32;
inline constexpr std::size_t kMostDeviceSums = 256;
inline constexpr std::size_t kDeviceNameBytes = 64;

// ns of a device in a region, all of its streams together.
struct DeviceSumsRecord {
  std::uint32_t region;
  std::uint32_t device;  // index of its name
  std::uint64_t kernels;
  std::uint64_t active;  // in kernels or copies
};

struct DevicesRecord {
  std::uint32_t devices;  // how many names are in use
  std::uint32_t sums;     // how many of these are
  std::uint32_t is_complete;
  std::uint32_t has_no_room;  // for some devices or regions
  std::uint64_t lost;         // ns of work that came too late
  char name[kMostDevices][kDeviceNameBytes];
  DeviceSumsRecord sum[kMostDeviceSums];
};

static_assert(sizeof(DeviceSumsRecord) == 24 && offsetof(DevicesRecord, name) == 24);

}  // namespace farscale::collect
