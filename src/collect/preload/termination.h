// Programs that end without MPI_Finalize: by exit, by MPI_Abort, by a signal, or killed. A process in that state can do
// little by itself, and a killed one nothing: it marks its page, if it can, and the guard (guard.h) does the rest.
#pragma once

#include "collect/page.h"

namespace farscale::collect {

// Before the MPI is initialised, which may take signals for itself: which ones the program has left to the system.
void NoteSignals();

// Starts the guard of this node's ranks. All their pages have to be there.
void StartGuard(const Page& fresh);

// Watches the signals that end the program. A signal that the program itself handles or ignores is left alone, so
// whether it survives one never depends on us. An overflow of the stack is one of them on threads that have another
// stack for handlers; both functions give the calling thread one.
void WatchSignals();
void GiveHandlersAStack();
void StopWatchingSignals();

// Marks the page. Only the first call of a process does something.
void MarkTermination(Termination termination, int signal);

// Errors of MPI end a program that has not said otherwise. The rank and the function are noted first; then the MPI ends
// it as it would have. StopWatchingErrors gives back what was there.
void WatchErrors();
void StopWatchingErrors();

// At exit, after all that the program itself does then.
void WatchExit();

}  // namespace farscale::collect
