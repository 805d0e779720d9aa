#include "replay/unknown_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/format.h"
#include "base/parallel.h"

namespace farscale {
namespace {

// Of one rank.
struct Found {
  std::uint64_t operations = 0;
  std::uint64_t unknown = 0, lock_all = 0;
  std::size_t first_unknown = 0, first_lock_all = 0;  // calls

  void Add(MpiCall kind, std::size_t call, bool has_record) {
    operations += kind == MpiCall::kOneSided;
    if (kind == MpiCall::kWindowLock || (IsWindowSynchronisation(kind) && !has_record)) {
      if (unknown++ == 0) first_unknown = call;
    }
    if (kind == MpiCall::kWindowLockAll && lock_all++ == 0) first_lock_all = call;
  }
};

Found Search(const Trace& trace, const RankTimeline& timeline, const Interval& window) {
  Found found;
  for (std::size_t call = window.begin.call; call < window.end.call; ++call) {
    const MpiCall kind = trace.regions[timeline.region(call)].call;
    if (!IsOneSided(kind)) continue;
    found.Add(kind, call, timeline.first_record(call) < timeline.first_record(call + 1));
  }
  return found;
}

std::string Describe(const Trace& trace, std::size_t rank, std::size_t call) {
  const RankTimeline& timeline = trace.timelines[rank];
  return fmt::format("rank {} in {} at {}", rank, trace.regions[timeline.region(call)].name,
                     FormatSeconds(trace.Seconds(timeline.enter(call) - trace.begin())));
}

}  // namespace

UnknownWaits FindUnknownWaits(const Trace& trace, const PhaseCut& cut) {
  UnknownWaits waits;
  const bool has_any = std::any_of(trace.regions.begin(), trace.regions.end(),
                                   [](const Region& region) { return IsOneSided(region.call); });
  if (!has_any) return waits;
  std::vector<Found> found(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (cut.ranks[rank].present) found[rank] = Search(trace, trace.timelines[rank], cut.ranks[rank].window);
  });
  for (const Found& rank : found) waits.operations += rank.operations;
  for (std::size_t rank = 0; rank < found.size(); ++rank) {
    const Found& of = found[rank];
    const std::uint64_t lock_all = waits.operations > 0 ? of.lock_all : 0;
    const bool is_first = waits.calls == 0 && of.unknown + lock_all > 0;
    if (is_first) waits.example = Describe(trace, rank, of.unknown > 0 ? of.first_unknown : of.first_lock_all);
    waits.calls += of.unknown + lock_all;
  }
  return waits;
}

void RequireKnownWaits(const Trace& trace, const PhaseCut& cut) {
  const UnknownWaits waits = FindUnknownWaits(trace, cut);
  if (!waits.any()) return;
  throw Error(
      ErrorKind::kEvidence, trace.path,
      fmt::format("the trace does not say for whom {} calls of one-sided communication wait in phase '{}', such "
                  "as {}, so the phase cannot be replayed",
                  FormatCount(waits.calls), cut.spec.name, waits.example),
      "choose a phase without them; fences, post, start, complete and wait are replayed from OTF2 traces of "
      "farscale trace or Score-P, locks never");
}

}  // namespace farscale
