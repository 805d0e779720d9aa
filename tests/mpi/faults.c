/* A loop with one fault, by name:
 *
 *   faults none | rank | node | moving | late | calls | uneven | interruption | root | turns | skew
 *
 * Every iteration assembles for 6 ms, exchanges messages around a ring, solves for 18 ms, reduces, and updates for 3 ms.
 * Rank 1 solves longer; ranks 1 and 2 are slower in everything; another rank in every iteration solves longer; rank 1
 * assembles longer, and others wait for it three calls later; rank 1 solves three times; ranks solve from short to long;
 * rank 1 stops once; rank 0 writes while others wait for its broadcast; so does another one in every iteration. The
 * library made of this file with SKEW defined lets rank 1 leave reductions late.
 *
 * Ranks sleep for nearly all of that time, so that many fit on few processors. */
#include <mpi.h>
#include <string.h>
#include <time.h>

#include "farscale.h"

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void pause_for(double seconds) {
  struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
  nanosleep(&time, NULL);
}

#ifdef SKEW

int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm in) {
  int rank;
  const int code = PMPI_Allreduce(from, to, count, type, op, in);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) pause_for(30e-3);
  return code;
}

#else

enum { ITERATIONS = 20 };

static int rank, ranks;
static const char* fault;
static double stopped; /* seconds that the next computation is kept from going on */

static int is(const char* name) { return strcmp(fault, name) == 0; }

static void compute(const char* region, double milliseconds) {
  const double slow = is("node") && (rank == 1 || rank == 2) ? 2.5 : 1;
  const double seconds = 1e-3 * milliseconds * slow;
  farscale_region_start(region);
  pause_for(0.99 * seconds + stopped);
  stopped = 0;
  const double begin = now(CLOCK_PROCESS_CPUTIME_ID);
  while (now(CLOCK_PROCESS_CPUTIME_ID) - begin < 0.01 * seconds) continue;
  farscale_region_stop(region);
}

static void solve(int i) {
  double milliseconds = 18;
  int more;
  if (is("rank") && rank == 1) milliseconds += 30;
  if (is("moving") && rank == i % ranks) milliseconds += 30;
  if (is("uneven")) milliseconds *= 1 + 2 * (double)rank / (double)(ranks - 1);
  if (is("interruption") && rank == 1 && i == ITERATIONS / 2) stopped = 300e-3;
  compute("solve", milliseconds);
  for (more = 0; is("calls") && rank == 1 && more < 2; ++more) compute("solve", milliseconds);
}

static void write_alone(int i) {
  int value = 0;
  const int root = is("turns") ? i % ranks : 0;
  if (!is("root") && !is("turns")) return;
  if (rank == root) compute("write", 30);
  MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int i, out = 1, in;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 2 || ranks < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  fault = argv[1];
  MPI_Barrier(MPI_COMM_WORLD);
  for (i = 0; i < ITERATIONS; ++i) {
    farscale_region_start("step");
    compute("assemble", is("late") && rank == 1 ? 36 : 6);
    MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % ranks, 0, &in, 1, MPI_INT, (rank + ranks - 1) % ranks, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&out, 1, MPI_INT, (rank + ranks - 1) % ranks, 1, &in, 1, MPI_INT, (rank + 1) % ranks, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    solve(i);
    write_alone(i);
    MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    compute("update", 3);
    farscale_region_stop("step");
  }
  MPI_Finalize();
  return 0;
}

#endif
