// The hot path: what happens around every MPI call. No locks, no allocation, two reads of the clock.
#pragma once

#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "collect/threads/counters.h"
#include "collect/page.h"
#include "mpi_functions.h"
#define FARSCALE_EXPORT __attribute__((visibility("default")))

namespace farscale::collect {

// Roles of threads. Useful time is that of the main thread, the one that called MPI_Init; calls of the others
// are counted and their time in MPI is summed up by itself.
// kMainSlowly is the main thread where more than reading the clock twice is needed, for counters or a trace.
enum class Role : unsigned char { kUnknown, kMain, kMainSlowly, kOther };

struct ThreadState {
  Tick entered = 0;
  unsigned depth = 0;  // MPI calls within MPI calls; only the outermost counts
  Role role = Role::kUnknown;
  CallId call = CallId::kCount;  // the outermost one, while depth is not 0
  Activity before_mpi = Activity::kOutside;
  bool is_recording = false;  // events of this thread go into a trace
  bool is_followed = false;   // another thread than the main one, whose calls leave no events: see FollowOthers
};

extern constinit thread_local ThreadState this_thread __attribute__((tls_model("initial-exec")));

// The page of this process; before MPI_Init one that is not used.
extern Page* page;

// As the launcher says; true for a program without one.
bool IsFirstRank();

// The functions behind the wrappers are looked up, not linked: the wrappers go by their names, too. `real` are the
// PMPI_ functions of the MPI, for our own messages and for what calls these by name; `next` are the MPI_ functions of
// the tool that is loaded after this library, which ends in the former, and without one those of the MPI.
// FindRealFunctions is generated and fills both.
void* FindRealSymbol(const char* name);
void FindRealFunctions();
// Paths of the libraries of this process whose files are named so, or begin so.
std::vector<std::string> LoadedLibraries(std::initializer_list<std::string_view> names);

// Looks up the name with P; MPIs may lack the one without.
template <typename Function>
void FindFunctions(const char* name, Function& real_function, Function& next_function) {
  real_function = reinterpret_cast<Function>(FindRealSymbol(name));
  next_function = reinterpret_cast<Function>(FindRealSymbol(name + 1));
  if (next_function == nullptr) next_function = real_function;
}

// The rare cases: threads seen for the first time or other than the main one, counters, traces.
void EnterSlowly(CallId id);
void LeaveSlowly(CallId id);

// Written by the main thread alone and read by others at any time.
inline void Store(std::uint64_t& number, std::uint64_t value) { __atomic_store_n(&number, value, __ATOMIC_RELAXED); }

class Call {
 public:
  explicit Call(CallId id) : id_(id) {
    ThreadState& thread = this_thread;
    if (thread.depth++ != 0) return;
    thread.call = id;
    if (thread.role != Role::kMain) [[unlikely]] {
      EnterSlowly(id);
      return;
    }
    Store(page->entered, Now());
  }

  [[gnu::always_inline]] ~Call() {
    ThreadState& thread = this_thread;
    if (--thread.depth != 0) return;
    if (thread.role != Role::kMain) [[unlikely]] {
      LeaveSlowly(id_);
      return;
    }
    Store(page->mpi, page->mpi + (Now() - page->entered));
    Store(page->calls, page->calls + 1);
    Store(page->entered, 0);
  }

  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // True if this call has to leave records in a trace, or ideal clocks.
  bool is_recorded() const { return (this_thread.is_recording || this_thread.is_followed) && this_thread.depth == 1; }

 private:
  const CallId id_;
};

// Sums since the run began. CPU time and preemptions take three system calls, so they are 0 unless asked for.
Sums SumsSoFar(bool with_cpu);

bool IsMeasuring();
bool IsMainThread();

// Requests, communicators and ideal clocks of other threads than the main one are followed from now on, where MPI lets
// them call it: threads of other ranks may wait for what these do.
void FollowOthers();

// Guards what threads that are followed share, as long as the result lives. Costs next to nothing where the program has
// not asked MPI for several threads. Nobody who holds it waits for others.
[[nodiscard]] std::unique_lock<std::recursive_mutex> HoldSharedState();

// Makes `fresh` the page of this process and the calling thread its main thread.
void StartMeasuring(Page* fresh, bool is_slow);
void StopMeasuring();

}  // namespace farscale::collect
