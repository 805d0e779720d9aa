// The wrappers that are written by hand: what begins and ends a run.
#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cctype>
#include <cstdarg>

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

// A name given to MPI_Pcontrol. The standard lets programs leave it out, so what lies there may be anything: it counts
// if it can be read and looks like a name.
bool ReadName(const char* from, char (&name)[kNameBytes]) {
  name[0] = '\0';
  for (std::size_t i = 0; i < kNameBytes - 1; ++i) {
    iovec here{&name[i], 1}, there{const_cast<char*>(from + i), 1};
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1) return false;
    if (name[i] == '\0') return i > 0;
    if (std::isprint(static_cast<unsigned char>(name[i])) == 0) return false;
  }
  name[kNameBytes - 1] = '\0';
  return true;
}

template <typename Init>
int InitWith(Init init) {
  ++this_thread.depth;
  if (!IsMeasuring()) RememberHandlersOfProgram();
  const int code = init();
  if (code == MPI_SUCCESS && !IsMeasuring()) BeginRun();
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
  if (level == -1) StopRegion(name);
  return MPI_SUCCESS;
}

}  // extern "C"
