// The MPI that this library was built for, and the one that the process uses: scripts hide which one a program is
// linked with, and a library of the wrong one would crash it.
#pragma once

namespace farscale::collect {

// Called when the library is loaded. In a program that is linked with another MPI it does not return: the program is
// started again with the library of its own MPI or, after a sentence, without any.
void CheckMpi(char** arguments);

// Whether MPI_Init is about to initialise this library's own MPI. Not so, after a sentence, where a program such as
// Python has loaded another one later.
bool IsOwnMpi();

}  // namespace farscale::collect
