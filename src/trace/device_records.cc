#include "trace/device_records.h"

#include <algorithm>

#include "trace/anomalies.h"

namespace farscale {

void StreamRecords::Add(Tick begin, Tick end, StreamUse use) {
  if (use == StreamUse::kIdle) return;
  if (end < begin) ++unbalanced_;
  if (end <= begin) return;
  work_.active.push_back({begin, end});
  if (use == StreamUse::kKernel) work_.kernels.push_back({begin, end});
}

void StreamRecords::Leave(Tick tick, std::uint32_t region, StreamUse use) {
  if (open_.empty() || open_.back().first != region) {
    ++unbalanced_;
    return;
  }
  const Tick begin = open_.back().second;
  open_.pop_back();
  Add(begin, tick, use);
}

void StreamRecords::BeginCopy(Tick tick, std::uint32_t window, std::uint64_t id) {
  const bool is_new = open_copies_.try_emplace({window, id}, tick).second;
  if (!is_new) ++unbalanced_;
}

void StreamRecords::EndCopy(Tick tick, std::uint32_t window, std::uint64_t id) {
  const auto begin = open_copies_.find({window, id});
  if (begin == open_copies_.end()) {
    ++unbalanced_;
    return;
  }
  Add(begin->second, tick, StreamUse::kCopy);
  open_copies_.erase(begin);
}

DeviceWork StreamRecords::Finish(const std::string& where, Diagnostics& diagnostics) {
  unbalanced_ += open_.size() + open_copies_.size();
  diagnostics.Add(anomaly::kDeviceRecordsUnbalanced, unbalanced_, where);
  return std::move(work_);
}

void AddStream(const DeviceWork& stream, Device& device) {
  if (stream.active.empty()) return;
  auto work = std::ranges::lower_bound(device.of_ranks, stream.rank, {}, &DeviceWork::rank);
  const bool is_new = work == device.of_ranks.end() || work->rank != stream.rank;
  if (is_new) work = device.of_ranks.insert(work, {stream.rank, {}, {}});
  work->kernels.insert(work->kernels.end(), stream.kernels.begin(), stream.kernels.end());
  work->active.insert(work->active.end(), stream.active.begin(), stream.active.end());
}

void AddDevices(std::vector<Device> devices, Trace& trace) {
  for (Device& device : devices) {
    for (DeviceWork& work : device.of_ranks) {
      work.kernels = UnionOf(std::move(work.kernels));
      work.active = UnionOf(std::move(work.active));
    }
    if (!device.of_ranks.empty()) trace.devices.push_back(std::move(device));
  }
}

std::vector<DeviceSpan> UnionOf(std::vector<DeviceSpan> spans) {
  std::ranges::sort(spans);
  std::vector<DeviceSpan> apart;
  for (const DeviceSpan& span : spans) {
    if (apart.empty() || apart.back().end < span.begin) {
      apart.push_back(span);
    } else {
      apart.back().end = std::max(apart.back().end, span.end);
    }
  }
  return apart;
}

bool RecordsDeviceCalls(const Trace& trace) {
  if (std::ranges::none_of(trace.regions, &Region::is_device_runtime)) return false;
  const auto has_calls = [&](const RankTimeline& timeline) {
    for (std::size_t event = 0; event < timeline.region_events(); ++event) {
      if (trace.regions[timeline.region_event(event).region].is_device_runtime) return true;
    }
    return false;
  };
  return std::ranges::any_of(trace.timelines, has_calls) ||
         std::ranges::any_of(trace.team_threads.workers, has_calls, &WorkerThread::timeline);
}

void CheckDevices(Trace& trace) {
  for (const Device& device : trace.devices) {
    for (const DeviceWork& work : device.of_ranks) {
      const RankTimeline& host = trace.timelines[static_cast<std::size_t>(work.rank)];
      const auto is_outside = [&](const DeviceSpan& span) {
        return span.begin < host.begin() || span.end > host.end();
      };
      const auto outside = static_cast<std::uint64_t>(std::ranges::count_if(work.active, is_outside));
      trace.diagnostics.Add(anomaly::kDeviceClockDiffers, outside, device.name);
    }
  }
  const bool is_blind = !trace.devices.empty() && !RecordsDeviceCalls(trace);
  trace.diagnostics.Add(anomaly::kDeviceCallsUnrecorded, is_blind ? 1 : 0);
}

}  // namespace farscale
