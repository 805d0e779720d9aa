// The measured run from MPI_Init to MPI_Finalize.
#pragma once

#include <mpi.h>

#include <string>

namespace farscale::collect {

// After MPI_Init has returned, and before MPI_Finalize is called.
void BeginRun();
void EndRun();

// Of this node, cut to what a page holds; FARSCALE_NODE, where containers of one node have names of their own.
std::string HostName();

// A communicator like MPI_COMM_WORLD that is farscale's own. Made when it is first needed, by all ranks at once: from
// the first communicator that is made on, Open MPI looks after non-blocking collectives in every wait, which took 2 %
// of a loop of short calls.
MPI_Comm OwnWorld();

}  // namespace farscale::collect
