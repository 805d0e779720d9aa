#include "collect/threads/team.h"

#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>

#include "collect/preload/call.h"
#include "collect/preload/run.h"
#include "collect/trace/thread_recorder.h"

namespace farscale::collect {
namespace {

struct TeamThread {
  std::atomic<bool> is_taken = false;
  std::atomic<int> id = 0;  // the kernel's
  bool is_main = false;
  ThreadRecord* record = nullptr;
  Team* team = nullptr;
  unsigned index = 0;           // in the team
  Idle idle;                    // while it waits
  bool is_dispatching = false;  // it waits although tasks are queued
  CounterPair counters;         // a worker's
  bool is_counting = false;  // the main thread, which is counted outside MPI, while it does not compute; others while
  Counts counts_before;      // they compute; counts when that began
  Counts counted;            // in all such times that have ended; read by others at any time
  unsigned teams_open = 0;
  std::vector<std::unique_ptr<Team>> teams;  // index: nesting depth; reused
};

TeamThread* team_threads = nullptr;  // kMostThreads of them; never freed, for threads may outlive the program's exit
thread_local TeamThread* own_thread __attribute__((tls_model("initial-exec"))) = nullptr;
pthread_key_t at_thread_end;

std::atomic<bool> lacks_threads = false;

// As for the main thread (call.cc): of so many reads by system calls one looks whether they take too long.
constexpr std::uint64_t kReadsBetweenLooks = 2048;

std::size_t NumberOf(const TeamThread& own) { return static_cast<std::size_t>(&own - team_threads); }

std::uint64_t LoadNow(const std::uint64_t& number) { return __atomic_load_n(&number, __ATOMIC_RELAXED); }

void Increase(std::uint64_t& number, std::uint64_t by) { __atomic_fetch_add(&number, by, __ATOMIC_RELAXED); }

Tick Since(Tick begin, Tick now) { return now > begin ? now - begin : 0; }

std::uint64_t MpiClock(Tick now) {
  const std::uint64_t entered = LoadNow(page->entered);
  return LoadNow(page->mpi) + (entered != 0 ? Since(entered, now) : 0);
}

// The record of a thread that ended is free for the next: its sums are those of all.
void Release(void* thread) {
  auto& own = *static_cast<TeamThread*>(thread);
  constexpr Activity kAfter = Activity::kOutside;
  __atomic_store(&own.record->activity, &kAfter, __ATOMIC_RELAXED);
  own.team = nullptr;
  own.counters.Close();
  own.id = 0;
  own_thread = nullptr;
  own.is_taken.store(false, std::memory_order_release);
}

// A first call that fails is not repeated: the page says that threads are missing.
TeamThread* Take() {
  if (page->teams.records == 0) return nullptr;
  for (std::uint32_t i = 1; i < kMostThreads; ++i) {
    TeamThread& thread = team_threads[i];
    if (thread.is_taken.load(std::memory_order_relaxed) || thread.is_taken.exchange(true)) continue;
    thread.record = &page->thread[i];
    thread.id = gettid();
    std::uint32_t records = __atomic_load_n(&page->teams.records, __ATOMIC_RELAXED);
    while (records <= i && !__atomic_compare_exchange_n(&page->teams.records, &records, i + 1, false, __ATOMIC_RELEASE,
                                                        __ATOMIC_RELAXED)) {
    }
    own_thread = &thread;
    if ((page->flags & kHasCounters) != 0 && !OpenCountersAsMain(thread.counters)) lacks_threads = true;
    pthread_setspecific(at_thread_end, &thread);
    GiveHandlersAStack();
    return &thread;
  }
  __atomic_fetch_or(&page->flags, kTooManyThreads, __ATOMIC_RELAXED);
  return nullptr;
}

TeamThread* TakeOwn() { return own_thread != nullptr ? own_thread : Take(); }

// A thread of a team; nullptr for others.
TeamThread* InTeam() {
  TeamThread* own = own_thread;
  return own != nullptr && own->team != nullptr ? own : nullptr;
}

// Changes a record so that readers see all of it or nothing.
template <typename Change>
void Write(ThreadRecord& record, Change change) {
  __atomic_store_n(&record.version, record.version + 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  change();
  __atomic_store_n(&record.version, record.version + 1, __ATOMIC_RELEASE);
}

Counts ReadCounters(TeamThread& own) {
  if ((page->flags & kHasCounters) == 0) return {};
  if (own.is_main) return ReadCounts();
  const Counts counts = own.counters.Read();
  const std::uint64_t calls = own.counters.system_calls();
  if (calls == 0 || calls % kReadsBetweenLooks != 0) return counts;
  const double elapsed = static_cast<double>(Now() - page->begin_tick) / TicksANanosecond();
  if (TakesTooLong(static_cast<double>(calls) * TimeOfSystemCall(), elapsed)) {
    own.counters.Close();
    lacks_threads = true;
  }
  return counts;
}

void Become(TeamThread& own, Activity activity, Tick now) {
  const bool computes = activity == Activity::kUseful || (own.is_main && activity == Activity::kOutside);
  const bool counts = computes != own.is_main;
  if (counts != own.is_counting) {
    own.is_counting = counts;
    const Counts read = ReadCounters(own);
    const Counts& before = own.counts_before;
    if (!counts && read.cycles >= before.cycles) {  // else they were closed meanwhile
      Store(own.counted.instructions, own.counted.instructions + (read.instructions - before.instructions));
      Store(own.counted.cycles, own.counted.cycles + (read.cycles - before.cycles));
    }
    own.counts_before = read;
  }
  __atomic_store(&own.record->activity, &activity, __ATOMIC_RELAXED);
  Store(own.record->since, now);
}

// Waiting up to `last` was for others, the rest for the runtime.
void AddWait(TeamThread& own, Tick last, Tick now) {
  ThreadRecord& record = *own.record;
  const Tick wait = Since(own.idle.since, std::min(last, now));
  const std::uint64_t mpi = own.is_main ? 0 : std::min(wait, Since(own.idle.mpi_clock, MpiClock(now)));
  Store(record.imbalance, record.imbalance + (wait - mpi));
  Store(record.mpi_wait, record.mpi_wait + mpi);
  Store(record.scheduling, record.scheduling + Since(std::max(last, own.idle.since), now));
}

void Account(TeamThread& own, Tick now) {
  ThreadRecord& record = *own.record;
  const Tick taken = Since(record.since, now);
  switch (record.activity) {
    case Activity::kOutside: break;
    case Activity::kUseful: Store(record.useful, record.useful + taken); break;
    case Activity::kScheduling: Store(record.scheduling, record.scheduling + taken); break;
    case Activity::kMpi: Store(record.mpi, record.mpi + taken); break;
    case Activity::kDevice: Store(record.device, record.device + taken); break;
    case Activity::kWaiting: AddWait(own, own.is_dispatching ? own.idle.since : now, now); break;
  }
}

void Switch(TeamThread& own, Activity to, Tick now) {
  Write(*own.record, [&] {
    Account(own, now);
    Become(own, to, now);
  });
}

void Wait(TeamThread& own, Tick now) {
  Team& team = *own.team;
  Switch(own, Activity::kWaiting, now);
  own.idle = {now, MpiClock(now), NumberOf(own)};
  own.is_dispatching = team.queued.load(std::memory_order_relaxed) > 0;
  if (own.index < team.idle.size()) team.idle[own.index] = own.idle;
}

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
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/task"), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
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

void StartTeams() {
  static const bool has_key = pthread_key_create(&at_thread_end, Release) == 0 &&
                              pthread_atfork(nullptr, nullptr, StopMeasuring) == 0;  // children have the same page
  if (team_threads == nullptr) team_threads = new (std::nothrow) TeamThread[kMostThreads];
  if (!has_key || team_threads == nullptr) return;
  TeamThread& main = team_threads[0];
  main.is_taken = true;
  main.is_main = true;
  main.record = &page->thread[0];
  own_thread = &main;
  __atomic_store_n(&page->teams.records, 1U, __ATOMIC_RELEASE);
}

Team* Fork(unsigned capacity) {
  TeamThread* own = IsMeasuring() ? TakeOwn() : nullptr;
  if (own == nullptr) return nullptr;
  if (own->teams_open == own->teams.size()) own->teams.emplace_back();
  std::unique_ptr<Team>& reused = own->teams[own->teams_open++];
  if (reused == nullptr || reused->idle.size() < capacity) reused = std::make_unique<Team>(capacity);
  Team& team = *reused;
  team.outer = own->team;
  team.outer_index = own->index;
  team.outer_activity = own->record->activity;
  // The main thread is active outside of teams, too, as it always computes there.
  team.added = own->is_main || own->record->activity != Activity::kOutside ? 0 : 1;
  team.size = 0;
  team.arrivals = 0;
  for (std::atomic<Tick>& last : team.last_arrivals) last.store(0, std::memory_order_relaxed);
  team.last_task = 0;
  team.queued = 0;
  const Tick now = Now();
  team.forked = now;
  team.is_recorded = own->is_main && team.outer == nullptr && IsRecordingTeams();
  if (team.is_recorded) RecordFork(capacity, now);
  team.mpi_clock_at_fork = MpiClock(now);
  Switch(*own, Activity::kScheduling, now);
  return &team;
}

void Begin(Team* team, unsigned index, unsigned size) {
  if (team == nullptr && own_thread != nullptr) own_thread->team = nullptr;
  TeamThread* own = team != nullptr ? TakeOwn() : nullptr;
  if (own == nullptr) return;
  const Tick now = Now();
  if (team->is_recorded) RecordTeamBegin(NumberOf(*own), size, now);
  if (index < team->idle.size()) {
    team->idle[index] = {0, 0, NumberOf(*own)};
  } else {
    __atomic_fetch_or(&page->flags, kTooManyThreads, __ATOMIC_RELAXED);
  }
  team->size.store(size, std::memory_order_relaxed);
  own->team = team;
  own->index = index;
  if (index == 0) {
    team->added += size - 1;
    const std::uint32_t active = __atomic_add_fetch(&page->teams.active, team->added, __ATOMIC_RELAXED);
    std::uint32_t most = __atomic_load_n(&page->teams.most, __ATOMIC_RELAXED);
    while (most < active &&
           !__atomic_compare_exchange_n(&page->teams.most, &most, active, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    Switch(*own, Activity::kUseful, now);
    return;
  }
  // The thread that ended that team knows the reason of an earlier wait.
  ThreadRecord& record = *own->record;
  Write(record, [&] {
    Store(record.scheduling, record.scheduling + Since(team->forked, now));
    Become(*own, Activity::kUseful, now);
  });
}

void EndPart() {
  TeamThread* own = InTeam();
  if (own == nullptr) return;
  const Tick now = Now();
  if (own->team->is_recorded) RecordBarrier(NumberOf(*own), true, true, now);
  Wait(*own, now);
}

void Join(Team* team) {
  TeamThread* own = own_thread;
  if (team == nullptr || own == nullptr) return;
  const Tick now = Now();
  const auto size =
      std::min<unsigned>(team->size.load(std::memory_order_relaxed), static_cast<unsigned>(team->idle.size()));
  Tick last = 0;
  for (unsigned i = 0; i < size; ++i) {
    Idle& idle = team->idle[i];
    if (idle.since == 0 || idle.since > now)
      idle = {now, MpiClock(now), idle.thread};  // it did not say that it was done
    last = std::max(last, idle.since);
  }
  Write(*own->record, [&] {
    if (own->record->activity == Activity::kWaiting) {
      AddWait(*own, last, now);
    } else {
      Account(*own, now);
    }
    Become(*own, team->outer_activity, now);
  });
  // The time of the others of the team since they had no more work.
  const std::uint64_t mpi_now = MpiClock(now);
  std::uint64_t imbalance = 0, mpi_wait = 0, scheduling = 0;
  for (unsigned i = 1; i < size; ++i) {
    const Tick wait = Since(team->idle[i].since, last);
    const std::uint64_t mpi = std::min(wait, Since(team->idle[i].mpi_clock, mpi_now));
    imbalance += wait - mpi;
    mpi_wait += mpi;
    scheduling += Since(last, now);
  }
  TeamRecord& teams = page->teams;
  Increase(teams.imbalance, imbalance);
  Increase(teams.mpi_wait, mpi_wait);
  Increase(teams.scheduling, scheduling);
  if (team->is_recorded) {
    for (unsigned i = size; i > 0; --i) RecordTeamEnd(team->idle[i - 1].thread, size, now);
    RecordJoin(now);
  }
  Increase(teams.active_mpi, team->added * Since(team->mpi_clock_at_fork, MpiClock(now)));
  Increase(teams.regions, 1);
  __atomic_fetch_sub(&teams.active, team->added, __ATOMIC_RELAXED);
  own->team = team->outer;
  own->index = team->outer_index;
  --own->teams_open;
}

std::optional<unsigned> EnterBarrier(bool is_implicit) {
  TeamThread* own = InTeam();
  if (own == nullptr) return std::nullopt;
  Team& team = *own->team;
  const unsigned size = std::max(1U, team.size.load(std::memory_order_relaxed));
  const unsigned arrival = team.arrivals.fetch_add(1, std::memory_order_relaxed);
  const Tick now = Now();
  if (team.is_recorded) RecordBarrier(NumberOf(*own), is_implicit, true, now);
  Wait(*own, now);
  const unsigned number = arrival / size;
  if (arrival % size == size - 1) team.last_arrivals[number % 4].store(now, std::memory_order_relaxed);
  return number;
}

void LeaveBarrier(std::optional<unsigned> number) {
  TeamThread* own = number ? InTeam() : nullptr;
  if (own == nullptr) return;
  Team& team = *own->team;
  const Tick now = Now();
  const Tick arrival = team.last_arrivals[*number % 4].load(std::memory_order_relaxed);
  const Tick task = team.last_task.load(std::memory_order_relaxed);
  if (team.is_recorded) RecordBarrier(NumberOf(*own), false, false, now);
  Write(*own->record, [&] {
    AddWait(*own, std::max(arrival, task), now);
    Become(*own, Activity::kUseful, now);
  });
}

Activity EnterWait() {
  TeamThread* own = InTeam();
  if (own == nullptr) return Activity::kOutside;
  Wait(*own, Now());
  return Activity::kUseful;
}

Activity EnterActivity(Activity activity) {
  TeamThread* own = InTeam();
  if (own == nullptr) return Activity::kOutside;
  const Activity before = own->record->activity;
  const Tick now = Now();
  if (activity == Activity::kDevice && own->team->is_recorded) RecordDeviceCall(NumberOf(*own), true, now);
  Switch(*own, activity, now);
  return before;
}

void LeaveActivity(Activity before) {
  TeamThread* own = before == Activity::kOutside ? nullptr : InTeam();
  if (own == nullptr) return;
  const Tick now = Now();
  const bool was_device = own->record->activity == Activity::kDevice;
  if (was_device && own->team->is_recorded) RecordDeviceCall(NumberOf(*own), false, now);
  Switch(*own, before, now);
}

void QueueTask() {
  TeamThread* own = InTeam();
  if (own != nullptr) own->team->queued.fetch_add(1, std::memory_order_relaxed);
}

Activity BeginTask(bool was_queued) {
  TeamThread* own = InTeam();
  if (own == nullptr) return Activity::kOutside;
  if (was_queued) own->team->queued.fetch_sub(1, std::memory_order_relaxed);
  const Activity before = own->record->activity;
  const Tick now = Now();
  if (own->team->is_recorded) RecordEdge(NumberOf(*own), CallId::kOpenMpTask, true, now);
  Switch(*own, Activity::kUseful, now);
  return before;
}

void EndTask(Activity before) {
  TeamThread* own = before == Activity::kOutside ? nullptr : InTeam();
  if (own == nullptr) return;
  const Tick now = Now();
  if (own->team->is_recorded) RecordEdge(NumberOf(*own), CallId::kOpenMpTask, false, now);
  if (before != Activity::kWaiting) {
    Switch(*own, before, now);
    return;
  }
  own->team->last_task.store(now, std::memory_order_relaxed);
  Wait(*own, now);
}

std::optional<Counts> CountsOfWorker(std::size_t thread) {
  CounterPair& counters = team_threads[thread].counters;
  return counters.is_open() ? std::optional(counters.Read()) : std::nullopt;
}

Counts CountsOfThreads() {
  Counts counts;
  const std::size_t records = std::min<std::size_t>(page->teams.records, kMostThreads);
  for (std::size_t i = 0; i < records; ++i) {
    const Counts& own = team_threads[i].counted;
    const std::uint64_t instructions = LoadNow(own.instructions), cycles = LoadNow(own.cycles);
    counts.instructions += i == 0 ? 0 - instructions : instructions;
    counts.cycles += i == 0 ? 0 - cycles : cycles;
  }
  return counts;
}

void NoteThreadsBeforeMpi() { before_mpi = CpuTimes(); }

void NoteThreads() { used_before = CpuTimes(); }

void CountOtherThreads(Page& own) {
  const auto is_of_team = [](int thread) {  // the kernel's number
    const auto is_it = [&](const TeamThread& known) { return known.id.load(std::memory_order_relaxed) == thread; };
    return team_threads != nullptr && std::any_of(team_threads, team_threads + kMostThreads, is_it);
  };
  const double elapsed = ElapsedOf(own);
  std::uint64_t left = CpuTimeOfOthers(own);
  for (const auto& [thread, time] : CpuTimes()) {
    const auto before = used_before.find(thread);
    const std::uint64_t used = std::min(left, time - (before != used_before.end() ? before->second : 0));
    left -= used;
    if (static_cast<double>(used) < LeastOf(elapsed) || is_of_team(thread) || IsOfMpi(thread)) continue;
    ++own.teams.unknown;
    own.teams.unknown_cpu += used;
  }
  CountEndedThreads(own, left, elapsed);
  if (!lacks_threads) own.flags |= kThreadsCounted;
}

void CountOtherThreadsTogether(Page& own) {
  std::uint64_t left = CpuTimeOfOthers(own);
  for (const auto& [thread, before] : used_before) {
    if (IsOfMpi(thread)) left -= std::min(left, std::max(CpuTimeOf(thread), before) - before);
  }
  CountEndedThreads(own, left, ElapsedOf(own));
}

}  // namespace farscale::collect
