// Windows of one-sided communication: whom their synchronisation is with, as Score-P records it. Locks are not
// recorded: who holds one when the call returns is not known.
#include "collect/recorder.h"
#include "collect/traced_functions.h"
#include "collect/windows.h"
#include "mpi_functions.h"

namespace farscale::collect {
namespace {

template <typename Make>
int MakeWindow(MPI_Comm in, MPI_Win* window, Make make) {
  const int code = make();
  if (code != MPI_SUCCESS) return code;
  AddWindow(*window, in);
  if (const auto id = FindWindow(*window)) {
    RecordWindowCreate(*id);
    RecordWindowCollective(OTF2_COLLECTIVE_OP_CREATE_HANDLE, *id);
  }
  return code;
}

template <typename End>
int EndWith(MPI_Win window, Epoch epoch, End end) {
  const int code = end();
  if (code != MPI_SUCCESS) return code;
  const auto group = EndEpoch(window, epoch);
  if (group) RecordWindowGroup(*FindWindow(window), *group);
  return code;
}

void RecordEpoch(MPI_Win window, Epoch epoch, MPI_Group group) {
  const auto number = BeginEpoch(window, epoch, group);
  if (number) RecordWindowGroup(*FindWindow(window), *number);
}

}  // namespace

int TracedMPI_Win_create(void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm in, MPI_Win* window) {
  return MakeWindow(in, window, [&] { return real.MPI_Win_create(base, size, unit, info, in, window); });
}
int TracedMPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm in, void* base, MPI_Win* window) {
  return MakeWindow(in, window, [&] { return real.MPI_Win_allocate(size, unit, info, in, base, window); });
}
int TracedMPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm in, void* base, MPI_Win* window) {
  return MakeWindow(in, window, [&] { return real.MPI_Win_allocate_shared(size, unit, info, in, base, window); });
}
int TracedMPI_Win_create_dynamic(MPI_Info info, MPI_Comm in, MPI_Win* window) {
  return MakeWindow(in, window, [&] { return real.MPI_Win_create_dynamic(info, in, window); });
}

int TracedMPI_Win_free(MPI_Win* window) {
  const MPI_Win before = *window;
  const auto id = FindWindow(before);
  const int code = real.MPI_Win_free(window);
  if (code != MPI_SUCCESS || !id) return code;
  RecordWindowDestroy(*id);
  RecordWindowCollective(OTF2_COLLECTIVE_OP_DESTROY_HANDLE, *id);
  RemoveWindow(before);
  return code;
}

int TracedMPI_Win_fence(int assertion, MPI_Win window) {
  const int code = real.MPI_Win_fence(assertion, window);
  if (const auto id = FindWindow(window)) RecordWindowCollective(OTF2_COLLECTIVE_OP_BARRIER, *id);
  return code;
}

int TracedMPI_Win_post(MPI_Group group, int assertion, MPI_Win window) {
  RecordEpoch(window, Epoch::kExposure, group);
  return real.MPI_Win_post(group, assertion, window);
}
int TracedMPI_Win_start(MPI_Group group, int assertion, MPI_Win window) {
  RecordEpoch(window, Epoch::kAccess, group);
  return real.MPI_Win_start(group, assertion, window);
}
int TracedMPI_Win_complete(MPI_Win window) {
  return EndWith(window, Epoch::kAccess, [&] { return real.MPI_Win_complete(window); });
}
int TracedMPI_Win_wait(MPI_Win window) {
  return EndWith(window, Epoch::kExposure, [&] { return real.MPI_Win_wait(window); });
}
int TracedMPI_Win_test(MPI_Win window, int* flag) {
  const int code = real.MPI_Win_test(window, flag);
  if (code != MPI_SUCCESS || *flag == 0) return code;
  return EndWith(window, Epoch::kExposure, [&] { return code; });
}

// Generated: the same with counts of type MPI_Count, where the MPI has such functions.
#include "traced_windows_c.h"

}  // namespace farscale::collect
