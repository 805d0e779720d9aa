/* An MPI program with OpenMP that does one thing, named by its argument, and keeps clocks of its own: what it prints,
 * in seconds over all threads of all ranks, is what farscale has to measure. Its work is sleeping, so that threads that
 * share a core with others have the time that they would have alone. */
#include <farscale.h>
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kThreads = 4, kMost = 16 };

static int rank, ranks;
static double useful[kMost], serial, imbalance, waited, mpi, mpi_idle;

static double now_of(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

static double now(void) { return now_of(CLOCK_MONOTONIC); }

static void nap(double milliseconds) {
  struct timespec time = {0, (long)(milliseconds * 1e6)};
  nanosleep(&time, NULL);
}

static double work(int thread, double milliseconds) {
  const double begin = now();
  nap(milliseconds);
  const double end = now();
  useful[thread] += end - begin;
  return end;
}

static void work_alone(double milliseconds) {
  const double begin = now();
  serial += work(0, milliseconds) - begin;
}

/* What threads that were done at these times waited for the last one. */
static double waiting(const double* done, int threads) {
  double last = 0, sum = 0;
  for (int i = 0; i < threads; ++i) last = done[i] > last ? done[i] : last;
  for (int i = 0; i < threads; ++i) sum += last - done[i];
  return sum;
}

/* One of four threads works ten times as long as the others, then the main thread works alone. */
static void serial_parts(void) {
  double done[kThreads];
  for (int step = 0; step < 5; ++step) {
    farscale_region_start("team");
#pragma omp parallel num_threads(kThreads)
    done[omp_get_thread_num()] = work(omp_get_thread_num(), omp_get_thread_num() == 0 ? 20 : 2);
    farscale_region_stop("team");
    imbalance += waiting(done, kThreads);
    work_alone(10);
  }
}

/* Loops with their barriers inside one region, the last one static. */
static void loops(void) {
  double done[3][kThreads];
#pragma omp parallel num_threads(kThreads)
  {
    const int me = omp_get_thread_num();
    done[0][me] = work(me, me == 3 ? 30 : 10);
#pragma omp barrier
#pragma omp for schedule(dynamic, 1)
    for (int i = 0; i < 16; ++i) done[1][me] = work(me, 1 + i % 4);
#pragma omp for schedule(static)
    for (int i = 0; i < kThreads; ++i) done[2][me] = work(me, 5 * i);
  }
  for (int i = 0; i < 3; ++i) imbalance += waiting(done[i], kThreads);
}

/* Threads that wait for each other's locks. */
static void locks(void) {
  double lost[kThreads] = {0}, done[kThreads];
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel num_threads(kThreads)
  {
    const int me = omp_get_thread_num();
    for (int i = 0; i < 4; ++i) {
      double begin = now();
#pragma omp critical
      {
        lost[me] += now() - begin;
        work(me, 2);
      }
      begin = now();
      omp_set_lock(&lock);
      lost[me] += now() - begin;
      work(me, 2);
      omp_unset_lock(&lock);
    }
    done[me] = now();
  }
  imbalance = waiting(done, kThreads);
  for (int i = 0; i < kThreads; ++i) waited += lost[i];
}

/* One thread makes tasks, all run them; then tasks of tasks that one thread waits for. */
static void tasks(void) {
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp single
    {
      for (int i = 0; i < 24; ++i) {
#pragma omp task
        work(omp_get_thread_num(), 4);
      }
#pragma omp taskwait
#pragma omp taskgroup
      for (int i = 0; i < 6; ++i) {
#pragma omp task
        {
#pragma omp task
          work(omp_get_thread_num(), 3);
          work(omp_get_thread_num(), 1);
#pragma omp taskwait
        }
      }
#pragma omp taskloop grainsize(1)
      for (int i = 0; i < 6; ++i) work(omp_get_thread_num(), 5);
    }
  }
}

/* The main thread makes tasks, and works itself until others have run them. */
static void tasks_of_others(void) {
  int done = 0;
#pragma omp parallel num_threads(kThreads)
#pragma omp master
  {
    for (int i = 0; i < 2; ++i) {
#pragma omp task shared(done)
      __atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
    }
    while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < 2) work(0, 1);
  }
}

/* The main thread is in MPI while its workers have no team. */
static void alone_in_mpi(void) {
#pragma omp parallel num_threads(kThreads)
  work(omp_get_thread_num(), 5);
  for (int step = 0; step < 3; ++step) {
    if (rank != step % ranks) {
      work_alone(4);
    } else {
      work_alone(24);
    }
    const double begin = now();
    MPI_Barrier(MPI_COMM_WORLD);
    const double time = now() - begin;
    mpi += time;
    mpi_idle += time * (kThreads - 1);
  }
}

/* The main thread is in MPI inside of a team: one of the others works, two wait at the barrier. */
static void master_in_mpi(void) {
  double begin = 0, end = 0, done[kThreads] = {0}, done_then[kThreads];
#pragma omp parallel num_threads(kThreads)
  {
    const int me = omp_get_thread_num();
    if (me == 0) {
      if (rank == 0) work(0, 30);
      begin = now();
      MPI_Barrier(MPI_COMM_WORLD);
      end = now();
      done[0] = end;
    } else {
      done[me] = work(me, me == 1 ? 60 : 2);
    }
#pragma omp barrier
    done_then[me] = work(me, 5);
  }
  imbalance += waiting(done_then, kThreads);
  mpi = end - begin;
  double last = 0;
  for (int i = 0; i < kThreads; ++i) last = done[i] > last ? done[i] : last;
  for (int i = 0; i < kThreads; ++i) {
    const double from = done[i] > begin ? done[i] : begin, in_mpi = end > from ? end - from : 0;
    if (i > 0) mpi_idle += in_mpi;
    imbalance += last - done[i] - (i > 0 ? in_mpi : 0);
  }
}

/* Two threads with two each. */
static void nested(void) {
  omp_set_max_active_levels(2);
  double outer[2];
  for (int step = 0; step < 2; ++step) {
#pragma omp parallel num_threads(2)
    {
      const int team = omp_get_thread_num();
      double done[2];
      work(team * 2, 3);
#pragma omp parallel num_threads(2)
      done[omp_get_thread_num()] = work(team * 2 + omp_get_thread_num(), omp_get_thread_num() == 0 ? 4 : 20);
      const double lost = waiting(done, 2);
#pragma omp critical
      imbalance += lost;
      outer[team] = work(team * 2, team == 0 ? 2 : 12);
    }
    imbalance += waiting(outer, 2);
  }
}

static void sizes(void) {
  const int teams[] = {2, 4, 3, 1, 4};
  for (int i = 0; i < 5; ++i) {
#pragma omp parallel num_threads(teams[i])
    work(omp_get_thread_num(), 10);
  }
  work_alone(10);
}

/* Workers call MPI. */
static void multiple(void) {
  double in_mpi[kThreads] = {0};
#pragma omp parallel num_threads(kThreads)
  {
    const int me = omp_get_thread_num(), to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    double sent = me, received = 0;
    work(me, rank == 0 && me == 1 ? 40 : 5);
    const double begin = now();
    MPI_Request requests[2];
    MPI_Irecv(&received, 1, MPI_DOUBLE, from, me, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&sent, 1, MPI_DOUBLE, to, me, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    in_mpi[me] = now() - begin;
    work(me, 5);
  }
  for (int i = 0; i < kThreads; ++i) mpi += in_mpi[i];
}

/* Threads that no OpenMP library knows, which use as much CPU time as they are told, and then end or stay. */
static int burned = 0;

static void* burn(void* are_joined) {
  while (now_of(CLOCK_THREAD_CPUTIME_ID) < 0.05) {
  }
  __atomic_fetch_add(&burned, 1, __ATOMIC_SEQ_CST);
  while (are_joined == NULL) nap(500);
  return NULL;
}

static void own_threads(int are_joined) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, burn, are_joined ? threads : NULL);
  for (int i = 0; i < 3 && are_joined; ++i) pthread_join(threads[i], NULL);
  while (__atomic_load_n(&burned, __ATOMIC_SEQ_CST) < 3) nap(5);
}

/* Parallel regions of a given length, as fast as they come. */
static void many(int regions, double microseconds, int threads) {
  for (int i = 0; i < regions; ++i) {
#pragma omp parallel num_threads(threads)
    {
      const double until = now() + microseconds * 1e-6;
      while (now() < until) {
      }
    }
  }
}

/* As many small tasks; what of the time is work is measured by the threads. */
static void tiny_tasks(void) {
#pragma omp parallel num_threads(kThreads)
#pragma omp single
  for (int i = 0; i < 20000; ++i) {
#pragma omp task
    {
      const int me = omp_get_thread_num();
      const double begin = now();
      while (now() < begin + 2e-6) {
      }
      useful[me] += now() - begin;
    }
  }
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const int is_multiple = strcmp(what, "multiple") == 0;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, is_multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  /* Libraries make their threads first. */
  const int has_teams = strcmp(what, "own") != 0 && strcmp(what, "joined") != 0;
  if (has_teams) {
#pragma omp parallel num_threads(kThreads)
    nap(1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  farscale_region_start("work");
  const double start = now(), cpu = now_of(CLOCK_THREAD_CPUTIME_ID);
  if (strcmp(what, "serial") == 0) serial_parts();
  if (strcmp(what, "loops") == 0) loops();
  if (strcmp(what, "locks") == 0) locks();
  if (strcmp(what, "tasks") == 0) tasks();
  if (strcmp(what, "others") == 0) tasks_of_others();
  if (strcmp(what, "alone") == 0) alone_in_mpi();
  if (strcmp(what, "master") == 0) master_in_mpi();
  if (strcmp(what, "nested") == 0) nested();
  if (strcmp(what, "sizes") == 0) sizes();
  if (is_multiple && provided == MPI_THREAD_MULTIPLE) multiple();
  if (strcmp(what, "joined") == 0) own_threads(1);
  if (strcmp(what, "own") == 0) own_threads(0);
  if (strcmp(what, "many") == 0) many(atoi(argv[2]), atof(argv[3]), atoi(argv[4]));
  if (strcmp(what, "tiny") == 0) tiny_tasks();
  if (argc == 3 && strcmp(argv[2], "segv") == 0) {
    double sum = 0;
    for (int i = 0; i < kMost; ++i) sum += useful[i];
    printf("%.9f\n", sum);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == ranks - 1) *(volatile int*)8 = 0;
  }
  const double begin = now(), elapsed = begin - start, used = now_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
  MPI_Barrier(MPI_COMM_WORLD);
  mpi += now() - begin;
  mpi_idle += (now() - begin) * (kThreads - 1);
  farscale_region_stop("work");
  double own[6] = {0, serial, imbalance, waited, mpi, mpi_idle}, all[6] = {0};
  for (int i = 0; i < kMost; ++i) own[0] += useful[i];
  MPI_Reduce(own, all, 6, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("{\"useful\": %.9f, \"serial\": %.9f, \"imbalance\": %.9f, \"waited\": %.9f, \"mpi\": %.9f, "
           "\"mpiIdle\": %.9f, \"elapsed\": %.9f, \"cpu\": %.9f}\n",
           all[0], all[1], all[2], all[3], all[4], all[5], elapsed, used);
  }
  MPI_Finalize();
  return 0;
}
