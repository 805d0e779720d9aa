/* A libpapi that counts CPU time of the calling thread: 3 instructions and 1.5 cycles a nanosecond. As the real one it
 * refuses other versions than its own, and FAKE_PAPI_SLOW makes it take a fifth of a millisecond to be read. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kVersion = 7 << 24 | 2 << 16, kInstructions = (int)0x80000032, kCycles = (int)0x8000003B };

static int events[2], count, is_running;
static long long started;

static long long cpu_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int PAPI_library_init(int version) { return version == kVersion ? version : -1; }

int PAPI_create_eventset(int* set) {
  if (*set != -1) return -1;
  *set = 1;
  return 0;
}

int PAPI_add_event(int set, int event) {
  const char* missing = getenv("FAKE_PAPI_MISSING");
  if (set != 1 || count == 2 || (missing != NULL && event == kCycles)) return -7;
  if (event != kInstructions && event != kCycles) return -7;
  events[count++] = event;
  return 0;
}

int PAPI_start(int set) {
  if (set != 1 || is_running) return -1;
  is_running = 1;
  started = cpu_time();
  return 0;
}

int PAPI_read(int set, long long* values) {
  if (set != 1 || !is_running) return -1;
  const long long begin = cpu_time(), passed = begin - started;
  while (getenv("FAKE_PAPI_SLOW") != NULL && cpu_time() - begin < 200000) {
  }
  for (int i = 0; i < count; ++i) values[i] = events[i] == kInstructions ? 3 * passed : 3 * passed / 2;
  return 0;
}

int PAPI_stop(int set, long long* values) {
  if (PAPI_read(set, values) != 0) return -1;
  is_running = 0;
  return 0;
}

int PAPI_cleanup_eventset(int set) {
  count = 0;
  return set == 1 && !is_running ? 0 : -1;
}

int PAPI_destroy_eventset(int* set) {
  *set = -1;
  return 0;
}
