#include "collect/page.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>

#include "collect/text.h"

namespace farscale::collect {
namespace {

using Fields = std::array<std::uint64_t, sizeof(Sums) / sizeof(std::uint64_t)>;

template <typename Operation>
Sums Combine(const Sums& first, const Sums& second, Operation operation) {
  auto fields = std::bit_cast<Fields>(first);
  std::ranges::transform(fields, std::bit_cast<Fields>(second), fields.begin(), operation);
  return std::bit_cast<Sums>(fields);
}

}  // namespace

// A page may be copied while its process writes to it; then what is later may be a little less.
Sums Minus(const Sums& later, const Sums& earlier) {
  return Combine(later, earlier, [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; });
}

void Add(Sums& sums, const Sums& more) { sums = Combine(sums, more, std::plus()); }

Sums SumsOfPage(const Page& page, std::uint64_t now) {
  const RegionRecord& whole = page.region[0];
  if (page.end_tick != 0) {
    Sums sums = whole.at_start;
    Add(sums, whole.total);
    return sums;
  }
  Sums sums{};
  sums.elapsed = now > page.begin_tick ? now - page.begin_tick : 0;
  sums.mpi = page.mpi + (page.entered != 0 && now > page.entered ? now - page.entered : 0);
  sums.calls = page.calls;
  sums.other_calls = page.other_calls;
  sums.instructions = page.instructions;
  sums.cycles = page.cycles;
  sums.offload =
      page.offload + (page.offload_entered != 0 && now > page.offload_entered ? now - page.offload_entered : 0);
  sums.threads = ThreadSumsOfPage(page, now);
  sums.ideal = page.ideal + (page.entered == 0 && page.left != 0 && now > page.left ? now - page.left : 0);
  return sums;
}

namespace {

// True if time adds up to it.
bool IsCounting(const Page& page, const RegionRecord& region) {
  return region.open != 0 && page.end_tick == 0 && (page.flags & kSwitchedOff) == 0;
}

}  // namespace

Sums TotalOf(const Page& page, const RegionRecord& region, const Sums& now) {
  Sums total = region.total;
  if (!IsCounting(page, region)) return total;
  Sums open = Minus(now, region.at_start);
  open.cpu = open.process_cpu = open.preemptions = 0;  // known at the end only
  Add(total, open);
  return total;
}

Window WindowOf(const Page& page, const RegionRecord& region, const Sums& now) {
  const bool goes_on = IsCounting(page, region);
  return {region.first_start, goes_on ? now.elapsed : region.last_stop, region.first_start_ideal,
          goes_on ? now.ideal : region.last_stop_ideal};
}

void EndAsOf(Page& page, std::uint64_t tick, std::uint64_t clock) {
  const Sums now = SumsOfPage(page, tick);
  for (std::uint32_t i = 0; i < page.regions && i < kMostRegions; ++i) {
    RegionRecord& region = page.region[i];
    const Window window = WindowOf(page, region, now);
    region.total = TotalOf(page, region, now);
    region.last_stop = window.end;
    region.last_stop_ideal = window.ideal_end;
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

namespace {

constexpr int kMostReads = 1000;  // chosen: a thread that was stopped while it wrote stops nobody else

std::uint64_t Load(const std::uint64_t& number) { return __atomic_load_n(&number, __ATOMIC_RELAXED); }

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

}  // namespace

ThreadSums ThreadSumsOfPage(const Page& page, std::uint64_t now) {
  ThreadSums sums{};
  const TeamRecord& teams = page.teams;
  const auto records = std::min<std::size_t>(__atomic_load_n(&teams.records, __ATOMIC_ACQUIRE), kMostThreads);
  if (records == 0) return sums;
  sums.scheduling = Load(teams.scheduling);
  sums.imbalance = Load(teams.imbalance);
  sums.mpi_wait = Load(teams.mpi_wait);
  sums.active_mpi = Load(teams.active_mpi);
  sums.regions = Load(teams.regions);
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
  return sums;
}

}  // namespace farscale::collect
