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

// True if a call may post a message.
bool MayPost(MpiCall call, bool is_send);

// Records the messages of a rank, call by call. Paraver does not record communicators, but which send belongs to which
// receive: where messages of one tag overtake each other, as they can in different communicators, the later ones get
// another tag, the same at both ends.
class ParaverMessages {
 public:
  ParaverMessages(const ParaverTaskParts& parts, std::uint32_t world, RankBuilder& rank);

  // The time when a call is left, and what calls entered at the same moment may post. Calls inside it may post and
  // complete anything.
  struct CallEnd {
    Tick tick = std::numeric_limits<Tick>::max();
    bool others_send = false, others_receive = false, has_inner = false;
  };
  // Records messages of the call that the rank is in.
  void InCall(Tick enter, const CallEnd& end, MpiCall call);
  // Posted before a time outside any call: the builder counts them.
  void OutsideUntil(Tick tick);

 private:
  void PostSend(const MessageEnd& end, MpiCall call);
  void PostReceive(const MessageEnd& end, Tick leave, MpiCall call);
  void CompleteUntil(Tick leave);

  std::vector<MessageEnd> receives_, sends_;  // in the order of their posts
  const std::uint32_t world_;
  RankBuilder& rank_;
  std::size_t next_receive_ = 0, next_send_ = 0;
  using Pending = std::pair<Tick, std::size_t>;  // completion and number of the receive
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> pending_;
};

// The collectives of a task of a Paraver trace: which calls they are, on which communicator, and with which root.

// The root of the k-th collective on a communicator, by its index and k. Only the root itself says so.
using ParaverRoots = std::map<std::pair<std::uint32_t, std::uint64_t>, std::int32_t>;

// Facts that all ranks share while their timelines are built. Regions and the world are their numbers in the trace.
struct ParaverTraceFacts {
  std::unordered_map<std::uint64_t, std::uint32_t> communicators;  // index by the number in the trace
  std::vector<std::optional<CollectiveKind>> collectives;          // indexed by region; nothing for other functions
  ParaverRoots roots;
  std::uint32_t world = 0;
  std::uint32_t application_region = 0;
  std::uint32_t tracing_region = 0;
  std::uint32_t pause_region = 0;
  std::uint32_t cut_call_region = 0;  // for a call whose begin lies before the trace
  bool knows_threads = false;         // then two states of the runtime are regions
  std::uint32_t barrier_region = 0;
  std::uint32_t scheduling_region = 0;
  bool is_part = false;        // cut out of a trace, or filtered
  bool has_functions = false;  // they are recorded as regions, so callers are not needed
};

// The collectives that this task says it is the root of.
ParaverRoots RootsOfTask(const ParaverTaskParts& parts, const ParaverTraceFacts& facts, std::int32_t rank);

// A collective call. Its attributes come with it or beside it at the same time.
struct ParaverCollective {
  Tick tick = std::numeric_limits<Tick>::min();
  std::optional<std::uint64_t> id;  // the communicator's, in the trace
  std::uint64_t sent = 0, received = 0;
  bool is_root = false;
  // Known when the call is left:
  CollectiveKind kind = CollectiveKind::kBarrier;
  std::optional<std::uint32_t> communicator;
  std::uint64_t number = 0;  // on the communicator
};

// Numbers the collectives of a task on each communicator, and knows which call they belong to.
class CollectiveCalls {
 public:
  explicit CollectiveCalls(const ParaverTraceFacts& facts) : facts_(facts) {}

  // An event that may be an attribute of the call at hand, or of the one that is entered at the same time.
  void Attribute(Tick tick, const ParaverFact& fact);
  void Enter(Tick tick);
  // The collective that the call was; nothing when it was none or does not say where.
  std::optional<ParaverCollective> Leave(std::uint32_t region);

  // Leaves a call and records the collective that it was.
  void Record(const Trace& trace, std::uint32_t region, RankBuilder& rank);

 private:
  std::optional<std::uint32_t> LocalRoot(const Trace& trace, const ParaverCollective& collective,
                                         const std::string& function, RankBuilder& rank);

  const ParaverTraceFacts& facts_;
  bool in_call_ = false;
  ParaverCollective current_;
  std::unordered_map<std::uint32_t, std::uint64_t> numbers_;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> local_roots_;  // keys: communicator and world rank
};

}  // namespace farscale
