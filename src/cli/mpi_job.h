// farscale on several processes of an MPI job: mpirun -n 8 farscale run study.toml.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "parallel/job.h"

namespace farscale {

// What the launcher of an MPI says of this process. Only the first one writes and talks.
struct LaunchedProcess {
  std::string mpi;  // "openmpi"; empty: a process by itself
  bool is_first = true;
  std::uint64_t on_node = 1;  // how many of them share a node, and with it the memory
};

// By itself is a process without a launcher, with one that farscale was not built for, with FARSCALE_MPI=none in its
// environment, and one of the commands measure, trace, watch, site and jobs, which are there for processes of other
// programs.
LaunchedProcess FindLaunchedProcess(const std::string& command);

// Whether processes share the work of a command; of others, the first process does all.
bool SharesWork(const std::string& command);

// Joins the other processes; nothing where there is only one. Throws an input error when the library cannot be loaded.
std::unique_ptr<Job> JoinJob(const LaunchedProcess& process);

// What a process other than the first one does.
void ServeJob(Job& job);

}  // namespace farscale
