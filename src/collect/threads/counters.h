// The clock of the measurement, and instructions and cycles.
#pragma once

#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <utility>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace farscale::collect {

// The clock is the processor's time stamp counter where the kernel itself relies on it, which takes a third of the time
// of a call to clock_gettime, else the monotonic clock.
using Tick = std::uint64_t;

inline std::uint64_t Nanoseconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

// Set once, before the first tick is taken.
extern bool clock_is_tsc;
void ChooseClock();

// Ticks of Now() a nanosecond, as they have passed since the clock was chosen.
double TicksANanosecond();

inline Tick Now() {
#if defined(__x86_64__)
  if (clock_is_tsc) [[likely]]
    return __rdtsc();
#endif
  return Nanoseconds(CLOCK_MONOTONIC);
}

// Instructions and cycles of the thread that opens them: read from the processor where the kernel lets programs do so,
// else by a system call, or through PAPI where that is asked for.

struct Counts {
  std::uint64_t instructions = 0;
  std::uint64_t cycles = 0;
};

enum class CounterAccess : std::uint8_t {
  kRegisters,    // the processor's own instruction, rdpmc
  kSystemCalls,  // read(2), which costs as much as short MPI calls
  kPapi,
  kForbidden,  // the kernel forbids it
  kMissing,    // the machine has none, or the kernel does not know them
  kNoPapi,     // there is no libpapi that can be loaded and has both counters
};

constexpr bool IsOpen(CounterAccess access) { return access <= CounterAccess::kPapi; }

// Types and configurations of instructions, then of cycles, as perf_event_open(2) has them.
using CounterEvents = std::array<std::pair<std::uint32_t, std::uint64_t>, 2>;
inline constexpr CounterEvents kUsualEvents = {
    {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS}, {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES}}};

// "4:0xc0,4:0x3c": types and configurations of instructions and cycles; nothing where it is not that.
std::optional<CounterEvents> ParseCounterEvents(const std::string& text);

// Both counters of the thread that opens them; they count together or not at all.
class CounterPair {
 public:
  CounterPair() = default;
  ~CounterPair() { Close(); }
  CounterPair(const CounterPair&) = delete;
  CounterPair& operator=(const CounterPair&) = delete;

  // After closing what was open.
  CounterAccess Open(const CounterEvents& events);
  void Close();
  bool is_open() const { return IsOpen(access_); }
  // Since they were opened, by the same thread; nothing where they are not open.
  Counts Read();
  std::uint64_t system_calls() const { return system_calls_; }

 private:
  CounterAccess OpenOne(const CounterEvents& events, std::size_t index);

  CounterAccess access_ = CounterAccess::kMissing;
  int files_[2] = {-1, -1};
  const volatile perf_event_mmap_page* states_[2] = {};  // for those that programs may read themselves
  std::uint64_t system_calls_ = 0;
  Counts last_;
};

// Those of the main thread, of one of both kinds.
CounterAccess OpenCounters(const CounterEvents& events = kUsualEvents);
CounterAccess OpenCountersOfPapi();
void CloseCounters();
Counts ReadCounts();

// For other threads: the events that the main thread counts, by the kernel. False where that cannot be.
bool OpenCountersAsMain(CounterPair& counters);

// Nanoseconds that reading took since the main thread's were opened; 0 where it takes no system calls.
double TimeOfReading();
// That of one system call; known where the main thread needs them.
double TimeOfSystemCall();

// True if reading by system calls takes too long: more than a share of the time since the run began, which a burst of
// calls at its begin may exceed. Both in nanoseconds. Chosen: what measuring may cost.
inline bool TakesTooLong(double reading, double elapsed) {
  constexpr double kMostOfTime = 0.02, kShortestTime = 5e9;
  return reading > kMostOfTime * std::max(elapsed, kShortestTime);
}

}  // namespace farscale::collect
