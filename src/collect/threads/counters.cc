#include "collect/threads/counters.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "collect/text.h"

namespace farscale::collect {

bool clock_is_tsc = false;

namespace {

Tick chosen_at = 0;
std::uint64_t chosen_at_nanoseconds = 0;

CounterPair main_counters;
CounterEvents main_events = kUsualEvents;
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

// As the comment of perf_event_mmap_page in linux/perf_event.h has it.
std::uint64_t ReadRegister([[maybe_unused]] const volatile perf_event_mmap_page* state) {
  std::uint64_t count = 0;
#if defined(__x86_64__)
  std::uint32_t lock = 0;
  do {
    lock = state->lock;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    const std::uint32_t index = state->index;
    count = static_cast<std::uint64_t>(state->offset);
    if (index != 0) {
      const int unused = 64 - state->pmc_width;
      const auto raw = static_cast<std::uint64_t>(__rdpmc(static_cast<int>(index - 1)));
      count += static_cast<std::uint64_t>(static_cast<std::int64_t>(raw << unused) >> unused);
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  } while (state->lock != lock);
#endif
  return count;
}

// PAPI is for processors that the kernel counts on but has no names for. Its library is loaded when it is asked for, so
// that farscale neither needs it to be built nor depends on one of its versions. Numbers are as papi.h has them: these
// have not changed since its version 5.
constexpr int kPapiOk = 0, kNoEventSet = -1;
constexpr int kTotalInstructions = static_cast<int>(0x80000032U), kTotalCycles = static_cast<int>(0x8000003BU);
constexpr int kPapiVersions[][2] = {{7, 2}, {7, 1}, {7, 0}, {6, 0}, {5, 7}, {5, 6}};

int (*papi_library_init)(int version) = nullptr;
int (*papi_create_eventset)(int* set) = nullptr;
int (*papi_add_event)(int set, int event) = nullptr;
int (*papi_start)(int set) = nullptr;
int (*papi_read)(int set, long long* values) = nullptr;
int (*papi_stop)(int set, long long* values) = nullptr;
int (*papi_cleanup_eventset)(int set) = nullptr;
int (*papi_destroy_eventset)(int* set) = nullptr;

int event_set = kNoEventSet;

// A program may have loaded PAPI for itself, which then is the same library. PAPI_library_init wants to hear its own
// version, which is that of the library's file name.
bool LoadPapi() {
  for (const auto& [major, minor] : kPapiVersions) {
    void* library = dlopen(Format("libpapi.so.%d.%d", major, minor).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    const auto find = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    const bool has_all = find("PAPI_library_init", papi_library_init) &&
                         find("PAPI_create_eventset", papi_create_eventset) && find("PAPI_add_event", papi_add_event) &&
                         find("PAPI_start", papi_start) && find("PAPI_read", papi_read) &&
                         find("PAPI_stop", papi_stop) && find("PAPI_cleanup_eventset", papi_cleanup_eventset) &&
                         find("PAPI_destroy_eventset", papi_destroy_eventset);
    const int version = major << 24 | minor << 16;
    if (has_all && papi_library_init(version) == version) return true;
    dlclose(library);
  }
  return false;
}

void StopPapi() {
  if (event_set == kNoEventSet) return;
  long long values[2] = {};
  papi_stop(event_set, values);
  papi_cleanup_eventset(event_set);
  papi_destroy_eventset(&event_set);
  event_set = kNoEventSet;
}

}  // namespace

void ChooseClock() {
  bool may_use_tsc = false;
#if defined(__x86_64__)
  // The ideal clocks that processes send each other are in nanoseconds. The kernel uses the counter as its clock only
  // where it is steady and the same on all cores.
  may_use_tsc = Variable("FARSCALE_CLOCK") != "monotonic" && !IsSet("FARSCALE_IDEAL") &&
                ReadStart("/sys/devices/system/clocksource/clocksource0/current_clocksource", 16) == "tsc\n";
#endif
  clock_is_tsc = may_use_tsc;
  chosen_at = Now();
  chosen_at_nanoseconds = Nanoseconds(CLOCK_MONOTONIC);
}

double TicksANanosecond() {
  const Tick ticks = Now() - chosen_at;
  const std::uint64_t nanoseconds = Nanoseconds(CLOCK_MONOTONIC) - chosen_at_nanoseconds;
  return ticks == 0 || nanoseconds == 0 ? 1 : static_cast<double>(ticks) / static_cast<double>(nanoseconds);
}

std::optional<CounterEvents> ParseCounterEvents(const std::string& text) {
  CounterEvents events;
  const char* at = text.c_str();
  for (std::size_t i = 0; i < events.size(); ++i) {
    auto& [type, config] = events[i];
    char* end = nullptr;
    type = static_cast<std::uint32_t>(std::strtoul(at, &end, 0));
    if (end == at || *end != ':') return std::nullopt;
    at = end + 1;
    config = std::strtoull(at, &end, 0);
    if (end == at || *end != (i + 1 < events.size() ? ',' : '\0')) return std::nullopt;
    at = end + 1;
  }
  return events;
}

// The first counter leads the group, so that one system call reads both, and neither counts without the other.
CounterAccess CounterPair::OpenOne(const CounterEvents& events, std::size_t index) {
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  std::tie(attributes.type, attributes.config) = events[index];
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_GROUP;
  const int group = index == 0 ? -1 : files_[0];
  const int file = files_[index] =
      static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, group, PERF_FLAG_FD_CLOEXEC));
  const bool is_forbidden = errno == EACCES || errno == EPERM;
  if (file < 0) return is_forbidden ? CounterAccess::kForbidden : CounterAccess::kMissing;
#if defined(__x86_64__)
  void* memory = mmap(nullptr, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), PROT_READ, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return CounterAccess::kSystemCalls;
  states_[index] = static_cast<const volatile perf_event_mmap_page*>(memory);
  if (states_[index]->cap_user_rdpmc != 0) return CounterAccess::kRegisters;
#endif
  return CounterAccess::kSystemCalls;
}

CounterAccess CounterPair::Open(const CounterEvents& events) {
  Close();
  CounterAccess access = OpenOne(events, 0);
  if (IsOpen(access)) access = std::max(access, OpenOne(events, 1));
  if (!IsOpen(access)) Close();
  access_ = access;
  return access;
}

void CounterPair::Close() {
  for (const int i : {1, 0}) {
    if (states_[i] != nullptr) {
      munmap(const_cast<perf_event_mmap_page*>(states_[i]), static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
    }
    if (files_[i] >= 0) close(files_[i]);
    states_[i] = nullptr;
    files_[i] = -1;
  }
  access_ = CounterAccess::kMissing;
  system_calls_ = 0;
  last_ = {};
}

// A read that fails, as in a process that has closed everything, changes nothing.
Counts CounterPair::Read() {
  if (access_ == CounterAccess::kRegisters) return {ReadRegister(states_[0]), ReadRegister(states_[1])};
  if (access_ != CounterAccess::kSystemCalls) return {};
  std::uint64_t group[3];  // the number of counters, and both
  ++system_calls_;
  if (read(files_[0], group, sizeof group) == static_cast<ssize_t>(sizeof group) && group[0] == 2) {
    last_ = {group[1], group[2]};
  }
  return last_;
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
  if (!LoadPapi()) return CounterAccess::kNoPapi;
  event_set = kNoEventSet;
  const bool is_counting = papi_create_eventset(&event_set) == kPapiOk &&
                           papi_add_event(event_set, kTotalInstructions) == kPapiOk &&
                           papi_add_event(event_set, kTotalCycles) == kPapiOk && papi_start(event_set) == kPapiOk;
  if (!is_counting) {
    StopPapi();
    return CounterAccess::kNoPapi;
  }
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
  static long long values[2] = {};
  if (!counts_by_papi) return main_counters.Read();
  ++papi_reads;
  if (papi_read(event_set, values) != kPapiOk) return {};
  return {static_cast<std::uint64_t>(values[0]), static_cast<std::uint64_t>(values[1])};
}

bool OpenCountersAsMain(CounterPair& counters) { return main_counters.is_open() && IsOpen(counters.Open(main_events)); }

double TimeOfReading() {
  const std::uint64_t calls = SystemCalls();
  return calls > reads_before ? static_cast<double>(calls - reads_before) * nanoseconds_a_call : 0;
}

double TimeOfSystemCall() { return nanoseconds_a_call; }

}  // namespace farscale::collect
