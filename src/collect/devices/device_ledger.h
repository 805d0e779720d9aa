// Work of devices in every region of a process. It comes late and in any order, when the regions that it belongs to
// may be over: it is kept beside when regions were open, and added up in portions, so that memory is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "collect/page.h"

namespace farscale::collect {

// All times in ns of one clock.
struct DeviceInterval {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  friend auto operator<=>(const DeviceInterval&, const DeviceInterval&) = default;
};

class DeviceLedger {
 public:
  // Nothing before `begin` counts. The first region, the whole run, is open from then on.
  explicit DeviceLedger(std::uint64_t begin) : begin_(begin), settled_(begin), open_since_{{0, begin}} {}

  // In the order of time.
  void Open(std::uint32_t region, std::uint64_t time) { open_since_.emplace(region, time); }
  void Close(std::uint32_t region, std::uint64_t time);
  void Add(std::uint32_t device, bool is_kernel, DeviceInterval work);

  bool keeps_much() const;
  // The earlier half of what is kept.
  void SettleHalf();
  // Adds up what happened before `until`; of work that comes later, what lies before that is lost.
  void Settle(std::uint64_t until);

  // Sums by region and device, as far as settled; the whole run has all devices. What overlaps counts once.
  const std::map<std::pair<std::uint32_t, std::uint32_t>, DeviceSums>& sums() const { return sums_; }
  std::uint64_t lost() const { return lost_; }  // ns of work

 private:
  using Intervals = std::map<std::uint32_t, std::vector<DeviceInterval>>;

  std::uint64_t begin_, settled_, lost_ = 0;
  std::size_t kept_ = 0;                               // pieces of work and windows
  std::map<std::uint32_t, std::uint64_t> open_since_;  // when regions were opened that are open
  Intervals windows_;                                  // in which regions were open; keys: regions
  Intervals kernels_, active_;                         // work, that in kernels and all; keys: devices
  std::map<std::pair<std::uint32_t, std::uint32_t>, DeviceSums> sums_;
};

}  // namespace farscale::collect
