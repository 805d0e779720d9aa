// Results of measured runs from the pages of their ranks: of a run that came to MPI_Finalize, from what rank 0 hands
// over; of any other, by the guard. This is one process a node that sleeps until the job's ranks there have ended, and
// has mapped their pages.
#pragma once

#include <string>

namespace farscale {

// Writes the results and the summary of a dump [docs/file-formats.md, dumps]. False where the results could not be
// written, which is said. Throws an input error where it is none.
bool ReportDump(const std::string& path);

// Returns at once, in a process of its own, and in the guard when all is done.
void GuardJob(const std::string& job);

}  // namespace farscale
