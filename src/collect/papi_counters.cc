#include "collect/papi_counters.h"

#include <dlfcn.h>

namespace farscale::collect {
namespace {

// As papi.h has them, which is not needed: these have not changed since its version 5.
constexpr int kPapiOk = 0, kNoEventSet = -1;
constexpr int kTotalInstructions = static_cast<int>(0x80000032U), kTotalCycles = static_cast<int>(0x8000003BU);

// PAPI_library_init wants to hear its own version, which is that of the library's file name.
struct PapiLibrary {
  const char* file;
  int major, minor;
};
constexpr PapiLibrary kLibraries[] = {{"libpapi.so.7.2", 7, 2}, {"libpapi.so.7.1", 7, 1}, {"libpapi.so.7.0", 7, 0},
                                      {"libpapi.so.6.0", 6, 0}, {"libpapi.so.5.7", 5, 7}, {"libpapi.so.5.6", 5, 6}};

struct Papi {
  int (*library_init)(int version) = nullptr;
  int (*create_eventset)(int* set) = nullptr;
  int (*add_event)(int set, int event) = nullptr;
  int (*start)(int set) = nullptr;
  int (*read)(int set, long long* values) = nullptr;
  int (*stop)(int set, long long* values) = nullptr;
  int (*cleanup_eventset)(int set) = nullptr;
  int (*destroy_eventset)(int* set) = nullptr;
};

Papi papi;
int event_set = kNoEventSet;

template <typename Function>
bool FindInPapi(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool FindAllOfPapi(void* library) {
  return FindInPapi(library, "PAPI_library_init", papi.library_init) &&
         FindInPapi(library, "PAPI_create_eventset", papi.create_eventset) &&
         FindInPapi(library, "PAPI_add_event", papi.add_event) && FindInPapi(library, "PAPI_start", papi.start) &&
         FindInPapi(library, "PAPI_read", papi.read) && FindInPapi(library, "PAPI_stop", papi.stop) &&
         FindInPapi(library, "PAPI_cleanup_eventset", papi.cleanup_eventset) &&
         FindInPapi(library, "PAPI_destroy_eventset", papi.destroy_eventset);
}

// A program may have loaded PAPI for itself, which then is the same library.
bool LoadPapi() {
  for (const PapiLibrary& one : kLibraries) {
    void* library = dlopen(one.file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    const int version = one.major << 24 | one.minor << 16;
    if (FindAllOfPapi(library) && papi.library_init(version) == version) return true;
    dlclose(library);
  }
  return false;
}

}  // namespace

bool StartPapi() {
  if (!LoadPapi()) return false;
  event_set = kNoEventSet;
  const bool is_counting = papi.create_eventset(&event_set) == kPapiOk &&
                           papi.add_event(event_set, kTotalInstructions) == kPapiOk &&
                           papi.add_event(event_set, kTotalCycles) == kPapiOk && papi.start(event_set) == kPapiOk;
  if (!is_counting) StopPapi();
  return is_counting;
}

Counts ReadPapi() {
  static long long values[2] = {};
  if (papi.read(event_set, values) != kPapiOk) return {};
  return {static_cast<std::uint64_t>(values[0]), static_cast<std::uint64_t>(values[1])};
}

void StopPapi() {
  if (event_set == kNoEventSet) return;
  long long values[2] = {};
  papi.stop(event_set, values);
  papi.cleanup_eventset(event_set);
  papi.destroy_eventset(&event_set);
  event_set = kNoEventSet;
}

}  // namespace farscale::collect
