// farscale on several processes of an MPI job: mpirun -n 8 farscale run study.toml.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "parallel/job.h"

namespace farscale {

// A process as the launcher of an MPI describes it. Only the first one writes and prints.
struct LaunchedProcess {
  std::string mpi;  // "openmpi"; empty: a process by itself
  bool is_first = true;
  std::uint64_t on_node = 1;  // processes that share the node, and with it the memory
};

// A process is by itself without a launcher, with one that farscale was not built for, with FARSCALE_MPI=none in its
// environment, and one of the commands measure, trace, watch, site and jobs, which are there for processes of other
// programs.
LaunchedProcess FindLaunchedProcess(const std::string& command);

// True if processes share the work of a command; of other commands the first process does all.
bool SharesWork(const std::string& command);

// Joins the other processes; nothing where there is only one. Throws an input error when the library cannot be loaded.
std::unique_ptr<Job> JoinJob(const LaunchedProcess& process);

// Answers the first process until it leaves the job.
void ServeJob(Job& job);

}  // namespace farscale
