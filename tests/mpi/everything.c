/* Messages of every kind, requests, collectives on several communicators, one-sided access and files, each a few times.
 * Any number of ranks from 2 on. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, ranks;

static void work(double seconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < seconds);
}

static void messages(MPI_Comm in) {
  int me, size, got = -1, mine, flag = 0;
  MPI_Comm_rank(in, &me);
  MPI_Comm_size(in, &size);
  mine = me;
  const int next = (me + 1) % size, previous = (me + size - 1) % size;
  MPI_Request requests[2];
  MPI_Status status;
  MPI_Sendrecv(&mine, 1, MPI_INT, next, 1, &got, 1, MPI_INT, previous, 1, in, MPI_STATUS_IGNORE);
  if (got != previous) MPI_Abort(in, 2);
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, in, &requests[0]);
  MPI_Isend(&mine, 1, MPI_INT, next, 2, in, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (got != previous) MPI_Abort(in, 3);
  MPI_Irecv(&got, 1, MPI_INT, previous, 3, in, &requests[0]);
  MPI_Issend(&mine, 1, MPI_INT, next, 3, in, &requests[1]);
  while (!flag) MPI_Test(&requests[0], &flag, &status);
  if (status.MPI_SOURCE != previous || status.MPI_TAG != 3) MPI_Abort(in, 4);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  if (me % 2 == 0 && me + 1 < size) {
    MPI_Send(&mine, 1, MPI_INT, me + 1, 4, in);
    MPI_Ssend(&mine, 1, MPI_INT, me + 1, 5, in);
  } else if (me % 2 == 1) {
    MPI_Message message;
    MPI_Recv(&got, 1, MPI_INT, me - 1, 4, in, MPI_STATUS_IGNORE);
    MPI_Mprobe(me - 1, 5, in, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&got, 1, MPI_INT, &message, &status);
  }
  MPI_Send(&mine, 1, MPI_INT, MPI_PROC_NULL, 6, in);
  MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, 6, in, MPI_STATUS_IGNORE);
}

static void persistent(void) {
  double out[100] = {0}, got[100];
  MPI_Request requests[2];
  int i, index, count, indices[2];
  MPI_Send_init(out, 100, MPI_DOUBLE, (rank + 1) % ranks, 7, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(got, 100, MPI_DOUBLE, (rank + ranks - 1) % ranks, 7, MPI_COMM_WORLD, &requests[1]);
  for (i = 0; i < 3; ++i) {
    MPI_Startall(2, requests);
    if (i == 0) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (i == 1) {
      MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
      MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    }
    if (i == 2) {
      int done = 0;
      while (done < 2) {
        MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
        done += count;
      }
    }
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void collectives(MPI_Comm in) {
  int size, me, value = 1, sum = 0;
  MPI_Comm_size(in, &size);
  MPI_Comm_rank(in, &me);
  int* all = calloc((size_t)size, sizeof(int));
  MPI_Request request;
  MPI_Barrier(in);
  MPI_Bcast(&value, 1, MPI_INT, 0, in);
  MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, size - 1, in);
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, in);
  if (sum != size) MPI_Abort(in, 5);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_MAX, in);
  MPI_Gather(&me, 1, MPI_INT, all, 1, MPI_INT, 0, in);
  MPI_Scatter(all, 1, MPI_INT, me == 0 ? MPI_IN_PLACE : &value, 1, MPI_INT, 0, in);
  MPI_Allgather(&me, 1, MPI_INT, all, 1, MPI_INT, in);
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, in);
  MPI_Scan(&me, &sum, 1, MPI_INT, MPI_SUM, in);
  MPI_Iallreduce(&me, &sum, 1, MPI_INT, MPI_SUM, in, &request);
  work(1e-4);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Ibarrier(in, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  free(all);
}

static void communicators(void) {
  MPI_Comm half, copy, line;
  int dimensions[1], periods[1] = {1};
  dimensions[0] = ranks;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  MPI_Comm_dup(half, &copy);
  MPI_Cart_create(MPI_COMM_WORLD, 1, dimensions, periods, 0, &line);
  collectives(half);
  collectives(copy);
  messages(line);
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&line);
  collectives(MPI_COMM_SELF);
}

static void one_sided(void) {
  static volatile int target = -1;
  int value = rank;
  MPI_Win window;
  MPI_Win_create((void*)&target, sizeof target, sizeof target, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Put(&value, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

static void files(const char* path) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, (MPI_Offset)(rank * (int)sizeof rank), &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  int i;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (i = 0; i < 5; ++i) {
    work(0.002 * (1 + rank));
    MPI_Pcontrol(1, "exchange");
    messages(MPI_COMM_WORLD);
    MPI_Pcontrol(-1, "exchange");
    collectives(MPI_COMM_WORLD);
  }
  MPI_Pcontrol(1);
  persistent();
  communicators();
  one_sided();
  if (argc > 1) files(argv[1]);
  MPI_Finalize();
  return 0;
}
