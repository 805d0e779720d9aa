// Who waits for whom in collective operations, and which ranks they synchronise [Boehme13, section 4.2].
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "imbalance/waits/activities.h"
#include "imbalance/waits/wait_states.h"
#include "replay/matching.h"
#include "trace/trace.h"

namespace farscale {

// How data flows in an operation.
enum class CollectivePattern : std::uint8_t { kNone, kAllToAll, kFromRoot, kToRoot, kPrefix };

inline constexpr std::uint32_t kNoParticipant = std::numeric_limits<std::uint32_t>::max();

// Of one rank in one operation.
struct Participant {
  std::uint32_t rank = 0;
  std::uint32_t operation = 0;
  std::uint32_t call = 0;        // that posts it
  std::uint32_t done = kNoCall;  // that completes it: the same of a blocking operation; kNoCall: nobody waits for it
  std::uint32_t depends_on = kNoParticipant;  // whose entering it needs: an index among the participants
  Tick enter = 0;                             // of the call that posts it
  Tick done_enter = 0, done_leave = 0;        // of the call that completes it
  bool sends = true, receives = true;         // bytes; both where sizes are not recorded
  bool is_blocking = true;
};

struct OperationType {
  std::uint32_t root = kNoParticipant;
  std::uint32_t communicator = 0;
  CollectivePattern pattern = CollectivePattern::kNone;
  WaitKind kind = WaitKind::kWaitAtNxN;
  bool has_sizes = false;  // of every rank: v and w operations

  bool IsFork() const { return kind == WaitKind::kWaitAtFork; }
};

struct PostedOperation {
  Participant participant;
  OperationType type;
};

// By rank, those of the phase in the order of its calls.
using PostedOperations = std::vector<std::vector<PostedOperation>>;
PostedOperations FindPostedOperations(const Trace& trace, const Matching& matching, const Activities& activities);

class CollectiveWaits {
 public:
  CollectiveWaits(const Trace& trace, const Matching& matching, const Activities& activities);
  // Of operations numbered from 0 to `operations`; where ranks differ in the type of one, the highest one's counts.
  CollectiveWaits(const Trace& trace, std::size_t operations, PostedOperations posted);

  // What the rank's completion of an operation depends on; nothing when on nobody else.
  std::optional<Dependency> DependencyOf(std::uint32_t operation, std::uint32_t rank) const;

  // All who take part within the phase, in the order of ranks.
  const Participant* begin(std::uint32_t operation) const { return participants_.data() + first_[operation]; }
  const Participant* end(std::uint32_t operation) const { return participants_.data() + first_[operation + 1]; }
  const Participant* Find(std::uint32_t operation, std::uint32_t rank) const;
  CollectivePattern pattern(std::uint32_t operation) const { return types_[operation].pattern; }
  const OperationType& type(std::uint32_t operation) const { return types_[operation]; }
  bool IsRoot(std::uint32_t operation, std::uint32_t rank) const { return types_[operation].root == rank; }
  std::size_t operations() const { return types_.size(); }

  // Calls of a rank in operations that synchronise it with more ranks than those it has marks with, in their order:
  // blocking all-to-all ones and forks with every participant, others where one of the two waited for the other.
  struct SyncCall {
    std::uint32_t call = 0;
    std::uint32_t operation = 0;
  };
  const std::vector<SyncCall>& sync_calls(std::uint32_t rank) const { return sync_calls_[rank]; }
  // Whether such an operation synchronises these two; their calls in it.
  struct SyncedCalls {
    std::uint32_t call = 0, peer_call = 0;
  };
  std::optional<SyncedCalls> Synchronises(std::uint32_t operation, std::uint32_t rank, std::uint32_t peer) const;
  // The same for a participant of this operation.
  std::optional<SyncedCalls> Synchronises(const Participant& self, std::uint32_t operation, std::uint32_t peer) const;

 private:
  // Whether one can wait for the other in such an operation, and the trace shows that it did.
  bool HasWaitedFor(const OperationType& type, const Participant& self, const Participant& other) const;
  void Gather(const Trace& trace, const PostedOperations& posted);
  void Resolve(std::uint32_t operation);
  std::uint32_t Latest(std::uint32_t operation, std::uint32_t except) const;

  std::vector<OperationType> types_;  // of operations
  std::vector<std::uint32_t> first_;  // of operations, into participants_
  std::vector<Participant> participants_;
  std::vector<std::vector<SyncCall>> sync_calls_;
  std::vector<std::vector<std::uint32_t>> local_ranks_;  // of communicators with prefixes, by world rank
};

// The steps of finding wait states.

// Call that posts one end of a message; kNoCall outside of the phase. When it is entered stands here as well, because
// the calls of the other rank are anywhere in memory.
struct MessageEnd {
  Tick enter = 0;
  std::uint32_t call = kNoCall;
};

// Of every message. Senders write one table, receivers the other, so that ranks can be looked at in parallel.
struct MessageEnds {
  std::vector<MessageEnd> sent, received;
};
MessageEnds FindMessageEnds(const Trace& trace, const Matching& matching, const Activities& activities);

// What diagnostics count of a rank.
struct SearchCounts {
  std::uint64_t needs = 0, violations = 0, flushes = 0;
};

// Fills in the waits for messages and collectives, and marks on the ranks that waited; one result a rank.
std::vector<SearchCounts> SearchRanks(const Trace& trace, const Matching& matching, const Activities& activities,
                                      const CollectiveWaits& collectives, const MessageEnds& ends, WaitStates& states);

// Calls of the phase in which the rank flushes a window that it shares.
std::uint64_t CountFlushes(const Trace& trace, const Activities& activities, std::size_t rank);

// Adds the waits for locks of windows, where the trace records these, and marks where they end [docs/formulas.md,
// wait states].
void AddLockWaits(const Trace& trace, const Activities& activities, WaitStates& states);

// Every mark on both of its ranks; then in their order.
void MirrorMarks(std::vector<std::vector<SyncMark>>& marks);
void SortMarks(std::vector<std::vector<SyncMark>>& marks);

// Where a rank was done with its operations in the epoch that it ends with a complete: it left the last one, or began
// the epoch.
Tick DoneBefore(const Trace& trace, const Activities& activities, std::uint32_t rank, std::uint32_t complete);

// Fills late_completes from the early waits. done_of(wait): DoneBefore of the late rank.
using DoneOf = std::function<Tick(const WaitState& wait)>;
void AddLateCompletes(const Activities& activities, const DoneOf& done_of, std::vector<RankWaits>& ranks);

// The rank that ends last, of equals the lowest, and the call that stands for its end.
struct LastRank {
  std::uint32_t rank = kNoCall;
  std::uint32_t call = 0;
};
LastRank FindLastRank(const Activities& activities);
// Every other rank waits for it at the end of the phase.
void AddWaitsAtEnd(const Activities& activities, const LastRank& last, std::vector<RankWaits>& ranks);

Diagnostics DiagnosticsOf(const Trace& trace, const std::vector<SearchCounts>& counts);

}  // namespace farscale
