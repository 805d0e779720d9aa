#include "fake_device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { kDevices = 4, kStreams = 2, kPortion = 5, kQuickPortion = 1000 };

struct operation {
  int device, stream, kind, is_done;
  double milliseconds;
  uint64_t begin, end; /* of the host */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct operation operations[kFakeMost];
static int started, has_stream[kDevices][kStreams];
static struct fake_callbacks tool;
static struct fake_work waiting[kFakeMost];
static size_t waits;

static uint64_t host_clock(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Far from that of the host, and too fast by 20 ppm. */
static uint64_t device_time(uint64_t host) { return host + host / 50000 + 12345678901234u; }

uint64_t fake_clock(void) { return device_time(host_clock()); }

void fake_set_callbacks(const struct fake_callbacks* callbacks) { tool = *callbacks; }

static void nap(double milliseconds) {
  struct timespec time = {0, (long)(milliseconds * 1e6)};
  nanosleep(&time, NULL);
}

static void initialise(void) {
  const char* path = getenv("FAKE_DEVICE_TOOL");
  void* library = path != NULL ? dlopen(path, RTLD_NOW) : NULL;
  fake_tool_function function = library != NULL ? (fake_tool_function)dlsym(library, "fake_device_tool") : NULL;
  if (function != NULL) function();
}

static void enter(void) {
  pthread_once(&once, initialise);
  if (tool.enter != NULL) tool.enter();
}

static void leave(void) {
  if (tool.leave != NULL) tool.leave();
}

/* With the lock, which the tool is called without. */
static void hand_over(void) {
  struct fake_work work[kFakeMost];
  const size_t count = waits;
  for (size_t i = 0; i < count; ++i) work[i] = waiting[i];
  waits = 0;
  pthread_mutex_unlock(&mutex);
  if (tool.done != NULL && count > 0) tool.done(work, count);
  pthread_mutex_lock(&mutex);
}

void fake_flush(void) {
  pthread_mutex_lock(&mutex);
  hand_over();
  pthread_mutex_unlock(&mutex);
}

static struct operation* next_of(int device, int stream) {
  for (int i = 0; i < started; ++i) {
    struct operation* one = &operations[i];
    if (one->device == device && one->stream == stream && !one->is_done) return one;
  }
  return NULL;
}

static void* run_stream(void* number) {
  const int device = (int)(intptr_t)number / kStreams, stream = (int)(intptr_t)number % kStreams;
  pthread_mutex_lock(&mutex);
  for (;;) {
    struct operation* one = next_of(device, stream);
    if (one == NULL) {
      pthread_cond_wait(&changed, &mutex);
      continue;
    }
    pthread_mutex_unlock(&mutex);
    const uint64_t begin = host_clock();
    nap(one->milliseconds);
    const uint64_t end = host_clock();
    pthread_mutex_lock(&mutex);
    one->begin = begin;
    one->end = end;
    one->is_done = 1;
    waiting[waits++] = (struct fake_work){device, stream, one->kind, device_time(begin), device_time(end)};
    if (waits >= kPortion) hand_over();
    pthread_cond_broadcast(&changed);
  }
  return NULL;
}

int fake_start(int device, int stream, int kind, double milliseconds) {
  enter();
  pthread_mutex_lock(&mutex);
  if (!has_stream[device][stream]) {
    pthread_t thread;
    has_stream[device][stream] = 1;
    pthread_create(&thread, NULL, run_stream, (void*)(intptr_t)(device * kStreams + stream));
  }
  const int number = started++;
  operations[number] = (struct operation){device, stream, kind, 0, milliseconds, 0, 0};
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  leave();
  return number;
}

void fake_synchronize(int device) {
  enter();
  pthread_mutex_lock(&mutex);
  for (int stream = 0; stream < kStreams; ++stream) {
    while (next_of(device, stream) != NULL) pthread_cond_wait(&changed, &mutex);
  }
  pthread_mutex_unlock(&mutex);
  leave();
}

void fake_think(double milliseconds) {
  enter();
  enter(); /* functions of a runtime call each other */
  nap(milliseconds);
  leave();
  leave();
}

void fake_quick_kernel(int device) {
  enter();
  const uint64_t begin = host_clock(), end = host_clock();
  pthread_mutex_lock(&mutex);
  waiting[waits++] = (struct fake_work){device, 0, kFakeKernel, device_time(begin), device_time(end)};
  if (waits >= kQuickPortion) hand_over();
  pthread_mutex_unlock(&mutex);
  leave();
}

void fake_times(int operation, double* begin, double* end) {
  pthread_mutex_lock(&mutex);
  *begin = operations[operation].begin * 1e-9;
  *end = operations[operation].end * 1e-9;
  pthread_mutex_unlock(&mutex);
}
