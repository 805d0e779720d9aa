// Wait states: calls that could not go on because another rank was late [Boehme13, section 4.2; docs/formulas.md,
// wait states].
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "imbalance/waits/activities.h"
#include "replay/matching.h"
#include "trace/trace.h"

namespace farscale {

enum class WaitKind : std::uint8_t {
  kLateSender,
  kLateReceiver,
  kLateBroadcast,  // 1-to-N: broadcast, scatter
  kEarlyReduce,    // N-to-1: reduce, gather
  kEarlyScan,
  kWaitAtNxN,
  kWaitAtBarrier,
  kWaitAtFence,     // and where a window is freed: all its ranks
  kLatePost,        // complete, until the last of its group has posted
  kEarlyWait,       // wait, until the last of its group has completed
  kWaitForLock,     // of a rank's window, until who has it gives it back
  kLateNeighbour,   // a collective among neighbours
  kWaitAtCreation,  // of communicators, windows and files, which need not synchronise
  kWaitAtFork,      // of a team of threads, by its main one [trace/location_trace.h]
  kWaitAtThreadBarrier,
  kWaitAtImplicitBarrier,  // at the end of a parallel region, loop or other construct
  kWaitAtEnd,              // of the phase, until the last rank is done: pseudo-synchronisation
};
inline constexpr std::size_t kWaitKinds = 17;

struct WaitKindName {
  WaitKind kind;
  std::string_view id;    // "lateSender"
  std::string_view name;  // "Late sender"
};
const std::array<WaitKindName, kWaitKinds>& WaitKindNames();

// A call that waited for another rank to enter a call of its own. Calls are those of Activities.
struct WaitState {
  std::uint32_t call = 0;
  std::uint32_t delayer = 0;  // rank
  std::uint32_t delayer_call = 0;
  WaitKind kind = WaitKind::kLateSender;
  Tick length = 0;  // from entering the call to the delayer's entering its own

  friend bool operator==(const WaitState&, const WaitState&) = default;
};

// What the end of a call depends on: another rank's entering a call.
struct Dependency {
  std::uint32_t rank = 0;
  std::uint32_t call = 0;
  Tick enter = 0;
  WaitKind kind = WaitKind::kLateSender;
};

// Late sender waits for a message that was sent later than one received afterwards: receiving in another order would
// have waited less.
struct WrongOrder {
  std::uint32_t wait = 0;    // index into the waits of the rank
  bool same_source = false;  // a message from the same rank was sent earlier
};

// Of a wait for a complete: the part of it after the late rank's last one-sided operation. Completing at once would
// have waited less.
struct LateComplete {
  std::uint32_t wait = 0;  // index into the waits of the rank
  Tick length = 0;
};

struct RankWaits {
  std::vector<WaitState> waits;  // by call, at most one a call
  std::vector<WrongOrder> wrong_order;
  std::vector<LateComplete> late_completes;
};

// Places on two ranks from which on they run apart: where one waited for the other. Sorted by peer, call, peer's call.
struct SyncMark {
  std::uint32_t peer = 0;
  std::uint32_t call = 0;
  std::uint32_t peer_call = 0;

  friend auto operator<=>(const SyncMark&, const SyncMark&) = default;
};

struct WaitStates {
  std::vector<RankWaits> ranks;
  std::vector<std::vector<SyncMark>> marks;  // of every rank, without those of collectives that synchronise all
  Diagnostics diagnostics;
};

namespace anomaly {
// Clocks that differ this much make most waits wrong; chosen: a fifth.
inline constexpr Anomaly kEndedBeforeNeeded{
    "endedBeforeNeeded", Severity::kWarning,
    "calls ended before another rank began to send, or to take part in, what they need, so clocks of ranks differ; "
    "waiting there is unknown",
    0.2};
inline constexpr Anomaly kFlushesMayPoll{"flushesMayPoll", Severity::kNote,
                                         "windows were flushed while others may change them: if ranks poll for values "
                                         "so, their waiting counts as computation "
                                         "and time in MPI"};
}  // namespace anomaly

// How a call waits, by what the name of its function says beyond its kind.
enum class Waiting : std::uint8_t {
  kNever,
  kForAll,    // that it completes
  kForFirst,  // waitany and waitsome: what they complete releases them
  kForNext,   // probe: for the message that the next receive gets
};
std::vector<Waiting> HowRegionsWait(const Trace& trace);  // one a region

// Of sends that never wait for their receiver.
bool IsLocalSend(const Region& region);

// The records of a rank's calls in a phase.
struct RankRecords {
  const RankTimeline& timeline;
  const RankMatching& matching;
  const RankActivities& activities;
  const std::vector<Region>& regions;
  std::uint32_t rank;
};

inline RankRecords RecordsOf(const Trace& trace, const Matching& matching, const Activities& activities,
                             std::size_t rank) {
  return {trace.timelines[rank], matching.ranks[rank], activities.ranks[rank], trace.regions,
          static_cast<std::uint32_t>(rank)};
}

// Calls sink(call, record, part) for every record of the phase.
template <typename Sink>
void ForEachRecord(const RankRecords& input, Sink sink) {
  const std::size_t first = input.activities.first_call;
  ForEachRecord(input.timeline, input.matching, first, first + input.activities.calls,
                [&](std::size_t call, std::size_t record, const RecordPart& part) {
                  sink(static_cast<std::uint32_t>(call - first), record, part);
                });
}

class CollectiveWaits;

// The call among [first, end) in which a rank was at that time; nothing where it was between calls or only began or
// left one.
std::optional<std::uint32_t> CallAt(const RankActivities& activities, std::uint32_t first, std::uint32_t end,
                                    Tick tick);

WaitStates FindWaitStates(const Trace& trace, const Matching& matching, const Activities& activities,
                          const CollectiveWaits& collectives);

}  // namespace farscale
