/* Ends badly, or nearly so, as its first argument says: after half a second of which rank 0 computes all and the others
 * half. The second argument, if any, is the rank that ends; the others wait for it. Without one, all do. */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static char* guarded;
static int faults;
static volatile sig_atomic_t told;

static void work(double seconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < seconds);
}

static void steps(int rank, int count) {
  int i, one = 1, sum;
  for (i = 0; i < count; ++i) {
    work(rank == 0 ? 0.02 : 0.01);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}

/* What runtimes of garbage collected languages do: the fault is wanted, and its address and place have to be right. */
static void repair(int number, siginfo_t* info, void* context) {
  (void)number;
  if ((char*)info->si_addr != guarded || ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] == 0) _exit(9);
  ++faults;
  mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
}

static void note(int number) { told = number; }

static void handle(int number, void (*simple)(int), void (*with_info)(int, siginfo_t*, void*)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  if (simple) action.sa_handler = simple;
  if (with_info) action.sa_sigaction = with_info;
  action.sa_flags = with_info ? SA_SIGINFO : 0;
  sigaction(number, &action, NULL);
}

static int deeper(int depth) {
  volatile char room[4096];
  room[depth % 4096] = (char)depth;
  return depth < 0 ? 0 : deeper(depth + 1) + room[depth % 4096];
}

static void end(const char* how) {
  if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
  if (!strcmp(how, "segv")) *(volatile int*)0 = 1;
  if (!strcmp(how, "overflow")) deeper(0);
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "exit0")) exit(0);
  if (!strcmp(how, "exit3")) exit(3);
  if (!strcmp(how, "_exit")) _exit(0);
  if (!strcmp(how, "usr2")) raise(SIGUSR2);
  if (!strcmp(how, "alarm")) raise(SIGALRM);
  if (!strcmp(how, "term")) kill(getpid(), SIGTERM);
  if (!strcmp(how, "mpi_abort")) MPI_Abort(MPI_COMM_WORLD, 3);
}

int main(int argc, char** argv) {
  int rank;
  const char* how = argc > 1 ? argv[1] : "";
  guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!strcmp(how, "repair")) handle(SIGSEGV, NULL, repair);
  if (!strcmp(how, "survive")) handle(SIGTERM, note, NULL);
  printf("started\n");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!strcmp(how, "repair late")) handle(SIGSEGV, NULL, repair);
  if (!strcmp(how, "survive late")) handle(SIGTERM, note, NULL);
  steps(rank, 10);
  if (!strncmp(how, "repair", 6)) {
    guarded[5 - 5] = 1;
    printf("faults %d\n", faults);
  } else if (!strncmp(how, "survive", 7)) {
    raise(SIGTERM);
    printf("told %d\n", (int)told);
  } else if (argc < 3 || rank == atoi(argv[2])) {
    if (argc >= 3) usleep(100000); /* until the others wait */
    if (!strcmp(how, "wait")) sleep(20);
    end(how);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  fflush(stdout);
  if (strcmp(how, "told")) steps(rank, 10);
  MPI_Finalize();
  return 0;
}
