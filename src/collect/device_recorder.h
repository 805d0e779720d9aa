// What devices do, in a trace: for every device of a rank a group of locations, its streams, in the layout that Score-P
// uses. Backends do not tell which stream did what: work that overlaps is spread over as few streams as that needs.
//
// Work is kept in memory, as it comes late, and written when the archive is closed.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collect/clock.h"
#include "collect/device_ledger.h"
#include "collect/trace_definitions.h"
#include "collect/trace_size.h"

namespace farscale::collect {

// In ns of CLOCK_MONOTONIC. Calls must not meet; nothing where the run is not recorded.
void KeepDeviceWork(std::uint32_t device, bool is_kernel, DeviceInterval work);
// Where regions alone are recorded: events are written from now on, or not.
void SwitchDeviceWork(bool on, Tick time);

// Of this rank, once they are written.
std::vector<DeviceDefinition> OwnDevices();
// Then none is written.
bool HasTooMuchDeviceWork();

// As those of threads in thread_recorder.h.
bool WriteDeviceEvents(OTF2_Archive* archive);
void RemoveDeviceFiles(const std::string& folder);
TraceSize SizeOfDeviceEvents(OTF2_Archive* archive);

}  // namespace farscale::collect
