/* Regions that ranks are in one after the other, together for unequal times, and with other work between: what the span
 * of a region decides. */
#include <farscale.h>
#include <mpi.h>

static void compute(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) {
  }
}

int main(int argc, char** argv) {
  int rank, ranks, i;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (i = 0; i < ranks; ++i) {
    if (i == rank) {
      farscale_region_start("turn");
      compute(0.02);
      MPI_Barrier(MPI_COMM_SELF); /* regions of a trace are cut at its events */
      farscale_region_stop("turn");
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  farscale_region_start("together");
  for (i = 0; i < 10; ++i) {
    compute(0.003 * (rank + 1));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  farscale_region_stop("together");
  for (i = 0; i < 10; ++i) {
    farscale_region_start("part");
    compute(0.003 * (rank + 1));
    MPI_Barrier(MPI_COMM_WORLD);
    farscale_region_stop("part");
    compute(0.002);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
