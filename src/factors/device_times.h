// What devices do in a phase, and the factors that follow [docs/formulas.md, threads and devices].
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

// Seconds of devices.
struct DeviceTimes {
  double devices = 0;
  double kernels = 0;       // summed over the devices
  double most_kernels = 0;  // of one of them
  double most_active = 0;   // of one of them, in kernels or copies

  friend bool operator==(const DeviceTimes&, const DeviceTimes&) = default;
};

// Σ kernels / (devices · T) is the product of Σ kernels / (devices · max kernels), max kernels / max active and
// max active / T [POP].
inline double DeviceParallelEfficiency(const DeviceTimes& t, double elapsed) {
  return t.kernels / (t.devices * elapsed);
}
inline double DeviceLoadBalance(const DeviceTimes& t) { return t.kernels / (t.devices * t.most_kernels); }
inline double DeviceCommunication(const DeviceTimes& t) { return t.most_kernels / t.most_active; }
inline double DeviceOrchestration(const DeviceTimes& t, double elapsed) { return t.most_active / elapsed; }

// Of one device.
struct DeviceTicks {
  Tick kernels = 0;
  Tick active = 0;  // in kernels or copies

  friend bool operator==(const DeviceTicks&, const DeviceTicks&) = default;
};

using IntervalsOfRank = std::function<std::vector<Interval>(std::size_t rank)>;

// Of every device that ranks of the cut use in the run, in intervals in order and apart: what a device does for a rank
// counts where the rank is in the phase. Kernels of several ranks that overlap on a device count once.
std::vector<DeviceTicks> TicksOfDevices(const Trace& trace, const PhaseCut& cut, const IntervalsOfRank& intervals);

// Nothing without devices, or where none computes.
std::optional<DeviceTimes> DeviceTimesOf(const Trace& trace, const std::vector<DeviceTicks>& devices, double elapsed);

}  // namespace farscale
