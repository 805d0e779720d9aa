// What streams of devices record, and what devices do by that.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "trace/trace.h"

namespace farscale {

// What a region of a stream stands for.
enum class StreamUse : std::uint8_t { kKernel, kCopy, kIdle };

struct StreamSpans {
  std::vector<DeviceSpan> kernels, copies;
};

// The records of one stream, in the order of the trace.
class StreamRecords {
 public:
  void Enter(Tick tick, std::uint32_t region) { open_.push_back({region, tick}); }
  void Leave(Tick tick, std::uint32_t region, StreamUse use);
  // A copy is told by its window and a number of its own.
  void BeginCopy(Tick tick, std::uint32_t window, std::uint64_t id);
  void EndCopy(Tick tick, std::uint32_t window, std::uint64_t id);

  // What has no end or no begin is left out, and counted.
  StreamSpans Finish(const std::string& where, Diagnostics& diagnostics);

 private:
  void Add(Tick begin, Tick end, std::vector<DeviceSpan>& spans);

  std::vector<std::pair<std::uint32_t, Tick>> open_;  // regions
  std::map<std::pair<std::uint32_t, std::uint64_t>, Tick> open_copies_;
  StreamSpans spans_;
  std::uint64_t unbalanced_ = 0;
};

// The streams of one device.
class DeviceWorkBuilder {
 public:
  void Add(std::int32_t rank, const StreamSpans& spans);
  // Of ranks for which the device does something, rising.
  std::vector<DeviceWork> Finish() const;

 private:
  std::map<std::int32_t, StreamSpans> of_ranks_;
};

// The same time as spans in order and apart.
std::vector<DeviceSpan> UnionOf(std::vector<DeviceSpan> spans);

// Whether a thread of a host records calls to devices.
bool RecordsDeviceCalls(const Trace& trace);

// Adds what is wrong with the devices of a trace, if it has any.
void CheckDevices(Trace& trace);

}  // namespace farscale
