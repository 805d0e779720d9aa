#include "collect/counters.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace farscale::collect {
namespace {

struct Counter {
  int file = -1;
  const volatile perf_event_mmap_page* state = nullptr;
};

Counter instructions, cycles;

CounterAccess Open(std::uint64_t config, int group, Counter& counter) {
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = config;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  counter.file = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, group, PERF_FLAG_FD_CLOEXEC));
  const bool is_forbidden = errno == EACCES || errno == EPERM;
  if (counter.file < 0) return is_forbidden ? CounterAccess::kForbidden : CounterAccess::kMissing;
  void* memory = mmap(nullptr, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), PROT_READ, MAP_SHARED, counter.file, 0);
  if (memory == MAP_FAILED) return CounterAccess::kSlow;
  counter.state = static_cast<const volatile perf_event_mmap_page*>(memory);
  return counter.state->cap_user_rdpmc != 0 ? CounterAccess::kOpen : CounterAccess::kSlow;
}

void Close(Counter& counter) {
  if (counter.state != nullptr) {
    munmap(const_cast<perf_event_mmap_page*>(counter.state), static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  }
  if (counter.file >= 0) close(counter.file);
  counter = {};
}

// As the comment of perf_event_mmap_page in linux/perf_event.h has it.
std::uint64_t Read(const Counter& counter) {
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

}  // namespace

CounterAccess OpenCounters() {
  CounterAccess access = CounterAccess::kSlow;
#if defined(__x86_64__)
  access = Open(PERF_COUNT_HW_INSTRUCTIONS, -1, instructions);
  if (access == CounterAccess::kOpen) access = Open(PERF_COUNT_HW_CPU_CYCLES, instructions.file, cycles);
  if (access == CounterAccess::kOpen) return access;
#endif
  Close(cycles);
  Close(instructions);
  return access;
}

Counts ReadCounts() { return {Read(instructions), Read(cycles)}; }

}  // namespace farscale::collect
