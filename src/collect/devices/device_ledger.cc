#include "collect/devices/device_ledger.h"

#include <algorithm>

namespace farscale::collect {
namespace {

// Chosen: about 10 MB, and the work of seconds of programs that start kernels as fast as they can.
constexpr std::size_t kMuch = std::size_t{1} << 18U;

// The parts of the intervals that lie before `until`, united and in order. The rest stays.
std::vector<DeviceInterval> TakeUnion(std::vector<DeviceInterval>& all, std::uint64_t until) {
  std::ranges::sort(all);
  std::vector<DeviceInterval> united, rest;
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
std::uint64_t LengthInside(const std::vector<DeviceInterval>& work, const std::vector<DeviceInterval>& windows) {
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
  if (is_kernel) kernels_[device].push_back({from, work.end});
  active_[device].push_back({from, work.end});
  ++kept_;
}

void DeviceLedger::Close(std::uint32_t region, std::uint64_t time) {
  const auto open = open_since_.find(region);
  if (open == open_since_.end()) return;
  if (open->second < time) {
    windows_[region].push_back({open->second, time});
    ++kept_;
  }
  open_since_.erase(open);
}

bool DeviceLedger::keeps_much() const { return kept_ >= kMuch; }

void DeviceLedger::SettleHalf() {
  std::vector<std::uint64_t> ends;
  for (const Intervals* all : {&windows_, &active_}) {
    for (const auto& [key, list] : *all) {
      for (const DeviceInterval& one : list) ends.push_back(one.end);
    }
  }
  const auto middle = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 2);
  std::ranges::nth_element(ends, middle);
  Settle(*middle);
}

void DeviceLedger::Settle(std::uint64_t until) {
  if (until <= settled_) return;
  kept_ = 0;
  Intervals settled_windows;
  for (auto& [region, list] : windows_) {
    settled_windows[region] = TakeUnion(list, until);
    kept_ += list.size();
  }
  for (auto& [region, since] : open_since_) {
    if (since >= until) continue;
    settled_windows[region].push_back({since, until});
    since = until;
  }
  for (auto& [device, work] : active_) {
    const auto kernels = TakeUnion(kernels_[device], until), active = TakeUnion(work, until);
    kept_ += work.size();
    for (const auto& [region, inside] : settled_windows) {
      const std::uint64_t more = LengthInside(active, inside);
      if (more == 0) continue;
      DeviceSums& sums = sums_.try_emplace({region, device}, DeviceSums{region, device, 0, 0}).first->second;
      sums.kernels += LengthInside(kernels, inside);
      sums.active += more;
    }
  }
  settled_ = until;
}

}  // namespace farscale::collect
