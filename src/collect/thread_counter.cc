#include "collect/thread_counter.h"

#include <algorithm>
#include <atomic>

#include "collect/call.h"
#include "collect/page.h"

namespace farscale::collect {
namespace {

std::atomic<bool> lacks_threads = false;
ThreadCounter counters_of_threads[kMostThreads];

// As for the main thread (call.cc): of so many reads by system calls one looks whether they take too long.
constexpr std::uint64_t kReadsBetweenLooks = 2048;

}  // namespace

void ThreadCounter::OpenOwn() {
  is_worker_ = true;
  if ((page->flags & kHasCounters) == 0) return;
  if (!OpenCountersAsMain(own_)) lacks_threads = true;
}

Counts ThreadCounter::Read() {
  if ((page->flags & kHasCounters) == 0) return {};
  if (!is_worker_) return ReadCounts();
  const Counts counts = own_.Read();
  const std::uint64_t calls = own_.system_calls();
  if (calls == 0 || calls % kReadsBetweenLooks != 0) return counts;
  const double elapsed = static_cast<double>(Now() - page->begin_tick) / TicksANanosecond();
  if (TakesTooLong(static_cast<double>(calls) * TimeOfSystemCall(), elapsed)) {
    own_.Close();
    lacks_threads = true;
  }
  return counts;
}

void ThreadCounter::Add(const Counts& end) {
  if (end.cycles < begin_.cycles) return;  // they were closed meanwhile
  Store(sum_.instructions, sum_.instructions + (end.instructions - begin_.instructions));
  Store(sum_.cycles, sum_.cycles + (end.cycles - begin_.cycles));
}

Counts ThreadCounter::sum() const {
  return {__atomic_load_n(&sum_.instructions, __ATOMIC_RELAXED), __atomic_load_n(&sum_.cycles, __ATOMIC_RELAXED)};
}

ThreadCounter& CounterOfThread(std::size_t thread) { return counters_of_threads[thread]; }

Counts CountsOfThreads() {
  const std::size_t records = std::min<std::size_t>(page->teams.records, kMostThreads);
  const Counts idle = counters_of_threads[0].sum();
  Counts counts = {0 - idle.instructions, 0 - idle.cycles};
  for (std::size_t i = 1; i < records; ++i) {
    const Counts own = counters_of_threads[i].sum();
    counts.instructions += own.instructions;
    counts.cycles += own.cycles;
  }
  return counts;
}

bool AreAllThreadsCounted() { return !lacks_threads; }

}  // namespace farscale::collect
