// Wait states: calls that could not go on because another rank was late [Boehme13, section 4.2; docs/formulas.md,
// wait states].
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "imbalance/waits/activities.h"
#include "imbalance/waits/losses.h"
#include "replay/matching.h"
#include "trace/trace.h"

namespace farscale {

// A call that waits for another rank to enter a call of its own. Calls are those of Activities.
struct WaitState {
  std::uint32_t call = 0;
  std::uint32_t delayer = 0;  // rank
  std::uint32_t delayer_call = 0;
  WaitKind kind = WaitKind::kLateSender;
  Tick length = 0;  // from entering the call to the delayer's entering its own; negative: that was there before

  friend bool operator==(const WaitState&, const WaitState&) = default;
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

// Calls of two ranks from which on they run apart: where one waited for the other; kNoCall: from the begin of the phase
// on. Sorted by peer, call, peer's call.
struct SyncMark {
  std::uint32_t peer = 0;
  std::uint32_t call = kNoCall;
  std::uint32_t peer_call = kNoCall;

  friend auto operator<=>(const SyncMark&, const SyncMark&) = default;
};

// The flow of data in an operation.
enum class CollectivePattern : std::uint8_t { kNone, kAllToAll, kFromRoot, kToRoot, kPrefix };

inline constexpr std::uint32_t kNoParticipant = std::numeric_limits<std::uint32_t>::max();

// One rank in one operation.
struct Participant {
  std::uint32_t rank = 0;
  std::uint32_t operation = 0;
  std::uint32_t call = 0;        // that posts it
  std::uint32_t done = kNoCall;  // that completes it: the same of a blocking operation; kNoCall: nobody waits for it
  std::uint32_t depends_on = kNoParticipant;  // whose entering it needs: an index among the participants
  Tick enter = 0;                             // the call that posts it
  Tick done_enter = 0, done_leave = 0;        // the call that completes it
  bool sends = true, receives = true;         // bytes; both where sizes are not recorded
  bool is_blocking = true;
};

struct OperationType {
  std::uint32_t root = kNoParticipant;
  std::uint32_t communicator = 0;
  CollectivePattern pattern = CollectivePattern::kNone;
  WaitKind kind = WaitKind::kWaitAtNxN;
  bool has_sizes = false;  // one of every rank: v and w operations

  bool IsFork() const { return kind == WaitKind::kWaitAtFork; }
};

// Who waits for whom in collective operations, and which ranks they synchronise [Boehme13, section 4.2].
class CollectiveWaits {
 public:
  CollectiveWaits(const Trace& trace, const Matching& matching, const Activities& activities);

  // The participant that the rank's completion of an operation depends on; nullptr when on nobody else.
  const Participant* FindNeeded(std::uint32_t operation, std::uint32_t rank) const;

  // All who take part within the phase, in the order of ranks.
  std::span<const Participant> participants(std::uint32_t operation) const {
    return std::span(participants_).subspan(first_[operation], first_[operation + 1] - first_[operation]);
  }
  // `index`: Participant::depends_on.
  const Participant& participant(std::uint32_t index) const { return participants_[index]; }
  const Participant* Find(std::uint32_t operation, std::uint32_t rank) const;
  CollectivePattern pattern(std::uint32_t operation) const { return types_[operation].pattern; }
  WaitKind kind(std::uint32_t operation) const { return types_[operation].kind; }
  bool IsRoot(std::uint32_t operation, std::uint32_t rank) const { return types_[operation].root == rank; }
  std::size_t operations() const { return types_.size(); }

  // Calls of a rank in operations that synchronise it with more ranks than those it has marks with, in their order:
  // blocking all-to-all ones and forks with every participant, others where one of the two waited for the other.
  using SyncCall = std::pair<std::uint32_t, std::uint32_t>;  // call and operation
  const std::vector<SyncCall>& sync_calls(std::uint32_t rank) const { return sync_calls_[rank]; }
  // The calls of two ranks in such an operation, up to which they run together; nothing if it does not synchronise
  // them.
  std::optional<SyncMark> FindMark(std::uint32_t operation, std::uint32_t rank, std::uint32_t peer) const;

 private:
  using Posted = std::vector<std::pair<Participant, OperationType>>;  // in the order of calls

  bool HasWaitedFor(const OperationType& type, const Participant& self, const Participant& other) const;
  void Resolve(std::uint32_t operation);
  std::uint32_t Latest(std::uint32_t operation, std::uint32_t except) const;

  std::vector<OperationType> types_;  // one an operation
  std::vector<std::uint32_t> first_;  // one an operation, into participants_
  std::vector<Participant> participants_;
  std::vector<std::vector<SyncCall>> sync_calls_;
  std::vector<std::vector<std::uint32_t>> local_ranks_;  // for communicators with prefixes, by world rank
};

// All about who waits for whom in a phase.
struct WaitStates {
  Activities activities;
  CollectiveWaits collectives;
  std::vector<RankWaits> ranks{};
  std::vector<std::vector<SyncMark>> marks{};  // one list a rank, without those of collectives that synchronise all
  Diagnostics diagnostics{};

  double length() const { return static_cast<double>(activities.end - activities.begin); }  // ticks of the phase
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
    const RankActivities& own = activities.ranks[rank];
    if (own.present)
      body(rank, RankRecords{trace.timelines[rank], matching.ranks[rank], own, static_cast<std::uint32_t>(rank)});
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
  bool is_awaited = false;  // a receive: the sender waits for it [causes/find_causes.h]
};

// Both ends of every message. Senders write one table, receivers the other, so that ranks can be searched in parallel.
struct MessageEnds {
  std::vector<MessageEnd> sent, received;
};
MessageEnds FindMessageEnds(const Trace& trace, const Matching& matching, const Activities& activities);

// The call among [first, end) in which a rank was at that time; nothing where it was between calls or only began or
// left one.
std::optional<std::uint32_t> CallAt(const RankActivities& activities, std::uint32_t first, std::uint32_t end,
                                    Tick tick);

// The rank that ends last; of equals the lowest. kNoCall if there is none.
std::uint32_t FindLastRank(const Activities& activities);

WaitStates FindWaitStates(const Trace& trace, const Matching& matching, Activities activities);

// The part of FindWaitStates that concerns windows. Adds the waits for their locks, where the trace records these, and
// marks where they end [docs/formulas.md, wait states]; fills late_completes from the early waits.
void AddWindowWaits(const Trace& trace, WaitStates& states);

}  // namespace farscale
