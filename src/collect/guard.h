// The guard of a measured job: one process a node that sleeps until the job's ranks there have ended. Where they ended
// without MPI_Finalize, it writes the results from their pages, which it has mapped.
#pragma once

#include <string>

namespace farscale::collect {

// Returns at once, in a process of its own, and in the guard when all is done. `generator` is this program.
void GuardJob(const std::string& job, const std::string& generator);

}  // namespace farscale::collect
