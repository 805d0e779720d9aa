// What a measured program starts by MPI_Comm_spawn passes through `farscale`, too, as under mpirun: the environment of
// a rank does not reach what is started, the launcher's does.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "collect/call.h"
#include "collect/text.h"

namespace farscale::collect {
namespace {

// Empty where the key is not there.
std::string InfoValue(MPI_Info info, const char* key) {
  char value[MPI_MAX_INFO_VAL + 1] = {};
  int is_there = 0;
  if (info != MPI_INFO_NULL) PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &is_there);
  return is_there != 0 ? value : "";
}

bool IsFound(const std::string& command, const std::string& folder) {
  if (command.find('/') != std::string::npos) {
    const bool is_there = command[0] == '/' || folder.empty();
    return access((is_there ? command : folder + "/" + command).c_str(), X_OK) == 0;
  }
  const std::vector<std::string> folders = Split(Variable("PATH") + ":", ":");
  return std::ranges::any_of(folders, [&](const std::string& path) {
    return access(((path.empty() ? "." : path) + "/" + command).c_str(), X_OK) == 0;
  });
}

// What this process was started with. Results go beside its own.
std::vector<std::string> LauncherArguments() {
  std::vector<std::string> words;
  if (IsSet("FARSCALE_QUIET")) words.emplace_back("--quiet");
  words.insert(words.end(), {Variable("FARSCALE_MODE"), "--mpi", FARSCALE_MPI_NAME, "-o", page->output, "--threads",
                             std::to_string(page->threads > 0 ? page->threads : 1)});
  if (IsSet("FARSCALE_IDEAL")) words.emplace_back("--ideal");
  for (const std::string& region : Split(Variable("FARSCALE_ONLY"), "\n"))
    words.insert(words.end(), {"--only", region});
  return words;
}

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
  std::vector<std::string> command_line_;
  std::vector<char*> pointers_;
  const char* command_;
  char** arguments_;
};

SpawnedCommand::SpawnedCommand(const char* command, char** arguments, MPI_Info info)
    : command_(command), arguments_(arguments) {
  const char* launcher = std::getenv("FARSCALE_PROGRAM");
  if (launcher == nullptr || command == nullptr || !IsMeasuring()) return;
  const std::string mode = Variable("FARSCALE_MODE");
  if (mode != "measure" && mode != "trace") return;
  if (!InfoValue(info, "path").empty() || !IsFound(command, InfoValue(info, "wdir"))) return;
  const std::string name = std::string(command).substr(std::string(command).rfind('/') + 1);
  if (name == "farscale") return;
  command_line_ = LauncherArguments();
  command_line_.emplace_back(command);
  for (char** word = arguments; word != MPI_ARGV_NULL && *word != nullptr; ++word) command_line_.emplace_back(*word);
  for (std::string& word : command_line_) pointers_.push_back(word.data());
  pointers_.push_back(nullptr);
  command_ = launcher;
  arguments_ = pointers_.data();
}

int Spawn(decltype(real.MPI_Comm_spawn) spawn, const char* command, char* argv[], int count, MPI_Info info, int root,
          MPI_Comm in, MPI_Comm* made, int errors[]) {
  const Call call(CallId::kMPI_Comm_spawn);
  int rank = 0;
  PMPI_Comm_rank(in, &rank);
  // Elsewhere the arguments mean nothing.
  if (rank != root) return spawn(command, argv, count, info, root, in, made, errors);
  SpawnedCommand spawned(command, argv, info);
  return spawn(spawned.command(), spawned.arguments(), count, info, root, in, made, errors);
}

int SpawnMultiple(decltype(real.MPI_Comm_spawn_multiple) spawn, int count, char* commands[], char** argvs[],
                  const int counts[], const MPI_Info infos[], int root, MPI_Comm in, MPI_Comm* made, int errors[]) {
  const Call call(CallId::kMPI_Comm_spawn_multiple);
  int rank = 0;
  PMPI_Comm_rank(in, &rank);
  if (rank != root) {
    return spawn(count, commands, argvs, counts, infos, root, in, made, errors);
  }
  std::vector<SpawnedCommand> spawned;
  spawned.reserve(static_cast<std::size_t>(count > 0 ? count : 0));
  std::vector<char*> launched;
  std::vector<char**> arguments;
  for (int i = 0; i < count; ++i) {
    spawned.emplace_back(commands[i], argvs == MPI_ARGVS_NULL ? MPI_ARGV_NULL : argvs[i], infos[i]);
    launched.push_back(const_cast<char*>(spawned.back().command()));
    arguments.push_back(spawned.back().arguments());
  }
  // A command without arguments is a list that ends at once, where others have some.
  char* none[] = {nullptr};
  for (char**& list : arguments) list = list == MPI_ARGV_NULL ? none : list;
  return spawn(count, launched.data(), arguments.data(), counts, infos, root, in, made, errors);
}

}  // namespace
}  // namespace farscale::collect

using namespace farscale::collect;

extern "C" {

FARSCALE_EXPORT int MPI_Comm_spawn(const char* command, char* argv[], int count, MPI_Info info, int root, MPI_Comm in,
                                   MPI_Comm* made, int errors[]) {
  return Spawn(next.MPI_Comm_spawn, command, argv, count, info, root, in, made, errors);
}
FARSCALE_EXPORT int PMPI_Comm_spawn(const char* command, char* argv[], int count, MPI_Info info, int root, MPI_Comm in,
                                    MPI_Comm* made, int errors[]) {
  return Spawn(real.MPI_Comm_spawn, command, argv, count, info, root, in, made, errors);
}

FARSCALE_EXPORT int MPI_Comm_spawn_multiple(int count, char* commands[], char** argvs[], const int counts[],
                                            const MPI_Info infos[], int root, MPI_Comm in, MPI_Comm* made,
                                            int errors[]) {
  return SpawnMultiple(next.MPI_Comm_spawn_multiple, count, commands, argvs, counts, infos, root, in, made, errors);
}
FARSCALE_EXPORT int PMPI_Comm_spawn_multiple(int count, char* commands[], char** argvs[], const int counts[],
                                             const MPI_Info infos[], int root, MPI_Comm in, MPI_Comm* made,
                                             int errors[]) {
  return SpawnMultiple(real.MPI_Comm_spawn_multiple, count, commands, argvs, counts, infos, root, in, made, errors);
}

}  // extern "C"
