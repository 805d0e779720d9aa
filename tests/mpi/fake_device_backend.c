/* The collector's backend for the runtime of fake_device.h, as those for real ones are. */
#include <collect/devices/device_backend.h>
#include <dlfcn.h>
#include <stdio.h>

#include "fake_device.h"

static farscale_device_done_function done_there;

static void done(const struct fake_work* work, size_t count) {
  farscale_device_work all[kFakeMost];
  for (size_t i = 0; i < count; ++i) {
    const uint32_t kind = work[i].kind == kFakeKernel ? FARSCALE_DEVICE_KERNEL : FARSCALE_DEVICE_COPY;
    all[i] = (farscale_device_work){(uint32_t)work[i].device, kind, work[i].begin, work[i].end};
  }
  done_there(all, count);
}

void fake_device_tool(void) {
  static const farscale_device_backend backend = {FARSCALE_DEVICE_INTERFACE, fake_clock, fake_flush,
                                                 FARSCALE_DEVICE_CUDA};
  const farscale_device_start_function start =
      (farscale_device_start_function)dlsym(RTLD_DEFAULT, "farscale_device_start");
  const farscale_device_name_function name = (farscale_device_name_function)dlsym(RTLD_DEFAULT, "farscale_device_name");
  if (start == NULL || name == NULL || !start(&backend)) return;
  for (int device = 0; device < 4; ++device) {
    char text[32];
    snprintf(text, sizeof text, "fake %d", device);
    name((uint32_t)device, text);
  }
  done_there = (farscale_device_done_function)dlsym(RTLD_DEFAULT, "farscale_device_done");
  const struct fake_callbacks callbacks = {(farscale_device_call_function)dlsym(RTLD_DEFAULT, "farscale_device_enter"),
                                           (farscale_device_call_function)dlsym(RTLD_DEFAULT, "farscale_device_leave"),
                                           done};
  fake_set_callbacks(&callbacks);
}
