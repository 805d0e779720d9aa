/* How the runtimes of devices tell the collector what devices do. A backend is a library that the runtime loads itself,
 * as its interface for tools has it, so that programs without devices load none (docs/architecture.md, collect). It
 * looks the functions below up in its process: where there are none, the program is not measured.
 *
 * Functions may be called by any thread, and before, during and after the measured run. In C, as runtimes are. */
#ifndef FARSCALE_DEVICE_BACKEND_H
#define FARSCALE_DEVICE_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  FARSCALE_DEVICE_INTERFACE = 2,
  /* Of which runtime calls, kernels and copies are in traces. */
  FARSCALE_DEVICE_CUDA = 0,
  FARSCALE_DEVICE_HIP = 1,
  /* What a stream does. */
  FARSCALE_DEVICE_KERNEL = 0,
  FARSCALE_DEVICE_COPY = 1
};

typedef struct farscale_device_backend {
  uint32_t interface;    /* FARSCALE_DEVICE_INTERFACE */
  uint64_t (*now)(void); /* the clock of all times below, ns; NULL is CLOCK_MONOTONIC */
  void (*flush)(void);   /* hands over all work that has ended, before it returns; by the thread of MPI_Finalize */
  uint32_t paradigm;     /* FARSCALE_DEVICE_CUDA or _HIP */
} farscale_device_backend;

/* What one stream of a device did: a kernel, or a copy or another operation of its memory. */
typedef struct farscale_device_work {
  uint32_t device; /* by the number that farscale_device_name got */
  uint32_t kind;   /* FARSCALE_DEVICE_KERNEL or _COPY */
  uint64_t begin;
  uint64_t end;
} farscale_device_work;

/* The backend must stay where it is. Whether its work is wanted; 0 where another backend is there already. */
typedef int (*farscale_device_start_function)(const farscale_device_backend* backend);
/* The name of a device tells it from all others of its node, whichever process uses it: by its UUID or place on the
 * bus, not by a number that depends on the process. Before any work of it. */
typedef void (*farscale_device_name_function)(uint32_t device, const char* name);
/* In any order and portions, soon after it has ended: work that comes much later than what follows it may be lost. */
typedef void (*farscale_device_done_function)(const farscale_device_work* work, size_t count);
/* The calling thread enters and leaves a function of the runtime. */
typedef void (*farscale_device_call_function)(void);

int farscale_device_start(const farscale_device_backend* backend);
void farscale_device_name(uint32_t device, const char* name);
void farscale_device_done(const farscale_device_work* work, size_t count);
void farscale_device_enter(void);
void farscale_device_leave(void);

#ifdef __cplusplus
}
#endif

#endif
