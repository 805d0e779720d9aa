// What a measured program starts by MPI_Comm_spawn passes through `farscale`, too, as under mpirun: the environment of
// a rank does not reach what is started, the launcher's does.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace farscale::collect {

// One command to start, and what takes its place: `farscale measure ... command arguments`. Stays as it is where
// nothing is measured, where the command is not found as this process would find it, and where `info` says where to
// look for it.
class SpawnedCommand {
 public:
  // `arguments`: as given to MPI_Comm_spawn, or MPI_ARGV_NULL.
  SpawnedCommand(const char* command, char** arguments, MPI_Info info);

  const char* command() const { return command_; }
  char** arguments() { return arguments_; }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
  const char* command_;
  char** arguments_;
};

}  // namespace farscale::collect
