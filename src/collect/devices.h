// The devices of this process, by what a backend tells (device_backend.h): sums of kernels and copies for every region,
// and the time of host threads in the runtime. Without a backend all of it does nothing.
#pragma once

#include <cstdint>
#include <string>

#include "mpi_functions.h"

namespace farscale::collect {

// The run of the page has begun.
void StartDevices();
// Its first start and its last stop, if several are within each other.
void OpenRegionOfDevices(std::uint32_t region);
void CloseRegionOfDevices(std::uint32_t region);
// The run of the page has ended.
void FinishDevices();

// Different from those of all other devices of the node.
std::string NameOfDevice(std::uint32_t device);
// What calls, kernels and copies are in traces.
struct DeviceRegions {
  CallId runtime, kernel, copy;
};
DeviceRegions RegionsOfDevices();

}  // namespace farscale::collect
