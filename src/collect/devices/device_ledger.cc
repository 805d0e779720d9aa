#include "collect/devices/device_ledger.h"

#include <algorithm>

namespace farscale::collect {
namespace {

// Chosen: about 10 MB, and the work of seconds of programs that start kernels as fast as they can.
constexpr std::size_t kMuch = std::size_t{1} << 18U;

using Intervals = std::vector<DeviceInterval>;

// The parts of the intervals that lie before `until`, united and in order. The rest stays.
Intervals TakeUnion(Intervals& all, std::uint64_t until) {
  std::ranges::sort(all);
  Intervals united, rest;
  for (const DeviceInterval& one : all) {
    if (one.end > until) rest.push_back({std::max(one.begin, until), one.end});
    if (one.begin >= until) continue;
    const std::uint64_t end = std::min(one.end, until);
    if (!united.empty() && one.begin <= united.back().end) {
      united.back().end = std::max(united.back().end, end);
    } else {
      united.push_back({one.begin, end});
    }
  }
  all = std::move(rest);
  return united;
}

// Both are in order, and each apart in itself.
std::uint64_t LengthInside(const Intervals& work, const Intervals& windows) {
  std::uint64_t length = 0;
  auto window = windows.begin();
  for (const DeviceInterval& one : work) {
    while (window != windows.end() && window->end <= one.begin) ++window;
    for (auto inside = window; inside != windows.end() && inside->begin < one.end; ++inside) {
      length += std::min(one.end, inside->end) - std::max(one.begin, inside->begin);
    }
  }
  return length;
}

}  // namespace

void DeviceLedger::Add(std::uint32_t device, bool is_kernel, DeviceInterval work) {
  const std::uint64_t from = std::max(work.begin, settled_);
  const std::uint64_t known = std::max(work.begin, begin_);
  if (std::min(from, work.end) > known) lost_ += std::min(from, work.end) - known;
  if (work.end <= from) return;
  Work& of_device = devices_[device];
  if (is_kernel) of_device.kernels.push_back({from, work.end});
  of_device.active.push_back({from, work.end});
  ++kept_;
}

bool DeviceLedger::keeps_much() const { return kept_ + edges_.size() >= kMuch; }

void DeviceLedger::SettleHalf() {
  std::vector<std::uint64_t> times;
  for (const Edge& edge : edges_) times.push_back(edge.time);
  for (const auto& [device, work] : devices_) {
    for (const DeviceInterval& one : work.active) times.push_back(one.end);
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  Settle(*middle);
}

// When every region was open between what was settled before and `until`.
std::map<std::uint32_t, Intervals> DeviceLedger::TakeWindows(std::uint64_t until) {
  std::map<std::uint32_t, Intervals> windows;
  const auto later = std::ranges::find_if(edges_, [&](const Edge& edge) { return edge.time > until; });
  for (auto edge = edges_.begin(); edge != later; ++edge) {
    if (edge->is_open) {
      open_since_.emplace(edge->region, edge->time);
    } else if (const auto open = open_since_.find(edge->region); open != open_since_.end()) {
      windows[edge->region].push_back({open->second, edge->time});
      open_since_.erase(open);
    }
  }
  edges_.erase(edges_.begin(), later);
  for (auto& [region, since] : open_since_) {
    windows[region].push_back({since, until});
    since = until;
  }
  return windows;
}

void DeviceLedger::Settle(std::uint64_t until) {
  if (until <= settled_) return;
  const auto windows = TakeWindows(until);
  kept_ = 0;
  for (auto& [device, work] : devices_) {
    const Intervals kernels = TakeUnion(work.kernels, until), active = TakeUnion(work.active, until);
    kept_ += work.active.size();
    if (active.empty()) continue;
    for (const auto& [region, inside] : windows) {
      const DeviceSums more = {LengthInside(kernels, inside), LengthInside(active, inside)};
      if (more.active == 0) continue;
      DeviceSums& sums = sums_[{region, device}];
      sums.kernels += more.kernels;
      sums.active += more.active;
    }
  }
  settled_ = until;
}

}  // namespace farscale::collect
