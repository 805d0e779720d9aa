// How large the trace of a run is.
#pragma once

#include <cstdint>

namespace farscale::collect {

struct TraceSize {
  std::uint64_t bytes = 0;    // of the events of all ranks
  std::uint64_t largest = 0;  // of a rank
  std::uint64_t events = 0;
};

}  // namespace farscale::collect
