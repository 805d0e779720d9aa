// From the records of the tasks of a Paraver trace to the timelines of ranks, threads and devices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/names.h"
#include "trace/paraver_records.h"
#include "trace/trace.h"
#include "trace/trace_builder.h"

namespace farscale {

// One pair of type and value, with its meaning for the trace.
struct ParaverFact {
  ParaverEvent event = ParaverEvent::kIgnored;
  std::uint32_t type = 0;
  std::uint32_t index = ParaverBlock::kNothing;  // number of a region, if it has one, or of a counter
  std::int64_t value = 0;                        // 0 for a leave, in events with symbols

  bool is_enter() const { return value != 0; }  // for regions
};

// All records of one moment.
struct ParaverMoment {
  Tick tick = 0;
  std::vector<ParaverFact> facts;
};

// Elements of one stream of a task in the order of time: as they are read when the stream is in order, else sorted.
template <typename Element>
class OrderedStream {
 public:
  // `read`: takes an element from its record; `time`: by which they are sorted.
  using Read = void (*)(ParaverStreamReader& reader, Element& element);

  OrderedStream(const ParaverTaskParts& parts, std::size_t stream, Read read, Tick Element::*time)
      : reader_(parts, stream), read_(read), time_(time), is_in_order_(parts.in_order[stream]) {}

  // False at the end.
  bool Next(Element& element) {
    if (is_in_order_) return ReadNext(element);
    if (next_sorted_ == 0) {
      for (Element each; ReadNext(each);) sorted_.push_back(each);
      std::ranges::stable_sort(sorted_, {}, time_);
    }
    if (next_sorted_ == sorted_.size()) return false;
    element = std::move(sorted_[next_sorted_++]);
    return true;
  }

  // The element at hand, until it is dropped; null at the end. Not beside Next.
  const Element* Peek() {
    if (!current_ && !Next(current_.emplace())) current_.reset();
    return current_ ? &*current_ : nullptr;
  }
  void Drop() { current_.reset(); }

 private:
  bool ReadNext(Element& element) {
    if (!reader_.Next()) return false;
    read_(reader_, element);
    return true;
  }

  ParaverStreamReader reader_;
  const Read read_;
  Tick Element::*const time_;
  const bool is_in_order_;
  std::vector<Element> sorted_;  // else: everything
  std::size_t next_sorted_ = 0;
  std::optional<Element> current_;
};

// The states of a task.
OrderedStream<ParaverState> ReadParaverStates(const ParaverTaskParts& parts);

// The moments of a task, and those to come. Reads on as needed when the file is in order, else sorts. A record that
// adds to the one before it at the same time, such as counters behind the entry of a call, becomes part of it. Calls do
// not overlap: at one time the leave of the open call comes first, and a leave of no call is left out, unless it is the
// first edge of all, as in a trace cut out of another. A call entered inside another is part of that, unless the task
// ran in between or recorded no states: then the leave of the one before is missing, and it ends there.
class EventCursor {
 public:
  explicit EventCursor(const ParaverTaskParts& parts);

  // The moment `ahead` moments behind the next one; nothing behind the last.
  const ParaverMoment* Peek(std::size_t ahead = 0);
  void Advance();

  // Edges of calls so far, and how many of them had no other edge.
  std::uint64_t edges() const { return edges_; }
  std::uint64_t lost_edges() const { return lost_edges_; }
  // Time between them and the edges beside them.
  Tick lost_time() const { return lost_time_; }

 private:
  bool Load();
  void ChooseNext(std::size_t first);
  void MakeCallsFollow(ParaverMoment& moment);
  bool Enter(std::uint32_t type, Tick tick);
  bool Leave(std::uint32_t type, Tick tick);

  OrderedStream<ParaverMoment> records_;
  std::optional<ParaverMoment> held_;                 // read, but perhaps part of the moment before
  std::vector<ParaverMoment> group_;                  // moments of one time
  std::vector<std::pair<std::uint32_t, Tick>> open_;  // calls, the outermost first: type and enter
  std::uint64_t edges_ = 0, lost_edges_ = 0;
  Tick lost_time_ = 0, last_edge_ = 0;
  const bool has_running_;              // among the states
  OrderedStream<ParaverState> states_;  // read where calls nest
  std::deque<ParaverMoment> ready_;
  std::vector<std::vector<ParaverFact>> spare_;
};

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
  ParaverMessages(const ParaverTaskParts& parts, std::uint32_t world);

  // Records messages of the call that the rank is in; `others_send`, `others_receive`: calls entered at the moment when
  // it is left may send, or receive.
  void InCall(Tick enter, Tick leave, MpiCall call, bool others_send, bool others_receive, RankBuilder& rank);
  // Posted before a time outside any call: the builder counts them.
  void OutsideUntil(Tick tick, RankBuilder& rank);

 private:
  std::vector<MessageEnd> receives_, sends_;  // in the order of their posts
  const std::uint32_t world_;
  std::size_t next_receive_ = 0, next_send_ = 0;
  using Pending = std::pair<Tick, std::size_t>;  // completion and number of the receive
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> pending_;
};

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
  // An event that may be an attribute of the call at hand, or of the one that is entered at the same time.
  void Attribute(Tick tick, const ParaverFact& fact);
  void Enter(Tick tick);
  // The collective that the call was; nothing when it was none or does not say where.
  std::optional<ParaverCollective> Leave(std::uint32_t region, const ParaverTraceFacts& facts);

  // Leaves a call and records the collective that it was.
  void Record(std::uint32_t region, const ParaverTraceFacts& facts, RankBuilder& rank);

 private:
  bool in_call_ = false;
  ParaverCollective current_;
  std::unordered_map<std::uint32_t, std::uint64_t> numbers_;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> local_roots_;  // keys: communicator and world rank
};

// Builds a rank of all that its task recorded: a region around all of it; functions, the program's own events and
// stretches with tracing on as regions; MPI calls with their messages and collectives; counters, summed up; and the
// stretches outside MPI in which it did not run as pauses; where threads are known, as what the runtime of its team
// does. Without functions, regions of the callers of MPI calls:
// a region from the first to the last of the calls that follow each other and have the caller in common.
RankBuilder BuildParaverRank(const Trace& trace, std::int32_t rank, const ParaverTaskParts& parts,
                             const ParaverTraceFacts& facts);

// Adds the threads of every task with their teams, once the timelines of the ranks are there. A team lasts as long as
// any thread of the task but the first is neither idle nor missing; what a thread idles meanwhile is the runtime's.
// What counters count between two samples of a thread grows evenly with the time that it runs in between.
void AddParaverThreads(ParaverRecords& records, const ParaverTraceFacts& facts, TraceBuilder& builder);

// Takes streams out of the threads of every task, and makes devices of their states. To Extrae streams are threads of
// their task, with names of their own in the .row file: "CUDA-D1.S2-host" is the second stream of the first device.
void AddParaverDevices(const ParaverInput& input, ParaverThreads& threads, TraceBuilder& builder);

}  // namespace farscale
