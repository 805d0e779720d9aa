// A trace in memory: who the ranks are, and for every rank its MPI calls, the user regions around them and the
// counters sampled at the edges of both, as columns of integers. Read once, then never changed.
//
// Times are ticks of the trace's clock since an origin of the trace's own; Trace::begin() is the earliest event. Ranks
// are those of MPI_COMM_WORLD; peers and roots are world ranks whatever communicator the program used. A call records
// what it did in its records, in the order of the trace: what it posted (sends, receives, collectives) and what it
// completed.
//
// A trace that was cut out of a longer one also keeps, outside any call, the other halves of what its calls do: the
// send before the cut of a message that is received in it, the collective that some ranks enter after it. Such records
// lie before the first call or after the last, have no time, and only show matching what belongs together.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/diagnostics.h"
#include "trace/names.h"
#include "trace/packed_column.h"

namespace farscale {

using Tick = std::int64_t;

// The role of a region in a team of threads.
enum class TeamRole : std::uint8_t {
  kNone,
  kParallel,
  kBarrier,
  kImplicitBarrier,
  kTaskWait,
  kScheduling,  // the runtime: creating tasks, waiting for locks and for critical and ordered sections
};

struct Region {
  std::string name;
  bool is_mpi = false;
  MpiCall call = MpiCall::kNone;
  // No regions of the program:
  bool is_outside = false;  // around the records that lie outside a cut
  bool is_pause = false;    // time outside MPI in which the rank did not run, by what the trace says of its state
  TeamRole team_role = TeamRole::kNone;
  bool is_fork = false;            // forks a team of threads [trace/location_trace.h]
  bool is_device_runtime = false;  // a call of the host to CUDA, HIP, OpenACC or OpenCL

  bool IsUser() const { return !is_mpi && !is_outside && !is_pause; }
  bool IsCollective() const { return call == MpiCall::kCollective || call == MpiCall::kImmediateCollective; }
  bool IsTeamBarrier() const { return team_role == TeamRole::kBarrier || team_role == TeamRole::kImplicitBarrier; }
};
// Their names, by which readers know them; that of a pause goes on with what the rank did instead.
inline constexpr std::string_view kOutsideRegion = "farscale: outside the cut";
inline constexpr std::string_view kPauseRegion = "farscale: not running";

struct Communicator {
  std::string name;
  std::vector<std::int32_t> members;  // world ranks by local rank
  std::vector<std::int32_t> remote;   // the other group of an intercommunicator, else empty
  bool is_self = false;               // MPI_COMM_SELF: every rank has its own, `members` is empty
};

// A grid on which a program laid out the ranks of a communicator (MPI_Cart_create).
struct CartesianTopology {
  std::string name;
  std::uint32_t communicator = 0;
  std::vector<std::size_t> extents;
  std::vector<bool> periodic;       // one a dimension
  std::vector<std::size_t> places;  // index into the grid by local rank, the last dimension changing fastest

  friend bool operator==(const CartesianTopology&, const CartesianTopology&) = default;
};

struct Counter {
  std::string name;
  std::string description;
  std::string unit;
  double scale = 1;         // one count is this many units
  bool is_double = false;   // elements are the bits of a double
  bool accumulates = true;  // false: a level (temperature, power), listed but never summed
};

// Kinds of records of an MPI call. Posts come before completions of the same operation.
enum class RecordKind : std::uint8_t {
  kSend,  // blocking send: post and completion
  kSendPost,
  kSendComplete,
  kSendCancelled,  // the post carried no message after all
  kReceive,        // blocking receive: post and completion
  kReceivePost,
  kReceiveComplete,
  kCollective,  // blocking collective
  kCollectivePost,
  kCollectiveComplete,
};

enum class OperationClass : std::uint8_t { kSend, kReceive, kCollective };

// A record as part of its operation: it posts a send, a receive or a collective, completes one, or does both.
struct OperationPart {
  OperationClass type = OperationClass::kSend;
  bool posts = false, completes = false;  // neither: the operation is cancelled
  std::size_t ordinal = 0;                // number of the operation within its class

  bool IsCollective() const { return type == OperationClass::kCollective; }
};

constexpr OperationPart PartOf(RecordKind kind) {
  switch (kind) {
    case RecordKind::kSend: return {OperationClass::kSend, true, true};
    case RecordKind::kSendPost: return {OperationClass::kSend, true, false};
    case RecordKind::kSendComplete: return {OperationClass::kSend, false, true};
    case RecordKind::kSendCancelled: return {OperationClass::kSend, false, false};
    case RecordKind::kReceive: return {OperationClass::kReceive, true, true};
    case RecordKind::kReceivePost: return {OperationClass::kReceive, true, false};
    case RecordKind::kReceiveComplete: return {OperationClass::kReceive, false, true};
    case RecordKind::kCollective: return {OperationClass::kCollective, true, true};
    case RecordKind::kCollectivePost: return {OperationClass::kCollective, true, false};
    case RecordKind::kCollectiveComplete: break;
  }
  return {OperationClass::kCollective, false, true};
}

// The other side of messages: one entry for every peer, communicator and tag a rank has to do with.
struct Endpoint {
  std::int32_t peer = 0;
  std::uint32_t communicator = 0;
  std::uint32_t tag = 0;

  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

inline constexpr std::int32_t kNoRoot = -1;

struct CollectiveType {
  std::uint32_t communicator = 0;
  CollectiveKind kind = CollectiveKind::kBarrier;
  std::int32_t root = kNoRoot;  // world rank

  friend auto operator<=>(const CollectiveType&, const CollectiveType&) = default;
};

// A stretch in which the measurement itself, not the program, decided what happened.
struct Interruption {
  Tick begin = 0;
  Tick end = 0;
  bool is_flush = false;  // else recording was switched off

  friend bool operator==(const Interruption&, const Interruption&) = default;
};

// The columns of a timeline, as packed columns or as their builders. Durations and first records belong to calls,
// events to user regions; `event_code` is region * 2, plus 1 for a leave.
template <typename Column>
struct TimelineColumns {
  Column enter, duration, call_region, first_record;
  Column record_kind, record_target, record_back, record_bytes, record_received;
  Column event_tick, event_code, event_call;
};
template <typename Columns>
auto AllOf(Columns& c) {
  return std::tie(c.enter, c.duration, c.call_region, c.first_record, c.record_kind, c.record_target, c.record_back,
                  c.record_bytes, c.record_received, c.event_tick, c.event_code, c.event_call);
}

// Time outside MPI in which the rank did not run: from one region event to another, which are next to each other.
struct Pause {
  std::uint32_t begin_event = 0;
  std::uint32_t end_event = 0;

  friend bool operator==(const Pause&, const Pause&) = default;
};

// A rank had the window of another one to itself, or shared it with others who asked to share: from the call that asks
// for the lock to the one that gives it back.
struct LockEpoch {
  static constexpr std::int32_t kAllTargets = -1;

  std::uint32_t window = 0;  // the communicator that stands for it
  std::int32_t target = 0;   // world rank, or kAllTargets of the window
  bool is_exclusive = false;
  std::uint32_t lock_call = 0;
  std::uint32_t unlock_call = 0;

  friend bool operator==(const LockEpoch&, const LockEpoch&) = default;
};

// Operations of one kind and what they moved.
struct MovedBytes {
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;

  MovedBytes& operator+=(const MovedBytes& other) {
    operations += other.operations;
    bytes += other.bytes;
    return *this;
  }
  friend bool operator==(const MovedBytes&, const MovedBytes&) = default;
};

// Records that most ranks have none of, so that they take no memory there.
struct RareRecords {
  std::vector<Pause> pauses;
  std::vector<LockEpoch> lock_epochs;
  std::vector<Interruption> interruptions;
  MovedBytes one_sided, on_files;

  friend bool operator==(const RareRecords&, const RareRecords&) = default;
};

struct NewTimes;

// Everything one rank did.
//
// Calls do not nest: an MPI call inside another belongs to the outer one. Sends, receives and collectives are each
// numbered in the order in which the rank posted them; a completion names its operation by how many posts of that
// class lie between (`back`: 0 is the latest post so far), which is what makes request numbers small.
class RankTimeline {
 public:
  struct Record {
    RecordKind kind;
    std::uint32_t target;  // index into endpoints or collective types; 0 for posts of receives and collectives,
                           // whose target the completion knows, and for completions of sends
    std::uint32_t back;
    std::uint64_t bytes;     // the message's size; for a collective the bytes that this rank sent
    std::uint64_t received;  // bytes that this rank received in a collective
  };
  struct RegionEvent {
    Tick tick;
    std::uint32_t region;
    bool is_leave;
    std::uint32_t call;  // the number of calls entered before
  };

  std::size_t calls() const { return columns_.enter.size(); }
  Tick enter(std::size_t call) const { return columns_.enter[call]; }
  Tick leave(std::size_t call) const { return columns_.enter[call] + columns_.duration[call]; }
  Tick duration(std::size_t call) const { return columns_.duration[call]; }
  std::uint32_t region(std::size_t call) const { return static_cast<std::uint32_t>(columns_.call_region[call]); }
  // For the call after the last: where the records of the last call end.
  std::size_t first_record(std::size_t call) const {
    return call < calls() ? static_cast<std::size_t>(columns_.first_record[call]) : call_records_end_;
  }

  // All records. Those of calls are [first_record(0), first_record(calls())), the others lie outside the cut.
  std::size_t records() const { return columns_.record_kind.size(); }
  RecordKind record_kind(std::size_t record) const { return static_cast<RecordKind>(columns_.record_kind[record]); }
  std::uint32_t record_target(std::size_t record) const {
    return static_cast<std::uint32_t>(columns_.record_target[record]);
  }
  std::uint32_t record_back(std::size_t record) const {
    return static_cast<std::uint32_t>(columns_.record_back[record]);
  }
  std::uint64_t record_bytes(std::size_t record) const {
    return static_cast<std::uint64_t>(columns_.record_bytes[record]);
  }
  Record record(std::size_t index) const {
    return {record_kind(index), record_target(index), record_back(index), record_bytes(index),
            static_cast<std::uint64_t>(columns_.record_received[index])};
  }

  // The number of sends, receives and collectives that the whole timeline posts.
  std::size_t posts(OperationClass type) const { return posts_[static_cast<std::size_t>(type)]; }
  std::size_t sends() const { return posts(OperationClass::kSend); }
  std::size_t receives() const { return posts(OperationClass::kReceive); }
  std::size_t collectives() const { return posts(OperationClass::kCollective); }

  const std::vector<Endpoint>& endpoints() const { return endpoints_; }
  const std::vector<CollectiveType>& collective_types() const { return collective_types_; }

  std::size_t region_events() const { return columns_.event_tick.size(); }
  Tick event_tick(std::size_t event) const { return columns_.event_tick[event]; }
  RegionEvent region_event(std::size_t event) const {
    const std::int64_t code = columns_.event_code[event];
    return {event_tick(event), static_cast<std::uint32_t>(code >> 1), (code & 1) != 0,
            static_cast<std::uint32_t>(columns_.event_call[event])};
  }

  // Accumulated value of a counter at the enter or leave of a call and at a region event, in counts. Doubles are
  // returned as they are; integers are exact up to 2^53. Without a sample at that edge: the last one before.
  bool has_counter(std::size_t counter) const { return counter < counters_.size() && counters_[counter].recorded; }
  // False where samples fall although the counter accumulates, or begin late; differences then mean nothing.
  bool counter_is_reliable(std::size_t counter) const { return !counters_[counter].unreliable; }
  double counter_at_enter(std::size_t counter, std::size_t call) const {
    return counters_[counter].AsCount(raw_counter_at_enter(counter, call));
  }
  double counter_at_leave(std::size_t counter, std::size_t call) const {
    return counters_[counter].AsCount(raw_counter_at_leave(counter, call));
  }
  double counter_at_event(std::size_t counter, std::size_t event) const {
    return counters_[counter].AsCount(raw_counter_at_event(counter, event));
  }
  // Difference of two samples, exact for integers however large.
  double counter_in_call(std::size_t counter, std::size_t call) const;
  // The same over the computation before a call, from leaving the call before or from the rank's first event on; over
  // what follows the last call for `call` = calls(). Not for an empty timeline.
  double counter_before_call(std::size_t counter, std::size_t call) const;
  // Share of the edges with a sample of their own. Elsewhere the last one before stands in, which hides what happened
  // between two edges.
  double counter_edge_share(std::size_t counter) const { return static_cast<double>(counters_[counter].edge_share); }
  // The same samples exactly as recorded: an integer, or the bits of a double.
  std::int64_t raw_counter_at_enter(std::size_t counter, std::size_t call) const {
    return counters_[counter].at_enter[call];
  }
  std::int64_t raw_counter_at_leave(std::size_t counter, std::size_t call) const {
    const CounterData& data = counters_[counter];
    return data.in_call[call] + (data.is_double ? 0 : data.at_enter[call]);
  }
  std::int64_t raw_counter_at_event(std::size_t counter, std::size_t event) const {
    return counters_[counter].at_event[event];
  }

  const std::vector<Interruption>& interruptions() const { return Rare().interruptions; }
  // In the order of time, apart from each other and from calls.
  const std::vector<Pause>& pauses() const { return Rare().pauses; }
  // On windows, where the trace records locks; in the order in which they were given back.
  const std::vector<LockEpoch>& lock_epochs() const { return Rare().lock_epochs; }
  // Where the trace records them: puts, gets and atomic operations on windows; operations on files of any kind.
  const MovedBytes& one_sided() const { return Rare().one_sided; }
  const MovedBytes& on_files() const { return Rare().on_files; }

  // True if the rank entered nothing at all.
  bool empty() const { return calls() == 0 && region_events() == 0; }
  // First enter and last leave of anything; both 0 for an empty timeline.
  Tick begin() const { return begin_; }
  Tick end() const { return end_; }

  std::uint64_t MemoryBytes() const;

 private:
  friend class RankBuilder;
  friend RankTimeline Retime(const RankTimeline& timeline, const NewTimes& times);

  // Samples of a counter at the edges. `in_call` is leave minus enter, or the leave value itself for doubles.
  struct CounterData {
    PackedColumn at_enter, in_call, at_event;
    bool is_double = false;
    bool recorded = false;
    bool unreliable = false;
    float edge_share = 0;

    double AsCount(std::int64_t raw) const { return is_double ? std::bit_cast<double>(raw) : static_cast<double>(raw); }
  };

  const RareRecords& Rare() const {
    static const RareRecords kNone;
    return rare_ != nullptr ? *rare_ : kNone;
  }

  TimelineColumns<PackedColumn> columns_;
  std::vector<CounterData> counters_;
  std::vector<Endpoint> endpoints_;
  std::vector<CollectiveType> collective_types_;
  std::shared_ptr<const RareRecords> rare_;  // null: none
  std::uint32_t posts_[3] = {};              // indexed by OperationClass
  std::uint32_t call_records_end_ = 0;
  Tick begin_ = 0, end_ = 0;
};

// The number of operations of each class posted before a record.
struct Posts {
  std::array<std::size_t, 3> count{};

  std::size_t& operator[](OperationClass type) { return count[static_cast<std::size_t>(type)]; }

  // The part that the next record is; counts it.
  OperationPart Next(const RankTimeline& timeline, std::size_t record) {
    OperationPart part = PartOf(timeline.record_kind(record));
    (*this)[part.type] += part.posts;
    part.ordinal = (*this)[part.type] - 1 - (part.posts ? 0 : timeline.record_back(record));
    return part;
  }
};

inline Posts PostsBefore(const RankTimeline& timeline, std::size_t record) {
  Posts posts;
  for (std::size_t i = 0; i < record; ++i) {
    const OperationPart part = PartOf(timeline.record_kind(i));
    posts[part.type] += part.posts;
  }
  return posts;
}

// A thread of a rank. Thread 0 is the one whose events are those of the rank.
struct Location {
  std::int32_t rank = 0;
  std::int32_t thread = 0;

  friend auto operator<=>(const Location&, const Location&) = default;
};

// A fork, begin, end or join of a team: behind `call` calls and `event` region events of the thread's timeline.
struct TeamEvent {
  enum class Kind : std::uint8_t { kFork, kBegin, kEnd, kJoin };
  Kind kind = Kind::kFork;
  Tick tick = 0;
  std::uint32_t call = 0;
  std::uint32_t event = 0;
  std::uint32_t team = 0;  // at a begin or end: index into TeamThreads::teams
};

struct WorkerThread {
  Location location;
  RankTimeline timeline;  // MPI calls in it have no records
  std::vector<TeamEvent> team_events;
};

// Threads of the ranks, where a reader was asked to keep them and they form teams.
struct TeamThreads {
  std::vector<std::vector<Location>> teams;      // members, rising; empty: not known
  std::vector<std::vector<TeamEvent>> of_ranks;  // thread 0's events, one entry a rank
  std::vector<WorkerThread> workers;             // in the order of ranks, then threads
  Diagnostics diagnostics;                       // found in the workers' events

  bool empty() const { return workers.empty(); }
};

// A time in which a device has something to do.
struct DeviceSpan {
  Tick begin = 0;
  Tick end = 0;

  Tick length() const { return end - begin; }
  friend auto operator<=>(const DeviceSpan&, const DeviceSpan&) = default;
};

// The work of a device for a rank, on all of its streams together: spans in the order of time and apart.
struct DeviceWork {
  std::int32_t rank = 0;
  std::vector<DeviceSpan> kernels;
  std::vector<DeviceSpan> active;  // kernels or copies
};

struct Device {
  std::string name;
  std::vector<DeviceWork> of_ranks;  // ranks that use it, rising
};

struct Rank {
  std::int32_t node = 0;  // index into Trace::nodes
  std::int32_t threads = 1;
  std::string name;
  std::int32_t socket = -1;  // within its node, from 0; -1: not known, or it is on several
};

struct Trace {
  std::string path;     // as the user named it
  std::string format;   // "OTF2 3.0.2"
  std::string program;  // as recorded, may be empty
  std::string creator;  // the tool that wrote the trace, may be empty
  double ticks_per_second = 1e9;

  std::vector<std::string> nodes;
  std::vector<Rank> ranks;
  std::vector<Region> regions;
  std::vector<Communicator> communicators;
  std::vector<CartesianTopology> topologies;
  std::vector<Counter> counters;
  std::vector<RankTimeline> timelines;  // one a rank
  TeamThreads team_threads;             // nothing unless asked for
  std::vector<Device> devices;          // that compute or copy; nothing unless threads are asked for
  std::vector<Location> locations;      // where ranks are threads, one a rank; else empty

  std::uint64_t events = 0;      // records read, as the format counts them
  std::uint64_t disk_bytes = 0;  // size of its files
  Diagnostics diagnostics;

  std::size_t size() const { return ranks.size(); }
  double Seconds(Tick ticks) const { return static_cast<double>(ticks) / ticks_per_second; }
  // True if it was cut out of a longer run: the time before and behind it is not known.
  bool IsCutOut() const;
  Tick begin() const;   // earliest event of any rank
  Tick end() const;     // latest
  int threads() const;  // the largest number of threads of any rank
  std::optional<std::size_t> FindCounter(std::string_view name) const;
  // Names of the regions of the program that are not MPI, each once, in alphabetical order.
  std::vector<std::string> UserRegionNames() const;
  // Memory of all columns and tables.
  std::uint64_t MemoryBytes() const;
};

}  // namespace farscale
