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

struct StreamSpans {
  std::vector<DeviceSpan> kernels, copies;
};

// The records of one stream, in the order of the trace.
class StreamRecords {
 public:
  void Enter(Tick tick, std::uint32_t region) { open_.push_back({region, tick}); }
  void Leave(Tick tick, std::uint32_t region, StreamUse use);
  // A window and a number of its own identify a copy.
  void BeginCopy(Tick tick, std::uint32_t window, std::uint64_t id);
  void EndCopy(Tick tick, std::uint32_t window, std::uint64_t id);

  // Leaves out records without end or begin, and counts them.
  StreamSpans Finish(const std::string& where, Diagnostics& diagnostics);

 private:
  void Add(Tick begin, Tick end, std::vector<DeviceSpan>& spans);

  std::vector<std::pair<std::uint32_t, Tick>> open_;  // regions
  std::map<std::pair<std::uint32_t, std::uint64_t>, Tick> open_copies_;
  StreamSpans spans_;
  std::uint64_t unbalanced_ = 0;
};

// Adds the streams of a rank on one device.
void AddStream(std::int32_t rank, const StreamSpans& spans, std::map<std::int32_t, StreamSpans>& of_ranks);

// Adds a device with the streams of its ranks, unless it does nothing.
void AddDevice(const std::string& name, const std::map<std::int32_t, StreamSpans>& of_ranks, Trace& trace);

// The same time as spans in order and apart.
std::vector<DeviceSpan> UnionOf(std::vector<DeviceSpan> spans);

// True if a thread of a host records calls to devices.
bool RecordsDeviceCalls(const Trace& trace);

// Adds findings about the devices of a trace.
void CheckDevices(Trace& trace);

}  // namespace farscale
