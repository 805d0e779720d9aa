// What is used of OMPT, the interface of OpenMP 5.0 for tools, as its section 4 declares it: compilers other than those
// of LLVM come without the header omp-tools.h.
#pragma once

#include <cstdint>

namespace farscale::collect::ompt {

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

enum Callback : int {
  kParallelBegin = 3,
  kParallelEnd = 4,
  kTaskCreate = 5,
  kTaskSchedule = 6,
  kImplicitTask = 7,
  kSyncRegion = 23,
  kMutexAcquire = 26,
  kMutexAcquired = 27,
  kNestLock = 28,
};

using SetCallback = int (*)(Callback which, Function callback);

enum Endpoint : int { kBegin = 1, kEnd = 2 };

enum SyncRegion : int {
  kBarrier = 1,
  kExplicitBarrier = 3,
  kTaskwait = 5,
  kTaskgroup = 6,
  kReduction = 7
};  // all others are barriers

enum Mutex : int { kTestLock = 2, kTestNestLock = 4 };

inline constexpr unsigned kLeague = 0x40000000;  // flag of a parallel region: its threads begin teams of their own
inline constexpr int kInitialTask = 0x1, kExplicitTask = 0x4, kUndeferredTask = 0x8000000;

}  // namespace farscale::collect::ompt
