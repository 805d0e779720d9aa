// Wrappers of the functions of GCC's libgomp that compiled programs call: OpenMP of GCC has no interface for tools.
// Programs of GCC that run with LLVM's libomp, which has the same functions, are measured by its tool (ompt.cc).
//
// Not wrapped, since what they do takes no time or their parameters cannot be passed on: ends of critical sections and
// loops without a barrier, cancellation, GOMP_doacross_wait, target regions; and the pairs of functions for parallel
// regions that GCC before 4.9 called.

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "collect/preload/call.h"
#include "collect/threads/team.h"

namespace farscale::collect {
namespace {

template <typename Function>
struct Real {
  explicit Real(const char* name)
      : function(reinterpret_cast<Function*>(FindInOpenMp(name))),
        is_measured(!IsLlvmOpenMp(reinterpret_cast<const void*>(function))) {}

  Function* function;
  bool is_measured;
};

// The state of a thread while the function behind a wrapper runs.
template <auto enter, auto leave>
struct In {
  explicit In(bool is_measured) {
    if (is_measured) before = enter();
  }
  ~In() { leave(before); }
  decltype(enter()) before{};
};

Activity EnterRuntime() { return EnterActivity(Activity::kScheduling); }
std::optional<unsigned> EnterExplicitBarrier() { return EnterBarrier(false); }
std::optional<unsigned> EnterImplicitBarrier() { return EnterBarrier(true); }

using InRuntime = In<EnterRuntime, LeaveActivity>;
using InWait = In<EnterWait, LeaveActivity>;
using InBarrier = In<EnterExplicitBarrier, LeaveBarrier>;
using InImplicitBarrier = In<EnterImplicitBarrier, LeaveBarrier>;

using PartFunction = void (*)(void*);

// The threads of a team run this in place of the program's function. libgomp reads the first word of the data of
// reductions.
struct Part {
  void* first_word;
  PartFunction function;
  void* data;
  Team* team;
};

int (*FindQuery(const char* name))() { return reinterpret_cast<int (*)()>(FindInOpenMp(name)); }

void RunPart(void* data) {
  static const auto thread_number = FindQuery("omp_get_thread_num"), threads = FindQuery("omp_get_num_threads");
  const Part& part = *static_cast<Part*>(data);
  Begin(part.team, static_cast<unsigned>(thread_number()), static_cast<unsigned>(threads()));
  part.function(part.data);
  EndPart();
}

unsigned MostThreads() {
  static const auto most_threads = FindQuery("omp_get_max_threads");
  return static_cast<unsigned>(most_threads());
}

// Calls `parallel` with what a team is to run, in place of the program's function and data.
template <typename Parallel>
void RunParallel(bool is_measured, PartFunction function, void* data, unsigned threads, Parallel parallel) {
  Part part{nullptr, function, data, nullptr};
  if (is_measured) part.team = Fork(threads > 0 ? threads : MostThreads());
  if (part.team == nullptr) {
    parallel(function, data);
    return;
  }
  parallel(RunPart, static_cast<void*>(&part));
  Join(part.team);
}

// Tasks are given to libgomp as functions of ours, one for each function of the program's tasks: so nothing of their
// data, which libgomp copies in several ways, has to be known.
constexpr std::size_t kMostTaskFunctions = 256;  // chosen: few programs have so many places that make tasks

template <bool is_of_loop>
std::array<std::atomic<PartFunction>, kMostTaskFunctions> task_functions;

template <bool is_of_loop, std::size_t index>
void RunTask(void* data) {
  const Activity before = BeginTask(!is_of_loop);
  task_functions<is_of_loop>[index].load(std::memory_order_relaxed)(data);
  // Whoever makes the tasks of a loop waits for them in the same call.
  EndTask(is_of_loop && before == Activity::kScheduling ? Activity::kWaiting : before);
}

template <bool is_of_loop, std::size_t... indices>
constexpr std::array<PartFunction, sizeof...(indices)> TaskRunners(std::index_sequence<indices...>) {
  return {RunTask<is_of_loop, indices>...};
}

// Our function for one of a task, or that itself where there is no room left: then its time is not known to be useful.
template <bool is_of_loop>
PartFunction RunnerOf(PartFunction function) {
  if (function == nullptr) return function;
  static constexpr auto kRunners = TaskRunners<is_of_loop>(std::make_index_sequence<kMostTaskFunctions>());
  const std::size_t first = (reinterpret_cast<std::uintptr_t>(function) >> 4U) % kMostTaskFunctions;
  for (std::size_t i = 0; i < kMostTaskFunctions; ++i) {
    const std::size_t place = (first + i) % kMostTaskFunctions;
    PartFunction there = task_functions<is_of_loop>[place].load(std::memory_order_relaxed);
    if (there == nullptr) task_functions<is_of_loop>[place].compare_exchange_strong(there, function);
    if (there == nullptr || there == function) return kRunners[place];
  }
  return function;
}

template <typename Function, typename... Rest>
void RunTaskLoop(const Real<Function>& real, PartFunction function, Rest... rest) {
  const InRuntime in(real.is_measured);
  real.function(real.is_measured ? RunnerOf<true>(function) : function, rest...);
}

}  // namespace

void* FindInOpenMp(const char* name) {
  void* function = FindRealSymbol(name);
  if (function != nullptr) return function;
  for (const std::string& path : LoadedLibraries({"libgomp", "libomp", "libiomp"})) {
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    function = dlsym(library, name);
    dlclose(library);
    if (function != nullptr) return function;
  }
  return nullptr;
}

bool IsLlvmOpenMp(const void* function) {
  Dl_info place{};
  if (function == nullptr || dladdr(function, &place) == 0) return false;
  void* library = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  const bool is_llvm = dlsym(library, "__kmpc_fork_call") != nullptr;
  dlclose(library);
  return is_llvm;
}

}  // namespace farscale::collect

using namespace farscale::collect;

// A function of libgomp that is called while `scope` says what the thread does.
#define FARSCALE_GOMP(scope, result, name, parameters, arguments) \
  FARSCALE_EXPORT result name parameters {                        \
    static const Real<result parameters> real(#name);             \
    const scope in(real.is_measured);                             \
    return real.function arguments;                               \
  }

// One that makes a team, with more parameters behind those that all have.
#define FARSCALE_GOMP_PARALLEL(name, parameters, arguments)                                                           \
  FARSCALE_EXPORT void name(PartFunction function, void* data, unsigned threads, FARSCALE_UNPACK parameters) {        \
    static const Real<void(PartFunction, void*, unsigned, FARSCALE_UNPACK parameters)> real(#name);                   \
    RunParallel(real.is_measured, function, data, threads,                                                            \
                [&](PartFunction run, void* with) { real.function(run, with, threads, FARSCALE_UNPACK arguments); }); \
  }
#define FARSCALE_UNPACK(...) __VA_ARGS__

#define FARSCALE_GOMP_LOOP_WITH_CHUNK(name)                                                                   \
  FARSCALE_GOMP(InRuntime, bool, GOMP_loop_##name, (long a, long b, long c, long d, long* e, long* f),        \
                (a, b, c, d, e, f))                                                                           \
  FARSCALE_GOMP(InRuntime, bool, GOMP_loop_ull_##name, (bool up, Ull a, Ull b, Ull c, Ull d, Ull* e, Ull* f), \
                (up, a, b, c, d, e, f))

#define FARSCALE_GOMP_LOOP(name)                                                                                \
  FARSCALE_GOMP(InRuntime, bool, GOMP_loop_##name, (long a, long b, long c, long* d, long* e), (a, b, c, d, e)) \
  FARSCALE_GOMP(InRuntime, bool, GOMP_loop_ull_##name, (bool up, Ull a, Ull b, Ull c, Ull* d, Ull* e),          \
                (up, a, b, c, d, e))

#define FARSCALE_GOMP_LOOP_WITH_KIND(name)                                                                  \
  FARSCALE_GOMP(InRuntime, bool, GOMP_loop_##name,                                                          \
                (long a, long b, long c, long d, long e, long* f, long* g, std::uintptr_t* h, void** i),    \
                (a, b, c, d, e, f, g, h, i))                                                                \
  FARSCALE_GOMP(InRuntime, bool, GOMP_loop_ull_##name,                                                      \
                (bool up, Ull a, Ull b, Ull c, long d, Ull e, Ull* f, Ull* g, std::uintptr_t* h, void** i), \
                (up, a, b, c, d, e, f, g, h, i))

#define FARSCALE_GOMP_NEXT(name)                                                      \
  FARSCALE_GOMP(InRuntime, bool, GOMP_loop_##name##_next, (long* a, long* b), (a, b)) \
  FARSCALE_GOMP(InRuntime, bool, GOMP_loop_ull_##name##_next, (Ull * a, Ull * b), (a, b))

extern "C" {

using Ull = unsigned long long;

FARSCALE_GOMP_PARALLEL(GOMP_parallel, (unsigned flags), (flags))
FARSCALE_GOMP_PARALLEL(GOMP_parallel_sections, (unsigned count, unsigned flags), (count, flags))
FARSCALE_GOMP_PARALLEL(GOMP_parallel_loop_static, (long a, long b, long c, long d, unsigned flags), (a, b, c, d, flags))
FARSCALE_GOMP_PARALLEL(GOMP_parallel_loop_dynamic, (long a, long b, long c, long d, unsigned flags),
                       (a, b, c, d, flags))
FARSCALE_GOMP_PARALLEL(GOMP_parallel_loop_guided, (long a, long b, long c, long d, unsigned flags), (a, b, c, d, flags))
FARSCALE_GOMP_PARALLEL(GOMP_parallel_loop_nonmonotonic_dynamic, (long a, long b, long c, long d, unsigned flags),
                       (a, b, c, d, flags))
FARSCALE_GOMP_PARALLEL(GOMP_parallel_loop_nonmonotonic_guided, (long a, long b, long c, long d, unsigned flags),
                       (a, b, c, d, flags))
FARSCALE_GOMP_PARALLEL(GOMP_parallel_loop_runtime, (long a, long b, long c, unsigned flags), (a, b, c, flags))
FARSCALE_GOMP_PARALLEL(GOMP_parallel_loop_nonmonotonic_runtime, (long a, long b, long c, unsigned flags),
                       (a, b, c, flags))
FARSCALE_GOMP_PARALLEL(GOMP_parallel_loop_maybe_nonmonotonic_runtime, (long a, long b, long c, unsigned flags),
                       (a, b, c, flags))

FARSCALE_EXPORT unsigned GOMP_parallel_reductions(PartFunction function, void* data, unsigned threads, unsigned flags) {
  static const Real<unsigned(PartFunction, void*, unsigned, unsigned)> real("GOMP_parallel_reductions");
  unsigned result = 0;
  RunParallel(real.is_measured, function, data, threads, [&](PartFunction run, void* with) {
    if (with != data) static_cast<Part*>(with)->first_word = *static_cast<void**>(data);
    result = real.function(run, with, threads, flags);
  });
  return result;
}

FARSCALE_GOMP(InBarrier, void, GOMP_barrier, (), ())
FARSCALE_GOMP(InBarrier, bool, GOMP_barrier_cancel, (), ())
FARSCALE_GOMP(InImplicitBarrier, void, GOMP_loop_end, (), ())
FARSCALE_GOMP(InImplicitBarrier, bool, GOMP_loop_end_cancel, (), ())
FARSCALE_GOMP(InImplicitBarrier, void, GOMP_sections_end, (), ())
FARSCALE_GOMP(InImplicitBarrier, bool, GOMP_sections_end_cancel, (), ())
FARSCALE_GOMP(InWait, void*, GOMP_single_copy_start, (), ())
FARSCALE_GOMP(InWait, void, GOMP_single_copy_end, (void* data), (data))
FARSCALE_GOMP(InWait, void, GOMP_workshare_task_reduction_unregister, (bool is_cancelled), (is_cancelled))

FARSCALE_GOMP_LOOP_WITH_CHUNK(static_start)
FARSCALE_GOMP_LOOP_WITH_CHUNK(dynamic_start)
FARSCALE_GOMP_LOOP_WITH_CHUNK(guided_start)
FARSCALE_GOMP_LOOP_WITH_CHUNK(nonmonotonic_dynamic_start)
FARSCALE_GOMP_LOOP_WITH_CHUNK(nonmonotonic_guided_start)
FARSCALE_GOMP_LOOP_WITH_CHUNK(ordered_static_start)
FARSCALE_GOMP_LOOP_WITH_CHUNK(ordered_dynamic_start)
FARSCALE_GOMP_LOOP_WITH_CHUNK(ordered_guided_start)
FARSCALE_GOMP_LOOP(runtime_start)
FARSCALE_GOMP_LOOP(ordered_runtime_start)
FARSCALE_GOMP_LOOP(nonmonotonic_runtime_start)
FARSCALE_GOMP_LOOP(maybe_nonmonotonic_runtime_start)
FARSCALE_GOMP_LOOP_WITH_KIND(start)
FARSCALE_GOMP_LOOP_WITH_KIND(ordered_start)
FARSCALE_GOMP_NEXT(static)
FARSCALE_GOMP_NEXT(dynamic)
FARSCALE_GOMP_NEXT(guided)
FARSCALE_GOMP_NEXT(runtime)
FARSCALE_GOMP_NEXT(nonmonotonic_dynamic)
FARSCALE_GOMP_NEXT(nonmonotonic_guided)
FARSCALE_GOMP_NEXT(nonmonotonic_runtime)
FARSCALE_GOMP_NEXT(maybe_nonmonotonic_runtime)
FARSCALE_GOMP_NEXT(ordered_static)
FARSCALE_GOMP_NEXT(ordered_dynamic)
FARSCALE_GOMP_NEXT(ordered_guided)
FARSCALE_GOMP_NEXT(ordered_runtime)
FARSCALE_GOMP(InRuntime, unsigned, GOMP_sections_start, (unsigned count), (count))
FARSCALE_GOMP(InRuntime, unsigned, GOMP_sections2_start, (unsigned count, std::uintptr_t* reductions, void** memory),
              (count, reductions, memory))
FARSCALE_GOMP(InRuntime, unsigned, GOMP_sections_next, (), ())
FARSCALE_GOMP(InRuntime, bool, GOMP_single_start, (), ())

FARSCALE_GOMP(InRuntime, void, GOMP_critical_start, (), ())
FARSCALE_GOMP(InRuntime, void, GOMP_critical_name_start, (void** lock), (lock))
FARSCALE_GOMP(InRuntime, void, GOMP_atomic_start, (), ())
FARSCALE_GOMP(InRuntime, void, GOMP_ordered_start, (), ())
FARSCALE_GOMP(InRuntime, void, omp_set_lock, (void* lock), (lock))
FARSCALE_GOMP(InRuntime, void, omp_set_lock_, (void* lock), (lock))
FARSCALE_GOMP(InRuntime, void, omp_set_nest_lock, (void* lock), (lock))
FARSCALE_GOMP(InRuntime, void, omp_set_nest_lock_, (void* lock), (lock))

FARSCALE_EXPORT void GOMP_task(PartFunction function, void* data, void (*copy)(void*, void*), long size, long alignment,
                               bool is_deferred, unsigned flags, void** depend, int priority, void* detach) {
  static const Real<decltype(GOMP_task)> real("GOMP_task");
  const PartFunction runner = real.is_measured ? RunnerOf<false>(function) : function;
  const InRuntime in(real.is_measured);
  if (runner != function) QueueTask();
  real.function(runner, data, copy, size, alignment, is_deferred, flags, depend, priority, detach);
}

FARSCALE_EXPORT void GOMP_taskloop(PartFunction function, void* data, void (*copy)(void*, void*), long size,
                                   long alignment, unsigned flags, unsigned long tasks, int priority, long begin,
                                   long end, long step) {
  static const Real<decltype(GOMP_taskloop)> real("GOMP_taskloop");
  RunTaskLoop(real, function, data, copy, size, alignment, flags, tasks, priority, begin, end, step);
}

FARSCALE_EXPORT void GOMP_taskloop_ull(PartFunction function, void* data, void (*copy)(void*, void*), long size,
                                       long alignment, unsigned flags, unsigned long tasks, int priority, Ull begin,
                                       Ull end, Ull step) {
  static const Real<decltype(GOMP_taskloop_ull)> real("GOMP_taskloop_ull");
  RunTaskLoop(real, function, data, copy, size, alignment, flags, tasks, priority, begin, end, step);
}

FARSCALE_GOMP(InWait, void, GOMP_taskwait, (), ())
FARSCALE_GOMP(InWait, void, GOMP_taskwait_depend, (void** depend), (depend))
FARSCALE_GOMP(InWait, void, GOMP_taskgroup_end, (), ())
FARSCALE_GOMP(InWait, void, GOMP_taskyield, (), ())

}  // extern "C"
