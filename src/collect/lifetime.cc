// The wrappers that are written by hand: what begins and ends a run.
#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cctype>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "collect/call.h"
#include "collect/ending.h"
#include "collect/process.h"
#include "collect/real_functions.h"
#include "collect/regions.h"
#include "collect/run.h"

namespace farscale::collect {
namespace {

[[gnu::constructor]] void Load() {
  ChooseClock();
  FindRealFunctions();
  RememberHandlersOfLibraries();
}

bool uses_sessions = false;
bool has_begun = false;

// The run is that of MPI_COMM_WORLD, which a program that has sessions alone does not have.
[[gnu::destructor]] void SayWhyNothingIsMeasured() {
  if (!uses_sessions || has_begun) return;
  const char* ranks[] = {std::getenv("PMI_RANK"), std::getenv("OMPI_COMM_WORLD_RANK")};
  for (const char* rank : ranks) {
    if (rank != nullptr && std::strcmp(rank, "0") != 0) return;
  }
  std::fprintf(stderr, "farscale: nothing was measured: the program used MPI_Session_init, but never MPI_Init\n");
}

// A name given to MPI_Pcontrol. The standard lets programs leave it out, so what lies there may be anything: it counts
// if it can be read and looks like a name.
bool ReadName(const char* from, char (&name)[kNameBytes]) {
  name[0] = '\0';
  for (std::size_t i = 0; i < kNameBytes - 1; ++i) {
    iovec here{&name[i], 1}, there{const_cast<char*>(from + i), 1};
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1) return false;
    if (name[i] == '\0') return i > 0;
    const auto letter = static_cast<unsigned char>(name[i]);
    if (letter < 0x80 && std::isprint(letter) == 0) return false;
  }
  name[kNameBytes - 1] = '\0';
  return true;
}

// A script's programs may use another MPI than its launcher: their handles are not ours, so nothing can be passed on.
void RequireOwnMpi() {
  const auto version = FindReal<decltype(&PMPI_Get_library_version)>("PMPI_Get_library_version");
  char text[MPI_MAX_LIBRARY_VERSION_STRING * 4] = {};
  int length = 0;
  if (version == nullptr || version(text, &length) != MPI_SUCCESS) return;
#if defined(OPEN_MPI)
  const bool is_own = std::strstr(text, "Open MPI") != nullptr;
#else
  const bool is_own = std::strstr(text, "Open MPI") == nullptr;
#endif
  if (is_own) return;
  text[std::strcspn(text, ",\n")] = '\0';
  std::fprintf(
      stderr, "farscale: the program uses another MPI (%s) than %s; start it by the mpirun of that MPI, or say --mpi\n",
      text, FARSCALE_MPI_NAME);
  std::_Exit(2);
}

template <typename Init>
int InitWith(Init init) {
  ++this_thread.depth;
  if (!IsMeasuring()) {
    RequireOwnMpi();
    RememberHandlersOfProgram();
  }
  const int code = init();
  if (code == MPI_SUCCESS && !IsMeasuring()) BeginRun();
  has_begun = true;
  --this_thread.depth;
  return code;
}

}  // namespace

void* FindRealSymbol(const char* name) { return dlsym(RTLD_NEXT, name); }

}  // namespace farscale::collect

using namespace farscale::collect;

extern "C" {

FARSCALE_EXPORT int MPI_Init(int* argc, char*** argv) {
  return InitWith([&] { return real.MPI_Init(argc, argv); });
}
FARSCALE_EXPORT int PMPI_Init(int* argc, char*** argv) __attribute__((alias("MPI_Init")));

FARSCALE_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return InitWith([&] { return real.MPI_Init_thread(argc, argv, required, provided); });
}
FARSCALE_EXPORT int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided)
    __attribute__((alias("MPI_Init_thread")));

#if MPI_VERSION >= 4
FARSCALE_EXPORT int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
  uses_sessions = true;
  return real.MPI_Session_init(info, handler, session);
}
FARSCALE_EXPORT int PMPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session)
    __attribute__((alias("MPI_Session_init")));
#endif

FARSCALE_EXPORT int MPI_Finalize(void) {
  ++this_thread.depth;
  EndRun();
  const int code = real.MPI_Finalize();
  --this_thread.depth;
  return code;
}
FARSCALE_EXPORT int PMPI_Finalize(void) __attribute__((alias("MPI_Finalize")));

FARSCALE_EXPORT int MPI_Abort(MPI_Comm communicator, int code) {
  ++this_thread.depth;
  EndBadly(Ending::kAborted, 0);
  const int result = real.MPI_Abort(communicator, code);
  --this_thread.depth;
  return result;
}
FARSCALE_EXPORT int PMPI_Abort(MPI_Comm communicator, int code) __attribute__((alias("MPI_Abort")));

// MPI_Pcontrol(1, "name") starts a region, MPI_Pcontrol(-1, "name") stops it; all other levels mean nothing here.
FARSCALE_EXPORT int MPI_Pcontrol(const int level, ...) {
  if (!IsMeasuring() || (level != 1 && level != -1)) return MPI_SUCCESS;
  va_list arguments;
  va_start(arguments, level);
  const char* from = va_arg(arguments, const char*);
  va_end(arguments);
  char name[kNameBytes];
  if (!ReadName(from, name)) return MPI_SUCCESS;
  if (level == 1) StartRegion(name);
  // Whatever lay where a name was left out is no region.
  if (level == -1 && FindRegion(*page, name) > 0) StopRegion(name);
  return MPI_SUCCESS;
}

}  // extern "C"
