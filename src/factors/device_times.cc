#include "factors/device_times.h"

#include <algorithm>

#include "trace/device_records.h"

namespace farscale {
namespace {

// The parts of spans inside of intervals; both are in order and apart.
void AddInside(const std::vector<DeviceSpan>& spans, const std::vector<Interval>& intervals,
               std::vector<DeviceSpan>& inside) {
  for (const Interval& interval : intervals) {
    auto span = std::ranges::upper_bound(spans, interval.begin.tick, {}, &DeviceSpan::end);
    for (; span != spans.end() && span->begin < interval.end.tick; ++span) {
      inside.push_back({std::max(span->begin, interval.begin.tick), std::min(span->end, interval.end.tick)});
    }
  }
}

Tick LengthOf(std::vector<DeviceSpan> spans) {
  Tick length = 0;
  for (const DeviceSpan& span : UnionOf(std::move(spans))) length += span.length();
  return length;
}

}  // namespace

std::vector<DeviceTicks> TicksOfDevices(const Trace& trace, const PhaseCut& cut, const IntervalsOfRank& intervals) {
  std::vector<char> counts(trace.size(), 0);
  for (const std::size_t rank : cut.CountedRanks()) counts[rank] = 1;
  std::vector<DeviceTicks> ticks;
  for (const Device& device : trace.devices) {
    std::vector<DeviceSpan> kernels, active;
    bool is_used = false;
    for (const DeviceWork& work : device.of_ranks) {
      const auto rank = static_cast<std::size_t>(work.rank);
      if (counts[rank] == 0) continue;
      is_used = true;
      AddInside(work.kernels, intervals(rank), kernels);
      AddInside(work.active, intervals(rank), active);
    }
    if (is_used) ticks.push_back({LengthOf(std::move(kernels)), LengthOf(std::move(active))});
  }
  return ticks;
}

std::optional<DeviceTimes> DeviceTimesOf(const Trace& trace, const std::vector<DeviceTicks>& devices, double elapsed) {
  DeviceTimes times;
  for (const DeviceTicks& device : devices) {
    // Of ranks that share a device, occurrences of a phase at different times may take longer together than any of
    // them.
    const double kernels = std::min(trace.Seconds(device.kernels), elapsed);
    ++times.devices;
    times.kernels += kernels;
    times.most_kernels = std::max(times.most_kernels, kernels);
    times.most_active = std::max(times.most_active, std::min(trace.Seconds(device.active), elapsed));
  }
  return times.kernels > 0 ? std::optional(times) : std::nullopt;
}

}  // namespace farscale
