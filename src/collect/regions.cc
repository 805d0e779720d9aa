#include "collect/regions.h"

#include <cstring>

#include "collect/call.h"
#include "collect/include/farscale.h"
#include "collect/names.h"
#include "collect/process.h"
#include "collect/recorder.h"

namespace farscale::collect {
namespace {

// CPU time of regions is taken of the first occurrence, and of all once they last a millisecond in the mean: it takes
// three system calls at either end.
bool TimesCpu(const RegionRecord& region, std::uint64_t ticks_a_millisecond) {
  return region.stops == 0 || region.total.elapsed / region.stops >= ticks_a_millisecond;
}

// The clock counts at least once a nanosecond; ten times as often is more than processors do.
std::uint64_t TicksAMillisecond() { return (page->flags & kClockIsTsc) != 0 ? 2'000'000U : 1'000'000U; }

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

int WhyNot(const char* name) {
  if (!IsMeasuring() || name == nullptr || *name == '\0') return FARSCALE_NOT_MEASURING;
  return IsMainThread() ? FARSCALE_OK : FARSCALE_OTHER_THREAD;
}

}  // namespace

int StartRegion(const char* name) {
  const int why_not = WhyNot(name);
  if (why_not != FARSCALE_OK) return why_not;
  const int index = FindOrAdd(name);
  if (index < 0) return FARSCALE_TOO_MANY_REGIONS;
  RegionRecord& region = page->region[index];
  if (this_thread.is_recording) RecordRegion(index, true);
  if (region.open == 0) {
    region.times_cpu = TimesCpu(region, TicksAMillisecond()) ? 1 : 0;
    region.at_start = SumsSoFar(region.times_cpu != 0);
  }
  ++region.open;
  ++region.starts;
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
  RegionRecord& region = page->region[index];
  if (region.open == 1) {
    const Sums taken = Minus(SumsSoFar(region.times_cpu != 0), region.at_start);
    Add(region.total, taken);
    if (region.times_cpu != 0) region.cpu_ticks += taken.elapsed;
  }
  --region.open;
  ++region.stops;
  if (this_thread.is_recording) RecordRegion(index, false);
  return FARSCALE_OK;
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
  start.elapsed = start.mpi = start.calls = start.other_calls = start.instructions = start.cycles = start.ideal = 0;
  page->region[0].at_start = start;
}

void CloseRegions() {
  const Sums now = SumsSoFar(true);
  for (std::uint32_t i = 0; i < page->regions; ++i) {
    RegionRecord& region = page->region[i];
    if (region.open == 0) continue;
    Sums taken = Minus(now, region.at_start);
    if (region.times_cpu == 0) taken.cpu = taken.process_cpu = taken.preemptions = 0;
    Add(region.total, taken);
    if (region.times_cpu != 0) region.cpu_ticks += taken.elapsed;
  }
  page->region[0].stops = 1;
  page->region[0].open = 0;
}

}  // namespace farscale::collect
