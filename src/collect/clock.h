// The clock of the measurement: the processor's time stamp counter where the kernel itself relies on it, which takes a
// third of the time of a call to clock_gettime, else the monotonic clock.
#pragma once

#include <cstdint>
#include <ctime>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace farscale::collect {

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

}  // namespace farscale::collect
