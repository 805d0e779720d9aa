/* A loop of computation of a known length, an Allreduce and a Barrier [Lopez21, section 4.2]:
 *
 *   pils ITERATIONS MICROSECONDS [regions] [earlier=N] LOAD...
 *
 * Rank i computes LOAD i times the microseconds in every iteration; the last load is that of all further ranks. The work
 * is counted beforehand, not timed while it runs, so that what measuring adds is seen. N broadcasts go before the loop:
 * what was sent before decides where messages lie in the memory that ranks share, and with Open MPI that changes the time
 * of the loop by a tenth. Rank 0 prints the seconds that
 * the loop took, how many MPI calls a millisecond that was, and the CPU time of all ranks in it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "farscale.h"

static volatile double sink;

static void compute(long steps) {
  double x = 1.0;
  long i;
  for (i = 0; i < steps; ++i) x = x * 1.0000001 + 1e-9;
  sink = x;
}

/* Steps a microsecond: the most of some tries, since what interrupts one only makes it slower. */
static double speed(void) {
  const long steps = 2000000;
  double best = 0;
  int i;
  for (i = 0; i < 15; ++i) {
    const double begin = MPI_Wtime();
    compute(steps);
    const double now = (double)steps / ((MPI_Wtime() - begin) * 1e6);
    if (now > best) best = now;
  }
  return best;
}

static double cpu_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  int rank, i, first = 3, regions = 0;
  double one = 1, sum, load = 1, rate, begin, seconds, cpu, cpu_of_all;
  long iterations, steps, earlier = 0;
  char text[64] = "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  iterations = atol(argv[1]);
  if (argc > 3 && !strcmp(argv[3], "regions")) {
    regions = 1;
    ++first;
  }
  if (first < argc && !strncmp(argv[first], "earlier=", 8)) earlier = atol(argv[first++] + 8);
  if (first < argc) load = atof(argv[first + rank < argc ? first + rank : argc - 1]);
  rate = speed();
  MPI_Allreduce(MPI_IN_PLACE, &rate, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  steps = (long)(rate * load * atof(argv[2]));
  for (; earlier > 0; --earlier) MPI_Bcast(text, sizeof text, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  begin = MPI_Wtime();
  cpu = cpu_time();
  MPI_Pcontrol(1, "loop");
  for (i = 0; i < iterations; ++i) {
    if (regions) farscale_region_start("iteration");
    compute(steps);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (regions) farscale_region_stop("iteration");
  }
  MPI_Pcontrol(-1, "loop");
  seconds = MPI_Wtime() - begin;
  cpu = cpu_time() - cpu;
  PMPI_Reduce(&cpu, &cpu_of_all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.6f %.3f %.6f\n", seconds, 2 * (double)iterations / (seconds * 1e3), cpu_of_all);
  MPI_Finalize();
  return 0;
}
