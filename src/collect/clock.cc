#include "collect/clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace farscale::collect {

bool clock_is_tsc = false;

void ChooseClock() {
  clock_is_tsc = false;
#if defined(__x86_64__)
  const char* wanted = std::getenv("FARSCALE_CLOCK");
  const char* mode = std::getenv("FARSCALE_MODE");
  if (wanted != nullptr && std::strcmp(wanted, "monotonic") == 0) return;
  const char* ideal = std::getenv("FARSCALE_IDEAL");
  // Traces are in nanoseconds, and so are the clocks that processes tell each other.
  if (mode != nullptr && std::strcmp(mode, "trace") == 0) return;
  if (ideal != nullptr && std::strcmp(ideal, "1") == 0) return;
  // The kernel uses the counter as its clock only where it is steady and the same on all cores.
  const int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char name[16] = {};
  const ssize_t read_bytes = read(file, name, sizeof name - 1);
  close(file);
  clock_is_tsc = read_bytes >= 4 && std::strncmp(name, "tsc\n", 4) == 0;
#endif
}

}  // namespace farscale::collect
