// Who waits for whom in collective operations, and which ranks they synchronise [Boehme13, section 4.2].
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "imbalance/waits/activities.h"
#include "imbalance/waits/wait_states.h"
#include "replay/matching.h"
#include "trace/trace.h"

namespace farscale {

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

// Two ranks run together up to their calls in an operation; kNoCall: from the begin of the phase.
struct SyncedCalls {
  std::uint32_t call = kNoCall, peer_call = kNoCall;
};

class CollectiveWaits {
 public:
  CollectiveWaits(const Trace& trace, const Matching& matching, const Activities& activities);

  // The rank's completion of an operation depends on it; nothing when on nobody else.
  std::optional<Dependency> FindDependency(std::uint32_t operation, std::uint32_t rank) const;

  // All who take part within the phase, in the order of ranks.
  std::span<const Participant> participants(std::uint32_t operation) const {
    return std::span(participants_).subspan(first_[operation], first_[operation + 1] - first_[operation]);
  }
  // `index`: Participant::depends_on.
  const Participant& participant(std::uint32_t index) const { return participants_[index]; }
  const Participant* Find(std::uint32_t operation, std::uint32_t rank) const;
  CollectivePattern pattern(std::uint32_t operation) const { return types_[operation].pattern; }
  bool IsRoot(std::uint32_t operation, std::uint32_t rank) const { return types_[operation].root == rank; }
  std::size_t operations() const { return types_.size(); }

  // Calls of a rank in operations that synchronise it with more ranks than those it has marks with, in their order:
  // blocking all-to-all ones and forks with every participant, others where one of the two waited for the other.
  struct SyncCall {
    std::uint32_t call = 0;
    std::uint32_t operation = 0;
  };
  const std::vector<SyncCall>& sync_calls(std::uint32_t rank) const { return sync_calls_[rank]; }
  // The calls of two ranks in such an operation; nothing if it does not synchronise them.
  std::optional<SyncedCalls> Synchronises(std::uint32_t operation, std::uint32_t rank, std::uint32_t peer) const;

 private:
  using Posted = std::vector<std::pair<Participant, OperationType>>;  // in the order of calls

  bool HasWaitedFor(const OperationType& type, const Participant& self, const Participant& other) const;
  void Gather(const Trace& trace, const std::vector<Posted>& posted);
  void Resolve(std::uint32_t operation);
  std::uint32_t Latest(std::uint32_t operation, std::uint32_t except) const;

  std::vector<OperationType> types_;  // one an operation
  std::vector<std::uint32_t> first_;  // one an operation, into participants_
  std::vector<Participant> participants_;
  std::vector<std::vector<SyncCall>> sync_calls_;
  std::vector<std::vector<std::uint32_t>> local_ranks_;  // for communicators with prefixes, by world rank
};

// Calls of the phase in which the rank flushes a window that it shares.
std::uint64_t CountFlushes(const Trace& trace, const Activities& activities, std::size_t rank);

// Adds the waits for locks of windows, where the trace records these, and marks where they end [docs/formulas.md,
// wait states].
void AddLockWaits(const Trace& trace, const Activities& activities, WaitStates& states);

// Fills late_completes from the early waits.
void AddLateCompletes(const Trace& trace, const Activities& activities, std::vector<RankWaits>& ranks);

}  // namespace farscale
