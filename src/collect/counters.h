// Instructions and cycles of the thread that opens them: read from the processor where the kernel lets programs do so,
// else by a system call, or through PAPI where that is asked for.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>

namespace farscale::collect {

struct Counts {
  std::uint64_t instructions = 0;
  std::uint64_t cycles = 0;
};

enum class CounterAccess : std::uint8_t {
  kRegisters,    // the processor's own instruction, rdpmc
  kSystemCalls,  // read(2), which costs as much as short MPI calls
  kPapi,
  kForbidden,  // by the kernel
  kMissing,    // the machine has none, or the kernel does not know them
  kNoPapi,     // there is no libpapi that can be loaded and has both counters
};

constexpr bool IsOpen(CounterAccess access) { return access <= CounterAccess::kPapi; }

// As perf_event_open(2) has it.
struct CounterEvent {
  std::uint32_t type = PERF_TYPE_HARDWARE;
  std::uint64_t config = 0;
};

struct CounterEvents {
  CounterEvent instructions = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS};
  CounterEvent cycles = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES};
};

// Opens both counters, after closing what was open; they count together or not at all.
CounterAccess OpenCounters(const CounterEvents& events = {});
CounterAccess OpenCountersOfPapi();
void CloseCounters();
// Since they were opened. Nothing where none are open.
Counts ReadCounts();

// Nanoseconds that reading took since they were opened; 0 where it takes no system calls.
double TimeOfReading();

}  // namespace farscale::collect
