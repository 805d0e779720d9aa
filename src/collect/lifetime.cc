// The wrappers that are written by hand: what begins and ends a run.
#include <dlfcn.h>
#include <link.h>
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

#include "collect/call.h"
#include "collect/termination.h"
#include "collect/other_threads.h"
#include "collect/page_file.h"
#include "collect/regions.h"
#include "collect/run.h"
#include "collect/page.h"
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

// LD_PRELOAD with this library's path replaced, or left out.
std::string PreloadWith(const std::string& own, const std::string& instead) {
  std::string result;
  for (const std::string& loaded : Split(Variable("LD_PRELOAD"), ": ")) {
    const std::string& path = loaded == own ? instead : loaded;
    if (!path.empty()) result += (result.empty() ? "" : ":") + path;
  }
  return result;
}

// The library that the process would get an MPI function from without us.
std::string UsedMpi() { return PathOf(dlsym(RTLD_NEXT, "PMPI_Init")); }

// The MPI libraries that were loaded into the process.
int AddMpi(dl_phdr_info* info, std::size_t, void* found) {
  const std::string path = info->dlpi_name != nullptr ? info->dlpi_name : "";
  const std::string file = path.substr(path.rfind('/') + 1);
  const bool is_mpi = file.starts_with("libmpi.so") || file.starts_with("libmpich.so");
  if (is_mpi) static_cast<std::vector<std::string>*>(found)->push_back(path);
  return 0;
}

// Called when the library is loaded. In a program that is linked with another MPI it does not return: the program is
// started again with the library of its own MPI or, after a message, without any.
void CheckMpi(char** arguments) {
  const std::string used = UsedMpi();
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
  const std::string preload = PreloadWith(own, other);
  if (preload == Variable("LD_PRELOAD")) return;
  if (preload.empty()) unsetenv("LD_PRELOAD");
  if (!preload.empty()) setenv("LD_PRELOAD", preload.c_str(), 1);
  const auto real_execv = reinterpret_cast<decltype(&execv)>(FindRealSymbol("execv"));  // with what is chosen here
  real_execv("/proc/self/exe", arguments);
}

// Whether MPI_Init is about to initialise this library's own MPI. Not so, after a message, where a program such as
// Python has loaded another one later.
bool IsOwnMpi() {
  std::vector<std::string> loaded;
  dl_iterate_phdr(AddMpi, &loaded);
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
    // What lies behind the name may not be readable, so never across a page's end at once.
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
template <typename Init>
int InitWith(Init init) {
  if (this_thread.depth > 0) return init();
  ++this_thread.depth;
  // Both MPIs in one process, and the calls of one that end in the other, are a crash at best.
  if (!IsOwnMpi()) std::exit(kWrongUse);
  if (!IsMeasuring()) {
    NoteSignals();
    NoteThreadsBeforeMpi();
  }
  const int code = init();
  if (code == MPI_SUCCESS && !IsMeasuring()) BeginRun();
  has_begun = true;
  --this_thread.depth;
  return code;
}

#if MPI_VERSION >= 4
int InitSession(decltype(real.MPI_Session_init) init, MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
  uses_sessions = true;
  ForgetLaunch();  // there is a better message for it
  return init(info, handler, session);
}
#endif

int FinalizeWith(decltype(real.MPI_Finalize) finalize) {
  ++this_thread.depth;
  EndRun();
  const int code = finalize();
  --this_thread.depth;
  return code;
}

int AbortWith(decltype(real.MPI_Abort) abort, MPI_Comm communicator, int code) {
  ++this_thread.depth;
  MarkTermination(Termination::kAborted, 0);
  const int result = abort(communicator, code);
  --this_thread.depth;
  return result;
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

}  // namespace farscale::collect

using namespace farscale::collect;

extern "C" {

FARSCALE_EXPORT int MPI_Init(int* argc, char*** argv) {
  return InitWith([&] { return next.MPI_Init(argc, argv); });
}
FARSCALE_EXPORT int PMPI_Init(int* argc, char*** argv) {
  return InitWith([&] { return real.MPI_Init(argc, argv); });
}

FARSCALE_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return InitWith([&] { return next.MPI_Init_thread(argc, argv, required, provided); });
}
FARSCALE_EXPORT int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return InitWith([&] { return real.MPI_Init_thread(argc, argv, required, provided); });
}

#if MPI_VERSION >= 4
FARSCALE_EXPORT int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
  return InitSession(next.MPI_Session_init, info, handler, session);
}
FARSCALE_EXPORT int PMPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
  return InitSession(real.MPI_Session_init, info, handler, session);
}
#endif

FARSCALE_EXPORT int MPI_Finalize(void) { return FinalizeWith(next.MPI_Finalize); }
FARSCALE_EXPORT int PMPI_Finalize(void) { return FinalizeWith(real.MPI_Finalize); }

FARSCALE_EXPORT int MPI_Abort(MPI_Comm communicator, int code) { return AbortWith(next.MPI_Abort, communicator, code); }
FARSCALE_EXPORT int PMPI_Abort(MPI_Comm communicator, int code) {
  return AbortWith(real.MPI_Abort, communicator, code);
}

// MPI_Pcontrol(0) switches measuring off and (1) on; MPI_Pcontrol(1, "name") starts a region, MPI_Pcontrol(-1, "name")
// stops it. All other levels mean nothing here. What switches on has no name, and a name of another call may lie there.
FARSCALE_EXPORT int MPI_Pcontrol(const int level, ...) {
  va_list arguments;
  va_start(arguments, level);
  const char* from = va_arg(arguments, const char*);
  va_end(arguments);
  ++this_thread.depth;
  next.MPI_Pcontrol(level, from);  // of what the program passes, tools know one argument as well
  --this_thread.depth;
  if (Control(level) || !IsMeasuring() || (level != 1 && level != -1)) return MPI_SUCCESS;
  const std::string name = ReadName(from);
  if (level == 1) StartRegion(name.c_str());
  // Without a name it may be any value.
  if (level == -1 && FindRegion(*page, name.c_str()) >= 0) StopRegion(name.c_str());
  return MPI_SUCCESS;
}
// What Fortran calls, without a name.
FARSCALE_EXPORT int PMPI_Pcontrol(const int level, ...) {
  const int code = real.MPI_Pcontrol(level);
  if (this_thread.depth == 0) Control(level);
  return code;
}

}  // extern "C"
