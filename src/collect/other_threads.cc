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

}  // namespace

void NoteThreads() { used_before = CpuTimes(); }

void CountOtherThreads(Page& page) {
  const Sums& run = page.region[0].total;
  const auto elapsed = static_cast<double>(page.end_clock - page.begin_clock);
  const auto least = static_cast<std::uint64_t>(kLeastShare * elapsed);
  std::uint64_t left = run.process_cpu > run.cpu ? run.process_cpu - run.cpu : 0;
  TeamRecord& teams = page.teams;
  for (const auto& [thread, time] : CpuTimes()) {
    const auto before = used_before.find(thread);
    const std::uint64_t used = std::min(left, time - (before != used_before.end() ? before->second : 0));
    left -= used;
    if (used < least || IsOfTeams(thread)) continue;
    ++teams.unknown;
    teams.unknown_cpu += used;
  }
  // Threads that have ended: of teams, where there are any, else as many others as it takes.
  if (left < least || left == 0 || teams.regions > 0) return;
  teams.unknown += static_cast<std::uint32_t>(std::ceil(static_cast<double>(left) / elapsed));
  teams.unknown_cpu += left;
}

}  // namespace farscale::collect
