// Wait states: calls that could not go on because another rank was late [Boehme13, section 4.2; docs/formulas.md,
// wait states].
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "imbalance/waits/activities.h"
#include "imbalance/waits/losses.h"
#include "replay/matching.h"
#include "trace/trace.h"

namespace farscale {

// A call that waited for another rank to enter a call of its own. Calls are those of Activities.
struct WaitState {
  std::uint32_t call = 0;
  std::uint32_t delayer = 0;  // rank
  std::uint32_t delayer_call = 0;
  WaitKind kind = WaitKind::kLateSender;
  Tick length = 0;  // from entering the call to the delayer's entering its own

  friend bool operator==(const WaitState&, const WaitState&) = default;
};

// The end of a call depends on another rank's entering a call of its own.
struct Dependency {
  std::uint32_t rank = 0;
  std::uint32_t call = 0;
  Tick enter = 0;
  WaitKind kind = WaitKind::kLateSender;
};

struct RankWaits {
  std::vector<WaitState> waits;  // sorted by call, at most one a call
  // Places in `waits` of late senders whose message was sent later than one received afterwards, so that receiving in
  // another order would have waited less; with true, that one is from the same rank.
  std::vector<std::pair<std::uint32_t, bool>> wrong_order;
  // Places in `waits` of waits for a complete, and the part of them after the late rank's last one-sided operation:
  // completing at once would have waited less.
  std::vector<std::pair<std::uint32_t, Tick>> late_completes;
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
  std::vector<std::vector<SyncMark>> marks;  // one list a rank, without those of collectives that synchronise all
  Diagnostics diagnostics;
};

namespace anomaly {
// Clocks that differ this much make most waits wrong; chosen: a fifth.
inline constexpr Anomaly kEndedBeforeNeeded{
    "endedBeforeNeeded", Severity::kWarning,
    "calls ended before another rank began to send, or take part in, what they need: clocks differ; waiting there is "
    "unknown",
    0.2};
inline constexpr Anomaly kFlushesMayPoll{"flushesMayPoll", Severity::kNote,
                                         "windows were flushed while others may change them: where ranks poll so, "
                                         "waiting counts as computation and time in MPI"};
}  // namespace anomaly

enum class Waiting : std::uint8_t {
  kNever,
  kForAll,    // until everything is complete that the call names
  kForFirst,  // waitany and waitsome: the first completion releases them
  kForNext,   // probe: for the message that the next receive gets
};

// The waiting of calls of a function, and the kinds of their waits.
struct RegionWaiting {
  Waiting how = Waiting::kNever;
  WaitKind of_message = WaitKind::kLateSender;  // received by the call
  WaitKind of_barrier = WaitKind::kWaitAtBarrier;
  bool begins_access = false;  // begins an access epoch, or is an operation in it
  bool sends_locally = false;  // sends that never wait for their receiver
};
std::vector<RegionWaiting> FindRegionWaiting(const Trace& trace);  // one a region

// The records of a rank's calls in a phase.
struct RankRecords {
  const RankTimeline& timeline;
  const RankMatching& matching;
  const RankActivities& activities;
  std::uint32_t rank;

  std::uint32_t Region(std::uint32_t call) const { return timeline.region(activities.first_call + call); }
};

inline RankRecords RecordsOfRank(const Trace& trace, const Matching& matching, const Activities& activities,
                                 std::size_t rank) {
  return {trace.timelines[rank], matching.ranks[rank], activities.ranks[rank], static_cast<std::uint32_t>(rank)};
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

// Calls body(rank, records) for every rank of the phase, several at a time.
template <typename Body>
void ForEachRank(const Trace& trace, const Matching& matching, const Activities& activities, const Body& body) {
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (activities.ranks[rank].present) body(rank, RecordsOfRank(trace, matching, activities, rank));
  });
}

// The waits of a rank by call. Calls must be asked for in rising order.
class WaitsByCall {
 public:
  explicit WaitsByCall(std::span<const WaitState> waits) : waits_(waits) {}

  const WaitState* Find(std::size_t call) {
    while (next_ < waits_.size() && waits_[next_].call < call) ++next_;
    return next_ < waits_.size() && waits_[next_].call == call ? &waits_[next_] : nullptr;
  }
  Tick Length(std::size_t call) {
    const WaitState* wait = Find(call);
    return wait != nullptr ? wait->length : 0;
  }

 private:
  std::span<const WaitState> waits_;
  std::size_t next_ = 0;
};

// The call that posts one end of a message, and when it is entered; kNoCall outside of the phase. The time stands here
// as well, because the calls of the other rank are anywhere in memory.
struct MessageEnd {
  Tick enter = 0;
  std::uint32_t call = kNoCall;
};

// Both ends of every message. Senders write one table, receivers the other, so that ranks can be searched in parallel.
struct MessageEnds {
  std::vector<MessageEnd> sent, received;
};
MessageEnds FindMessageEnds(const Trace& trace, const Matching& matching, const Activities& activities);

class CollectiveWaits;

// The call among [first, end) in which a rank was at that time; nothing where it was between calls or only began or
// left one.
std::optional<std::uint32_t> CallAt(const RankActivities& activities, std::uint32_t first, std::uint32_t end,
                                    Tick tick);

// The rank that ends last; of equals the lowest. kNoCall if there is none.
std::uint32_t FindLastRank(const Activities& activities);

WaitStates FindWaitStates(const Trace& trace, const Matching& matching, const Activities& activities,
                          const CollectiveWaits& collectives);

}  // namespace farscale
