// The backend for CUDA, which loads it because CUDA_INJECTION64_PATH names it. Never run so far: no such device was at
// hand (docs/how-to/hybrid.md).
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "collect/devices/device_backend.h"

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20U, kBufferAlignment = 8;
constexpr std::uint32_t kFlushMilliseconds = 100;  // chosen: much less than what the collector keeps

farscale_device_done_function done = nullptr;
farscale_device_call_function enter = nullptr, leave = nullptr;

template <typename Function>
Function Find(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

#if CUDA_VERSION >= 11060
std::uint64_t MonotonicClock() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}
#endif

std::uint64_t CuptiClock() {
  std::uint64_t now = 0;
  cuptiGetTimestamp(&now);
  return now;
}

void Flush() { cuptiActivityFlushAll(0); }

void CUPTIAPI OnBufferRequest(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *bytes = *buffer != nullptr ? kBufferBytes : 0;
  *most_records = 0;
}

// Records grow with the versions of CUPTI: what is read here is at the same place in all of them.
void Add(const CUpti_Activity* record, std::vector<farscale_device_work>& work) {
  if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel4*>(record);
    work.push_back({kernel.deviceId, FARSCALE_DEVICE_KERNEL, kernel.start, kernel.end});
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpy*>(record);
    work.push_back({copy.deviceId, FARSCALE_DEVICE_COPY, copy.start, copy.end});
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY2) {
    const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpyPtoP*>(record);
    work.push_back({copy.deviceId, FARSCALE_DEVICE_COPY, copy.start, copy.end});
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
    const auto& set = *reinterpret_cast<const CUpti_ActivityMemset*>(record);
    work.push_back({set.deviceId, FARSCALE_DEVICE_COPY, set.start, set.end});
  }
}

void CUPTIAPI OnBufferComplete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  std::vector<farscale_device_work> work;
  CUpti_Activity* record = nullptr;
  while (valid > 0 && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) Add(record, work);
  if (!work.empty()) done(work.data(), work.size());
  std::free(buffer);
}

// Calls of the runtime call the driver; the collector counts the outermost.
void CUPTIAPI OnCall(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  call.callbackSite == CUPTI_API_ENTER ? enter() : leave();
}

void NameDevices() {
  const auto name = Find<farscale_device_name_function>("farscale_device_name");
  int devices = 0;
  if (cuDeviceGetCount(&devices) != CUDA_SUCCESS) return;
  for (int i = 0; i < devices; ++i) {
    CUdevice device = 0;
    char place[32] = {};
    if (cuDeviceGet(&device, i) != CUDA_SUCCESS) continue;
    if (cuDeviceGetPCIBusId(place, sizeof place, device) != CUDA_SUCCESS) continue;
    char text[64];
    std::snprintf(text, sizeof text, "CUDA %s", place);
    name(static_cast<std::uint32_t>(i), text);
  }
}

}  // namespace

// Called by the driver when it is initialised.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const auto start = Find<farscale_device_start_function>("farscale_device_start");
  done = Find<farscale_device_done_function>("farscale_device_done");
  enter = Find<farscale_device_call_function>("farscale_device_enter");
  leave = Find<farscale_device_call_function>("farscale_device_leave");
  if (start == nullptr || done == nullptr || enter == nullptr || leave == nullptr) return 1;
  // Before any activity is enabled. CUPTI since CUDA 11.6 converts its times to a clock that it is given.
  static farscale_device_backend backend = {FARSCALE_DEVICE_INTERFACE, CuptiClock, Flush, FARSCALE_DEVICE_CUDA};
#if CUDA_VERSION >= 11060
  if (cuptiActivityRegisterTimestampCallback(MonotonicClock) == CUPTI_SUCCESS) backend.now = nullptr;
#endif
  CUpti_SubscriberHandle subscriber = nullptr;
  if (cuptiSubscribe(&subscriber, OnCall, nullptr) != CUPTI_SUCCESS || start(&backend) == 0) return 1;
  cuptiActivityRegisterCallbacks(OnBufferRequest, OnBufferComplete);
  for (const CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET}) {
    cuptiActivityEnable(kind);
  }
  cuptiActivityFlushPeriod(kFlushMilliseconds);
  cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
  cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
  NameDevices();
  return 1;
}
