// Starting a program with the preload library of its MPI, which is how farscale measures and traces.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace farscale {

struct Launch {
  std::vector<std::string> command;              // program and arguments
  std::string mpi;                               // "openmpi"; empty: found out
  std::map<std::string, std::string> variables;  // FARSCALE_MODE and the like
};

// Takes the program and its arguments off a command line of measure or trace: all from the first word that is neither
// an option of farscale nor the value of one. Leaves other command lines alone.
std::vector<std::string> TakeProgram(std::vector<std::string>& arguments);

// The word of a command line that is the subcommand; empty without one.
std::string CommandOf(const std::vector<std::string>& arguments);

// Becomes the program: returns only by throwing, a usage error that says what is wrong with the command or the MPI.
[[noreturn]] void BecomeProgram(const Launch& launch);

// The shared libraries that an ELF file names as needed; empty for anything else, such as a script.
std::vector<std::string> NeededLibraries(const std::filesystem::path& file);

// The MPI that one of these libraries belongs to: "openmpi", "mpich", or nothing.
std::optional<std::string> MpiOfLibraries(const std::vector<std::string>& libraries);

// The MPI whose mpirun has started this process, by what it leaves in the environment.
std::optional<std::string> MpiOfLauncher();

// As far as the launcher says which rank this is: whether it is the first one, or on the first one's node. What is
// wrong here is then wrong there.
bool IsBesideFirstRank();
// True if this is a rank other than the first one.
bool IsFurtherRank();
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

}  // namespace farscale
