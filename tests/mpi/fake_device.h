/* The runtime of devices that do not exist: streams are threads, kernels and copies are time that passes. It has what
 * the runtimes of devices have for tools: it loads a library that the environment names, calls it around every call of
 * the program, and hands over what streams did late, in portions, and by a clock of its own. */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

/* For programs. Functions initialise the runtime when it is first needed. */
enum { kFakeKernel = 0, kFakeCopy = 1, kFakeMost = 4096 };

/* Returns a number of the operation. */
int fake_start(int device, int stream, int kind, double milliseconds);
/* Until all streams of a device have done all that was started. */
void fake_synchronize(int device);
/* When an operation that is done began and ended: seconds of the host's monotonic clock. */
void fake_times(int operation, double* begin, double* end);
/* Calls to the runtime cost this much for themselves. */
void fake_think(double milliseconds);
/* A kernel that is done when the call returns. */
void fake_quick_kernel(int device);

/* For tools. */
struct fake_work {
  int device;
  int stream;
  int kind;
  uint64_t begin; /* ns of fake_clock */
  uint64_t end;
};

struct fake_callbacks {
  void (*enter)(void);
  void (*leave)(void);
  void (*done)(const struct fake_work* work, size_t count);
};

/* What the tool has to have, called when the runtime is initialised. */
typedef void (*fake_tool_function)(void);

void fake_set_callbacks(const struct fake_callbacks* callbacks);
uint64_t fake_clock(void);
void fake_flush(void);

#endif
