#include "replay/missing_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/format.h"
#include "phases/rank_groups.h"
#include "trace/anomalies.h"

namespace farscale {

std::string MissingCalls(const Trace& trace) {
  constexpr double kNoticeable =
      0.01;  // of all calls or of the run; chosen, as for the time in collectives without records
  std::vector<std::size_t> empty;
  for (std::size_t rank = 0; rank < trace.size() && !trace.IsCutOut(); ++rank) {
    if (trace.timelines[rank].empty()) empty.push_back(rank);
  }
  if (!empty.empty()) {
    return fmt::format("those with rank{} {}, which recorded nothing", empty.size() == 1 ? "" : "s",
                       FormatRanks(empty));
  }
  // Where all ranks were off at once, nothing is missing, and the trace has no such time any more.
  for (std::size_t rank = 0; trace.size() > 1 && rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    Tick off = 0;
    for (const Interruption& one : timeline.interruptions()) off += one.is_flush ? 0 : one.end - one.begin;
    const auto all = static_cast<double>(trace.end() - trace.begin());
    if (static_cast<double>(off) <= kNoticeable * all) continue;
    return fmt::format("those of rank {}, which alone was not recorded for {} of the run", rank,
                       FormatPercent(static_cast<double>(off) / all));
  }
  for (const Finding& finding : trace.diagnostics.findings()) {
    if (finding.id != anomaly::kMpiOnWorkerThread.id) continue;
    const std::uint64_t all = std::max(finding.population, finding.count);
    if (static_cast<double>(finding.count) <= kNoticeable * static_cast<double>(all)) continue;
    return fmt::format("those that other threads than the main ones answer, which make {} of {} MPI calls",
                       FormatCount(finding.count), FormatCount(all));
  }
  return "";
}

}  // namespace farscale
