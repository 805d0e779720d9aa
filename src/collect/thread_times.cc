#include "collect/thread_times.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "collect/measured_run.h"

namespace farscale::collect {
namespace {

int CpusOf(const Page& page) { return std::max({1, page.threads, static_cast<int>(page.teams.most) + 1}); }

double Share(double part, double whole) { return whole > 0 ? part / whole : 1; }

// As EfficienciesOf, of ranks with different numbers of CPUs.
std::optional<Efficiencies> EfficienciesOfCpus(const std::vector<ThreadTimes>& times, const std::vector<int>& nodes,
                                               double elapsed) {
  double outside = 0, useful = 0, largest = 0, largest_load = 0;
  int cpus = 0;
  std::map<int, std::pair<double, int>> loads;
  for (std::size_t i = 0; i < times.size(); ++i) {
    outside += times[i].outside_mpi();
    useful += times[i].useful;
    cpus += times[i].cpus;
    largest = std::max(largest, times[i].outside_mpi() / times[i].cpus);
    loads[nodes[i]].first += times[i].outside_mpi();
    loads[nodes[i]].second += times[i].cpus;
  }
  if (!(useful > 0) || !(elapsed > 0)) return std::nullopt;
  for (const auto& [node, load] : loads) largest_load = std::max(largest_load, load.first / load.second);
  const double average = outside / cpus;
  Efficiencies e;
  e.parallel = useful / cpus / elapsed;
  e.load_balance = average / largest;
  e.load_balance_in = largest_load / largest;
  e.load_balance_out = average / largest_load;
  e.communication = largest / elapsed;
  return e;
}

}  // namespace

bool HasTeams(const Page& page) { return page.teams.most > 0 && (page.flags & kTooManyThreads) == 0; }

ThreadTimes ThreadTimesOf(const Page& page, const Sums& total, double seconds_a_tick, bool has_teams) {
  const auto seconds = [&](double ticks) { return std::max(0.0, ticks) * seconds_a_tick; };
  const ThreadSums& threads = total.threads;
  const auto elapsed = static_cast<double>(total.elapsed);
  const auto main_mpi = static_cast<double>(std::min(total.mpi, total.elapsed));
  const auto in_runtime = static_cast<double>(threads.main_in_runtime);
  ThreadTimes times;
  times.cpus = has_teams ? CpusOf(page) : 1;
  const auto offload = static_cast<double>(total.offload);
  times.useful =
      seconds(elapsed - main_mpi - in_runtime - offload) + seconds(static_cast<double>(threads.worker_useful));
  times.device = seconds(offload + static_cast<double>(threads.worker_device));
  times.mpi = seconds(main_mpi + static_cast<double>(threads.worker_mpi));
  // Those outside of teams do nothing while the main thread is in MPI.
  times.mpi_idle = seconds((times.cpus - 1) * main_mpi - static_cast<double>(threads.active_mpi)) +
                   seconds(static_cast<double>(threads.mpi_wait));
  times.imbalance = seconds(static_cast<double>(threads.imbalance));
  times.scheduling = seconds(static_cast<double>(threads.scheduling));
  const double known = times.useful + times.device + times.mpi + times.mpi_idle + times.imbalance + times.scheduling;
  const double all = times.cpus * seconds(elapsed);
  times.serialization = std::max(0.0, all - known);
  // Clocks that are read one after the other may say a little too much.
  if (known <= all) return times;
  for (double* time :
       {&times.useful, &times.device, &times.mpi, &times.mpi_idle, &times.imbalance, &times.scheduling}) {
    *time *= all / known;
  }
  return times;
}

void UseThreadTimes(const std::vector<ThreadTimes>& times, const std::vector<int>& nodes, RegionMetrics& metrics) {
  ThreadTimes all;
  all.cpus = 0;
  metrics.useful_by_rank.clear();
  for (const ThreadTimes& one : times) {
    all.cpus += one.cpus;
    all.useful += one.useful;
    all.device += one.device;
    all.mpi += one.mpi;
    all.mpi_idle += one.mpi_idle;
    all.imbalance += one.imbalance;
    all.scheduling += one.scheduling;
    all.serialization += one.serialization;
    metrics.useful_by_rank.push_back(one.outside_mpi() / one.cpus);
  }
  if (times.empty()) return;
  metrics.threads = all;
  const std::vector<double>& elapsed = metrics.elapsed_by_rank;
  metrics.useful_average = all.outside_mpi() / all.cpus;
  metrics.useful_largest = std::ranges::max(metrics.useful_by_rank);
  metrics.useful_total = metrics.useful_average * static_cast<double>(times.size());
  metrics.mpi_total = std::max(0.0, std::accumulate(elapsed.begin(), elapsed.end(), 0.0) - metrics.useful_total);
  // Threads that compute while the main one is in MPI do so on any network.
  if (metrics.ideal_elapsed) metrics.ideal_elapsed = std::max(*metrics.ideal_elapsed, metrics.useful_largest);
  metrics.efficiencies = EfficienciesOfCpus(times, nodes, metrics.elapsed);
}

OpenMpEfficiencies OpenMpEfficienciesOf(const ThreadTimes& times) {
  const double worked = times.useful + times.device, computed = worked + times.serialization;
  const double balanced = computed + times.imbalance;
  OpenMpEfficiencies e;
  e.load_balance = Share(computed, balanced);
  e.scheduling = Share(balanced, balanced + times.scheduling);
  e.serialization = Share(worked, computed);
  e.parallel = Share(worked, times.outside_mpi());
  e.offload = Share(times.useful, worked);
  return e;
}

}  // namespace farscale::collect
