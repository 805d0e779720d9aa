// What reading a trace costs at least: the OTF2 library on one thread, with callbacks that do nothing.
#pragma once

#include <cstdint>
#include <string>

namespace farscale::bench {

// Reads the events of locations 0 to ranks - 1, and returns their number.
std::uint64_t ReadWithEmptyCallbacks(const std::string& anchor, std::uint64_t ranks);

}  // namespace farscale::bench
