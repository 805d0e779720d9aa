#include "collect/clock.h"

#include "collect/text.h"

namespace farscale::collect {

bool clock_is_tsc = false;

namespace {

Tick chosen_at = 0;
std::uint64_t chosen_at_nanoseconds = 0;

bool MayUseTsc() {
#if defined(__x86_64__)
  // The ideal clocks that processes send each other are in nanoseconds.
  if (Variable("FARSCALE_CLOCK") == "monotonic" || IsSet("FARSCALE_IDEAL")) return false;
  // The kernel uses the counter as its clock only where it is steady and the same on all cores.
  return ReadStart("/sys/devices/system/clocksource/clocksource0/current_clocksource", 16) == "tsc\n";
#else
  return false;
#endif
}

}  // namespace

void ChooseClock() {
  clock_is_tsc = MayUseTsc();
  chosen_at = Now();
  chosen_at_nanoseconds = Nanoseconds(CLOCK_MONOTONIC);
}

double TicksANanosecond() {
  const Tick ticks = Now() - chosen_at;
  const std::uint64_t nanoseconds = Nanoseconds(CLOCK_MONOTONIC) - chosen_at_nanoseconds;
  return ticks == 0 || nanoseconds == 0 ? 1 : static_cast<double>(ticks) / static_cast<double>(nanoseconds);
}

}  // namespace farscale::collect
