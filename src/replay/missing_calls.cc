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
  constexpr double kNoticeable = 0.01;  // of all calls; chosen, as for the time in collectives without records
  std::vector<std::size_t> empty;
  for (std::size_t rank = 0; rank < trace.size() && !trace.IsCutOut(); ++rank) {
    if (trace.timelines[rank].empty()) empty.push_back(rank);
  }
  if (!empty.empty()) {
    return fmt::format("those with rank{} {}, which recorded nothing", empty.size() == 1 ? "" : "s",
                       FormatRanks(empty));
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
