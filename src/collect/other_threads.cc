#include "collect/other_threads.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>

#include "collect/clock.h"
#include "collect/team.h"

namespace farscale::collect {
namespace {

// Of the run; chosen: what libraries of networks use for their own threads is less.
constexpr double kLeastShare = 0.01;

std::map<int, std::uint64_t> used_before;  // CPU time by thread, ns

// The clock of a thread of this process, as Linux numbers them: the C library does so, too.
std::uint64_t CpuTimeOf(int thread) {
  constexpr unsigned kClockOfThread = 6;
  return Nanoseconds(static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | kClockOfThread));
}

// All but the calling one.
std::map<int, std::uint64_t> CpuTimes() {
  std::map<int, std::uint64_t> times;
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(opendir("/proc/self/task"), closedir);
  while (const dirent* entry = threads ? readdir(threads.get()) : nullptr) {
    const int thread = std::atoi(entry->d_name);
    if (thread > 0 && thread != gettid()) times[thread] = CpuTimeOf(thread);
  }
  return times;
}

// Threads of teams may have ended, too: then nothing is known of others.
void CountEndedThreads(Page& page, std::uint64_t cpu_time, double elapsed) {
  const auto least = static_cast<std::uint64_t>(kLeastShare * elapsed);
  TeamRecord& teams = page.teams;
  if (cpu_time < least || cpu_time == 0 || teams.regions > 0 || teams.active > 0) return;
  teams.unknown += static_cast<std::uint32_t>(std::ceil(static_cast<double>(cpu_time) / elapsed));
  teams.unknown_cpu += cpu_time;
}

double ElapsedOf(const Page& page) { return static_cast<double>(page.end_clock - page.begin_clock); }

std::uint64_t CpuTimeOfOthers(const Page& page) {
  const Sums& run = page.region[0].total;
  return run.process_cpu > run.cpu ? run.process_cpu - run.cpu : 0;
}

}  // namespace

void NoteThreads() { used_before = CpuTimes(); }

void CountOtherThreads(Page& page) {
  const double elapsed = ElapsedOf(page);
  const auto least = static_cast<std::uint64_t>(kLeastShare * elapsed);
  std::uint64_t left = CpuTimeOfOthers(page);
  for (const auto& [thread, time] : CpuTimes()) {
    const auto before = used_before.find(thread);
    const std::uint64_t used = std::min(left, time - (before != used_before.end() ? before->second : 0));
    left -= used;
    if (used < least || IsOfTeams(thread)) continue;
    ++page.teams.unknown;
    page.teams.unknown_cpu += used;
  }
  CountEndedThreads(page, left, elapsed);
}

void CountOtherThreadsTogether(Page& page) { CountEndedThreads(page, CpuTimeOfOthers(page), ElapsedOf(page)); }

}  // namespace farscale::collect
