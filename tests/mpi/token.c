/* A token goes round: who has it computes 10 ms, ten times each. */
#include <mpi.h>
#include <time.h>

static void work(double seconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < seconds);
}

int main(int argc, char** argv) {
  int i, rank, ranks, token = 0;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Pcontrol(1, "token");
  for (i = 0; i < 10; ++i) {
    if (rank > 0 || i > 0) {
      MPI_Irecv(&token, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    work(0.01);
    if (rank + 1 < ranks || i < 9) MPI_Send(&token, 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
  }
  MPI_Pcontrol(-1, "token");
  MPI_Finalize();
  return 0;
}
