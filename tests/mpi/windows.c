/* A loop in which ranks compute for 1 ms and 4 ms in turn, and synchronise before they go on:
 *
 *   windows barrier | fence | epochs | locks | held | shared | neighbours | started | again | file
 *
 * With a barrier; or after a put into the window of the next rank, with fences, with epochs of post, start, complete and
 * wait among neighbours, or with locks; while all hold the lock of rank 0 as they compute, or all but rank 0 share those
 * of all; with a collective among the neighbours in a ring that blocks, does not block, or is persistent (where MPI has
 * these); or by writing a file, each by itself and all together. Computation is until the clock says so: every rank
 * computes 2.5 ms on average and the run 4 ms an iteration, however busy the processors are. */
#include <mpi.h>
#include <string.h>

#include "farscale.h"

static int rank, ranks, value, out[2], in[2];
static MPI_Comm ring;
static MPI_File file;
static MPI_Win window;
static MPI_Group before, after;
static MPI_Request request;

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
  } else if (!strcmp(how, "neighbours")) {
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring);
  } else if (!strcmp(how, "started")) {
    MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (!strcmp(how, "again")) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (!strcmp(how, "file")) {
    MPI_File_write_at(file, (MPI_Offset)(rank * (int)sizeof value), &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_write_at_all(file, (MPI_Offset)(rank * (int)sizeof value), &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  } else {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, (rank + 1) % ranks, 0, window);
    put();
    MPI_Win_unlock((rank + 1) % ranks, window);
  }
}

int main(int argc, char** argv) {
  MPI_Group all;
  int *target, i, neighbour, is_periodic = 1;
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
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &is_periodic, 0, &ring);
  if (!strcmp(argv[1], "file")) {
    MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
  }
#if MPI_VERSION >= 4
  if (!strcmp(argv[1], "again"))
    MPI_Neighbor_alltoall_init(out, 1, MPI_INT, in, 1, MPI_INT, ring, MPI_INFO_NULL, &request);
#endif
  farscale_region_start("loop");
  for (i = 0; i < 20; ++i) {
    if (!strcmp(argv[1], "held")) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
      MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
      compute(1e-3);
      MPI_Win_unlock(0, window);
      continue;
    }
    if (!strcmp(argv[1], "shared")) {
      if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
      } else {
        MPI_Win_lock_all(0, window);
      }
      MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
      if (rank > 0) MPI_Win_flush(0, window);
      compute(1e-3);
      if (rank == 0) {
        MPI_Win_unlock(0, window);
      } else {
        MPI_Win_unlock_all(window);
      }
      continue;
    }
    compute((i + rank) % 2 == 0 ? 1e-3 : 4e-3);
    synchronise(argv[1]);
  }
  farscale_region_stop("loop");
  if (!strcmp(argv[1], "again")) MPI_Request_free(&request);
  if (!strcmp(argv[1], "fence")) MPI_Win_fence(0, window);
  if (!strcmp(argv[1], "file")) MPI_File_close(&file);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
