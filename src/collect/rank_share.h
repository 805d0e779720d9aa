// The times of one process in a region, and their sums over the ranks: what queries of the running program and the
// results of a run are made of. Definitions are those of the trace path [docs/formulas.md, threads and spans].
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collect/page.h"
#include "factors/formulas.h"

namespace farscale::collect {

// Seconds. Ranks send it to each other as it is.
struct RankShare {
  double begin = 0, end = 0;  // first start and last stop, on the clock of the node
  double elapsed = 0;
  double mpi = 0;  // the main thread's
  std::uint64_t starts = 0;
  std::uint64_t calls = 0;
  std::uint64_t node = 0;  // the same number on every rank of a node
  ThreadTimes threads{};   // all CPUs of the process; they add up to the CPUs' time of the region
  bool is_hybrid = false;  // has teams or uses devices

  double MainUseful() const { return elapsed - mpi; }
};

// True if the process had OpenMP teams of several threads and all of these could be measured.
bool HasTeams(const Page& page);
// True if the process used devices, by calls or by their work.
bool UsesDevices(const Page& page);

// `now` is SumsOfPage. Without `counts_team` the process is one CPU, as in a run of MPI alone. The node stays 0.
RankShare ShareOf(const Page& page, const RegionRecord& region, const Sums& now, double seconds_a_tick,
                  bool counts_team);

// Loads are seconds outside MPI of a CPU: of the main thread, or in a hybrid run the mean over the CPUs of a process.
struct LoadSums {
  std::vector<double> of_ranks;
  double average = 0;
  double largest = 0;
  double largest_node = 0;  // mean over the CPUs of a node
  int nodes = 0;
  ThreadTimes threads;  // over all ranks; without threads only `cpus`, `useful` and `mpi`
};
LoadSums SumLoads(const std::vector<RankShare>& shares, bool is_hybrid);

// From the first begin to the last end of any rank.
double WindowLength(const std::vector<RankShare>& shares);

// T of the span `whole`; nothing where the span is `each`: a rank has gaps of 2 % of its time, or ranks are on several
// nodes, whose clocks do not compare.
std::optional<double> WholeSpan(const std::vector<RankShare>& shares);

}  // namespace farscale::collect
