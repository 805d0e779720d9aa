// The devices of this process, by what a backend tells (device_backend.h): sums of kernels and copies for every region,
// and the time of host threads in the runtime. Without a backend all of it does nothing.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "collect/threads/counters.h"
#include "collect/devices/device_ledger.h"
#include "collect/trace/trace_definitions.h"
#include "mpi_functions.h"

namespace farscale::collect {

void StartDevices();
// Its first start and its last stop, if several are within each other.
void OpenRegionOfDevices(std::uint32_t region);
void CloseRegionOfDevices(std::uint32_t region);
void FinishDevices();

// The region of a trace that stands for what devices do: that of CUDA, or that of HIP.
CallId DeviceCall(CallId of_cuda, CallId of_hip);

// Work of devices in a trace: for every device of a rank a group of locations, its streams, in the layout that Score-P
// uses. Backends do not tell which stream did what: work that overlaps is spread over as few streams as that needs.
//
// Work is kept in memory, as it comes late, and written when the archive is closed.

// Where regions alone are recorded: events are written from now on, or not.
void SwitchDeviceWork(bool on, Tick time);

// Those of this rank, once they are written.
std::vector<std::pair<std::string, LocationDefinitions>> OwnDevices();
// Then none is written.
bool HasTooMuchDeviceWork();

// As those of threads in trace/thread_recorder.h.
bool WriteDeviceEvents(OTF2_Archive* archive, TraceSize* estimate);

}  // namespace farscale::collect
