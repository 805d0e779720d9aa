// The program that farscale has started, which may be a script: says at its end that nothing was measured, if neither
// it nor what it has started came to MPI_Init. The launcher leaves a file that the first run takes away.
#pragma once

#include <string>

namespace farscale::collect {

// For the launcher: the file, made for this process, which is about to become the program; empty where there is no
// room.
std::string MarkLaunch();

// For the library: when it is loaded, and when a run begins.
void WatchLaunch();
void ForgetLaunch();

// Whether a launch's file is left of a process that is gone.
bool IsStaleLaunch(const std::string& path);

}  // namespace farscale::collect
