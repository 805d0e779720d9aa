// What the CPUs of a process, one for each thread of its largest OpenMP team, spent their time on. Definitions are
// those of the trace path [docs/formulas.md, threads].
#pragma once

#include <vector>

#include "collect/page.h"

namespace farscale::collect {

struct RegionMetrics;

// Seconds, summed over the CPUs of one process or of several. They add up to the CPUs' time of the region.
struct ThreadTimes {
  int cpus = 1;
  double useful = 0;
  double mpi = 0;            // of any thread
  double mpi_idle = 0;       // threads without work while the main thread was in MPI
  double imbalance = 0;      // at barriers and waits for tasks
  double scheduling = 0;     // in the runtime, and waiting for locks
  double serialization = 0;  // threads outside of teams while the main thread computed
  double device = 0;         // in runtimes of devices

  double outside_mpi() const { return useful + device + imbalance + scheduling + serialization; }
};

// Whether the process had OpenMP teams of several threads and all of these could be measured.
bool HasTeams(const Page& page);

// `total` is of a region, as TotalOf gives it. Without teams anywhere in the run a process is one CPU, as in a run of
// MPI alone.
ThreadTimes ThreadTimesOf(const Page& page, const Sums& total, double seconds_a_tick, bool has_teams);

// Puts times of all CPUs in the place of those of main threads: `times` and `nodes` of every rank that has started the
// region. Elapsed times are known.
void UseThreadTimes(const std::vector<ThreadTimes>& times, const std::vector<int>& nodes, RegionMetrics& metrics);

// OpenMP parallel efficiency and its children, and what of the CPUs' work is not in runtimes of devices.
struct OpenMpEfficiencies {
  double parallel = 1;
  double load_balance = 1;
  double scheduling = 1;
  double serialization = 1;
  double offload = 1;
};
OpenMpEfficiencies OpenMpEfficienciesOf(const ThreadTimes& times);

}  // namespace farscale::collect
