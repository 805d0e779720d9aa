// The messages of a task of a Paraver trace, and in which of its calls they are posted and completed.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
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

}  // namespace farscale
