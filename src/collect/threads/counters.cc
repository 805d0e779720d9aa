#include "collect/threads/counters.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "collect/clock.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace farscale::collect {
namespace {

CounterPair main_counters;
CounterEvents main_events;
bool counts_by_papi = false;
std::uint64_t papi_reads = 0;
std::uint64_t reads_before = 0;  // to find out what they take
double nanoseconds_a_call = 0;

std::uint64_t SystemCalls() { return counts_by_papi ? papi_reads : main_counters.system_calls(); }

void MeasureReading() {
  constexpr int kReadings = 64;  // chosen: some are disturbed, and all take 20 microseconds
  const std::uint64_t begin = Nanoseconds(CLOCK_MONOTONIC);
  for (int i = 0; i < kReadings; ++i) ReadCounts();
  nanoseconds_a_call = static_cast<double>(Nanoseconds(CLOCK_MONOTONIC) - begin) / kReadings;
  reads_before = SystemCalls();
}

// "4:0xc0" from `text` on, which is behind it then.
bool ParseCounterEvent(const char*& text, CounterEvent& event) {
  char* end = nullptr;
  event.type = static_cast<std::uint32_t>(std::strtoul(text, &end, 0));
  if (end == text || *end != ':') return false;
  text = end + 1;
  event.config = std::strtoull(text, &end, 0);
  const bool good = end != text;
  text = end;
  return good;
}

}  // namespace

std::optional<CounterEvents> ParseCounterEvents(const std::string& text) {
  CounterEvents events;
  const char* at = text.c_str();
  if (!ParseCounterEvent(at, events.instructions) || *at != ',') return std::nullopt;
  if (!ParseCounterEvent(++at, events.cycles) || *at != '\0') return std::nullopt;
  return events;
}

// The first counter leads the group, so that one system call reads both, and neither counts without the other.
CounterAccess CounterPair::Open(const CounterEvent& event, int group, Counter& counter) {
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_GROUP;
  counter.file = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, group, PERF_FLAG_FD_CLOEXEC));
  const bool is_forbidden = errno == EACCES || errno == EPERM;
  if (counter.file < 0) return is_forbidden ? CounterAccess::kForbidden : CounterAccess::kMissing;
#if defined(__x86_64__)
  void* memory = mmap(nullptr, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), PROT_READ, MAP_SHARED, counter.file, 0);
  if (memory == MAP_FAILED) return CounterAccess::kSystemCalls;
  counter.state = static_cast<const volatile perf_event_mmap_page*>(memory);
  if (counter.state->cap_user_rdpmc != 0) return CounterAccess::kRegisters;
#endif
  return CounterAccess::kSystemCalls;
}

void CounterPair::Close(Counter& counter) {
  if (counter.state != nullptr) {
    munmap(const_cast<perf_event_mmap_page*>(counter.state), static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  }
  if (counter.file >= 0) close(counter.file);
  counter = {};
}

// As the comment of perf_event_mmap_page in linux/perf_event.h has it.
std::uint64_t CounterPair::ReadRegister(const Counter& counter) {
#if defined(__x86_64__)
  std::uint32_t lock = 0;
  std::uint64_t count = 0;
  do {
    lock = counter.state->lock;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    const std::uint32_t index = counter.state->index;
    count = static_cast<std::uint64_t>(counter.state->offset);
    if (index != 0) {
      const int unused = 64 - counter.state->pmc_width;
      const auto raw = static_cast<std::uint64_t>(__rdpmc(static_cast<int>(index - 1)));
      count += static_cast<std::uint64_t>(static_cast<std::int64_t>(raw << unused) >> unused);
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  } while (counter.state->lock != lock);
  return count;
#else
  (void)counter;
  return 0;
#endif
}

// A read that fails, as in a process that has closed everything, changes nothing.
Counts CounterPair::ReadGroup() {
  struct {
    std::uint64_t counters;
    std::uint64_t values[2];
  } group;
  ++system_calls_;
  if (read(instructions_.file, &group, sizeof group) == static_cast<ssize_t>(sizeof group) && group.counters == 2) {
    last_ = {group.values[0], group.values[1]};
  }
  return last_;
}

CounterAccess CounterPair::Open(const CounterEvents& events) {
  Close();
  CounterAccess access = Open(events.instructions, -1, instructions_);
  if (IsOpen(access)) {
    const CounterAccess second = Open(events.cycles, instructions_.file, cycles_);
    if (second > access) access = second;
  }
  if (!IsOpen(access)) Close();
  access_ = access;
  return access;
}

void CounterPair::Close() {
  Close(cycles_);
  Close(instructions_);
  access_ = CounterAccess::kMissing;
  system_calls_ = 0;
  last_ = {};
}

Counts CounterPair::Read() {
  if (access_ == CounterAccess::kRegisters) return {ReadRegister(instructions_), ReadRegister(cycles_)};
  return access_ == CounterAccess::kSystemCalls ? ReadGroup() : Counts{};
}

CounterAccess OpenCounters(const CounterEvents& events) {
  CloseCounters();
  main_events = events;
  const CounterAccess access = main_counters.Open(events);
  if (access == CounterAccess::kSystemCalls) MeasureReading();
  return access;
}

CounterAccess OpenCountersOfPapi() {
  CloseCounters();
  if (!StartPapi()) return CounterAccess::kNoPapi;
  counts_by_papi = true;
  MeasureReading();
  return CounterAccess::kPapi;
}

void CloseCounters() {
  if (counts_by_papi) StopPapi();
  counts_by_papi = false;
  reads_before = papi_reads = 0;
  main_counters.Close();
}

Counts ReadCounts() {
  if (!counts_by_papi) return main_counters.Read();
  ++papi_reads;
  return ReadPapi();
}

bool OpenCountersAsMain(CounterPair& counters) { return main_counters.is_open() && IsOpen(counters.Open(main_events)); }

double TimeOfReading() {
  const std::uint64_t calls = SystemCalls();
  return calls > reads_before ? static_cast<double>(calls - reads_before) * nanoseconds_a_call : 0;
}

double TimeOfSystemCall() { return nanoseconds_a_call; }

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
