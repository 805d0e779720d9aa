#include "study/run_memory.h"

#include "base/memory.h"
#include "base/parallel.h"
#include "base/side_by_side.h"
#include "growth/grown_trace.h"
#include "study/grown_study.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// Bytes for each byte of a trace on disk, measured at the peak [docs/large-traces.md], with room to spare for traces
// that are packed better than those.
double BytesOfDiskByte(RunUse use) { return use == RunUse::kLosses ? 4 : 2; }

// How much larger packed text is when it is read; chosen: gzip packs Paraver traces to a tenth at best.
constexpr double kPacked = 10;

// Bytes for each MPI call of a grown run, which has no files.
double BytesOfCall(RunUse use) { return use == RunUse::kLosses ? 200 : 100; }

}  // namespace

std::uint64_t ExpectedMemory(const RunSpec& run, RunUse use) {
  if (run.is_measured) return 0;
  const double packed = run.trace.ends_with(".gz") ? kPacked : 1;
  const double bytes = run.grown != nullptr
                           ? BytesOfCall(use) * CountCalls(*run.grown->model, run.grown->grid)
                           : packed * BytesOfDiskByte(use) * static_cast<double>(BytesOfTrace(run.trace));
  return static_cast<std::uint64_t>(bytes);
}

void ForEachRun(const std::vector<RunSpec>& runs, const std::vector<std::size_t>& which, RunUse use,
                const std::function<void(std::size_t)>& body) {
  std::vector<std::uint64_t> sizes;
  for (const std::size_t i : which) sizes.push_back(ExpectedMemory(runs[i], use));
  for (const std::vector<std::size_t>& round : RoundsThatFit(sizes, MemoryBudget())) {
    ParallelFor(round.size(), [&](std::size_t k) { body(which[round[k]]); });
  }
}

}  // namespace farscale
