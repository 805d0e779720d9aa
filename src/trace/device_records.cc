#include "trace/device_records.h"

#include <algorithm>

#include "trace/anomalies.h"

namespace farscale {

void StreamRecords::Add(Tick begin, Tick end, std::vector<DeviceSpan>& spans) {
  if (end < begin) {
    ++unbalanced_;
  } else if (end > begin) {
    spans.push_back({begin, end});
  }
}

void StreamRecords::Leave(Tick tick, std::uint32_t region, StreamUse use) {
  if (open_.empty() || open_.back().first != region) {
    ++unbalanced_;
    return;
  }
  const Tick begin = open_.back().second;
  open_.pop_back();
  if (use != StreamUse::kIdle) Add(begin, tick, use == StreamUse::kCopy ? spans_.copies : spans_.kernels);
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
  Add(begin->second, tick, spans_.copies);
  open_copies_.erase(begin);
}

StreamSpans StreamRecords::Finish(const std::string& where, Diagnostics& diagnostics) {
  unbalanced_ += open_.size() + open_copies_.size();
  diagnostics.Add(anomaly::kDeviceRecordsUnbalanced, unbalanced_, where);
  return std::move(spans_);
}

void AddStream(std::int32_t rank, const StreamSpans& spans, std::map<std::int32_t, StreamSpans>& of_ranks) {
  if (spans.kernels.empty() && spans.copies.empty()) return;
  StreamSpans& all = of_ranks[rank];
  all.kernels.insert(all.kernels.end(), spans.kernels.begin(), spans.kernels.end());
  all.copies.insert(all.copies.end(), spans.copies.begin(), spans.copies.end());
}

void AddDevice(const std::string& name, const std::map<std::int32_t, StreamSpans>& of_ranks, Trace& trace) {
  Device device{name, {}};
  for (const auto& [rank, spans] : of_ranks) {
    std::vector<DeviceSpan> all = spans.kernels;
    all.insert(all.end(), spans.copies.begin(), spans.copies.end());
    device.of_ranks.push_back({rank, UnionOf(spans.kernels), UnionOf(std::move(all))});
  }
  if (!device.of_ranks.empty()) trace.devices.push_back(std::move(device));
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
