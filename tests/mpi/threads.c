/* Two threads of every rank send to the next one and receive from the previous one at the same time, each 500 times.
 * The first argument changes that: "only" the main thread does; "mixed": what the other thread of rank 0 sends, the main
 * threads of the others take, and it joins their collectives, one of which makes a communicator; "overflow": the other
 * thread then fills its stack. */
#include <mpi.h>
#include <pthread.h>
#include <string.h>

static int rank, ranks;
static const char* how = "";

static int deeper(int depth) {
  volatile char room[4096];
  room[depth % 4096] = (char)depth;
  return depth < 0 ? 0 : deeper(depth + 1) + room[depth % 4096];
}

static void* exchange(void* tag) {
  int i, mine = rank, got;
  for (i = 0; i < 500; ++i) {
    MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % ranks, *(int*)tag, &got, 1, MPI_INT, (rank + ranks - 1) % ranks,
                 *(int*)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (!strcmp(how, "overflow") && *(int*)tag == 2) deeper(0);
  return NULL;
}

static void* mix(void* unused) {
  int i, to, one = 1, sum;
  MPI_Request request;
  MPI_Comm copy;
  for (i = 0; i < 50; ++i) {
    for (to = 1; rank == 0 && to < ranks; ++to) {
      MPI_Send(&i, 1, MPI_INT, to, 3, MPI_COMM_WORLD);
      MPI_Isend(&i, 1, MPI_INT, to, 4, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (to = 3; rank != 0 && to < 5; ++to) MPI_Recv(&sum, 1, MPI_INT, 0, to, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Barrier(copy);
  MPI_Comm_free(&copy);
  return unused;
}

int main(int argc, char** argv) {
  int provided, tags[2] = {1, 2};
  pthread_t other;
  if (argc > 1) how = argv[1];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (provided == MPI_THREAD_MULTIPLE && !strcmp(how, "mixed")) {
    if (rank == 0) {
      pthread_create(&other, NULL, mix, NULL);
      pthread_join(other, NULL);
    } else {
      mix(NULL);
    }
  } else if (provided == MPI_THREAD_MULTIPLE) {
    if (strcmp(how, "only")) pthread_create(&other, NULL, exchange, &tags[1]);
    exchange(&tags[0]);
    if (strcmp(how, "only")) pthread_join(other, NULL);
  }
  MPI_Finalize();
  return provided == MPI_THREAD_MULTIPLE ? 0 : 77;
}
