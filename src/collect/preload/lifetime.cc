// The wrappers that are written by hand: what begins and ends a run.
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "collect/preload/call.h"
#include "collect/threads/team.h"
#include "collect/page.h"
#include "collect/page_file.h"
#include "collect/preload/run.h"
#include "collect/text.h"
#include "mpi_functions.h"

namespace farscale::collect {
namespace {

// The MPI that this library was built for, and the one that the process uses: scripts hide which one a program is
// linked with, and a library of the wrong one would crash it.
#ifdef OPEN_MPI
constexpr const char* kOwn = "Open MPI";
constexpr const char* kOther = "MPICH";
constexpr const char* kOtherId = "mpich";
#else
constexpr const char* kOwn = "MPICH";
constexpr const char* kOther = "Open MPI";
constexpr const char* kOtherId = "openmpi";
#endif
constexpr bool kOwnIsOpen = kOwn[0] == 'O';

std::string PathOf(const void* address) {
  Dl_info place{};
  return address != nullptr && dladdr(address, &place) != 0 && place.dli_fname != nullptr ? place.dli_fname : "";
}

// MPICH and what descends from it have one interface for programs, Open MPI another one, with symbols of its own.
bool IsOpenMpi(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return kOwnIsOpen;
  const bool has = dlsym(handle, "ompi_mpi_comm_world") != nullptr;
  dlclose(handle);
  return has;
}

// Called when the library is loaded. In a program that is linked with another MPI it does not return: the program is
// started again with the library of its own MPI or, after a message, without any.
void CheckMpi(char** arguments) {
  // The library that the process would get an MPI function from without us.
  const std::string used = PathOf(dlsym(RTLD_NEXT, "PMPI_Init"));
  if (used.empty() || IsOpenMpi(used) == kOwnIsOpen) return;
  const std::string own = PathOf(reinterpret_cast<const void*>(&CheckMpi));
  std::string other = own.substr(0, own.rfind('/') + 1) + "libfarscale-" + kOtherId + ".so";
  if (access(other.c_str(), R_OK) != 0) {
    other.clear();
    if (IsFirstRank()) {
      std::fprintf(stderr, "farscale: %s uses %s, for which farscale was not built: it runs without being measured\n",
                   arguments[0], kOther);
    }
  }
  std::string preload;  // LD_PRELOAD with this library's path replaced, or left out
  for (const std::string& loaded : Split(Variable("LD_PRELOAD"), ": ")) {
    const std::string& path = loaded == own ? other : loaded;
    if (!path.empty()) preload += (preload.empty() ? "" : ":") + path;
  }
  if (preload == Variable("LD_PRELOAD")) return;
  if (preload.empty()) unsetenv("LD_PRELOAD");
  if (!preload.empty()) setenv("LD_PRELOAD", preload.c_str(), 1);
  const auto real_execv = reinterpret_cast<decltype(&execv)>(FindRealSymbol("execv"));  // with what is chosen here
  real_execv("/proc/self/exe", arguments);
}

// True if MPI_Init is about to initialise this library's own MPI. Not so, after a message, where a program such as
// Python has loaded another one later.
bool IsOwnMpi() {
  std::vector<std::string> loaded = LoadedLibraries({"libmpi.so", "libmpich.so"});
  std::erase_if(loaded, [](const std::string& library) { return IsOpenMpi(library) == kOwnIsOpen; });
  if (loaded.empty()) return true;
  std::fprintf(stderr,
               "farscale: the program has loaded %s, the library of %s, but is measured as one of %s: say farscale "
               "measure --mpi %s\n",
               loaded.front().c_str(), kOther, kOwn, kOtherId);
  return false;
}

[[gnu::constructor]] void Load(int, char** arguments, char**) {
  CheckMpi(arguments);
  ChooseClock();
  FindRealFunctions();
  WatchLaunch();
  WatchExit();
}

bool uses_sessions = false;
bool has_begun = false;

// The run is that of MPI_COMM_WORLD, which a program that has sessions alone does not have.
[[gnu::destructor]] void WarnNothingMeasured() {
  if (!uses_sessions || has_begun) return;
  if (!IsFirstRank()) return;
  std::fprintf(stderr, "farscale: nothing was measured: the program used MPI_Session_init, but never MPI_Init\n");
}

constexpr int kWrongUse = 2;

// A name given to MPI_Pcontrol. The standard lets programs leave it out, so what lies there may be anything: it counts
// if it can be read and looks like a name.
std::string ReadName(const char* from) {
  constexpr std::uintptr_t kPageBytes = 4096;  // the smallest page of memory of any processor we run on
  char text[1024];
  std::size_t done = 0;
  while (done < sizeof text) {
    // The bytes behind the name may not be readable, so never across a page's end at once.
    const std::size_t to_edge = kPageBytes - reinterpret_cast<std::uintptr_t>(from + done) % kPageBytes;
    const std::size_t wanted = std::min(to_edge, sizeof text - done);
    iovec here{text + done, wanted}, there{const_cast<char*>(from + done), wanted};
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != static_cast<ssize_t>(wanted)) return "";
    if (std::memchr(text + done, 0, wanted) != nullptr) return Printable(text) == text ? text : "";
    done += wanted;
  }
  return "";
}

// Returns whether the level has switched measuring off or on.
bool Control(int level) { return IsMeasuring() && (level == 0 || level == 1) && SwitchMeasuring(level == 1); }

// Another tool that is loaded calls PMPI_Init itself: the run begins when that has done what it does.
int InitWith(auto init, auto... arguments) {
  if (this_thread.depth > 0) return init(arguments...);
  ++this_thread.depth;
  // Both MPIs in one process, and the calls of one that end in the other, are a crash at best.
  if (!IsOwnMpi()) std::exit(kWrongUse);
  if (!IsMeasuring()) {
    NoteSignals();
    NoteThreadsBeforeMpi();
  }
  const int code = init(arguments...);
  if (code == MPI_SUCCESS && !IsMeasuring()) BeginRun();
  has_begun = true;
  --this_thread.depth;
  return code;
}

// A program started by MPI_Comm_spawn passes through `farscale`, too, as under mpirun: the environment of
// a rank does not reach what is started, the launcher's does.

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

// The words in place of a command to start, `farscale measure ... command arguments`; empty where it stays as it is:
// where nothing is measured, where the command is not found as this process would find it, and where `info` says where
// to look for it. `arguments`: as given to MPI_Comm_spawn, or MPI_ARGV_NULL.
std::vector<std::string> CommandInstead(const char* command, char** arguments, MPI_Info info) {
  const std::string mode = Variable("FARSCALE_MODE");
  if (Variable("FARSCALE_PROGRAM").empty() || command == nullptr || !IsMeasuring()) return {};
  if (mode != "measure" && mode != "trace") return {};
  if (!InfoValue(info, "path").empty() || !IsFound(command, InfoValue(info, "wdir"))) return {};
  const std::string name = std::string(command).substr(std::string(command).rfind('/') + 1);
  if (name == "farscale") return {};
  // The arguments that this process was started with. Results go beside its own.
  std::vector<std::string> words;
  if (IsSet("FARSCALE_QUIET")) words.emplace_back("--quiet");
  words.insert(words.end(), {mode, "--mpi", FARSCALE_MPI_NAME, "-o", page->output, "--threads",
                             std::to_string(page->threads > 0 ? page->threads : 1)});
  if (IsSet("FARSCALE_IDEAL")) words.emplace_back("--ideal");
  for (const std::string& region : Split(Variable("FARSCALE_ONLY"), "\n"))
    words.insert(words.end(), {"--only", region});
  words.emplace_back(command);
  for (char** word = arguments; word != MPI_ARGV_NULL && *word != nullptr; ++word) words.emplace_back(*word);
  return words;
}

}  // namespace

bool IsFirstRank() {
  for (const char* name :
       {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "FLUX_TASK_RANK", "PALS_RANKID"}) {
    const char* rank = std::getenv(name);
    if (rank != nullptr) return std::strcmp(rank, "0") == 0;
  }
  return true;
}

void* FindRealSymbol(const char* name) { return dlsym(RTLD_NEXT, name); }

std::vector<std::string> LoadedLibraries(std::initializer_list<std::string_view> names) {
  std::vector<std::string> paths;
  const auto add = [](dl_phdr_info* info, std::size_t, void* found) {
    if (info->dlpi_name != nullptr) static_cast<std::vector<std::string>*>(found)->emplace_back(info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(add, &paths);
  std::erase_if(paths, [&](const std::string& path) {
    const std::string file = path.substr(path.rfind('/') + 1);
    return std::ranges::none_of(names, [&](std::string_view name) { return file.starts_with(name); });
  });
  return paths;
}

int WrappedMPI_Init(decltype(real.MPI_Init) init, int* argc, char*** argv) { return InitWith(init, argc, argv); }

int WrappedMPI_Init_thread(decltype(real.MPI_Init_thread) init, int* argc, char*** argv, int required, int* provided) {
  return InitWith(init, argc, argv, required, provided);
}

#ifdef FARSCALE_HAS_SESSIONS
int WrappedMPI_Session_init(decltype(real.MPI_Session_init) init, MPI_Info info, MPI_Errhandler handler,
                            MPI_Session* session) {
  uses_sessions = true;
  ForgetLaunch();  // there is a better message for it
  return init(info, handler, session);
}
#endif

int WrappedMPI_Finalize(decltype(real.MPI_Finalize) finalize) {
  ++this_thread.depth;
  EndRun();
  const int code = finalize();
  --this_thread.depth;
  return code;
}

int WrappedMPI_Abort(decltype(real.MPI_Abort) abort, MPI_Comm communicator, int code) {
  ++this_thread.depth;
  MarkTermination(Termination::kAborted, 0);
  const int result = abort(communicator, code);
  --this_thread.depth;
  return result;
}

int WrappedMPI_Comm_spawn(decltype(real.MPI_Comm_spawn) spawn, const char* command, char* argv[], int count,
                          MPI_Info info, int root, MPI_Comm in, MPI_Comm* made, int errors[]) {
  const Call call(CallId::kMPI_Comm_spawn);
  int rank = 0;
  PMPI_Comm_rank(in, &rank);
  std::vector<std::string> instead;
  if (rank == root) instead = CommandInstead(command, argv, info);  // elsewhere the arguments mean nothing
  if (instead.empty()) return spawn(command, argv, count, info, root, in, made, errors);
  const std::string launcher = Variable("FARSCALE_PROGRAM");
  return spawn(launcher.c_str(), Pointers(instead).data(), count, info, root, in, made, errors);
}

int WrappedMPI_Comm_spawn_multiple(decltype(real.MPI_Comm_spawn_multiple) spawn, int count, char* commands[],
                                   char** argvs[], const int counts[], const MPI_Info infos[], int root, MPI_Comm in,
                                   MPI_Comm* made, int errors[]) {
  const Call call(CallId::kMPI_Comm_spawn_multiple);
  int rank = 0;
  PMPI_Comm_rank(in, &rank);
  if (rank != root || count <= 0) return spawn(count, commands, argvs, counts, infos, root, in, made, errors);
  const auto size = static_cast<std::size_t>(count);
  std::string launcher = Variable("FARSCALE_PROGRAM");
  std::vector<std::vector<std::string>> instead(size);
  std::vector<std::vector<char*>> pointers(size);
  std::vector<char*> launched(commands, commands + count);
  std::vector<char**> arguments;
  for (std::size_t i = 0; i < size; ++i) {
    char** given = argvs == MPI_ARGVS_NULL ? MPI_ARGV_NULL : argvs[i];
    instead[i] = CommandInstead(commands[i], given, infos[i]);
    // A command without arguments is a list that ends at once, where others have some.
    pointers[i] = Pointers(instead[i]);
    const bool stays = instead[i].empty();
    if (!stays) launched[i] = launcher.data();
    arguments.push_back(stays && given != MPI_ARGV_NULL ? given : pointers[i].data());
  }
  return spawn(count, launched.data(), arguments.data(), counts, infos, root, in, made, errors);
}

}  // namespace farscale::collect

using namespace farscale::collect;

extern "C" {

// MPI_Pcontrol(0) switches measuring off and (1) on; MPI_Pcontrol(1, "name") starts a region, MPI_Pcontrol(-1, "name")
// stops it. All other levels mean nothing here. What switches on has no name, and a name of another call may lie there.
FARSCALE_EXPORT int MPI_Pcontrol(const int level, ...) {
  va_list arguments;
  va_start(arguments, level);
  const char* from = va_arg(arguments, const char*);
  va_end(arguments);
  ++this_thread.depth;
  next.MPI_Pcontrol(level, from);  // tools know one argument of those that the program passes
  --this_thread.depth;
  if (Control(level) || !IsMeasuring() || (level != 1 && level != -1)) return MPI_SUCCESS;
  const std::string name = ReadName(from);
  if (level == 1) StartRegion(name.c_str());
  // Without a name it may be any value.
  if (level == -1 && FindRegion(*page, name.c_str()) >= 0) StopRegion(name.c_str());
  return MPI_SUCCESS;
}
// Fortran calls this one, without a name.
FARSCALE_EXPORT int PMPI_Pcontrol(const int level, ...) {
  const int code = real.MPI_Pcontrol(level);
  if (this_thread.depth == 0) Control(level);
  return code;
}

}  // extern "C"
