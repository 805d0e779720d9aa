/* Regions of a program that farscale measures, and what it knows of them while the program runs.
 *
 * Link with -lfarscale, a library that does nothing: under `farscale measure` and `farscale trace` the functions of the
 * loaded library take its place. So a program keeps running where farscale is not in use.
 *
 * Regions may nest, overlap, repeat and be started on some ranks only. A region that is started while it is open is
 * counted once, from its first start to its last stop. All functions return 0, or one of the codes below; they may be
 * called between MPI_Init and MPI_Finalize by the thread that called MPI_Init.
 *
 * A rank has room for 255 names; further regions are not measured. Names are UTF-8. Of a name of more than 63 bytes the
 * first 54 are kept, control characters become question marks, and in both cases "~" and eight digits follow that
 * tell it from others.
 */
#ifndef FARSCALE_H
#define FARSCALE_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
  FARSCALE_OK = 0,
  FARSCALE_NOT_MEASURING = 1, /* farscale is not loaded, or MPI is not running */
  FARSCALE_NO_SUCH_REGION = 2,
  FARSCALE_NOT_STARTED = 3,
  FARSCALE_TOO_MANY_REGIONS = 4, /* no room for the name; of a stop: it may be one that found none */
  FARSCALE_OTHER_THREAD = 5
};

enum {
  FARSCALE_LOCAL = 0,    /* of this rank alone */
  FARSCALE_ALL_RANKS = 1 /* of all ranks of MPI_COMM_WORLD, which must all call */
};

/* Times in seconds. Of all ranks: elapsed is from the first start to the last stop of any rank while the gaps between
 * occurrences are below 2 % of their time and all ranks are on one node, else the longest sum of occurrences of any
 * rank; useful and mpi are means, counts are sums. Where ranks have OpenMP teams, useful is a mean over all CPUs, and
 * parallel_efficiency that of all of them; the other efficiencies are those of MPI.
 * Efficiencies lie between 0 and 1; a local query knows none but parallel_efficiency, which is useful / elapsed, and
 * leaves the others at 0. */
typedef struct farscale_metrics {
  int ranks; /* that have started the region */
  int nodes;
  double elapsed;
  double useful; /* outside MPI */
  double mpi;
  unsigned long long starts;
  unsigned long long mpi_calls;
  double parallel_efficiency;
  double communication_efficiency;
  double load_balance;
  double load_balance_in;  /* within nodes */
  double load_balance_out; /* between nodes */
} farscale_metrics;

int farscale_region_start(const char* name);
int farscale_region_stop(const char* name);

/* Fills `metrics` with what is known so far; name 0 or "" is the whole run. Look at what it returns: unless that is 0,
 * `metrics` is all zeros, and so it is without farscale. */
int farscale_query(const char* name, int scope, farscale_metrics* metrics);

/* Rank 0 prints a line on stderr; all ranks must call. */
int farscale_region_report(const char* name);

#ifdef __cplusplus
}
#endif

#endif
