#include "collect/preload/call.h"

#include <sys/resource.h>

#include "collect/threads/counters.h"
#include "collect/trace/communicators.h"
#include "collect/trace/recorder.h"
#include "collect/threads/team.h"
#include "collect/preload/run.h"

namespace farscale::collect {
namespace {

// Before MPI_Init and after MPI_Finalize calls are counted here.
Page unused_page;

bool is_measuring = false;
bool follows_others = false;
std::recursive_mutex shared_state;
Counts counts_at_leave;

void CountInstructions() {
  if ((page->flags & kHasCounters) == 0) return;
  const Counts counts = ReadCounts();
  Store(page->instructions, page->instructions + (counts.instructions - counts_at_leave.instructions));
  Store(page->cycles, page->cycles + (counts.cycles - counts_at_leave.cycles));
  counts_at_leave = counts;
}

}  // namespace

constinit thread_local ThreadState this_thread __attribute__((tls_model("initial-exec")));
Page* page = &unused_page;

void EnterSlowly(CallId id) {
  ThreadState& thread = this_thread;
  if (thread.role == Role::kUnknown && is_measuring) {
    thread.role = Role::kOther;
    thread.is_followed = follows_others;
    GiveHandlersAStack();
    // The ideal clock of a rank is that of its main thread.
    if (HasIdealClock()) __atomic_fetch_or(&page->flags, kIdealRefused, __ATOMIC_RELAXED);
  }
  thread.entered = Now();
  if (thread.role == Role::kOther) thread.before_mpi = EnterActivity(Activity::kMpi);
  if (thread.role != Role::kMainSlowly) return;
  CountInstructions();
  if ((page->flags & kHasIdeal) != 0) Store(page->ideal, page->ideal + (thread.entered - page->left));
  Store(page->entered, thread.entered);
  if (thread.is_recording) RecordEnter(id, thread.entered);
}

void LeaveSlowly(CallId id) {
  ThreadState& thread = this_thread;
  if (thread.role == Role::kMainSlowly) {
    const Tick left = Now();
    if ((page->flags & kHasIdeal) != 0 && IsNotFollowed(id)) Store(page->not_followed, page->not_followed + 1);
    if (thread.is_recording) RecordLeave(id, left);
    Store(page->mpi, page->mpi + (left - page->entered));
    Store(page->calls, page->calls + 1);
    if ((page->flags & kHasIdeal) != 0) Store(page->left, left);
    Store(page->entered, 0);
    if ((page->flags & kHasCounters) == 0) return;
    counts_at_leave = ReadCounts();
    // One of so many calls checks if reading counters by system calls takes too long. Traces have their counters to
    // the end.
    constexpr std::uint64_t kCallsBetweenLooks = 1024;
    if (page->calls % kCallsBetweenLooks != 0 || thread.is_recording) return;
    const double elapsed = static_cast<double>(left - page->begin_tick) / TicksANanosecond();
    if (!TakesTooLong(TimeOfReading(), elapsed)) return;
    CloseCounters();
    __atomic_fetch_or(&page->flags, kCountersRefused | kCountersSlow, __ATOMIC_RELAXED);
    __atomic_fetch_and(&page->flags, ~std::uint32_t{kHasCounters}, __ATOMIC_RELAXED);
  } else if (thread.role == Role::kOther) {
    LeaveActivity(thread.before_mpi);
    __atomic_fetch_add(&page->other_calls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&page->other_mpi, Now() - thread.entered, __ATOMIC_RELAXED);
  }
}

bool IsMeasuring() { return is_measuring; }

bool IsMainThread() { return this_thread.role == Role::kMain || this_thread.role == Role::kMainSlowly; }

void StartMeasuring(Page* fresh, bool is_slow) {
  page = fresh;
  is_measuring = true;
  if ((page->flags & kHasCounters) != 0) counts_at_leave = ReadCounts();
  this_thread.role = is_slow ? Role::kMainSlowly : Role::kMain;
}

void FollowOthers() {
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  follows_others = level > MPI_THREAD_FUNNELED;
}

std::unique_lock<std::recursive_mutex> HoldSharedState() {
  return follows_others ? std::unique_lock(shared_state) : std::unique_lock<std::recursive_mutex>();
}

void StopMeasuring() {
  is_measuring = false;
  this_thread.is_recording = false;
  page = &unused_page;
}

Sums SumsSoFar(bool with_cpu) {
  const Tick now = Now();
  if (this_thread.depth == 0) CountInstructions();
  Sums sums = SumsUntil(*page, now);
  const Counts of_threads = CountsOfThreads();
  sums.instructions += of_threads.instructions;
  sums.cycles += of_threads.cycles;
  if (!with_cpu) return sums;
  sums.cpu = Nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  sums.process_cpu = Nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) == 0) sums.preemptions = static_cast<std::uint64_t>(usage.ru_nivcsw);
  return sums;
}

}  // namespace farscale::collect
