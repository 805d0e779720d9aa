#include "replay/missing_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "base/format.h"
#include "phases/rank_groups.h"
#include "replay/unknown_waits.h"
#include "trace/anomalies.h"
#include "trace/operations.h"

namespace farscale {
namespace {

// Messages of which one end lies where recording was off on all ranks: more ends of one kind than of the other between
// two ranks.
std::string MessagesWhileOff(const Trace& trace) {
  if (trace.diagnostics.count(anomaly::kSwitchedOff) == 0) return "";
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> surplus;  // of sends, by sender and receiver
  std::uint64_t sends = 0, missing = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const RankTimeline& timeline = trace.timelines[i];
    const auto rank = static_cast<std::int32_t>(i);
    for (std::size_t record = 0; record < timeline.records(); ++record) {
      const OperationPart part = PartOf(timeline.record_kind(record));
      const bool is_send = part.type == OperationClass::kSend;
      if (part.IsCollective() || !(is_send ? part.posts : part.completes)) continue;
      const std::int32_t peer = timeline.endpoints()[timeline.record_target(record)].peer;
      sends += is_send ? 1 : 0;
      surplus[is_send ? std::pair(rank, peer) : std::pair(peer, rank)] += is_send ? 1 : -1;
    }
  }
  for (const auto& [ranks, count] : surplus) missing += static_cast<std::uint64_t>(std::abs(count));
  if (static_cast<double>(missing) <= kNoticeableWaits * static_cast<double>(sends)) return "";
  return fmt::format("those while recording was off, as {} messages lack an end", FormatCount(missing));
}

}  // namespace

std::string MissingCalls(const Trace& trace) {
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
    if (static_cast<double>(off) <= kNoticeableWaits * all) continue;
    return fmt::format("those of rank {}, which alone was not recorded for {} of the run", rank,
                       FormatPercent(static_cast<double>(off) / all));
  }
  for (const Finding& finding : trace.diagnostics.findings()) {
    if (finding.id != anomaly::kMpiOnWorkerThread.id) continue;
    const std::uint64_t all = std::max(finding.population, finding.count);
    if (static_cast<double>(finding.count) <= kNoticeableWaits * static_cast<double>(all)) continue;
    return fmt::format("those that other threads than the main ones answer, which make {} of {} MPI calls",
                       FormatCount(finding.count), FormatCount(all));
  }
  return MessagesWhileOff(trace);
}

}  // namespace farscale
