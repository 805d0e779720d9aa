// The messages of a task of a Paraver trace, and in which of its calls they are posted and completed.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/mpi_call.h"
#include "trace/paraver_cursors.h"
#include "trace/trace_builder.h"

namespace farscale {

// One end of a message at its task.
struct MessageEnd {
  Tick post = 0;      // logical send or receive
  Tick complete = 0;  // physical receive
  Tick other = 0;     // the post at the other end
  std::uint64_t bytes = 0;
  std::uint32_t peer = 0;
  std::uint32_t tag = 0;
  std::uint32_t number = 0;  // in the order of the file
};

// All ends of messages of a task, each kind by their posts. Paraver does not record communicators, but which send
// belongs to which receive: where messages of one tag overtake each other, as they can in different communicators, the
// later ones get another tag, the same at both ends.
struct MessageEnds {
  std::vector<MessageEnd> receives, sends;
};
MessageEnds MessageEndsOf(const ParaverTaskParts& parts);

// Whether a call may post a message.
bool MayPost(MpiCall call, bool is_send);

// Records the messages of a rank, call by call.
class ParaverMessages {
 public:
  ParaverMessages(const ParaverTaskParts& parts, std::uint32_t world, RankBuilder& rank)
      : ends_(MessageEndsOf(parts)), world_(world), rank_(rank) {}

  // When a call is left, and what calls that are entered at the same moment may post. Calls inside it may post and
  // complete anything.
  struct CallEnd {
    Tick tick = std::numeric_limits<Tick>::max();
    bool others_send = false, others_receive = false, has_inner = false;
  };
  // Of the call that the rank is in.
  void InCall(Tick enter, const CallEnd& end, MpiCall call);
  // Posted before a time outside any call: the builder counts them.
  void OutsideUntil(Tick tick);

 private:
  void PostSend(const MessageEnd& end, MpiCall call);
  void PostReceive(const MessageEnd& end, Tick leave, MpiCall call);
  void CompleteUntil(Tick leave);

  MessageEnds ends_;
  const std::uint32_t world_;
  RankBuilder& rank_;
  std::size_t next_receive_ = 0, next_send_ = 0;
  using Pending = std::pair<Tick, std::size_t>;  // completion and number of the receive
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> pending_;
};

// The collectives of a task of a Paraver trace: which calls they are, on which communicator, and with which root.

// The root of the k-th collective on a communicator, by its index and k. Only the root itself says so.
using ParaverRoots = std::map<std::pair<std::uint32_t, std::uint64_t>, std::int32_t>;

// What all ranks share of them.
struct ParaverCollectiveFacts {
  std::unordered_map<std::uint64_t, std::uint32_t> communicators;  // index by the number in the trace
  std::vector<std::optional<CollectiveKind>> collectives;          // by region; nothing for other functions
  ParaverRoots roots;
};

// Which collectives this task says it is the root of.
ParaverRoots ParaverRootsOf(const ParaverTaskParts& parts, const ParaverCollectiveFacts& facts, std::int32_t rank);

// Attributes of a collective call, as they come with it or beside it at the same time.
struct CollectiveAttributes {
  Tick tick = std::numeric_limits<Tick>::min();
  std::optional<std::uint64_t> communicator;
  std::uint64_t sent = 0, received = 0;
  bool is_root = false;

  void Take(const ParaverFact& fact);
};

// Numbers the collectives of a task on each communicator, and knows which call they belong to.
class CollectiveCalls {
 public:
  explicit CollectiveCalls(const ParaverCollectiveFacts& facts) : facts_(facts) {}

  // An event that may be an attribute of the call at hand, or of the one that is entered at the same time.
  void Attribute(Tick tick, const ParaverFact& fact);
  void Enter(Tick tick);

  struct Collective {
    CollectiveKind kind = CollectiveKind::kBarrier;
    std::uint32_t communicator = 0;
    std::uint64_t number = 0;  // on the communicator
    CollectiveAttributes attributes;
    bool is_known = true;  // the communicator
  };
  // The collective that the call was; nothing when it was none or does not say where.
  std::optional<Collective> Leave(std::uint32_t region);

 private:
  const ParaverCollectiveFacts& facts_;
  bool in_call_ = false;
  CollectiveAttributes attributes_;
  std::unordered_map<std::uint32_t, std::uint64_t> numbers_;
};

// The same, recorded as collectives of a rank.
class RecordedCollectives : public CollectiveCalls {
 public:
  RecordedCollectives(const Trace& trace, const ParaverCollectiveFacts& facts, RankBuilder& rank)
      : CollectiveCalls(facts), trace_(trace), facts_(facts), rank_(rank) {}

  void Leave(std::uint32_t region);

 private:
  std::optional<std::uint32_t> RootOf(const Collective& collective, const Region& region);

  const Trace& trace_;
  const ParaverCollectiveFacts& facts_;
  RankBuilder& rank_;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> local_roots_;
};

}  // namespace farscale
