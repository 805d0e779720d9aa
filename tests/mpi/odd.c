/* What programs may do with signals and regions:
 *
 *   faults    has a handler for faults of its own from before MPI_Init, and lives with them
 *   overlap   regions that overlap
 *   halo      receives posted before a region and completed in it
 *   mpi       a region whose name looks like one of MPI
 *   child     a child of its own, for which it waits, hearing of its end once
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "farscale.h"

static char* guarded;
static volatile int faults = 0;

static void on_fault(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)context;
  if (info->si_addr != guarded) _exit(4);
  ++faults;
  mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
}

static volatile int children = 0;

static void on_child(int signal) {
  (void)signal;
  ++children;
}

static void work(double seconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < seconds);
}

int main(int argc, char** argv) {
  int i, rank, ranks, out = 1, in = 0;
  MPI_Request requests[2];
  const char* what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "faults")) {
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &ours, 0);
    guarded = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (!strcmp(what, "child")) signal(SIGCHLD, on_child);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (guarded) {
    *guarded = 1;
    if (faults != 1) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  if (!strcmp(what, "overlap")) {
    farscale_region_start("a");
    work(0.01);
    farscale_region_start("b");
    work(0.01);
    farscale_region_stop("a");
    work(0.01);
    farscale_region_stop("b");
  }
  if (!strcmp(what, "mpi")) {
    farscale_region_start("mpi_exchange");
    work(0.02);
    farscale_region_stop("mpi_exchange");
  }
  if (!strcmp(what, "child")) {
    int status = 0, before = children;
    pid_t child = fork();
    if (child == 0) {
      work(0.05);
      _exit(42);
    }
    while ((i = wait(&status)) < 0) {
    }
    if (before != 0 || i != child || WEXITSTATUS(status) != 42 || children != 1) MPI_Abort(MPI_COMM_WORLD, 5);
  }
  for (i = 0; i < 3 && !strcmp(what, "halo"); ++i) {
    MPI_Irecv(&in, 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &requests[0]);
    farscale_region_start("solve");
    MPI_Isend(&out, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &requests[1]);
    work(0.002);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    farscale_region_stop("solve");
  }
  MPI_Finalize();
  return 0;
}
