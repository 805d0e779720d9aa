#include "collect/threads/thread_counter.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>

#include "collect/preload/call.h"
#include "collect/threads/team.h"

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

namespace {

// Share of the run, and ns; chosen: threads of libraries that wait for events use less.
constexpr double kLeastShare = 0.01;
constexpr double kLeastTime = 2e6;

// CPU time by thread, ns; never freed, as the end of the program asks for it.
using TimesOfThreads = std::map<int, std::uint64_t>;
TimesOfThreads& before_mpi = *new TimesOfThreads;
TimesOfThreads& used_before = *new TimesOfThreads;

// The clock of a thread of this process, as Linux numbers them: the C library does so, too.
std::uint64_t CpuTimeOf(int thread) {
  constexpr unsigned kClockOfThread = 6;
  return Nanoseconds(static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | kClockOfThread));
}

// All but the calling one.
TimesOfThreads CpuTimes() {
  TimesOfThreads times;
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(opendir("/proc/self/task"), closedir);
  while (const dirent* entry = threads ? readdir(threads.get()) : nullptr) {
    const int thread = std::atoi(entry->d_name);
    if (thread > 0 && thread != gettid()) times[thread] = CpuTimeOf(thread);
  }
  return times;
}

double LeastOf(double elapsed) { return std::max(kLeastShare * elapsed, kLeastTime); }

bool IsOfMpi(int thread) { return used_before.count(thread) > 0 && before_mpi.count(thread) == 0; }

// Threads of teams may have ended, too: then nothing is known of others.
void CountEndedThreads(Page& own, std::uint64_t cpu_time, double elapsed) {
  TeamRecord& teams = own.teams;
  if (static_cast<double>(cpu_time) < LeastOf(elapsed) || teams.regions > 0 || teams.active > 0) return;
  teams.unknown += static_cast<std::uint32_t>(std::ceil(static_cast<double>(cpu_time) / elapsed));
  teams.unknown_cpu += cpu_time;
}

double ElapsedOf(const Page& own) { return static_cast<double>(own.end_clock - own.begin_clock); }

std::uint64_t CpuTimeOfOthers(const Page& own) {
  const Sums& run = own.region[0].total;
  return run.process_cpu > run.cpu ? run.process_cpu - run.cpu : 0;
}

}  // namespace

void NoteThreadsBeforeMpi() { before_mpi = CpuTimes(); }

void NoteThreads() { used_before = CpuTimes(); }

void CountOtherThreads(Page& own) {
  const double elapsed = ElapsedOf(own);
  std::uint64_t left = CpuTimeOfOthers(own);
  for (const auto& [thread, time] : CpuTimes()) {
    const auto before = used_before.find(thread);
    const std::uint64_t used = std::min(left, time - (before != used_before.end() ? before->second : 0));
    left -= used;
    if (static_cast<double>(used) < LeastOf(elapsed) || IsOfTeams(thread) || IsOfMpi(thread)) continue;
    ++own.teams.unknown;
    own.teams.unknown_cpu += used;
  }
  CountEndedThreads(own, left, elapsed);
}

void CountOtherThreadsTogether(Page& own) {
  std::uint64_t left = CpuTimeOfOthers(own);
  for (const auto& [thread, before] : used_before) {
    if (IsOfMpi(thread)) left -= std::min(left, std::max(CpuTimeOf(thread), before) - before);
  }
  CountEndedThreads(own, left, ElapsedOf(own));
}

}  // namespace farscale::collect
