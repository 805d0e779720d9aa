// The measured run from MPI_Init to MPI_Finalize.
#pragma once

#include <mpi.h>

#include <string>
#include "collect/page.h"

namespace farscale::collect {

// After MPI_Init has returned, and before MPI_Finalize is called.
void BeginRun();
void EndRun();

// The name of this node, cut to what a page holds; FARSCALE_NODE, where containers of one node have names of their own.
std::string HostName();

// A communicator like MPI_COMM_WORLD that is farscale's own. Made when it is first needed, by all ranks at once: from
// the first communicator that is made on, Open MPI looks after non-blocking collectives in every wait, which took 2 %
// of a loop of short calls.
MPI_Comm OwnWorld();

// Regions that the program marks itself.

// Codes of farscale.h.
int StartRegion(const char* name);
int StopRegion(const char* name);

// The same without a trace knowing it.
void OpenQuietly(const char* name);
void CloseQuietly(const char* name);

// MPI_Pcontrol(0) and (1): what the process does in between counts for no region, nor for the run. Other threads than
// the main one have no say. Returns whether it was the other way before.
bool SwitchMeasuring(bool on);

// Region 0, which is open as long as the run.
void OpenWholeRun(Page& fresh);
void SetWholeRunStart();
// Ends all that is open; regions that the program left open keep saying so.
void CloseRegions();

// Programs that end without MPI_Finalize: by exit, by MPI_Abort, by a signal, or killed. A process in that state can do
// little by itself, and a killed one nothing: it marks its page, if it can, and the guard (measure/measured_run.h) does
// the rest.

// Before the MPI is initialised, which may take signals for itself: which ones the program has left to the system.
void NoteSignals();

// Runs `farscale measure` with two more words and waits until it ends. `file` stays open in it. Returns its exit code,
// 127 if it cannot be run.
int RunFarscale(const std::string& option, const std::string& value, int file = -1);

// Watches the signals that end the program. A signal that the program itself handles or ignores is left alone, so
// whether it survives one never depends on us. An overflow of the stack is one of them on threads that have another
// stack for handlers; the first two functions give the calling thread one. Errors of MPI end a program that has not
// said otherwise, too: the rank and the function are noted first; then the MPI ends it as it would have.
void WatchEndings();
void GiveHandlersAStack();
void StopWatchingEndings();

// Marks the page. Only the first call of a process does something.
void MarkTermination(Termination termination, int signal);

// At exit, after all that the program itself does then.
void WatchExit();

}  // namespace farscale::collect
