// Starting a program with the preload library of its MPI, which is how farscale measures and traces.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parallel/job.h"

namespace farscale {

// Takes the program and its arguments off a command line of measure or trace: all from the first word that is neither
// an option of farscale nor the value of one. Leaves other command lines alone.
std::vector<std::string> TakeProgram(std::vector<std::string>& arguments);

// The word of a command line that is the subcommand; empty without one.
std::string CommandOf(const std::vector<std::string>& arguments);

// Becomes the program of a command, program and arguments, with these variables (FARSCALE_MODE and the like): returns
// only by throwing, a usage error that says what is wrong with the command or the MPI. `mpi`: "openmpi"; empty: found
// out.
[[noreturn]] void BecomeProgram(std::vector<std::string> command, const std::string& mpi,
                                const std::map<std::string, std::string>& variables);

// The shared libraries that an ELF file names as needed; empty for anything else, such as a script.
std::vector<std::string> NeededLibraries(const std::filesystem::path& file);

// The MPI that one of these libraries belongs to: "openmpi", "mpich", or nothing.
std::optional<std::string> MpiOfLibraries(const std::vector<std::string>& libraries);

// The MPI whose mpirun has started this process, by what it leaves in the environment.
std::optional<std::string> MpiOfLauncher();

// As far as the launcher says which rank this is: whether it is the first one, or on the first one's node. What is
// wrong here is then wrong there.
bool IsBesideFirstRank();
// The same, but not the first one: it has nothing to say that the first one does not say.
bool IsRepetition(const std::vector<std::string>& arguments);

// A shared library of farscale by the name of its file; nothing where it was not built.
std::optional<std::filesystem::path> FindLibrary(const std::string& name);

// Variables that name the backends of devices beside this library. Runtimes of devices load them when a program uses
// devices. Tools that the environment names already keep their places.
std::map<std::string, std::string> DeviceVariables(const std::filesystem::path& library);

// The preload library for an MPI, where farscale was built for it.
std::optional<std::filesystem::path> LibraryFor(const std::string& mpi);

// This program's own file.
std::filesystem::path OwnProgram();

// Where measure and trace put their results, checked before the program runs. Both throw an output error that
// says what is in the way.
void CheckResultFile(const std::string& path);
void CheckTraceFolder(const std::string& path);

// farscale on several processes of an MPI job: mpirun -n 8 farscale run study.toml.

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

}  // namespace farscale
