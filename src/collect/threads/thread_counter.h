// Instructions and cycles of a thread of OpenMP teams, in some of the states that it is in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collect/clock.h"
#include "collect/threads/counters.h"
#include "collect/page.h"

namespace farscale::collect {

// Used by its own thread, but for `sum`.
class ThreadCounter {
 public:
  // For a worker, which has counters of its own; else it is the main thread's.
  void OpenOwn();
  void CloseOwn() { own_.Close(); }

  // From now on what the thread does counts, or does not.
  void Switch(bool counts) {
    if (counts == counts_) return;
    counts_ = counts;
    const Counts now = Read();
    if (!counts) Add(now);
    begin_ = now;
  }

  // Counts of a worker since it opened its own, whether it counts or not; nothing where it has none.
  Counts CountsNow() { return own_.Read(); }
  bool has_own() const { return own_.is_open(); }

  // Read by others at any time: of all times that have ended.
  Counts sum() const;

 private:
  Counts Read();
  void Add(const Counts& end);

  CounterPair own_;
  bool is_worker_ = false, counts_ = false;
  Counts begin_, sum_;
};

// The main thread's, which is 0, counts while it does not compute; others while they compute. By the numbers of their
// records.
ThreadCounter& CounterOfThread(std::size_t thread);

// Counts to be added to those of the main thread outside MPI so that they are those of all threads that compute:
// less than nothing where it waits longer than others compute.
Counts CountsOfThreads();

// True if all threads that computed in teams were counted.
bool AreAllThreadsCounted();

// Threads of this process that no OpenMP library tells of: of other compilers, of static libraries, or the program's
// own. What they do is not known; that they compute is, by their CPU time.

// Before the MPI is initialised: threads that it starts by itself are none of the program's.
void NoteThreadsBeforeMpi();
// When the run begins: what its threads have used before.
void NoteThreads();

// When it has ended, from the CPU time of the whole run: how many of them computed, and for how long.
void CountOtherThreads(Page& own);
// The same where a signal ends it, and nothing else can be asked for: at least as many as their time takes.
void CountOtherThreadsTogether(Page& own);

}  // namespace farscale::collect
