// Processors by what they have been given so far, least first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace farscale {

class LeastLoaded {
 public:
  explicit LeastLoaded(std::size_t processors) : loads_(processors) {
    for (std::uint32_t p = 0; p < processors; ++p) order_.emplace(0.0, p);
  }

  double LoadOf(std::uint32_t processor) const { return loads_[processor]; }
  // The lowest of those with least.
  std::uint32_t Processor() const { return order_.begin()->second; }
  double Largest() const { return order_.rbegin()->first; }

  void Give(std::uint32_t processor, double load) {
    order_.erase({loads_[processor], processor});
    loads_[processor] += load;
    order_.emplace(loads_[processor], processor);
  }

 private:
  std::vector<double> loads_;
  std::set<std::pair<double, std::uint32_t>> order_;
};

}  // namespace farscale
