/* A loop in which ranks compute for 1 ms and 4 ms in turn, and synchronise before they go on:
 *
 *   windows barrier | fence | epochs | locks
 *
 * With a barrier; or after a put into the window of the next rank, with fences, with epochs of post, start, complete and
 * wait among neighbours, or with locks. Computation is until the clock says so: every rank computes 2.5 ms on average and
 * the run 4 ms an iteration, however busy the processors are. */
#include <mpi.h>
#include <string.h>

#include "farscale.h"

static int rank, ranks, value;
static MPI_Win window;
static MPI_Group before, after;

static void compute(double seconds) {
  const double begin = MPI_Wtime();
  while (MPI_Wtime() - begin < seconds) continue;
}

static void put(void) { MPI_Put(&value, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, window); }

static void synchronise(const char* how) {
  if (!strcmp(how, "barrier")) {
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (!strcmp(how, "fence")) {
    put();
    MPI_Win_fence(0, window);
  } else if (!strcmp(how, "epochs")) {
    MPI_Win_post(before, 0, window);
    MPI_Win_start(after, 0, window);
    put();
    MPI_Win_complete(window);
    MPI_Win_wait(window);
  } else {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, (rank + 1) % ranks, 0, window);
    put();
    MPI_Win_unlock((rank + 1) % ranks, window);
  }
}

int main(int argc, char** argv) {
  MPI_Group all;
  int *target, i, neighbour;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  neighbour = (rank + ranks - 1) % ranks;
  MPI_Group_incl(all, 1, &neighbour, &before);
  neighbour = (rank + 1) % ranks;
  MPI_Group_incl(all, 1, &neighbour, &after);
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &target, &window);
  MPI_Win_fence(0, window);
  farscale_region_start("loop");
  for (i = 0; i < 20; ++i) {
    compute((i + rank) % 2 == 0 ? 1e-3 : 4e-3);
    synchronise(argv[1]);
  }
  farscale_region_stop("loop");
  if (!strcmp(argv[1], "fence")) MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
