/* What measuring costs at least: two reads of the clock around a call, and nothing else. Loaded before the MPI library by
 * scripts/overhead, so that what a machine allows is known beside what farscale takes. */
#include <mpi.h>
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static volatile uint64_t entered, in_mpi, calls;

static uint64_t now(void) {
#if defined(__x86_64__)
  return __rdtsc();
#else
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
#endif
}

static int left(int code) {
  in_mpi += now() - entered;
  ++calls;
  entered = 0;
  return code;
}

int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
  entered = now();
  return left(PMPI_Allreduce(from, to, count, type, operation, communicator));
}

int MPI_Barrier(MPI_Comm communicator) {
  entered = now();
  return left(PMPI_Barrier(communicator));
}
