#include "collect/page.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <utility>

#include "collect/text.h"

namespace farscale::collect {
namespace {

using SumFields = std::array<std::uint64_t, sizeof(Sums) / sizeof(std::uint64_t)>;

std::uint64_t Load(const std::uint64_t& number) { return __atomic_load_n(&number, __ATOMIC_RELAXED); }

template <typename Operation>
Sums Combine(const Sums& first, const Sums& second, Operation operation) {
  auto fields = std::bit_cast<SumFields>(first);
  std::ranges::transform(fields, std::bit_cast<SumFields>(second), fields.begin(), operation);
  return std::bit_cast<Sums>(fields);
}

constexpr int kMostReads = 1000;  // chosen: a thread that was stopped while it wrote stops nobody else

// A copy between two changes, with what the thread does now added.
ThreadRecord ReadRecord(const ThreadRecord& record, std::uint64_t now) {
  ThreadRecord copy{};
  for (int i = 0; i < kMostReads; ++i) {
    const std::uint32_t before = __atomic_load_n(&record.version, __ATOMIC_ACQUIRE);
    __atomic_load(&record.activity, &copy.activity, __ATOMIC_RELAXED);
    copy.since = Load(record.since);
    copy.useful = Load(record.useful);
    copy.scheduling = Load(record.scheduling);
    copy.imbalance = Load(record.imbalance);
    copy.mpi_wait = Load(record.mpi_wait);
    copy.mpi = Load(record.mpi);
    copy.device = Load(record.device);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if ((before & 1U) == 0 && __atomic_load_n(&record.version, __ATOMIC_RELAXED) == before) break;
  }
  const std::uint64_t open = now > copy.since ? now - copy.since : 0;
  if (copy.activity == Activity::kUseful) copy.useful += open;
  if (copy.activity == Activity::kScheduling) copy.scheduling += open;
  if (copy.activity == Activity::kMpi) copy.mpi += open;
  if (copy.activity == Activity::kDevice) copy.device += open;
  return copy;
}

void AddTeams(const Page& page, std::uint64_t now, Sums& sums) {
  const TeamRecord& teams = page.teams;
  const auto records = std::min<std::size_t>(__atomic_load_n(&teams.records, __ATOMIC_ACQUIRE), kMostThreads);
  if (records == 0) return;
  sums.scheduling = Load(teams.scheduling);
  sums.imbalance = Load(teams.imbalance);
  sums.mpi_wait = Load(teams.mpi_wait);
  sums.active_mpi = Load(teams.active_mpi);
  sums.parallel_regions = Load(teams.regions);
  for (std::size_t i = 0; i < records; ++i) {
    const ThreadRecord record = ReadRecord(page.thread[i], now);
    sums.scheduling += record.scheduling;
    sums.imbalance += record.imbalance;
    sums.mpi_wait += record.mpi_wait;
    if (i == 0) {
      sums.main_in_runtime = record.scheduling + record.imbalance;
    } else {
      sums.worker_useful += record.useful;
      sums.worker_mpi += record.mpi;
      sums.worker_device += record.device;
    }
  }
}

// The times of all CPUs of a process, one for each thread of its largest OpenMP team.
ThreadTimes TimesOfCpus(const Page& page, const Sums& total, double seconds_a_tick, bool counts_team) {
  const auto seconds = [&](double ticks) { return std::max(0.0, ticks) * seconds_a_tick; };
  const auto elapsed = static_cast<double>(total.elapsed);
  const auto main_mpi = static_cast<double>(std::min(total.mpi, total.elapsed));
  const auto in_runtime = static_cast<double>(total.main_in_runtime);
  const auto offload = static_cast<double>(total.offload);
  ThreadTimes times;
  times.cpus = counts_team ? std::max({1, page.threads, static_cast<int>(page.teams.most) + 1}) : 1;
  times.useful = seconds(elapsed - main_mpi - in_runtime - offload) + seconds(static_cast<double>(total.worker_useful));
  times.device_runtime = seconds(offload + static_cast<double>(total.worker_device));
  times.mpi = seconds(main_mpi + static_cast<double>(total.worker_mpi));
  // Those outside of teams do nothing while the main thread is in MPI.
  times.mpi_idle = seconds((times.cpus - 1) * main_mpi - static_cast<double>(total.active_mpi)) +
                   seconds(static_cast<double>(total.mpi_wait));
  times.imbalance = seconds(static_cast<double>(total.imbalance));
  times.scheduling = seconds(static_cast<double>(total.scheduling));
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

}  // namespace

// A page may be copied while its process writes to it; then what is later may be a little less.
Sums Minus(const Sums& later, const Sums& earlier) {
  return Combine(later, earlier, [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; });
}

void Add(Sums& sums, const Sums& more) { sums = Combine(sums, more, std::plus()); }

Sums SumsUntil(const Page& page, std::uint64_t now) {
  const auto since = [&](std::uint64_t tick) { return tick != 0 && now > tick ? now - tick : 0; };
  Sums sums{};
  sums.elapsed = now > page.begin_tick ? now - page.begin_tick : 0;
  sums.mpi = page.mpi + since(page.entered);
  sums.calls = page.calls;
  sums.other_calls = Load(page.other_calls);
  sums.instructions = page.instructions;
  sums.cycles = page.cycles;
  sums.offload = page.offload + since(page.offload_entered);
  AddTeams(page, now, sums);
  if ((page.flags & kHasIdeal) != 0) sums.ideal = page.ideal + (page.entered == 0 ? since(page.left) : 0);
  return sums;
}

Sums SumsOfPage(const Page& page, std::uint64_t now) {
  if (page.end_tick == 0) return SumsUntil(page, now);
  Sums sums = page.region[0].at_start;
  Add(sums, page.region[0].total);
  return sums;
}

RegionRecord RegionUntil(const Page& page, const RegionRecord& region, const Sums& now) {
  RegionRecord until = region;
  if (region.open == 0 || page.end_tick != 0 || (page.flags & kSwitchedOff) != 0) return until;
  Sums open = Minus(now, region.at_start);
  open.cpu = open.process_cpu = open.preemptions = 0;
  Add(until.total, open);
  until.last_stop = now.elapsed;
  until.last_stop_ideal = now.ideal;
  return until;
}

void EndAsOf(Page& page, std::uint64_t tick, std::uint64_t clock) {
  const Sums now = SumsOfPage(page, tick);
  for (std::uint32_t i = 0; i < page.regions && i < kMostRegions; ++i) {
    page.region[i] = RegionUntil(page, page.region[i], now);
  }
  page.region[0].stops = 1;
  page.region[0].open = 0;
  page.region[0].at_start = {};
  page.end_tick = tick;
  page.end_clock = clock;
}

int FindRegion(const Page& page, const char* name) {
  char cut[kNameBytes];
  CopyName(name, cut);
  for (std::uint32_t i = 1; i < page.regions; ++i) {
    if (std::strcmp(page.region[i].name, cut) == 0) return static_cast<int>(i);
  }
  return -1;
}

bool HasTeams(const Page& page) { return page.teams.most > 0 && (page.flags & kTooManyThreads) == 0; }

bool UsesDevices(const Page& page) { return page.offload != 0 || page.offload_entered != 0 || page.devices.sums != 0; }

RankShare ShareOf(const Page& page, const RegionRecord& region, double seconds_a_tick, bool counts_team) {
  const Sums& total = region.total;
  // The tick of the begin and its time show where on the clock of the node a tick is.
  const double began = static_cast<double>(page.begin_clock) * 1e-9;
  RankShare share;
  share.begin = began + static_cast<double>(region.first_start) * seconds_a_tick;
  share.end = began + static_cast<double>(region.last_stop) * seconds_a_tick;
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
  ThreadTimes& all = sums.threads;
  std::map<std::uint64_t, std::pair<double, double>> nodes;  // seconds outside MPI, and CPUs
  for (const RankShare& share : shares) {
    ThreadTimes times = share.threads;
    if (!is_hybrid) times = {.cpus = 1, .useful = share.elapsed - share.mpi, .mpi = share.mpi};
    all.cpus += times.cpus;
    all.useful += times.useful;
    all.device_runtime += times.device_runtime;
    all.mpi += times.mpi;
    all.mpi_idle += times.mpi_idle;
    all.imbalance += times.imbalance;
    all.scheduling += times.scheduling;
    all.serialization += times.serialization;
    sums.of_ranks.push_back(times.OutsideMpi() / times.cpus);
    nodes[share.node].first += times.OutsideMpi();
    nodes[share.node].second += times.cpus;
  }
  sums.nodes = static_cast<int>(nodes.size());
  for (const auto& [node, load] : nodes) sums.largest_node = std::max(sums.largest_node, load.first / load.second);
  if (shares.empty()) return sums;
  sums.average = all.OutsideMpi() / all.cpus;
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
