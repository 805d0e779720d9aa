// The OpenMP teams of this process and what their threads do: useful work, the runtime, or waiting for others. The
// wrappers of libgomp (gomp.cc) and the tool of libomp (ompt.cc) report what happens; both end here.
//
// A thread that has no more work in its team waits until the last of the team has none, and the team ends a little
// later: the first is load imbalance, the second scheduling. When the last one was done is known only to the thread
// that ends the team, which therefore adds both for all others. Functions do nothing before a run begins, and on
// threads that there is no room for.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "collect/clock.h"
#include "collect/page.h"

namespace farscale::collect {

// The place of a thread before it entered a team of its own.
struct TeamPlace {
  struct Team* team = nullptr;
  unsigned index = 0;
  Activity activity = Activity::kOutside;
};

// Since when a thread has had no work; the clock of MPI is how long the main thread has been in MPI.
struct Idle {
  Tick since = 0;
  std::uint64_t mpi_clock = 0;
  std::size_t thread = 0;  // number of its record
};

struct Team {
  explicit Team(unsigned capacity) : idle(capacity) {}

  Tick forked = 0;
  std::uint64_t mpi_clock_at_fork = 0;
  TeamPlace outer;  // place of the thread that forked it
  bool is_recorded = false;
  unsigned added = 0;  // threads that are active because of this team
  std::atomic<unsigned> size = 0;
  std::atomic<unsigned> arrivals = 0;       // at barriers
  std::atomic<Tick> last_arrivals[4] = {};  // barrier i at i % 4: threads are at most one barrier apart
  std::atomic<Tick> last_task = 0;          // when one ended last
  std::atomic<int> queued = 0;              // tasks that were created and have not begun
  std::vector<Idle> idle;                   // index: thread number
};

// Makes the calling thread the main one of the page.
void StartTeams();

// A team of at most `capacity` threads is about to be made by the calling thread; nullptr where it is not measured.
Team* Fork(unsigned capacity);
// On every thread of the team, the one that forked it included.
void Begin(Team* team, unsigned index, unsigned size);
// The thread has run its part, and waits for the others.
void EndPart();
// On the thread that forked it, when all others are done.
void Join(Team* team);

// A barrier that all threads of the team take part in. Leave gets what Enter returned.
struct BarrierVisit {
  bool is_in_team = false;
  unsigned number = 0;
};
BarrierVisit EnterBarrier(bool is_implicit);
void LeaveBarrier(const BarrierVisit& visit);

// Waiting for tasks, or for one thread of the team.
void EnterWait();
void LeaveWait();

// The runtime works, or the thread waits for a lock or its turn. Leave gets what Enter returned.
Activity EnterRuntime();
void LeaveRuntime(Activity before);

// A task is put into the queue of the team. It begins, in the middle of whatever the thread does, which it returns, and
// ends, to go on with that.
void QueueTask();
Activity BeginTask(bool was_queued);
void EndTask(Activity before);

// True if a thread, by the kernel's number, has been in a team.
bool IsOfTeams(int thread);

// Calls of MPI by threads other than the main one.
void EnterMpiInTeam(Tick now);
void LeaveMpiInTeam(Tick now);
// Calls to the runtimes of devices, likewise.
void EnterDeviceInTeam(Tick now);
void LeaveDeviceInTeam(Tick now);

// A function of the OpenMP library that the program uses, also where it was loaded later, as by Python; nullptr if
// there is none.
void* FindInOpenMp(const char* name);
// True for functions of LLVM's or Intel's library, which has an interface for tools.
bool IsLlvmOpenMp(const void* function);

}  // namespace farscale::collect
