// The wrappers that are written by hand: what begins and ends a run.
#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "collect/call.h"
#include "collect/ending.h"
#include "collect/launched.h"
#include "collect/names.h"
#include "collect/own_mpi.h"
#include "collect/process.h"
#include "collect/real_functions.h"
#include "collect/regions.h"
#include "collect/run.h"
#include "collect/sums.h"

namespace farscale::collect {
namespace {

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
[[gnu::destructor]] void SayWhyNothingIsMeasured() {
  if (!uses_sessions || has_begun) return;
  const char* ranks[] = {std::getenv("PMI_RANK"), std::getenv("OMPI_COMM_WORLD_RANK")};
  for (const char* rank : ranks) {
    if (rank != nullptr && std::strcmp(rank, "0") != 0) return;
  }
  std::fprintf(stderr, "farscale: nothing was measured: the program used MPI_Session_init, but never MPI_Init\n");
}

constexpr int kWrongUse = 2;

// A name given to MPI_Pcontrol. The standard lets programs leave it out, so what lies there may be anything: it counts
// if it can be read and looks like a name.
std::string ReadName(const char* from) {
  constexpr std::uintptr_t kPageBytes = 4096;
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

template <typename Init>
int InitWith(Init init) {
  ++this_thread.depth;
  // Both MPIs in one process, and the calls of one that end in the other, are a crash at best.
  if (!IsOwnMpi()) std::exit(kWrongUse);
  if (!IsMeasuring()) NoteSignals();
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
  ForgetLaunch();  // there is a better word for it
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
  const std::string name = ReadName(from);
  if (level == 1) StartRegion(name.c_str());
  // Without a name it may be any word that lies about.
  if (level == -1 && FindRegion(*page, name.c_str()) >= 0) StopRegion(name.c_str());
  return MPI_SUCCESS;
}

}  // extern "C"
