/* Two threads send to the next rank and receive from the previous one at the same time, each 500 times. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

static int rank, ranks;

static void* exchange(void* tag) {
  int i, mine = rank, got;
  for (i = 0; i < 500; ++i) {
    MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % ranks, *(int*)tag, &got, 1, MPI_INT, (rank + ranks - 1) % ranks,
                 *(int*)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided, tags[2] = {1, 2};
  pthread_t other;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (provided == MPI_THREAD_MULTIPLE) {
    pthread_create(&other, NULL, exchange, &tags[1]);
    exchange(&tags[0]);
    pthread_join(other, NULL);
  }
  MPI_Finalize();
  return provided == MPI_THREAD_MULTIPLE ? 0 : 77;
}
