// Threads of this process that no OpenMP library tells of: of other compilers, of static libraries, or the program's
// own. What they do is not known; that they compute is, by their CPU time.
#pragma once

#include "collect/page.h"

namespace farscale::collect {

// Before the MPI is initialised: threads that it starts by itself are none of the program's.
void NoteThreadsBeforeMpi();
// When the run begins: what its threads have used before.
void NoteThreads();

// When it has ended, from the CPU time of the whole run: how many of them computed, and for how long.
void CountOtherThreads(Page& own);
// The same where a signal ends it, and nothing else can be asked for: at least as many as their time takes.
void CountOtherThreadsTogether(Page& own);

}  // namespace farscale::collect
