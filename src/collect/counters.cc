#include "collect/counters.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "collect/clock.h"
#include "collect/papi_counters.h"

namespace farscale::collect {
namespace {

struct Counter {
  int file = -1;
  const volatile perf_event_mmap_page* state = nullptr;  // of those that programs may read themselves
};

Counter instruction_counter, cycle_counter;
CounterAccess current_access = CounterAccess::kMissing;
std::uint64_t system_calls = 0;
double nanoseconds_a_call = 0;

// The first counter leads the group, so that one system call reads both, and neither counts without the other.
CounterAccess OpenCounter(const CounterEvent& event, int group, Counter& counter) {
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

void CloseCounter(Counter& counter) {
  if (counter.state != nullptr) {
    munmap(const_cast<perf_event_mmap_page*>(counter.state), static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  }
  if (counter.file >= 0) close(counter.file);
  counter = {};
}

// As the comment of perf_event_mmap_page in linux/perf_event.h has it.
std::uint64_t ReadRegister(const Counter& counter) {
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

// Both counters of the group. A read that fails, as in a child process that closed everything, changes nothing.
Counts ReadGroup() {
  static Counts last;
  struct {
    std::uint64_t counters;
    std::uint64_t values[2];
  } group;
  ++system_calls;
  if (read(instruction_counter.file, &group, sizeof group) == static_cast<ssize_t>(sizeof group) &&
      group.counters == 2) {
    last = {group.values[0], group.values[1]};
  }
  return last;
}

void MeasureReading() {
  constexpr int kReadings = 64;  // chosen: some are disturbed, and all take 20 microseconds
  const std::uint64_t begin = Nanoseconds(CLOCK_MONOTONIC);
  for (int i = 0; i < kReadings; ++i) ReadCounts();
  nanoseconds_a_call = static_cast<double>(Nanoseconds(CLOCK_MONOTONIC) - begin) / kReadings;
  system_calls = 0;
}

}  // namespace

CounterAccess OpenCounters(const CounterEvents& events) {
  CloseCounters();
  current_access = OpenCounter(events.instructions, -1, instruction_counter);
  if (IsOpen(current_access)) {
    const CounterAccess second = OpenCounter(events.cycles, instruction_counter.file, cycle_counter);
    if (second > current_access) current_access = second;
  }
  if (!IsOpen(current_access)) {
    const CounterAccess why = current_access;
    CloseCounters();
    return why;
  }
  if (current_access == CounterAccess::kSystemCalls) MeasureReading();
  return current_access;
}

CounterAccess OpenCountersOfPapi() {
  CloseCounters();
  if (!StartPapi()) return CounterAccess::kNoPapi;
  current_access = CounterAccess::kPapi;
  MeasureReading();
  return current_access;
}

void CloseCounters() {
  if (current_access == CounterAccess::kPapi) StopPapi();
  CloseCounter(cycle_counter);
  CloseCounter(instruction_counter);
  current_access = CounterAccess::kMissing;
}

Counts ReadCounts() {
  switch (current_access) {
    case CounterAccess::kRegisters: return {ReadRegister(instruction_counter), ReadRegister(cycle_counter)};
    case CounterAccess::kSystemCalls: return ReadGroup();
    case CounterAccess::kPapi: ++system_calls; return ReadPapi();
    default: return {};
  }
}

double TimeOfReading() {
  return current_access == CounterAccess::kRegisters ? 0 : static_cast<double>(system_calls) * nanoseconds_a_call;
}

}  // namespace farscale::collect
