/* Two halves of the ranks and a communicator between them: messages across, collectives of both. Two ranks or more. */
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Comm half, between, copy;
  int rank, ranks, me, others, mine = 1, got = 0, i;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &between);
  MPI_Comm_dup(between, &copy);
  MPI_Comm_rank(between, &me);
  MPI_Comm_remote_size(between, &others);
  for (i = 0; i < 3; ++i) {
    if (me < others) {
      MPI_Request request;
      MPI_Irecv(&got, 1, MPI_INT, me, 1, between, &request);
      MPI_Send(&mine, 1, MPI_INT, me, 1, between);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(copy);
    MPI_Allreduce(&mine, &got, 1, MPI_INT, MPI_SUM, between);
    if (got != others) MPI_Abort(MPI_COMM_WORLD, 2);
    /* The first of the even ones tells all odd ones; the other even ones only take part. */
    MPI_Bcast(&mine, 1, MPI_INT, rank % 2 ? 0 : rank ? MPI_PROC_NULL : MPI_ROOT, between);
  }
  MPI_Comm_free(&copy);
  MPI_Comm_free(&between);
  for (i = 0; i < 3; ++i) {
    MPI_Request request;
    MPI_Comm_idup(i < 2 ? half : MPI_COMM_SELF, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
  }
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
