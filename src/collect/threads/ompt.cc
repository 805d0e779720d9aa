// The tool of OpenMP libraries that have an interface for tools: LLVM's and Intel's, which look for ompt_start_tool.
#include <cstdint>
#include <optional>

#include "collect/preload/call.h"
#include "collect/threads/team.h"
#include "collect/text.h"

namespace farscale::collect {

// A part of OMPT, the interface of OpenMP 5.0 for tools, as its section 4 declares it: compilers other than those
// of LLVM come without the header omp-tools.h.
namespace ompt {

union Data {
  std::uint64_t value;
  void* pointer;
};

using Function = void (*)();
using Lookup = Function (*)(const char* name);

struct StartTool {
  int (*initialize)(Lookup lookup, int device, Data* data);
  void (*finalize)(Data* data);
  Data data;
};

inline constexpr int kParallelBegin = 3, kParallelEnd = 4, kTaskCreate = 5, kTaskSchedule = 6, kImplicitTask = 7,
                     kSyncRegion = 23, kMutexAcquire = 26, kMutexAcquired = 27, kNestLock = 28;  // callbacks
inline constexpr int kScopeBegin = 1;                                                            // endpoints
inline constexpr int kBarrier = 1, kExplicitBarrier = 3, kTaskwait = 5, kTaskgroup = 6,
                     kReduction = 7;                    // sync regions; all others are barriers, too
inline constexpr int kTestLock = 2, kTestNestLock = 4;  // mutexes
inline constexpr unsigned kLeague = 0x40000000;  // flag of a parallel region: its threads begin teams of their own
inline constexpr int kInitialTask = 0x1, kExplicitTask = 0x4, kUndeferredTask = 0x8000000;

}  // namespace ompt

namespace {

// The number of a task tells if it waits to begin, and the activity of the thread when it went to another task.
constexpr std::uint64_t kQueued = 1, kActivityUnit = 2;

// One thread of a team is at one barrier at a time.
thread_local std::optional<unsigned> barrier __attribute__((tls_model("initial-exec")));

// The barrier at the end of a team, which ends without a parallel region: its threads wait until Join.
void OnSyncRegion(int kind, int endpoint, ompt::Data* parallel, ompt::Data*, const void*) {
  if (kind == ompt::kReduction) return;
  const bool is_barrier = kind != ompt::kTaskwait && kind != ompt::kTaskgroup;
  if (endpoint == ompt::kScopeBegin) {
    if (is_barrier) barrier = EnterBarrier(kind != ompt::kBarrier && kind != ompt::kExplicitBarrier);
    if (!is_barrier) EnterWait();
  } else if (parallel != nullptr) {
    if (is_barrier) LeaveBarrier(barrier);
    if (!is_barrier) LeaveActivity(Activity::kUseful);
  }
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

int Initialize(ompt::Lookup lookup, int, ompt::Data*) {
  const auto set = reinterpret_cast<int (*)(int which, ompt::Function callback)>(lookup("ompt_set_callback"));
  if (set == nullptr) return 0;
  const auto add = [&](int which, auto callback) { set(which, reinterpret_cast<ompt::Function>(+callback)); };
  // On the encountering thread. Leagues of teams make no team of threads.
  add(ompt::kParallelBegin,
      [](ompt::Data*, const void*, ompt::Data* parallel, unsigned requested, int flags, const void*) {
        const bool is_league = (static_cast<unsigned>(flags) & ompt::kLeague) != 0;
        parallel->pointer = is_league ? nullptr : Fork(requested);
      });
  add(ompt::kParallelEnd, [](ompt::Data* parallel, ompt::Data*, int, const void*) {
    if (parallel != nullptr) Join(static_cast<Team*>(parallel->pointer));
  });
  // A worker is told of the end of its task when it is needed again, if at all: Join does not rely on it.
  add(ompt::kImplicitTask,
      [](int endpoint, ompt::Data* parallel, ompt::Data*, unsigned threads, unsigned index, int flags) {
        if (endpoint != ompt::kScopeBegin || parallel == nullptr || (flags & ompt::kInitialTask) != 0) return;
        Begin(static_cast<Team*>(parallel->pointer), index, threads);
      });
  add(ompt::kSyncRegion, OnSyncRegion);
  add(ompt::kTaskCreate, [](ompt::Data*, const void*, ompt::Data* task, int flags, int, const void*) {
    if ((flags & ompt::kExplicitTask) == 0 || (flags & ompt::kUndeferredTask) != 0) return;
    task->value = kQueued;
    QueueTask();
  });
  add(ompt::kTaskSchedule, OnTaskSchedule);
  add(ompt::kMutexAcquire, [](int kind, unsigned, unsigned, std::uint64_t, const void*) {
    if (IsForLock(kind)) EnterActivity(Activity::kScheduling);
  });
  add(ompt::kMutexAcquired, [](int kind, std::uint64_t, const void*) {
    if (IsForLock(kind)) LeaveActivity(Activity::kUseful);
  });
  add(ompt::kNestLock, [](int endpoint, std::uint64_t, const void*) {  // that the thread has already
    if (endpoint == ompt::kScopeBegin) LeaveActivity(Activity::kUseful);
  });
  return 1;
}

}  // namespace
}  // namespace farscale::collect

using namespace farscale::collect;

// One tool is all that there can be: one that the user has chosen goes first.
extern "C" FARSCALE_EXPORT ompt::StartTool* ompt_start_tool(unsigned version, const char* runtime) {
  static ompt::StartTool own = {Initialize, [](ompt::Data*) {}, {}};
  const auto next = reinterpret_cast<decltype(&ompt_start_tool)>(FindRealSymbol("ompt_start_tool"));
  const bool is_tool = next != nullptr && !IsLlvmOpenMp(reinterpret_cast<const void*>(next));
  ompt::StartTool* other = is_tool ? next(version, runtime) : nullptr;
  if (other != nullptr) return other;
  return Variable("OMP_TOOL_LIBRARIES").empty() ? &own : nullptr;
}
