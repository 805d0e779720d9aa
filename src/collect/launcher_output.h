// The standard error of the mpirun that has started a process. Launchers stop to forward what processes write as soon
// as they end the job because of one of them, which is when there is something to say.
#pragma once

namespace farscale::collect {

// A descriptor of it, or -1: of another node's mpirun, for one.
int LauncherOutput(int pid);

}  // namespace farscale::collect
