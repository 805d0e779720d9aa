// Programs that end without MPI_Finalize: by exit, by MPI_Abort, by a signal. Then the launcher's program reads the
// pages of the node's ranks and writes the results, since a process in that state can do little by itself.
#pragma once

#include "collect/page.h"

namespace farscale::collect {

// Signals that the program itself handles or ignores need not end it, and stay its own. When this library is loaded,
// those of the MPI have set their handlers and the program has not begun; before MPI_Init it has set its own.
void RememberHandlersOfLibraries();
void RememberHandlersOfProgram();

// Takes what will be needed then, and watches signals and exit.
void PrepareForBadEnds(const Page& fresh);
void ForgetBadEnds();

// Marks the page and has the results written. Only the first call of a process does something.
void EndBadly(Ending ending, int signal);

}  // namespace farscale::collect
