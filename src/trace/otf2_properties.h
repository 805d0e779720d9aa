// Properties of archives that say what is not in them, as farscale trace and farscale cut write them.
#pragma once

namespace farscale {

// MPI calls of other threads than the main ones, which were not recorded. collect/trace_archive.cc has it, too.
inline constexpr const char* kPropertyOfOtherThreads = "FARSCALE::CALLS_OF_OTHER_THREADS";
// Of a part of a run: the MPI calls of all threads of the whole run, in which those above were counted.
inline constexpr const char* kPropertyOfAllThreads = "FARSCALE::CALLS_OF_ALL_THREADS";

}  // namespace farscale
