/* An MPI program whose ranks use devices, and keep account of it themselves: what it prints of its region `work`, in
 * seconds, is what farscale has to measure. The host works by sleeping. */
#include <farscale.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fake_device.h"

static double calls; /* of the host */
static double kernel_time, active_time;
static int rank, ranks, device;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

static void work(double milliseconds) {
  struct timespec time = {0, (long)(milliseconds * 1e6)};
  nanosleep(&time, NULL);
}

static int start(int stream, int kind, double milliseconds) {
  const double begin = now();
  const int operation = fake_start(device, stream, kind, milliseconds);
  calls += now() - begin;
  return operation;
}

static void synchronize(void) {
  const double begin = now();
  fake_synchronize(device);
  calls += now() - begin;
}

static double length(int operation) {
  double begin, end;
  fake_times(operation, &begin, &end);
  return end - begin;
}

/* Of two operations that overlap. */
static double together(int first, int second) {
  double begin, end, other_begin, other_end;
  fake_times(first, &begin, &end);
  fake_times(second, &other_begin, &other_end);
  return (end > other_end ? end : other_end) - (begin < other_begin ? begin : other_begin);
}

/* Two kernels at once while the host works, then a copy that it waits for, then work of the host alone. */
static void step(void) {
  const int kernel = start(0, kFakeKernel, 40 + 20 * rank), other = start(1, kFakeKernel, 20);
  work(25);
  synchronize();
  const int copy = start(0, kFakeCopy, 15);
  synchronize();
  work(10);
  const double begin = now();
  fake_think(5);
  calls += now() - begin;
  kernel_time += together(kernel, other);
  active_time += together(kernel, other) + length(copy);
}

/* A kernel that goes on when the region has ended. */
static double crossing_kernel(void) {
  farscale_region_start("before");
  const int kernel = start(0, kFakeKernel, 60);
  work(20);
  farscale_region_stop("before");
  const double stop = now();
  synchronize();
  double begin, end;
  fake_times(kernel, &begin, &end);
  return stop - begin;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "early") == 0) {
    fake_start(0, 0, kFakeKernel, 30);
    fake_synchronize(0);
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  device = strcmp(what, "shared") == 0 ? 0 : rank;
  farscale_region_start("work");
  double begin = now();
  for (int i = 0; i < 4; ++i) step();
  const double elapsed = now() - begin, in_calls = calls;
  farscale_region_stop("work");
  farscale_region_start("quiet");
  work(10);
  farscale_region_stop("quiet");
  const double before = crossing_kernel();
  if (strcmp(what, "killed") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == ranks - 1) *(volatile int*)8 = 0;
  }
  double own[5] = {kernel_time, active_time, elapsed, in_calls, before}, all[5 * 16];
  MPI_Gather(own, 5, MPI_DOUBLE, all, 5, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("[");
    for (int i = 0; i < ranks; ++i) {
      printf("%s{\"kernels\": %.9f, \"active\": %.9f, \"elapsed\": %.9f, \"calls\": %.9f, \"before\": %.9f}",
             i > 0 ? ", " : "", all[5 * i], all[5 * i + 1], all[5 * i + 2], all[5 * i + 3], all[5 * i + 4]);
    }
    printf("]\n");
  }
  MPI_Finalize();
  return 0;
}
