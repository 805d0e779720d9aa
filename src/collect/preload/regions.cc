#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

#include "collect/preload/call.h"
#include "collect/trace/communicators.h"
#include "collect/devices/devices.h"
#include "collect/include/farscale.h"
#include "collect/trace/recorder.h"
#include "collect/preload/run.h"
#include "collect/text.h"

namespace farscale::collect {
namespace {

// CPU time of regions is taken of the first occurrence, and of all once they last a millisecond in the mean: it takes
// three system calls at either end.
bool TimesCpu(const RegionRecord& region) {
  // The clock counts at least once a nanosecond; ten times as often is more than processors do.
  const std::uint64_t ticks_a_millisecond = (page->flags & kClockIsTsc) != 0 ? 2'000'000U : 1'000'000U;
  return region.stops == 0 || region.total.elapsed / region.stops >= ticks_a_millisecond;
}

int FindOrAdd(const char* name) {
  const int found = FindRegion(*page, name);
  if (found >= 0) return found;
  if (page->regions == kMostRegions) {
    page->flags |= kTooManyRegions;
    return -1;
  }
  CopyName(name, page->region[page->regions].name);
  // Readers on the node see the name before they see the region.
  __atomic_store_n(&page->regions, page->regions + 1, __ATOMIC_RELEASE);
  return static_cast<int>(page->regions) - 1;
}

std::uint32_t IndexOf(const RegionRecord& region) { return static_cast<std::uint32_t>(&region - page->region); }

bool IsSwitchedOff() { return (page->flags & kSwitchedOff) != 0; }

// From here on an occurrence counts, or the rest of it.
void BeginCounting(RegionRecord& region, const Sums& now) {
  region.at_start = now;
  if (region.starts != 0) return;
  region.first_start = now.elapsed;
  region.first_start_ideal = now.ideal;
}

void EndCounting(RegionRecord& region, const Sums& now) {
  Sums taken = Minus(now, region.at_start);
  if (region.times_cpu == 0) taken.cpu = taken.process_cpu = taken.preemptions = 0;
  Add(region.total, taken);
  region.last_stop = now.elapsed;
  region.last_stop_ideal = now.ideal;
  if (region.times_cpu != 0) region.cpu_ticks += taken.elapsed;
}

// An occurrence that lies in a stretch that is switched off is none.
void Open(RegionRecord& region) {
  if (IsSwitchedOff()) {
    ++region.open;
    return;
  }
  if (region.open == 0) {
    OpenRegionOfDevices(IndexOf(region));
    region.times_cpu = TimesCpu(region) ? 1 : 0;
    BeginCounting(region, SumsSoFar(region.times_cpu != 0));
  }
  ++region.open;
  ++region.starts;
}

void Close(RegionRecord& region) {
  if (region.open == 1 && !IsSwitchedOff()) {
    EndCounting(region, SumsSoFar(region.times_cpu != 0));
    CloseRegionOfDevices(IndexOf(region));
  }
  --region.open;
  if (region.open < region.starts - region.stops) ++region.stops;
}

int WhyNot(const char* name) {
  if (!IsMeasuring() || name == nullptr || *name == '\0') return FARSCALE_NOT_MEASURING;
  return IsMainThread() ? FARSCALE_OK : FARSCALE_OTHER_THREAD;
}

double SecondsATick() {
  if (!clock_is_tsc) return 1e-9;
  const Tick ticks = Now() - page->begin_tick;
  const std::uint64_t clock = Nanoseconds(CLOCK_MONOTONIC) - page->begin_clock;
  return ticks == 0 ? 1e-9 : static_cast<double>(clock) * 1e-9 / static_cast<double>(ticks);
}

void FillMetrics(std::vector<RankShare> shares, farscale_metrics& metrics) {
  const bool is_hybrid = std::ranges::any_of(shares, &RankShare::is_hybrid);
  const bool is_alone = shares.size() == 1;
  std::erase_if(shares, [](const RankShare& share) { return share.starts == 0; });
  if (shares.empty()) return;
  for (const RankShare& share : shares) {
    metrics.elapsed = std::max(metrics.elapsed, share.elapsed);
    metrics.mpi += share.mpi;
    metrics.starts += share.starts;
    metrics.mpi_calls += share.calls;
  }
  if (const auto whole = WholeSpan(shares)) metrics.elapsed = *whole;
  const LoadSums loads = SumLoads(shares, is_hybrid);
  metrics.ranks = static_cast<int>(shares.size());
  metrics.nodes = loads.nodes;
  metrics.useful = loads.average;
  metrics.mpi /= metrics.ranks;
  if (!(loads.threads.useful > 0) || !(metrics.elapsed > 0)) return;
  metrics.parallel_efficiency = ParallelEfficiency(loads.threads.useful / loads.threads.cpus, metrics.elapsed);
  if (is_alone) return;
  metrics.communication_efficiency = CommunicationEfficiency(loads.largest, metrics.elapsed);
  metrics.load_balance = LoadBalance(loads.average, loads.largest);
  metrics.load_balance_in = LoadBalanceWithinNodes(loads.largest_node, loads.largest);
  metrics.load_balance_out = LoadBalanceBetweenNodes(loads.average, loads.largest_node);
}

// Counts, and is recorded, like a call of the program itself.
void ShareWithAll(const RankShare& own, std::vector<RankShare>& shares) {
  shares.resize(static_cast<std::size_t>(page->ranks));
  const Call call(CallId::kMPI_Allgather);
  const bool is_recorded = call.is_recorded();
  if (is_recorded) Record(OTF2_EvtWriter_MpiCollectiveBegin);
  real.MPI_Allgather(&own, sizeof own, MPI_BYTE, shares.data(), sizeof own, MPI_BYTE, OwnWorld());
  if (!is_recorded) return;
  const TracedCommunicator* world = FindCommunicator(MPI_COMM_WORLD);
  if (world != nullptr) ReduceClock(world->shadow, ClockWait::kAll);
  const std::uint64_t bytes = shares.size() * sizeof own;
  Record(OTF2_EvtWriter_MpiCollectiveEnd, OTF2_COLLECTIVE_OP_ALLGATHER, kWorldId, OTF2_COLLECTIVE_ROOT_NONE, bytes,
         bytes);
}

int Query(const char* name, int scope, farscale_metrics& metrics) {
  std::memset(&metrics, 0, sizeof metrics);
  if (!IsMeasuring()) return FARSCALE_NOT_MEASURING;
  if (!IsMainThread()) return FARSCALE_OTHER_THREAD;
  const int index = name == nullptr || *name == '\0' ? 0 : FindRegion(*page, name);
  RankShare own;
  if (index >= 0) {
    const bool counts_team = HasTeams(*page) || !UsesDevices(*page);
    const RegionRecord region = RegionUntil(*page, page->region[index], SumsSoFar(false));
    own = ShareOf(*page, region, SecondsATick(), counts_team);
  }
  own.node = std::hash<std::string_view>()(page->host);
  std::vector<RankShare> shares = {own};
  if (scope == FARSCALE_ALL_RANKS) ShareWithAll(own, shares);
  FillMetrics(shares, metrics);
  return metrics.ranks == 0 ? FARSCALE_NO_SUCH_REGION : FARSCALE_OK;
}

}  // namespace

int StartRegion(const char* name) {
  const int why_not = WhyNot(name);
  if (why_not != FARSCALE_OK) return why_not;
  const int index = FindOrAdd(name);
  if (index < 0) return FARSCALE_TOO_MANY_REGIONS;
  if (this_thread.is_recording) RecordRegion(index, true);
  Open(page->region[index]);
  return FARSCALE_OK;
}

int StopRegion(const char* name) {
  const int why_not = WhyNot(name);
  if (why_not != FARSCALE_OK) return why_not;
  const int index = FindRegion(*page, name);
  if (index < 0 && (page->flags & kTooManyRegions) != 0) return FARSCALE_TOO_MANY_REGIONS;
  if (index < 0 || page->region[index].open == 0) {
    if (index >= 0 || (page->flags & kTooManyRegions) == 0) page->flags |= kRegionsOutOfOrder;
    return index < 0 ? FARSCALE_NO_SUCH_REGION : FARSCALE_NOT_STARTED;
  }
  Close(page->region[index]);
  if (this_thread.is_recording) RecordRegion(index, false);
  return FARSCALE_OK;
}

void OpenQuietly(const char* name) {
  const int index = FindOrAdd(name);
  if (index >= 0) Open(page->region[index]);
}

void CloseQuietly(const char* name) {
  const int index = FindRegion(*page, name);
  if (index >= 0 && page->region[index].open > 0) Close(page->region[index]);
}

void OpenWholeRun(Page& fresh) {
  fresh.regions = 1;
  CopyName("whole run", fresh.region[0].name);
  fresh.region[0].open = 1;
  fresh.region[0].starts = 1;
  fresh.region[0].times_cpu = 1;
}

// Time and calls count from the begin of the run, CPU time from now: the process had a life before.
void SetWholeRunStart() {
  Sums start = SumsSoFar(true);
  start.elapsed = start.mpi = start.calls = start.other_calls = start.instructions = start.cycles = start.ideal =
      start.offload = 0;
  page->region[0].at_start = start;
}

bool SwitchMeasuring(bool on) {
  if (!IsMainThread() || on != IsSwitchedOff()) return false;
  const Sums now = SumsSoFar(true);
  __atomic_fetch_xor(&page->flags, kSwitchedOff, __ATOMIC_RELAXED);
  for (std::uint32_t i = 0; i < page->regions; ++i) {
    RegionRecord& region = page->region[i];
    if (region.open == 0) continue;
    if (!on) {
      EndCounting(region, now);
      CloseRegionOfDevices(i);
      continue;
    }
    OpenRegionOfDevices(i);
    if (region.starts == region.stops) region.times_cpu = TimesCpu(region) ? 1 : 0;
    BeginCounting(region, now);
    region.starts = region.stops + region.open;
  }
  if (this_thread.is_recording) SwitchRecording(on);
  return true;
}

void CloseRegions() {
  const Sums now = SumsSoFar(true);
  for (std::uint32_t i = 0; i < page->regions; ++i) {
    RegionRecord& region = page->region[i];
    if (region.open != 0 && !IsSwitchedOff()) EndCounting(region, now);
  }
  page->region[0].stops = 1;
  page->region[0].open = 0;
}

}  // namespace farscale::collect

using namespace farscale::collect;

extern "C" {

FARSCALE_EXPORT int farscale_region_start(const char* name) { return StartRegion(name); }
FARSCALE_EXPORT int farscale_region_stop(const char* name) { return StopRegion(name); }

FARSCALE_EXPORT int farscale_query(const char* name, int scope, farscale_metrics* metrics) {
  farscale_metrics own;
  return Query(name, scope, metrics != nullptr ? *metrics : own);
}

FARSCALE_EXPORT int farscale_region_report(const char* name) {
  farscale_metrics metrics;
  const int code = Query(name, FARSCALE_ALL_RANKS, metrics);
  if (code == FARSCALE_OK && page->rank == 0) {
    std::fprintf(stderr,
                 "farscale: %s: %s on %d rank%s, parallel efficiency %.1f %%, load balance %.1f %%, communication "
                 "efficiency %.1f %%\n",
                 name != nullptr && *name != '\0' ? Printable(name).c_str() : "whole run",
                 FormatSeconds(metrics.elapsed).c_str(), metrics.ranks, metrics.ranks == 1 ? "" : "s",
                 metrics.parallel_efficiency * 100, metrics.load_balance * 100, metrics.communication_efficiency * 100);
  }
  return code;
}

}  // extern "C"
