/* What the arguments say, one a rank, the last one for all others: w20 works for 20 ms, 0 1 2 are levels of
   MPI_Pcontrol, b a barrier, ( and ) a region, s posts messages around the ring, c completes them, t a thread that
   makes a call to MPI, x leaves without MPI_Finalize. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "farscale.h"

static void *ask(void *nothing) {
  int flag;
  MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  return nothing;
}

int main(int argc, char **argv) {
  int rank, ranks, provided, sent = 1, got;
  MPI_Request requests[2];
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (char *at = argv[rank + 1 < argc ? rank + 1 : argc - 1]; *at != 0; ++at) {
    switch (*at) {
      case 'w': usleep(1000 * (useconds_t)strtol(at + 1, &at, 10)); --at; break;
      case '0': MPI_Pcontrol(0); break;
      case '1': MPI_Pcontrol(1); break;
      case '2': MPI_Pcontrol(2); break;
      case 'b': MPI_Barrier(MPI_COMM_WORLD); break;
      case '(': farscale_region_start("step"); break;
      case ')': farscale_region_stop("step"); break;
      case 's':
        MPI_Irecv(&got, 1, MPI_INT, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&sent, 1, MPI_INT, (rank + 1) % ranks, 1, MPI_COMM_WORLD, &requests[1]);
        break;
      case 'c': MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); break;
      case 't':
        pthread_create(&thread, NULL, ask, NULL);
        pthread_join(thread, NULL);
        break;
      case 'x': _exit(0);
    }
  }
  MPI_Finalize();
  return 0;
}
