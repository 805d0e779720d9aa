// Records of streams of devices, and the work of devices that follows from them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "trace/trace.h"

namespace farscale {

// The meaning of a region of a stream.
enum class StreamUse : std::uint8_t { kKernel, kCopy, kIdle };

// The records of one stream, in the order of the trace.
class StreamRecords {
 public:
  void Enter(Tick tick, std::uint32_t region) { open_.push_back({region, tick}); }
  void Leave(Tick tick, std::uint32_t region, StreamUse use);
  // A window and a number of its own identify a copy.
  void BeginCopy(Tick tick, std::uint32_t window, std::uint64_t id);
  void EndCopy(Tick tick, std::uint32_t window, std::uint64_t id);

  // Leaves out records without end or begin, and counts them. Spans are neither in order nor apart.
  DeviceWork Finish(const std::string& where, Diagnostics& diagnostics);

 private:
  void Add(Tick begin, Tick end, StreamUse use);

  std::vector<std::pair<std::uint32_t, Tick>> open_;  // regions
  std::map<std::pair<std::uint32_t, std::uint64_t>, Tick> open_copies_;
  DeviceWork work_;
  std::uint64_t unbalanced_ = 0;
};

// Adds the work of a stream to a device. Its spans need be neither in order nor apart.
void AddStream(const DeviceWork& stream, Device& device);

// Adds such devices to a trace, but for those that do nothing, and puts their spans in order and apart.
void AddDevices(std::vector<Device> devices, Trace& trace);

// The same time as spans in order and apart.
std::vector<DeviceSpan> UnionOf(std::vector<DeviceSpan> spans);

// True if a thread of a host records calls to devices.
bool RecordsDeviceCalls(const Trace& trace);

// Adds findings about the devices of a trace.
void CheckDevices(Trace& trace);

}  // namespace farscale
