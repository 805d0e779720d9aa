#include "collect/clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace farscale::collect {

bool clock_is_tsc = false;

namespace {

Tick chosen_at = 0;
std::uint64_t chosen_at_nanoseconds = 0;

bool MayUseTsc() {
#if defined(__x86_64__)
  const char* wanted = std::getenv("FARSCALE_CLOCK");
  if (wanted != nullptr && std::strcmp(wanted, "monotonic") == 0) return false;
  const char* ideal = std::getenv("FARSCALE_IDEAL");
  // The clocks that processes tell each other are in nanoseconds.
  if (ideal != nullptr && std::strcmp(ideal, "1") == 0) return false;
  // The kernel uses the counter as its clock only where it is steady and the same on all cores.
  const int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char name[16] = {};
  const ssize_t read_bytes = read(file, name, sizeof name - 1);
  close(file);
  return read_bytes >= 4 && std::strncmp(name, "tsc\n", 4) == 0;
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
