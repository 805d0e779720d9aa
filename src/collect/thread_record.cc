#include "collect/thread_record.h"

#include <algorithm>

#include "collect/page.h"

namespace farscale::collect {
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
