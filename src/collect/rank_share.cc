#include "collect/rank_share.h"

#include <algorithm>
#include <map>
#include <utility>

namespace farscale::collect {
namespace {

// The times of all CPUs of a process, one for each thread of its largest OpenMP team.
ThreadTimes TimesOfCpus(const Page& page, const Sums& total, double seconds_a_tick, bool counts_team) {
  const auto seconds = [&](double ticks) { return std::max(0.0, ticks) * seconds_a_tick; };
  const ThreadSums& threads = total.threads;
  const auto elapsed = static_cast<double>(total.elapsed);
  const auto main_mpi = static_cast<double>(std::min(total.mpi, total.elapsed));
  const auto in_runtime = static_cast<double>(threads.main_in_runtime);
  const auto offload = static_cast<double>(total.offload);
  ThreadTimes times;
  times.cpus = counts_team ? std::max({1, page.threads, static_cast<int>(page.teams.most) + 1}) : 1;
  times.useful =
      seconds(elapsed - main_mpi - in_runtime - offload) + seconds(static_cast<double>(threads.worker_useful));
  times.device_runtime = seconds(offload + static_cast<double>(threads.worker_device));
  times.mpi = seconds(main_mpi + static_cast<double>(threads.worker_mpi));
  // Those outside of teams do nothing while the main thread is in MPI.
  times.mpi_idle = seconds((times.cpus - 1) * main_mpi - static_cast<double>(threads.active_mpi)) +
                   seconds(static_cast<double>(threads.mpi_wait));
  times.imbalance = seconds(static_cast<double>(threads.imbalance));
  times.scheduling = seconds(static_cast<double>(threads.scheduling));
  const double known = times.Work() + times.mpi + times.mpi_idle + times.imbalance + times.scheduling;
  const double all = times.cpus * seconds(elapsed);
  times.serialization = std::max(0.0, all - known);
  // Clocks that are read one after the other may say a little too much.
  if (known <= all) return times;
  for (double* time :
       {&times.useful, &times.device_runtime, &times.mpi, &times.mpi_idle, &times.imbalance, &times.scheduling}) {
    *time *= all / known;
  }
  return times;
}

void AddTimes(const ThreadTimes& more, ThreadTimes& all) {
  all.cpus += more.cpus;
  all.useful += more.useful;
  all.device_runtime += more.device_runtime;
  all.mpi += more.mpi;
  all.mpi_idle += more.mpi_idle;
  all.imbalance += more.imbalance;
  all.scheduling += more.scheduling;
  all.serialization += more.serialization;
}

}  // namespace

bool HasTeams(const Page& page) { return page.teams.most > 0 && (page.flags & kTooManyThreads) == 0; }

bool UsesDevices(const Page& page) { return page.offload != 0 || page.offload_entered != 0 || page.devices.sums != 0; }

RankShare ShareOf(const Page& page, const RegionRecord& region, const Sums& now, double seconds_a_tick,
                  bool counts_team) {
  const Sums total = TotalOf(page, region, now);
  const Window window = WindowOf(page, region, now);
  // The tick of the begin and its time show where on the clock of the node a tick is.
  const double began = static_cast<double>(page.begin_clock) * 1e-9;
  RankShare share;
  share.begin = began + static_cast<double>(window.begin) * seconds_a_tick;
  share.end = began + static_cast<double>(window.end) * seconds_a_tick;
  share.elapsed = static_cast<double>(total.elapsed) * seconds_a_tick;
  share.mpi = static_cast<double>(std::min(total.mpi, total.elapsed)) * seconds_a_tick;
  share.starts = region.starts;
  share.calls = total.calls;
  share.threads = TimesOfCpus(page, total, seconds_a_tick, counts_team);
  share.is_hybrid = HasTeams(page) || UsesDevices(page);
  return share;
}

LoadSums SumLoads(const std::vector<RankShare>& shares, bool is_hybrid) {
  LoadSums sums;
  std::map<std::uint64_t, std::pair<double, double>> nodes;  // seconds outside MPI, and CPUs
  for (const RankShare& share : shares) {
    ThreadTimes times = share.threads;
    if (!is_hybrid) times = {.cpus = 1, .useful = share.MainUseful(), .mpi = share.mpi};
    AddTimes(times, sums.threads);
    sums.of_ranks.push_back(times.OutsideMpi() / times.cpus);
    nodes[share.node].first += times.OutsideMpi();
    nodes[share.node].second += times.cpus;
  }
  sums.nodes = static_cast<int>(nodes.size());
  for (const auto& [node, load] : nodes) sums.largest_node = std::max(sums.largest_node, load.first / load.second);
  if (shares.empty()) return sums;
  sums.average = sums.threads.OutsideMpi() / sums.threads.cpus;
  sums.largest = std::max(0.0, std::ranges::max(sums.of_ranks));
  return sums;
}

double WindowLength(const std::vector<RankShare>& shares) {
  return std::ranges::max(shares, {}, &RankShare::end).end - std::ranges::min(shares, {}, &RankShare::begin).begin;
}

std::optional<double> WholeSpan(const std::vector<RankShare>& shares) {
  constexpr double kLargestGapShare = 0.02;  // [docs/formulas.md, spans]
  if (shares.empty()) return std::nullopt;
  const bool is_each = std::ranges::any_of(shares, [&](const RankShare& share) {
    const double gaps = share.end - share.begin - share.elapsed;
    return share.node != shares.front().node || gaps >= kLargestGapShare * share.elapsed;
  });
  return is_each ? std::nullopt : std::optional(WindowLength(shares));
}

}  // namespace farscale::collect
