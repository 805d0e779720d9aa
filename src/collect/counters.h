// Instructions and cycles of the main thread, read from the processor without a system call.
#pragma once

#include <cstdint>

namespace farscale::collect {

struct Counts {
  std::uint64_t instructions = 0;
  std::uint64_t cycles = 0;
};

// Opens both counters for the calling thread. False where the kernel or the machine does not allow it, or would answer
// only by system calls, which cost more than most MPI calls.
bool OpenCounters();
Counts ReadCounts();

}  // namespace farscale::collect
