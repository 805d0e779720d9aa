// The OpenMP teams of this process and what their threads do: useful work, the runtime, or waiting for others. The
// wrappers of libgomp (gomp.cc) and the tool of libomp (ompt.cc) report what happens; both end here.
//
// A thread that has no more work in its team waits until the last of the team has none, and the team ends a little
// later: the first is load imbalance, the second scheduling. When the last one was done is known only to the thread
// that ends the team, which therefore adds both for all others. Functions do nothing before a run begins, and on
// threads that there is no room for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "collect/page.h"
#include "collect/threads/counters.h"

namespace farscale::collect {

// Since when a thread has had no work; the clock of MPI is how long the main thread has been in MPI.
struct Idle {
  Tick since = 0;
  std::uint64_t mpi_clock = 0;
  std::size_t thread = 0;  // number of its record
};

// A team. When it has ended, it is kept for another one.
struct Team {
  explicit Team(unsigned capacity) : idle(capacity) {}

  Tick forked = 0;
  std::uint64_t mpi_clock_at_fork = 0;
  // Where the thread that forked it was before.
  Team* outer = nullptr;
  unsigned outer_index = 0;
  Activity outer_activity = Activity::kOutside;
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

// A barrier that all threads of the team take part in. Leave gets what Enter returned: its number, outside of a team
// nothing.
std::optional<unsigned> EnterBarrier(bool is_implicit);
void LeaveBarrier(std::optional<unsigned> number);

// The thread interrupts what it does: the runtime works or lets it wait for a lock or its turn, or it calls MPI or the
// runtime of a device. Leave gets what Enter returned.
Activity EnterActivity(Activity activity);
void LeaveActivity(Activity before);
// The same for waiting for tasks, or for one thread of the team; computation goes on afterwards.
Activity EnterWait();

// A task is put into the queue of the team. It begins, in the middle of whatever the thread does, which it returns, and
// ends, to go on with that.
void QueueTask();
Activity BeginTask(bool was_queued);
void EndTask(Activity before);

// Instructions and cycles of a worker since its counters were opened, by its own thread; nothing where it has none.
std::optional<Counts> CountsOfWorker(std::size_t thread);

// Counts to be added to those of the main thread outside MPI so that they are those of all threads that compute:
// less than nothing where it waits longer than others compute.
Counts CountsOfThreads();

// A function of the OpenMP library that the program uses, also where it was loaded later, as by Python; nullptr if
// there is none.
void* FindInOpenMp(const char* name);
// True for functions of LLVM's or Intel's library, which has an interface for tools.
bool IsLlvmOpenMp(const void* function);

// Threads of this process that no OpenMP library tells of: of other compilers, of static libraries, or the program's
// own. What they do is not known; that they compute is, by their CPU time.

// Before the MPI is initialised: threads that it starts by itself are none of the program's.
void NoteThreadsBeforeMpi();
// When the run begins: what its threads have used before.
void NoteThreads();

// When it has ended, from the CPU time of the whole run: how many of them computed, and for how long; and if all
// threads that computed in teams were counted.
void CountOtherThreads(Page& own);
// The same where a signal ends it, and nothing else can be asked for: at least as many as their time takes.
void CountOtherThreadsTogether(Page& own);

}  // namespace farscale::collect
