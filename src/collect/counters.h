// Instructions and cycles of the main thread, read from the processor without a system call.
#pragma once

#include <cstdint>

namespace farscale::collect {

struct Counts {
  std::uint64_t instructions = 0;
  std::uint64_t cycles = 0;
};

enum class CounterAccess : std::uint8_t {
  kOpen,
  kForbidden,  // by the kernel
  kMissing,    // the machine has none, or the kernel does not know them
  kSlow,       // the kernel answers only by system calls, which cost more than most MPI calls
};

// Opens both counters for the calling thread.
CounterAccess OpenCounters();
Counts ReadCounts();

}  // namespace farscale::collect
