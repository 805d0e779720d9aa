/* What MPI 4 brings: counts of type MPI_Count, and a send and a receive that complete together. Any number of ranks. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, ranks, i, got[4], mine[4];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  MPI_Count* counts = malloc((size_t)ranks * sizeof *counts);
  MPI_Aint* places = malloc((size_t)ranks * sizeof *places);
  int* all = malloc((size_t)ranks * sizeof *all);
  MPI_Request requests[2];
  MPI_Status status;
  for (i = 0; i < ranks; ++i) {
    counts[i] = 1;
    places[i] = i;
  }
  for (i = 0; i < 4; ++i) mine[i] = rank;
  MPI_Sendrecv_c(mine, 2, MPI_INT, next, 1, got, 2, MPI_INT, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  /* One side with the old function, the other with the new one. */
  MPI_Irecv(got, 4, MPI_INT, previous, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_c(mine, 4, MPI_INT, next, 2, MPI_COMM_WORLD);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Isend(mine, 3, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_c(got, 3, MPI_INT, previous, 3, MPI_COMM_WORLD, &status);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Send_init_c(mine, 1, MPI_INT, next, 4, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init_c(got, 1, MPI_INT, previous, 4, MPI_COMM_WORLD, &requests[1]);
  MPI_Startall(2, requests);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Isendrecv(mine, 1, MPI_INT, next, 5, got, 1, MPI_INT, previous, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Wait(&requests[0], &status);
  if (got[0] != previous) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Isendrecv_replace_c(got, 1, MPI_INT, next, 6, previous, 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Bcast_c(mine, 4, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Allgatherv_c(mine, 1, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
  MPI_Iallreduce_c(mine, got, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  free(all);
  free(places);
  free(counts);
  MPI_Finalize();
  return 0;
}
