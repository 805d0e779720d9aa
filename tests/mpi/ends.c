/* Ends as its first argument says, after half a second of which every rank computes a known part: rank 0 all of it, the
 * others half. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "farscale.h"

static void work(double seconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < seconds);
}

int main(int argc, char** argv) {
  int i, rank, local = 1, sum;
  const char* how = argc > 1 ? argv[1] : "";
  farscale_metrics metrics;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  farscale_region_stop("never started");
  for (i = 0; i < 10; ++i) {
    farscale_region_start("step");
    if (rank == 0) farscale_region_start("on rank 0");
    work(rank == 0 ? 0.02 : 0.01);
    if (rank == 0) farscale_region_stop("on rank 0");
    MPI_Allreduce(&local, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    farscale_region_stop("step");
  }
  if (!strcmp(how, "query")) {
    farscale_query("step", FARSCALE_ALL_RANKS, &metrics);
    if (rank == 0) printf("all %d %llu %.3f %.3f\n", metrics.ranks, metrics.starts, metrics.elapsed, metrics.load_balance);
    farscale_query("step", FARSCALE_LOCAL, &metrics);
    if (rank == 0) printf("local %d %llu %.3f\n", metrics.ranks, metrics.starts, metrics.useful);
    printf("unknown %d\n", farscale_query("nothing", FARSCALE_LOCAL, &metrics));
    farscale_region_report("step");
    farscale_region_start("left open");
  }
  fflush(stdout);
  if (!strcmp(how, "abort") && rank == 1) MPI_Abort(MPI_COMM_WORLD, 3);
  if (!strcmp(how, "error") && rank == 1) MPI_Send(&rank, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
  if (!strcmp(how, "segv") && rank == 1) *(volatile int*)0 = 1;
  if (!strcmp(how, "abort") || !strcmp(how, "error") || !strcmp(how, "segv")) MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(how, "exit")) exit(0);
  if (!strcmp(how, "leave") && rank == 1) exit(3);
  if (!strcmp(how, "killed") && rank == 1) raise(SIGKILL);
  if (!strcmp(how, "killed")) MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(how, "leave")) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
