/* Starts so many kernels of a device that does not exist, one after the other, each of which is done when its call
 * returns: device_rate KERNELS. Prints the CPU time of this thread in the loop. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fake_device.h"

static double cpu_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  const long kernels = atol(argv[1]);
  const double begin = cpu_time();
  for (long i = 0; i < kernels; ++i) fake_quick_kernel(0);
  printf("%.9f\n", cpu_time() - begin);
  MPI_Finalize();
  return 0;
}
