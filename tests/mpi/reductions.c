/* Five reductions, for tools that count them. */
#include <mpi.h>

int main(int argc, char** argv) {
  int i, one = 1, sum;
  MPI_Init(&argc, &argv);
  for (i = 0; i < 5; ++i) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
