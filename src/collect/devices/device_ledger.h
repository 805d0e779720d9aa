// Work of devices in every region of a process. It comes late and in any order, when the regions that it belongs to
// may be over: it is kept beside when regions were open, and added up in portions, so that memory is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace farscale::collect {

// All times in ns of one clock.
struct DeviceInterval {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  friend auto operator<=>(const DeviceInterval&, const DeviceInterval&) = default;
};

// Sums of one device in one region, all of its streams together: what overlaps counts once.
struct DeviceSums {
  std::uint64_t kernels = 0;
  std::uint64_t active = 0;  // in kernels or copies
};

class DeviceLedger {
 public:
  // Nothing before `begin` counts. The first region, the whole run, is open from then on.
  explicit DeviceLedger(std::uint64_t begin) : begin_(begin), settled_(begin), open_since_{{0, begin}} {}

  // Edges of regions come in order.
  void Open(std::uint32_t region, std::uint64_t time) { edges_.push_back({time, region, true}); }
  void Close(std::uint32_t region, std::uint64_t time) { edges_.push_back({time, region, false}); }
  void Add(std::uint32_t device, bool is_kernel, DeviceInterval work);

  // True if it is time to settle.
  bool keeps_much() const;
  // The earlier half of what is kept.
  void SettleHalf();
  // Adds up what happened before `until`; of work that comes later, what lies before that is lost.
  void Settle(std::uint64_t until);

  // Sums by region and device, as far as settled; the whole run has all devices.
  const std::map<std::pair<std::uint32_t, std::uint32_t>, DeviceSums>& sums() const { return sums_; }
  std::uint64_t lost() const { return lost_; }  // ns of work

 private:
  struct Edge {
    std::uint64_t time;
    std::uint32_t region;
    bool is_open;
  };
  struct Work {
    std::vector<DeviceInterval> kernels;
    std::vector<DeviceInterval> active;
  };

  std::map<std::uint32_t, std::vector<DeviceInterval>> TakeWindows(std::uint64_t until);

  std::uint64_t begin_, settled_, lost_ = 0;
  std::size_t kept_ = 0;  // pieces of work
  std::map<std::uint32_t, std::uint64_t> open_since_;
  std::vector<Edge> edges_;
  std::map<std::uint32_t, Work> devices_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, DeviceSums> sums_;
};

}  // namespace farscale::collect
