// The tool of OpenMP libraries that have an interface for tools: LLVM's and Intel's, which look for ompt_start_tool.
#include "collect/threads/ompt.h"

#include <dlfcn.h>

#include "collect/preload/call.h"
#include "collect/threads/gomp.h"
#include "collect/threads/team.h"
#include "collect/text.h"

namespace farscale::collect {
namespace {

// What the number of a task says: whether it waits to begin, and what the thread did when it went to another task.
constexpr std::uint64_t kQueued = 1, kActivityUnit = 2;

// Of the encountering thread. Leagues of teams make no team of threads.
void OnParallelBegin(ompt::Data*, const void*, ompt::Data* parallel, unsigned requested, int flags, const void*) {
  const bool is_league = (static_cast<unsigned>(flags) & ompt::kLeague) != 0;
  parallel->pointer = is_league ? nullptr : Fork(requested);
}

void OnParallelEnd(ompt::Data* parallel, ompt::Data*, int, const void*) {
  if (parallel != nullptr) Join(static_cast<Team*>(parallel->pointer));
}

// A worker is told of the end of its task when it is needed again, if at all: Join does not rely on it.
void OnImplicitTask(ompt::Endpoint endpoint, ompt::Data* parallel, ompt::Data*, unsigned threads, unsigned index,
                    int flags) {
  if (endpoint != ompt::kBegin || parallel == nullptr || (flags & ompt::kInitialTask) != 0) return;
  Begin(static_cast<Team*>(parallel->pointer), index, threads);
}

// One thread of a team is at one barrier at a time.
thread_local BarrierVisit visit __attribute__((tls_model("initial-exec")));

// The barrier at the end of a team, which ends without a parallel region: its threads wait until Join.
void OnSyncRegion(ompt::SyncRegion kind, ompt::Endpoint endpoint, ompt::Data* parallel, ompt::Data*, const void*) {
  if (kind == ompt::kReduction) return;
  const bool is_barrier = kind != ompt::kTaskwait && kind != ompt::kTaskgroup;
  if (endpoint == ompt::kBegin) {
    if (is_barrier) visit = EnterBarrier(kind != ompt::kBarrier && kind != ompt::kExplicitBarrier);
    if (!is_barrier) EnterWait();
  } else if (parallel != nullptr) {
    if (is_barrier) LeaveBarrier(visit);
    if (!is_barrier) LeaveWait();
  }
}

void OnTaskCreate(ompt::Data*, const void*, ompt::Data* task, int flags, int, const void*) {
  if ((flags & ompt::kExplicitTask) == 0 || (flags & ompt::kUndeferredTask) != 0) return;
  task->value = kQueued;
  QueueTask();
}

void OnTaskSchedule(ompt::Data* prior, int, ompt::Data* next) {
  if (prior == nullptr || next == nullptr) return;
  const bool was_queued = (next->value & kQueued) != 0;
  const auto before = static_cast<Activity>(next->value / kActivityUnit);
  next->value = 0;
  if (before != Activity::kOutside) {
    EndTask(before);
  } else {
    prior->value = static_cast<std::uint64_t>(BeginTask(was_queued)) * kActivityUnit;
  }
}

bool IsForLock(int kind) { return kind != ompt::kTestLock && kind != ompt::kTestNestLock; }

void OnMutexAcquire(int kind, unsigned, unsigned, std::uint64_t, const void*) {
  if (IsForLock(kind)) EnterRuntime();
}

void OnMutexAcquired(int kind, std::uint64_t, const void*) {
  if (IsForLock(kind)) LeaveRuntime(Activity::kUseful);
}

// A nested lock that the thread has already.
void OnNestLock(ompt::Endpoint endpoint, std::uint64_t, const void*) {
  if (endpoint == ompt::kBegin) LeaveRuntime(Activity::kUseful);
}

int Initialize(ompt::Lookup lookup, int, ompt::Data*) {
  const auto set = reinterpret_cast<ompt::SetCallback>(lookup("ompt_set_callback"));
  if (set == nullptr) return 0;
  const auto add = [&](ompt::Callback which, auto* callback) {
    set(which, reinterpret_cast<ompt::Function>(callback));
  };
  add(ompt::kParallelBegin, OnParallelBegin);
  add(ompt::kParallelEnd, OnParallelEnd);
  add(ompt::kImplicitTask, OnImplicitTask);
  add(ompt::kSyncRegion, OnSyncRegion);
  add(ompt::kTaskCreate, OnTaskCreate);
  add(ompt::kTaskSchedule, OnTaskSchedule);
  add(ompt::kMutexAcquire, OnMutexAcquire);
  add(ompt::kMutexAcquired, OnMutexAcquired);
  add(ompt::kNestLock, OnNestLock);
  return 1;
}

void Finalize(ompt::Data*) {}

using StartFunction = ompt::StartTool* (*)(unsigned version, const char* runtime);

}  // namespace
}  // namespace farscale::collect

using namespace farscale::collect;

// One tool is all that there can be: one that the user has chosen goes first.
extern "C" FARSCALE_EXPORT ompt::StartTool* ompt_start_tool(unsigned version, const char* runtime) {
  static ompt::StartTool own = {Initialize, Finalize, {}};
  const auto next = reinterpret_cast<StartFunction>(FindRealSymbol("ompt_start_tool"));
  const bool is_tool = next != nullptr && !IsLlvmOpenMp(reinterpret_cast<const void*>(next));
  ompt::StartTool* other = is_tool ? next(version, runtime) : nullptr;
  if (other != nullptr) return other;
  return Variable("OMP_TOOL_LIBRARIES").empty() ? &own : nullptr;
}
