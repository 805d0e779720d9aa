/* Starts two more processes of itself, which meet it at a barrier. */
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Comm parent, children;
  int one = 1, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    MPI_Barrier(children);
    MPI_Comm_disconnect(&children);
  } else {
    MPI_Barrier(parent);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_disconnect(&parent);
  }
  MPI_Finalize();
  return 0;
}
