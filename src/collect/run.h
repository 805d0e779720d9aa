// The measured run from MPI_Init to MPI_Finalize.
#pragma once

#include <mpi.h>

#include "collect/page.h"

namespace farscale::collect {

// After MPI_Init has returned, and before MPI_Finalize is called.
void BeginRun();
void EndRun();

// Of this node, cut to what a page holds; FARSCALE_NODE, where containers of one node have names of their own.
void GetHostName(char (&name)[kNameBytes]);

// A communicator like MPI_COMM_WORLD that is farscale's own.
MPI_Comm OwnWorld();

// Whether the launcher asked for silence.
bool IsQuiet();

}  // namespace farscale::collect
